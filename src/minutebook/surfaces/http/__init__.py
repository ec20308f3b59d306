"""The operations over HTTP."""
