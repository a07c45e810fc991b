"""``sql:v1``: SQL steps on a target database, with a receipt on its side. `executor` is the way in."""
