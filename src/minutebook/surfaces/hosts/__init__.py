"""The programs that agents live in, and their configuration files."""
