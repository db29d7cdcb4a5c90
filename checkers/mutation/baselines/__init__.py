"""What mutation needs of each of kspec's models."""
