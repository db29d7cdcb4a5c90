"""The assignors of `spec.assignors`, fast: for a million partitions and ten thousand members."""

from collections.abc import Mapping

from kspec.impl.assignors.range import assign_range
from kspec.impl.assignors.roundrobin import assign_roundrobin
from kspec.impl.assignors.sticky import assign_cooperative, assign_sticky
from kspec.spec.vocabulary import RackAware

ASSIGNORS: Mapping[str, RackAware] = {
    "range": assign_range,
    "roundrobin": assign_roundrobin,
    "sticky": assign_sticky,
    "cooperative-sticky": assign_cooperative,
}
"""The assignors, by the names they have in consumer groups."""
