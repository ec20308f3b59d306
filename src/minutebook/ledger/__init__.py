"""Where it is kept: the only SQL."""
