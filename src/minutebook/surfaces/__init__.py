"""How it is reached: projections of the registry, no rules here."""
