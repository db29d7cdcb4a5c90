"""What brokers and controllers log of replicas: leader epochs, ISRs, truncation, elections."""

from __future__ import annotations

from kspec.field.logs.wordings import Wording

PARTITION = "Partition.scala"
FETCHER = "AbstractFetcherThread.scala"

LEADERSHIP = (
    Wording(
        "leader_started",
        "Leader {partition} with topic id {topic_id} starts at leader epoch {epoch} from offset "
        "{offset} with partition epoch {partition_epoch}, high watermark {high_watermark}, ISR "
        "[{isr}], adding replicas {_}. Previous leader {_} and previous leader epoch was "
        "{previous_epoch}",
        "3.6",
        "",
        f"{PARTITION}.makeLeader",
    ),
    Wording(
        "leader_started",
        "Leader {partition} with topic id {topic_id} starts at leader epoch {epoch} from offset "
        "{offset} with partition epoch {partition_epoch}, high watermark {high_watermark}, ISR "
        "[{isr}], adding replicas {_}. Previous leader epoch was {previous_epoch}",
        "3.3",
        "3.5",
        f"{PARTITION}.makeLeader",
    ),
    Wording(
        "leader_started",
        "Leader {partition} starts at leader epoch {epoch} from offset {offset} with high "
        "watermark {high_watermark} ISR [{isr}] addingReplicas {_}. Previous leader epoch was "
        "{previous_epoch}",
        "2.6",
        "3.2",
        f"{PARTITION}.makeLeader",
    ),
    Wording(
        "leader_started",
        "] {partition} starts at leader epoch {epoch} from offset {offset} with high watermark "
        "{high_watermark}. Previous leader epoch was {previous_epoch}",
        "2.4",
        "2.5",
        f"{PARTITION}.makeLeader",
    ),
    Wording(
        "follower_started",
        "Follower {partition} starts at leader epoch {epoch} from offset {offset} with partition "
        "epoch {partition_epoch} and high watermark {high_watermark}. Current leader is {leader}. "
        "Previous leader {_} and previous leader epoch was {previous_epoch}",
        "3.6",
        "",
        f"{PARTITION}.makeFollower",
    ),
    Wording(
        "follower_started",
        "Follower {partition} starts at leader epoch {epoch} from offset {offset} with partition "
        "epoch {partition_epoch} and high watermark {high_watermark}. Current leader is {leader}. "
        "Previous leader epoch was {previous_epoch}",
        "3.3",
        "3.5",
        f"{PARTITION}.makeFollower",
    ),
    Wording(
        "follower_started",
        "Follower {partition} starts at leader epoch {epoch} from offset {offset} with high "
        "watermark {high_watermark}. Previous leader epoch was {previous_epoch}",
        "2.6",
        "3.2",
        f"{PARTITION}.makeFollower",
    ),
    Wording(
        "leader_kept",
        "Skipped the become-leader state change for {partition} with topic id {topic_id} {_}since "
        "it is already the leader with leader epoch {epoch}. Current high watermark "
        "{high_watermark}, ISR [{isr}], adding replicas {_}",
        "3.3",
        "",
        f"{PARTITION}.makeLeader",
    ),
    Wording(
        "log_loaded",
        "Log loaded for partition {partition} with initial high watermark {high_watermark}",
        "2.4",
        "",
        f"{PARTITION}.createLog",
    ),
    Wording(
        "log_deleted",
        "Log for partition {partition} is renamed to {_} and is scheduled for deletion",
        "1.0",
        "",
        "LogManager.asyncDelete",
    ),
)

IN_SYNC = (
    Wording(
        "isr_shrinking",
        "Shrinking ISR from {from_isr} to {isr}. Leader: (highWatermark: {high_watermark}, "
        "endOffset: {end_offset}). Out of sync replicas: {lagging}",
        "2.2",
        "",
        f"{PARTITION}.maybeShrinkIsr",
    ),
    Wording(
        "isr_expanding",
        "Expanding ISR from {from_isr} to {isr}",
        "0.9",
        "2.7",
        f"{PARTITION}.maybeExpandIsr",
    ),
    Wording(
        "isr_updated",
        "ISR updated to {isr} (under-min-isr) and version updated to {partition_epoch}",
        "3.5",
        "",
        f"{PARTITION}.handleAlterPartitionUpdate",
        values=(("under_min_isr", True),),
    ),
    Wording(
        "isr_updated",
        "ISR updated to {isr}  and version updated to {partition_epoch}",
        "3.5",
        "",
        f"{PARTITION}.handleAlterPartitionUpdate",
    ),
    Wording(
        "isr_updated",
        "ISR updated to {isr} and version updated to [{partition_epoch}]",
        "2.7",
        "2.8",
        f"{PARTITION}.handleAlterIsrUpdate",
    ),
    Wording(
        "isr_updated",
        "ISR updated to {isr} and version updated to {partition_epoch}",
        "3.0",
        "3.4",
        f"{PARTITION}.handleAlterPartitionUpdate",
    ),
    Wording(
        "isr_updated",
        "ISR updated to [{isr}] and zkVersion updated to [{partition_epoch}]",
        "2.2",
        "2.7",
        f"{PARTITION}.maybeUpdateIsrAndVersionWithZk",
    ),
    Wording(
        "isr_refused",
        "Failed to alter partition to {_} since the controller rejected the request with {error}. "
        "Partition state has been reset to {_}",
        "3.3",
        "",
        f"{PARTITION}.handleAlterPartitionError",
    ),
    Wording(
        "isr_refused",
        "Cached zkVersion {_} not equal to that in zookeeper, skip updating ISR",
        "0.8",
        "2.7",
        f"{PARTITION}.maybeUpdateIsrAndVersionWithZk",
    ),
)

