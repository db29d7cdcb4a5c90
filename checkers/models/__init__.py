"""Models by name, by module or by file."""
