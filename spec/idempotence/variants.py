"""The variants: from at most once to exactly once, release by release, and without ingredients."""

from __future__ import annotations

from kspec.spec.core import Variant, Violated
from kspec.spec.idempotence import (
    before_kip_360,
    failures,
    leader,
    producer,
    since_kip_360,
    without,
)

FORGOTTEN = {"expirations": 1}
"""The brokers forget the producer once."""
WRITTEN_BY_OTHERS = {"others": 1}
"""The log has a record of another producer."""

ACROSS_CONNECTIONS = Violated(8)
"""The response of a new leader overtakes that of its predecessor, in every release since 1.0."""
GAP_AFTER_TIMEOUT = Violated(9)
"""A batch times out in its first attempt, and the broker waits for it, in every release since 2.5.

Every later batch is retried until it times out as well.
"""
WRITTEN_TWICE = Violated(18, WRITTEN_BY_OTHERS)
"""After an election a batch overtakes an earlier one, and the new leader accepts it."""
OVERTAKEN = Violated(15, WRITTEN_BY_OTHERS)
"""After an election a later batch is written before an earlier one."""
FIRST_MISSING = Violated(6, WRITTEN_BY_OTHERS)
"""After an election the new leader accepts a number other than 0."""

NO_RETRIES = Variant(
    "no-retries",
    rules=(
        without.producer_sends_unnumbered,
        without.producer_completes_unnumbered_batch,
        without.producer_fails_batch,
        producer.producer_ignores_error,
        without.producer_expires_unnumbered_batch,
        producer.producer_learns_leader,
        without.leader_appends_unchecked,
        leader.deposed_leader_refuses,
        without.connection_is_lost_for_good,
        failures.controller_elects_leader,
    ),
    why=(
        "With retries=0 nothing is written twice or reordered. But each change of leader and each "
        "lost connection fails batches, some of which may be written."
    ),
    violates={"OnlyTimeoutsReported": Violated(3), "CallbacksInOrder": Violated(6)},
)

NO_IDEMPOTENCE = NO_RETRIES.derive(
    "no-idempotence",
    replace={
        without.producer_fails_batch: producer.producer_retries_batch,
        without.connection_is_lost_for_good: failures.connection_is_lost,
    },
    why=(
        "Batches failed that could have been retried. With retries, a batch whose response is lost "
        "is written twice, and a retried batch is written after its successor."
    ),
    violates={
        "RecordsWrittenOnce": Violated(6),
        "CallbacksInOrder": Violated(7),
        "OrderKept": Violated(9),
    },
)

ONE_IN_FLIGHT = NO_IDEMPOTENCE.derive(
    "one-in-flight",
    replace={without.producer_sends_unnumbered: without.producer_sends_unnumbered_alone},
    why=(
        "A batch overtook an earlier one that was retried. "
        "max.in.flight.requests.per.connection=1 keeps the order, but batches are still written "
        "twice."
    ),
    violates={"RecordsWrittenOnce": Violated(6)},
)

KAFKA_0_11 = ONE_IN_FLIGHT.derive(
    "kafka-0.11",
    replace={
        without.producer_sends_unnumbered_alone: before_kip_360.producer_sends_alone,
        without.producer_completes_unnumbered_batch: before_kip_360.producer_completes_batch_of_id,
        producer.producer_retries_batch: before_kip_360.producer_retries_batch_of_id,
        without.producer_expires_unnumbered_batch: before_kip_360.producer_expires_queued_batch,
        without.leader_appends_unchecked: before_kip_360.leader_appends_known,
        failures.connection_is_lost: before_kip_360.connection_is_lost_by_id,
    },
    add=(
        before_kip_360.producer_fails_batch_out_of_order,
        leader.leader_answers_duplicate,
        before_kip_360.leader_refuses_any_gap,
        leader.brokers_forget_producer,
    ),
    why=(
        "A batch whose response was lost was written twice. KIP-98: batches are numbered, and the "
        "leader recognises a retry of the last one. Only one request may be in flight, and a "
        "producer that the leader does not know fails."
    ),
    violates={
        "RecordsWrittenOnce": Violated(7, FORGOTTEN),
        "OnlyTimeoutsReported": Violated(8, FORGOTTEN),
    },
)

