"""The checkers of a specification, and the command line."""
