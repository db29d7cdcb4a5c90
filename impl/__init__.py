"""The behaviour of `spec`, fast and mutable."""