BEFORE_KAFKA_5494 = KAFKA_0_11.derive(
    "before-kafka-5494",
    replace={before_kip_360.producer_sends_alone: before_kip_360.producer_sends_by_id},
    why=(
        "The producer of 0.11 with more than one request in flight: if one fails, the following "
        "ones are out of order and are not retried."
    ),
    violates={
        "OnlyTimeoutsReported": Violated(7),
        "CallbacksInOrder": Violated(7),
        "RecordsWrittenOnce": Violated(7, FORGOTTEN),
    },
)

KAFKA_1_0 = KAFKA_0_11.derive(
    "kafka-1.0",
    replace={
        before_kip_360.producer_sends_alone: before_kip_360.producer_sends_by_id,
        before_kip_360.producer_expires_queued_batch: producer.producer_expires_batch,
        before_kip_360.producer_fails_batch_out_of_order: (
            before_kip_360.producer_fails_batch_at_gap
        ),
        before_kip_360.leader_refuses_any_gap: before_kip_360.leader_refuses_known,
    },
    add=(
        before_kip_360.producer_retries_batch_before_gap,
        before_kip_360.producer_begins_again,
        before_kip_360.producer_fails_batch_of_unknown_id,
        before_kip_360.producer_resolves_sequences_or_id,
        before_kip_360.leader_refuses_unknown_producer,
    ),
    why=(
        "One request in flight was slow. KAFKA-5494: the leader remembers five batches, and the "
        "producer retries batches that are out of order. A broker that does not know the producer "
        "answers UNKNOWN_PRODUCER_ID, and the producer starts again at 0 with the same id and "
        "epoch. Two batches may then have the same number, and one of them is lost."
    ),
    violates={
        "AcknowledgedRecordsWritten": Violated(11),
        "OnlyTimeoutsReported": Violated(11),
        "RecordsWrittenOnce": Violated(13),
        "CallbacksInOrder": ACROSS_CONNECTIONS,
        "RecordsAreReported": Violated(12),
        "OrderKept": Violated(18, FORGOTTEN),
    },
)

KAFKA_2_5 = Variant(
    "kafka-2.5",
    rules=(
        *producer.RULES,
        since_kip_360.leader_appends_any_first,
        leader.leader_answers_duplicate,
        since_kip_360.leader_refuses_known_sequence,
        leader.deposed_leader_refuses,
        leader.brokers_forget_producer,
        *failures.RULES,
    ),
    parent="kafka-1.0",
    why=(
        "A number was used twice in one epoch, and a producer that the leader had forgotten "
        "failed. KIP-360: the producer bumps its epoch before it starts again at 0, and a leader "
        "without state accepts any number. After an election, a batch can overtake an earlier "
        "one, which is then retried forever (KAFKA-14359); or the producer bumps its epoch, and "
        "the batch is written again."
    ),
    violates={
        "SequencesHaveNoGap": Violated(6),
        "CallbacksInOrder": Violated(7),
        "RecordsAreReported": Violated(10),
        "OrderKept": Violated(15),
        "RecordsWrittenOnce": Violated(18),
    },
)

KAFKA_4_5 = KAFKA_2_5.derive(
    "kafka-4.5",
    replace={
        since_kip_360.leader_appends_any_first: leader.leader_appends,
        since_kip_360.leader_refuses_known_sequence: leader.leader_refuses_sequence,
    },
    why=(
        "The first batch that a new leader received was accepted whatever its number. "
        "KAFKA-15591: a log that never had a record accepts only 0. A log with records of others "
        "still accepts any number."
    ),
    violates={
        "CallbacksInOrder": ACROSS_CONNECTIONS,
        "RecordsAreReported": GAP_AFTER_TIMEOUT,
        "RecordsWrittenOnce": WRITTEN_TWICE,
        "OrderKept": OVERTAKEN,
        "SequencesHaveNoGap": FIRST_MISSING,
    },
)

