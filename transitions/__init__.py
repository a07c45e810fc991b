"""Transitions: plugins move from release to release through immutable plans, run by the outbox worker."""
