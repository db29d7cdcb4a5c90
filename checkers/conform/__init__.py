"""Hold a client's assignors against the specification.

A *target* is what is asked: a mapping from the names of strategies (`range`, `roundrobin`,
`sticky`, `cooperative-sticky`; any of them) to functions, or a function without arguments that
returns such a mapping. Each function takes what `spec.assignors.ASSIGNORS` takes, and answers
for each member with pairs of topic and index:

    def my_range(partitions: Mapping[str, int], members: Mapping[str, Member]):
        return {"m1": [("orders", 0), ("orders", 1)], ...}

    MY_ASSIGNORS = {"range": my_range}

`kspec conform my_client:MY_ASSIGNORS` searches for disagreements. In a client's own tests, three
lines do the same with every run:

    from checkers.conform import conformance_tests
    from my_client import MY_ASSIGNORS
    TestConformance = conformance_tests(MY_ASSIGNORS)
"""

from checkers.conform.findings import Finding, Searched, search
from checkers.conform.judgement import Disagreement, judge
from checkers.conform.suite import conformance_tests
from checkers.conform.target import find_target

__all__ = [
    "Disagreement",
    "Finding",
    "Searched",
    "conformance_tests",
    "find_target",
    "judge",
    "search",
]
