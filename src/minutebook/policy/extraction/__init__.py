"""What raw material says that is worth proposing: pure rules, in time linear in the text."""
