"""Mutation testing: break one rule at a time, and see which property fails."""
