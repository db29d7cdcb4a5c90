"""Groups whose members and replicas have racks."""

from __future__ import annotations

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from kspec.field.groups.strategies import AssignorInput


def on_racks(group: AssignorInput) -> SearchStrategy[AssignorInput]:
    """The same group with racks for members and replicas; some members have none, or an unknown."""
    rack = st.sampled_from(("r1", "r2", "r3"))
    member = st.one_of(rack, rack, rack, st.sampled_from([None, "", "elsewhere"]))
    replicas = st.sets(rack, max_size=2)
    return st.builds(
        lambda of_members, racks: AssignorInput(
            group.partitions,
            {
                name: attrs.evolve(member, rack=of_members[name])
                for name, member in group.members.items()
            },
            racks,
        ),
        st.fixed_dictionaries(dict.fromkeys(group.members, member)),
        st.fixed_dictionaries(
            {
                topic: st.lists(replicas, min_size=size, max_size=size)
                for topic, size in group.partitions.items()
            }
        ),
    )
