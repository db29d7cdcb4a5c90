"""The models again, as arithmetic on machine words: what a fast exploration runs on.

A **layout** says which bits of which word hold which field of a state. A **kernel** turns words
into the words of every successor, and says which properties a state violates. Neither knows
anything of how states are explored, and neither uses the rules of `spec`: that both say the
same is shown by comparison, state for state.
"""
