"""How it decides: pure functions, tested by tables."""
