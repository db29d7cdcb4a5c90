"""What was seen: behaviours of a system, as files and as pictures."""
