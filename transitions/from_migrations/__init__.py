"""A manifest written from the migrations of Django apps: `make_manifest`."""
