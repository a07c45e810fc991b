"""The delivery engine: leases, lanes and the worker that serves them. Imports no other app."""
