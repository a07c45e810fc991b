"""What a worker of a test has beyond the real one: scripted executors, and disturbances from its environment."""
