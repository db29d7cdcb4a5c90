"""Traces: behaviours of a system, as files and as pictures."""
