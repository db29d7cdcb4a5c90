"""What is typed at the prompt about models: one module for each command."""

from __future__ import annotations

from kspec.checkers.cli.sections import Section

COMMANDS = Section(
    "Models",
    __name__,
    {
        "models": "list models with their variants, bounds and properties",
        "check": "explore every reachable state within the bounds",
        "explore": "step through a model by hand, in a browser or a terminal",
        "simulate": "walk at random, for bounds too large to explore",
        "mutate": "break each rule in turn, and check whether a property fails",
        "refine": "compare every step with learned rules or an implementation",
        "traces": "generate traces as test vectors",
        "graph": "draw the state graph, whole or folded, and find what counterexamples share",
        "prove": "prove lemmas for all integers, and refute their false neighbours",
        "show": "print a recorded trace or a story",
    },
)