# -- proposals ------------------------------------------------------------------------------------

ZERO_FIRST = KAFKA_4_5.derive(
    "zero-first",
    replace={
        leader.leader_appends: since_kip_360.leader_appends_zero_first,
        leader.leader_refuses_sequence: since_kip_360.leader_refuses_other_first,
    },
    why=(
        "A log with records of other producers accepted any number. In this variant, which is in "
        "no release, a leader without state accepts only 0 and otherwise answers "
        "OUT_OF_ORDER_SEQUENCE_NUMBER, as KAFKA-18202 does for transactions."
    ),
    violates={
        "CallbacksInOrder": ACROSS_CONNECTIONS,
        "RecordsAreReported": GAP_AFTER_TIMEOUT,
        "RecordsWrittenOnce": Violated(7, FORGOTTEN),
    },
)

KAFKA_19880 = KAFKA_4_5.derive(
    "kafka-19880",
    replace={
        leader.leader_appends: since_kip_360.leader_appends_zero_first,
        leader.leader_refuses_sequence: before_kip_360.leader_refuses_known,
    },
    add=(
        before_kip_360.leader_refuses_unknown_producer,
        since_kip_360.producer_bumps_epoch_of_unknown_id,
    ),
    why=(
        "The other proposal, in no release: a leader without state accepts only 0 and otherwise "
        "answers UNKNOWN_PRODUCER_ID (KAFKA-19880). The producer of today then bumps its epoch "
        "at once. An earlier batch that is still in flight may be written in both epochs."
    ),
    violates={
        "RecordsWrittenOnce": Violated(15),
        "CallbacksInOrder": ACROSS_CONNECTIONS,
        "RecordsAreReported": Violated(12),
    },
)

# -- without an ingredient ------------------------------------------------------------------------

SIX_IN_FLIGHT = KAFKA_4_5.derive(
    "six-in-flight",
    replace={producer.producer_sends: without.producer_sends_one_too_many},
    why=(
        "Idempotence with more requests in flight than the leader remembers: a retry of the oldest "
        "looks out of order, and the producer sends all of them again in the next epoch."
    ),
    violates={
        "RecordsWrittenOnce": Violated(14),
        "CallbacksInOrder": ACROSS_CONNECTIONS,
        "RecordsAreReported": GAP_AFTER_TIMEOUT,
        "OrderKept": OVERTAKEN,
        "SequencesHaveNoGap": FIRST_MISSING,
    },
)

ACKS_1 = KAFKA_4_5.derive(
    "acks-1",
    replace={
        failures.controller_elects_leader: without.controller_elects_leader_without_last,
    },
    why=(
        "Idempotence with acks=1, which the producer does not allow: the leader acknowledges a "
        "batch that no follower has, and the next leader lacks it."
    ),
    violates={
        "AcknowledgedRecordsWritten": Violated(5),
        "CallbacksInOrder": ACROSS_CONNECTIONS,
        "RecordsAreReported": GAP_AFTER_TIMEOUT,
        "RecordsWrittenOnce": WRITTEN_TWICE,
        "OrderKept": OVERTAKEN,
        "SequencesHaveNoGap": FIRST_MISSING,
    },
)

VARIANTS = (
    NO_RETRIES,
    NO_IDEMPOTENCE,
    ONE_IN_FLIGHT,
    KAFKA_0_11,
    BEFORE_KAFKA_5494,
    KAFKA_1_0,
    KAFKA_2_5,
    KAFKA_4_5,
    ZERO_FIRST,
    KAFKA_19880,
    SIX_IN_FLIGHT,
    ACKS_1,
)