TRUNCATION = (
    Wording(
        "truncating",
        "Truncating partition {partition} with TruncationState(offset={offset}, completed={_}) due "
        "to leader epoch and offset {_}",
        "3.1",
        "",
        "AbstractFetcherThread.truncateToEpochEndOffsets",
    ),
    Wording(
        "truncating",
        "Truncating partition {partition} with TruncationState(offset={offset}, completed={_}) due "
        "to local high watermark {high_watermark}",
        "3.1",
        "",
        "AbstractFetcherThread.truncateToHighWatermark",
    ),
    Wording(
        "truncating",
        "Truncating partition {partition} to local high watermark {high_watermark}",
        "2.1",
        "3.0",
        "AbstractFetcherThread.truncateToHighWatermark",
    ),
    Wording(
        "",
        "Truncating to {offset} has no effect as the largest offset in the log is {_}",
        "2.4",
        "",
        "UnifiedLog.truncateTo",
    ),
    Wording("truncated", "Truncating to offset {offset}", "0.9", "", "UnifiedLog.truncateTo"),
    Wording(
        "offset_reset",
        "Reset fetch offset for partition {partition} from {offset} to current leader's latest "
        "offset {to_offset}",
        "0.9",
        "",
        "AbstractFetcherThread.fetchOffsetAndTruncate",
        "WARN",
    ),
    Wording(
        "high_watermark_lowered",
        "Non-monotonic update of high watermark from {_} to {_}",
        "2.7",
        "",
        "UnifiedLog.updateHighWatermarkMetadata",
        "WARN",
    ),
    Wording(
        "fetcher_fenced",
        "Partition {partition} has an older epoch ({epoch}) than the current leader. Will await{_}",
        "2.1",
        "",
        "AbstractFetcherThread.onPartitionFenced",
    ),
)

CONTROLLER = (
    Wording(
        "controller_changed",
        "Changed partition {partition} from {_} to OnlinePartition with state "
        "LeaderAndIsr(leader={leader}, leaderEpoch={epoch}, isr=List({isr}), {_}zkVersion="
        "{partition_epoch})",
        "2.4",
        "3.2",
        "PartitionStateMachine.scala.doHandleStateChanges (TRACE up to 2.5)",
    ),
    Wording(
        "controller_changed",
        "Changed partition {partition} from {_} to OnlinePartition with state "
        "LeaderAndIsr(leader={leader}, leaderEpoch={epoch}, isrWithBrokerEpoch={_}, "
        "leaderRecoveryState={_}, partitionEpoch={partition_epoch})",
        "3.5",
        "3.9",
        "PartitionStateMachine.scala.doHandleStateChanges",
    ),
    Wording(
        "controller_changed",
        "Partition {partition} state changed to (Leader:{leader},ISR:{isr},LeaderEpoch:{epoch},"
        "ZkVersion:{partition_epoch},ControllerEpoch:{_}) after removing replica {_}",
        "2.4",
        "3.1",
        "ReplicaStateMachine.scala.removeReplicasFromIsr",
    ),
    Wording(
        "controller_changed",
        "Partition {partition} state changed to (Leader:{leader},ISR:{isr},LeaderRecoveryState:{_},"
        "LeaderEpoch:{epoch},ZkVersion:{partition_epoch},ControllerEpoch:{_}) after removing {_}",
        "3.2",
        "3.9",
        "ReplicaStateMachine.scala.removeReplicasFromIsr",
    ),
    Wording(
        "broker_fenced",
        "Fencing broker {broker} because its session has timed out",
        "2.8",
        "3.9",
        "ReplicationControlManager.maybeFenceStaleBrokers",
    ),
    Wording(
        "broker_fenced",
        "Fencing broker {broker} at epoch {_} because its session has timed out",
        "4.0",
        "",
        "ReplicationControlManager.maybeFenceStaleBrokers",
    ),
    Wording(
        "unclean_election",
        "UNCLEAN partition change for {partition} with topic ID {_}: {change}",
        "3.0",
        "",
        "ReplicationControlManager.replay",
    ),
    Wording(
        "controller_elected",
        "{_} successfully elected as the controller. Epoch incremented to {controller_epoch} {_}",
        "2.2",
        "3.9",
        "KafkaController.scala.elect",
    ),
    Wording(
        "controller_elected",
        "Becoming the active controller at epoch {controller_epoch}, {_}",
        "3.0",
        "",
        "QuorumController.handleLeaderChange",
    ),
    Wording(
        "controller_elected",
        "Becoming active at controller epoch {controller_epoch}",
        "2.8",
        "2.8",
        "QuorumController.handleNewLeader",
    ),
)

