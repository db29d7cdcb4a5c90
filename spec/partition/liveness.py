"""Liveness: records are committed and followers catch up, unless a failure prevents it.

Fair are the steps that a running cluster takes by itself: brokers take decisions, followers
truncate and fetch, leaders count fetches, the controller answers proposals, and leaders learn of
the ISR. Failures, restarts, elections, appends and the removal of a slow follower are not fair: no
property waits for them, and a behaviour may stop without them.
"""

from __future__ import annotations

from kspec.spec.core import leads_to
from kspec.spec.partition import alter_partition, elr, faults, follower, kraft, leader, unfenced
from kspec.spec.partition.state import Broker, Cluster, brokers

FAIR = (
    unfenced.broker_becomes_leader_without_epoch_entry,
    unfenced.leader_counts_any_fetch,
    unfenced.broker_becomes_follower_and_truncates_to_hw,
    unfenced.broker_becomes_follower_of_new_leader,
    unfenced.follower_truncates_to_leader_end,
    unfenced.follower_truncates_to_epoch_end,
    unfenced.follower_truncates_to_agreed_epoch,
    unfenced.follower_fetches_in_any_epoch,
    leader.broker_becomes_leader,
    leader.leader_counts_fetch,
    leader.follower_fetches,
    follower.broker_becomes_follower,
    follower.follower_truncates,
    alter_partition.broker_becomes_fetching_follower,
    alter_partition.follower_truncates_on_divergence,
    alter_partition.leader_counts_agreeing_fetch,
    alter_partition.follower_fetches_what_agrees,
    alter_partition.controller_commits_isr,
    alter_partition.leader_learns_isr,
    kraft.broker_becomes_kraft_leader,
    kraft.leader_counts_kraft_fetch,
    kraft.follower_fetches_from_kraft_leader,
    kraft.leader_applies_isr,
    kraft.controller_commits_eligible_isr,
    kraft.controller_refuses_isr,
    elr.controller_commits_isr_and_elr,
    faults.follower_truncates_to_unnamed_epoch_end,
    faults.follower_truncates_but_keeps_empty_epochs,
    faults.leader_counts_fetch_at_hw,
    faults.follower_fetches_and_joins_at_hw,
    faults.leader_counts_fetch_of_fenced,
    faults.controller_commits_fenced_isr,
    faults.controller_commits_isr_of_old_broker_epoch,
    faults.leader_learns_isr_and_keeps_hw,
    faults.broker_becomes_leader_and_forgets_ends,
)
"""The fair rules of all variants."""


def runs(s: Cluster, broker: int) -> bool:
    """Whether the broker is up and connected to the controller."""
    return s.replicas[broker].is_up and broker not in s.fenced


def running_leader(s: Cluster) -> Broker | None:
    """The controller's leader, if it runs; it may not know yet that it leads."""
    for broker in brokers(s):
        if broker == s.registration.leader and runs(s, broker):
            return broker
    return None


@leads_to(weakly_fair=FAIR)
def RecordsAreCommitted(s: Cluster) -> tuple[bool, bool]:
    """While the ISR is large enough and its members run, the leader commits each record it holds.

    A broker runs if it is up and connected to the controller; large enough is min.insync.replicas.
    """
    leader = running_leader(s)
    if leader is None:
        return False, True
    replica = s.replicas[leader]
    state = replica.leadership
    if state is None or not s.leads(leader):
        return True, False
    is_large_enough = len(state.isr) >= s.bounds.effective_min_isr
    members_run = all(runs(s, member) for member in state.isr | s.registration.isr)
    has_committed = replica.hw == replica.log.end
    return True, has_committed or not is_large_enough or not members_run


@leads_to(weakly_fair=FAIR)
def FollowersCatchUp(s: Cluster) -> tuple[bool, bool]:
    """While the leader runs, each other broker that runs gets the leader's log and is in the ISR.

    A broker runs if it is up and connected to the controller.
    """
    leader = running_leader(s)
    if leader is None:
        return False, True
    state = s.replicas[leader].leadership
    if state is None or not s.leads(leader):
        return True, False
    log = s.replicas[leader].log
    isr = state.isr & s.registration.isr
    return True, all(
        s.replicas[broker].log == log and broker in isr for broker in brokers(s) if runs(s, broker)
    )


LIVENESS = (RecordsAreCommitted, FollowersCatchUp)
