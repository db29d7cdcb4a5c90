"""Rules at compiled speed: each is run once for everything that it can read, then looked up.

A rule is a function of what it reads. So it is run on a **stand-in** for the state, which
records what is read (`standins`); what was read, and what came of it, is kept as a path
through a decision tree (`book`); and every later state is answered by compiled code that walks
the tree (`tables`, `walk`). Values are numbered (`values`), so that a state is a row of small
numbers, one for each **component**: a field of the state, or an item of a field that is a
tuple of fixed length.
"""
