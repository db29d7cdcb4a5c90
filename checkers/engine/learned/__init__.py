"""The learned engine: rules at compiled speed. Each rule is run once for all that it can read.

The result of a rule depends only on the parts of the state that it reads. The engine runs the rule
on a **stand-in** for the state, which records the reads (`standins`). The reads and the result
become a path through a decision tree (`book`), and compiled code walks the tree for all later
states (`tables`, `walk`). Values are numbered (`values`), so a state is a row of small numbers, one
for each **component**: a field of the state, or an item of a field that is a tuple of fixed length.
"""
