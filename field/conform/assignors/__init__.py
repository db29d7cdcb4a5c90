"""Conformance: compare a client's assignors with the specification.

A *target* is a mapping from names of strategies (any of `range`, `roundrobin`, `sticky` and
`cooperative-sticky`) to functions, or a function without arguments that returns such a mapping.
Each function takes what the functions of `spec.assignors.ASSIGNORS` take, and returns pairs of
topic and partition for each member:

    def my_range(partitions: Mapping[str, int], members: Mapping[str, Member]):
        return {"m1": [("orders", 0), ("orders", 1)], ...}

    MY_ASSIGNORS = {"range": my_range}

`kspec conform my_client:MY_ASSIGNORS` searches for disagreements. Three lines do the same in a
client's own tests:

    from kspec.field.conform.assignors import conformance_tests
    from my_client import MY_ASSIGNORS
    TestConformance = conformance_tests(MY_ASSIGNORS)
"""

from kspec.field.conform.assignors.findings import Searched, search
from kspec.field.conform.assignors.suite import conformance_tests
from kspec.field.conform.assignors.target import find_target

__all__ = [
    "Searched",
    "conformance_tests",
    "find_target",
    "search",
]
