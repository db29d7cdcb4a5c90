"""Proofs: lemmas about plain functions, for all numbers, by z3."""
