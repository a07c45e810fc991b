"""The test suite; it mirrors the apps, and `tests.everywhere` runs it on each database."""
