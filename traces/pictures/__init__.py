"""How the states of each of kspec's models are drawn."""
