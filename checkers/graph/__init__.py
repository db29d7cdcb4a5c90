"""The state graph: states and steps as arrays, liveness, and sets of traces that cover it."""
