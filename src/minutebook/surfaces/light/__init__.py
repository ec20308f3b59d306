"""What must start within milliseconds: the standard library alone."""
