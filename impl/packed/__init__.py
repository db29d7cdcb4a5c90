"""Models as arithmetic on machine words, for fast exploration.

A **layout** assigns each field of a state to bits of a word. A **kernel** maps the words of a
state to those of its successors, and reports which properties it violates. Neither knows how
states are explored, and neither uses the rules of `spec`: differential tests compare them, state
by state.
"""