PROCESS = (
    Wording(
        "broker_started", "[KafkaServer id={broker}] started", "2.0", "3.9", "KafkaServer.scala"
    ),
    Wording(
        "broker_started",
        "[BrokerServer id={broker}] Transition from STARTING to STARTED",
        "2.8",
        "",
        "BrokerServer.scala.startup",
    ),
    Wording(
        "broker_stopping",
        "[KafkaServer id={broker}] shutting down",
        "2.0",
        "3.9",
        "KafkaServer.scala.shutdown",
    ),
    Wording(
        "broker_stopping",
        "[BrokerServer id={broker}] Transition from STARTED to SHUTTING_DOWN",
        "2.8",
        "",
        "BrokerServer.scala.shutdown",
    ),
)

KNOWN = tuple(
    Wording("", text, since, until, source)
    for text, since, until, source in (
        ("No checkpointed highwatermark is found for partition {_}", "2.4", "", PARTITION),
        ("Transitioning {count} partition(s) to local {_}", "3.0", "", "ReplicaManager"),
        ("Creating new partition {_} with topic id {_}", "3.0", "", "ReplicaManager"),
        ("Stopped fetchers as part of {_} for {count} partitions", "2.6", "", "ReplicaManager"),
        ("Started fetchers as part of {_} for {count} partitions", "3.0", "", "ReplicaManager"),
        ("Skipped the become-follower state change for {_}", "3.3", "", PARTITION),
        ("Skipped the become-leader state change for {_}", "3.0", "", PARTITION),
        ("Handling LeaderAndIsr request correlationId {_}", "2.6", "3.9", "ReplicaManager"),
        ("Finished LeaderAndIsr request in {_}", "2.7", "3.9", "ReplicaManager"),
        ("Add {count} partitions and deleted {_}", "2.6", "3.9", "ReplicaManager"),
        ("Handling StopReplica request correlationId {_}", "2.6", "3.9", "ReplicaManager"),
        ("Sending LeaderAndIsr request to broker {_}", "2.6", "3.9", "ControllerChannelManager"),
        ("Sending UpdateMetadata request to brokers {_}", "2.6", "3.9", "ControllerChannelManager"),
        ("Sending StopReplica request {_}", "2.6", "3.9", "ControllerChannelManager"),
        ("Removed fetcher for partitions {_}", "0.9", "", "AbstractFetcherManager"),
        ("Added fetcher to broker {_}", "0.9", "", "AbstractFetcherManager"),
        ("[ReplicaFetcherThread-{_}: {_}", "3.4", "", "ShutdownableThread"),
        ("[ReplicaFetcher {_}] Starting", "2.4", "3.3", "ShutdownableThread"),
        ("[ReplicaFetcher {_}] Stopped", "2.4", "3.3", "ShutdownableThread"),
        ("[ReplicaFetcher {_}] Shut{_}", "2.4", "3.3", "ShutdownableThread"),
        (
            "Received UNKNOWN_TOPIC_OR_PARTITION from the leader for partition {_}",
            "2.4",
            "",
            FETCHER,
        ),
        ("Ignoring LeaderAndIsr request from controller {_}", "2.4", "3.9", "ReplicaManager"),
        ("Error in response for fetch request {_}", "2.4", "", "ReplicaFetcherThread"),
        ("Error sending fetch request {_}", "2.4", "", "ReplicaFetcherBlockingSend"),
        ("Partition {_} marked as failed", "2.3", "", "AbstractFetcherThread"),
        ("Changed partition {_}", "2.4", "3.9", "PartitionStateMachine"),
    )
)
"""Lines that are understood and tell no event."""

REPLICA = LEADERSHIP + IN_SYNC + TRUNCATION + CONTROLLER + PROCESS + KNOWN
"""Every wording about replicas."""
