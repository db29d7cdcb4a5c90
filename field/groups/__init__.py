"""Consumer groups: assignment, rebalances, coordinators, and conformance of client libraries."""
