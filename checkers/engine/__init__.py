"""Exploration: one search, the engines behind it, simulation, and the verdict that they return."""
