"""What every operations page stands on: rows are read, and changed only through an operator's action."""
