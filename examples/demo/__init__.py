"""The demo: what an operator does by hand, done by a script that shows every command it runs."""
