"""Liveness: records are committed and replicas converge, while a leader leads.

Weakly fair are the steps that running brokers take by themselves: they accept requests, truncate,
fetch, and advance the high watermark. The controller's decisions, changes of the ISR and appends
are not fair: no property waits for them, and a behaviour may stop without them.
"""

from __future__ import annotations

from kspec.spec.core import leads_to
from kspec.spec.replication import first_try, follower, leader, unfenced
from kspec.spec.replication.state import NO_LEADER, Cluster

FAIR = (
    leader.broker_becomes_leader,
    leader.leader_advances_hw,
    follower.broker_becomes_follower_and_truncates,
    follower.follower_fetches,
    unfenced.leader_advances_hw,
    unfenced.broker_becomes_follower_and_truncates,
    unfenced.follower_fetches,
    first_try.leader_advances_hw,
    first_try.broker_becomes_follower,
    first_try.follower_fetches,
    first_try.follower_truncates,
)
"""The fair rules of all variants."""


@leads_to(weakly_fair=FAIR)
def RecordsAreCommitted(s: Cluster) -> tuple[bool, bool]:
    """The controller's leader commits each record that it holds, unless another is elected.

    Every broker of this model is up, so the ISR is.
    """
    leads = s.quorum.leader
    if leads == NO_LEADER:
        return False, True
    return True, s.is_current_leader(leads) and s.views[leads].hw == s.logs[leads].end


@leads_to(weakly_fair=FAIR)
def ReplicasConverge(s: Cluster) -> tuple[bool, bool]:
    """Each replica gets the log of the controller's leader, unless another is elected."""
    leads = s.quorum.leader
    if leads == NO_LEADER:
        return False, True
    return True, s.is_current_leader(leads) and len(set(s.logs)) == 1


LIVENESS = (RecordsAreCommitted, ReplicasConverge)
