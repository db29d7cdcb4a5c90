"""Liveness: the search of all states and steps for a fair behaviour that violates a property."""
