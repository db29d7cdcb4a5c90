"""What asks questions of a specification, and the command line."""
