"""Markdown and workspace files: views and letters."""
