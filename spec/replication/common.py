"""What every variant does: the controller's decisions, becoming leader, writing."""

from __future__ import annotations

from spec.core import Step, evolve, limit, rule
from spec.log import Record
from spec.replication.state import NO_LEADER, Cluster, LeaderAndIsr, brokers, requests

# -- controller -----------------------------------------------------------------------------


@rule(by="controller", broker=brokers)
def controller_shrinks_isr(s: Cluster, broker: int) -> Step[Cluster]:
    """A broker fails: it leaves the ISR, and the partition has no leader if it led.

    The last member stays in the ISR when it led, so that the committed records are not given
    up. Kafka: `ControllerChannelManager` and `PartitionStateMachine` after `onBrokerFailure`.
    Simplification: the broker is not stopped. It may act on what it believes, as one does that
    is cut off from the controller only; restarts that lose data are not modelled.
    """
    yield limit("an epoch is left"), s.next_epoch <= s.bounds.max_epoch
    leads = s.quorum.leader == broker
    yield "broker leads or is in the isr", leads or broker in s.quorum.isr
    last = leads and s.quorum.isr == {broker}
    isr = s.quorum.isr if last else s.quorum.isr - {broker}
    return s.sends(NO_LEADER if leads else s.quorum.leader, isr)


@rule(by="controller", broker=brokers)
def controller_elects(s: Cluster, broker: int) -> Step[Cluster]:
    """A member of the ISR is made leader; never anyone else (a clean election).

    Kafka: `PartitionLeaderElectionAlgorithms.offlinePartitionLeaderElection`. Simplification:
    any member at any time, which covers preferred elections and controlled shutdown.
    """
    yield limit("an epoch is left"), s.next_epoch <= s.bounds.max_epoch
    yield "broker is in the isr", broker in s.quorum.isr
    yield "broker does not lead yet", s.quorum.leader != broker
    return s.sends(broker, s.quorum.isr)


# -- leader ---------------------------------------------------------------------------------


@rule(by="leader", request=requests)
def become_leader(s: Cluster, request: LeaderAndIsr) -> Step[Cluster]:
    """A broker hears that it leads. Its log and its high watermark stay as they are.

    Kafka: `Partition.makeLeader`. A new leader never truncates.
    """
    yield "request names a leader", request.leader != NO_LEADER
    leader = request.leader
    yield "request is newer than what the broker knows", request.epoch > s.views[leader].epoch
    return s.with_view(leader, epoch=request.epoch, leader=leader, isr=request.isr)


@rule(by="leader", leader=brokers)
def leader_writes(s: Cluster, leader: int) -> Step[Cluster]:
    """A producer's record is appended by whoever takes itself for the leader.

    Kafka: `Partition.appendRecordsToLeader`. A produce request carries no leader epoch, so a
    leader that was deposed and does not know it still appends. Batches are single records.
    """
    yield "presumes leadership", s.presumes_leadership(leader)
    yield limit("a record is left"), s.next_record < s.bounds.max_records
    yield limit("log has room"), s.logs[leader].end < s.bounds.log_size
    record = Record(s.next_record, s.views[leader].epoch)
    written = s.with_log(leader, s.logs[leader].append(record))
    return evolve(written, next_record=s.next_record + 1)
