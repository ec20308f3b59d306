"""What things are: frozen values and pure facts about them."""
