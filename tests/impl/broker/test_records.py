"""Producing, fetching and searching records."""

from __future__ import annotations

import gzip
import struct

import pytest

from kspec.impl.broker.calls import UnsupportedRequest
from tests.impl.broker.scene import Scene, batch, records


@pytest.fixture
def scene() -> Scene:
    """A broker with one topic."""
    scene = Scene()
    scene.broker.topics.create("orders")
    return scene


def test_records_are_fetched_as_they_were_produced_with_their_offsets_set(scene: Scene) -> None:
    assert scene.produce(batch([b"a", b"b"])).base_offset == 0
    assert scene.produce(batch([b"c"])).base_offset == 2
    got = scene.fetched(scene.fetch(0))
    assert (got.high_watermark, got.last_stable_offset, got.log_start_offset) == (3, 3, 0)
    first, second = batch([b"a", b"b"]), batch([b"c"])
    at_zero = struct.pack(">qii", 0, len(first) - 12, 0) + first[16:]
    at_two = struct.pack(">qii", 2, len(second) - 12, 0) + second[16:]
    assert got.records == at_zero + at_two


def test_a_fetch_within_a_batch_returns_the_whole_batch(scene: Scene) -> None:
    scene.produce(batch([b"a", b"b", b"c"]))
    whole = scene.fetched(scene.fetch(0)).records
    assert scene.fetched(scene.fetch(2)).records == whole
    assert scene.fetched(scene.fetch(3)).records == b""


def test_a_fetch_returns_what_fits_and_at_least_one_batch(scene: Scene) -> None:
    """KIP-74."""
    for _ in range(3):
        scene.produce(batch([b"x" * 100]))
    size = len(batch([b"x" * 100]))
    assert len(scene.fetched(scene.fetch(0, max_bytes=2 * size + 1)).records) == 2 * size
    assert len(scene.fetched(scene.fetch(0, max_bytes=10)).records) == size


def test_a_fetch_waits_for_enough_bytes(scene: Scene) -> None:
    size = len(batch([b"a"]))
    call = scene.fetch(0, wait=500, min_bytes=size + 1)
    scene.produce(batch([b"a"]))
    assert scene.fetched(call) is None
    scene.produce(batch([b"b"]))
    assert len(scene.fetched(call).records) == 2 * size


def test_a_fetch_waits_no_longer_than_it_says(scene: Scene) -> None:
    call = scene.fetch(0, wait=500)
    scene.wait(499)
    assert scene.fetched(call) is None
    scene.wait(1)
    assert scene.fetched(call).records == b""
    assert not scene.broker.waiting
    scene.produce(batch([b"a"]))  # wakes up nobody


def test_a_fetch_whose_client_has_gone_is_forgotten(scene: Scene) -> None:
    call = scene.fetch(0, wait=500)
    scene.broker.disconnect(call)
    scene.produce(batch([b"a"]))
    scene.wait(500)
    assert call not in scene.answers


def test_a_fetch_that_waits_for_a_deleted_topic_is_answered(scene: Scene) -> None:
    call = scene.fetch(0, wait=500, version=13)
    scene.ask("delete_topics", 5, topic_names=["orders"])
    assert scene.fetched(call).error_code.name == "unknown_topic_id"


@pytest.mark.parametrize(
    ("offset", "epoch", "error"),
    [
        (1, -1, "offset_out_of_range"),
        (-1, -1, "offset_out_of_range"),
        (0, 1, "unknown_leader_epoch"),
        (0, 0, "none"),
    ],
)
def test_a_fetch_that_cannot_be_served_is_answered_at_once(
    scene: Scene, offset: int, epoch: int, error: str
) -> None:
    call = scene.fetch(offset, wait=500, epoch=epoch)
    if error == "none":
        assert scene.fetched(call) is None
    else:
        assert scene.fetched(call).error_code.name == error


def test_fetch_sessions_are_refused(scene: Scene) -> None:
    answer = scene.answers[scene.fetch(0, session_id=7, session_epoch=1)]
    assert answer.error_code.name == "fetch_session_id_not_found"


# -- what a producer must not send ----------------------------------------------------------


def damaged(data: bytes, position: int) -> bytes:
    """The bytes with one changed."""
    return data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]


@pytest.mark.parametrize(
    ("records", "error"),
    [
        (None, "invalid_record"),
        (b"", "invalid_record"),
        (batch([b"a"])[:60], "invalid_record"),
        (batch([b"a"])[:-1], "corrupt_message"),
        (damaged(batch([b"a"]), 64), "corrupt_message"),
        (damaged(batch([b"a"]), 18), "corrupt_message"),  # the checksum
        (damaged(batch([b"a"]), 16), "corrupt_message"),  # format 3
        (batch([b"a"])[:16] + b"\1" + batch([b"a"])[17:], "invalid_record"),  # format 1
        (batch([b"a"]) * 2, "invalid_record"),
        (batch([b"a"], attributes=0x10), "invalid_record"),
        (batch([b"a"], attributes=0x20), "invalid_record"),
        (batch([b"a"], attributes=5), "unsupported_compression_type"),
        (batch([b"a"], producer=(1, 0, -1)), "invalid_record"),
        (batch([b"x" * 1_048_588]), "message_too_large"),
    ],
)
def test_a_bad_batch_is_refused(scene: Scene, records: bytes | None, error: str) -> None:
    answer = scene.produce(records)
    assert answer.error_code.name == error
    assert answer.base_offset == -1
    assert scene.list_offset(-1) == (0, -1)


def test_wrong_acks_and_unknown_partitions_are_refused(scene: Scene) -> None:
    assert scene.produce(batch([b"a"]), acks=2).error_code.name == "invalid_required_acks"
    unknown = scene.produce(batch([b"a"]), topic="letters")
    assert unknown.error_code.name == "unknown_topic_or_partition"


def test_acks_0_has_no_response(scene: Scene) -> None:
    assert scene.produce(batch([b"a"]), acks=0) is None
    assert scene.list_offset(-1) == (1, -1)


def test_an_error_with_acks_0_closes_the_connection(scene: Scene) -> None:
    with pytest.raises(UnsupportedRequest, match="acks=0"):
        scene.produce(batch([b"a"]), topic="unknown", acks=0)


# -- idempotent producers -------------------------------------------------------------------


def test_a_batch_that_comes_again_is_not_appended_again(scene: Scene) -> None:
    for number in range(6):
        records = batch([b"a", b"b"], producer=(7, 0, 2 * number))
        assert scene.produce(records).base_offset == 2 * number
    again = scene.produce(batch([b"a", b"b"], producer=(7, 0, 2)))
    assert (again.error_code.name, again.base_offset) == ("none", 2)
    forgotten = scene.produce(batch([b"a", b"b"], producer=(7, 0, 0)))  # the sixth last
    assert forgotten.error_code.name == "out_of_order_sequence_number"
    assert scene.list_offset(-1) == (12, -1)


@pytest.mark.parametrize(
    ("epoch", "sequence", "error"),
    [
        (1, 1, "none"),
        (1, 2, "out_of_order_sequence_number"),
        (2, 0, "none"),
        (2, 1, "out_of_order_sequence_number"),
        (0, 1, "invalid_producer_epoch"),
    ],
)
def test_epochs_and_sequence_numbers_have_to_follow(
    scene: Scene, epoch: int, sequence: int, error: str
) -> None:
    scene.produce(batch([b"a"], producer=(7, 1, 0)))
    answer = scene.produce(batch([b"b"], producer=(7, epoch, sequence)))
    assert answer.error_code.name == error


def test_sequence_numbers_wrap_around(scene: Scene) -> None:
    last = 2**31 - 1
    assert scene.produce(batch([b"a", b"b"], producer=(7, 0, last))).error_code.name == "none"
    assert scene.produce(batch([b"c"], producer=(7, 0, 1))).base_offset == 2


def test_producer_ids_are_issued_once_and_epochs_count_up(scene: Scene) -> None:
    def init(**values: object) -> tuple[str, int, int]:
        answer = scene.ask("init_producer_id", 4, transaction_timeout=1_000, **values)
        return answer.error_code.name, answer.producer_id, answer.producer_epoch

    assert init(transactional_id=None, producer_epoch=-1) == ("none", 0, 0)
    assert init(transactional_id=None, producer_epoch=-1) == ("none", 1, 0)
    assert init(transactional_id=None, producer_id=1, producer_epoch=0) == ("none", 1, 1)
    assert init(transactional_id=None, producer_id=9, producer_epoch=0) == ("none", 2, 0)
    refused = init(transactional_id="t")
    assert refused == ("transactional_id_authorization_failed", -1, -1)


# -- searching ------------------------------------------------------------------------------


@pytest.mark.parametrize("is_compressed", [False, True])
def test_a_search_by_time_finds_the_record(scene: Scene, is_compressed: bool) -> None:
    for times in ([10, 20, 30], [25, 50, 40]):
        data = gzip.compress(records([b"a"] * 3, times)) if is_compressed else None
        scene.produce(batch([b"a"] * 3, times=times, attributes=int(is_compressed), data=data))
    assert scene.list_offset(0) == (0, 10)
    assert scene.list_offset(21) == (2, 30)
    assert scene.list_offset(31) == (4, 50)
    assert scene.list_offset(51) == (-1, -1)
    assert scene.list_offset(-1) == (6, -1)
    assert scene.list_offset(-2) == (0, -1)
    assert scene.list_offset(-3) == (4, 50)


def test_a_search_by_time_in_a_batch_that_cannot_be_read_finds_the_batch(scene: Scene) -> None:
    scene.produce(batch([b"a"] * 3, times=[10, 20, 30], attributes=2, data=b"?"))
    assert scene.list_offset(20) == (0, 30)


def test_records_that_are_not_well_formed_do_not_stop_a_search(scene: Scene) -> None:
    for broken in (b"", b"\xff" * 30, b"\0" * 30, b"\x18\0" + b"\xff" * 9 + b"\1\0"):
        for kind, data in enumerate((broken, gzip.compress(broken))):
            scene.produce(batch([b"a"] * 3, times=[9] * 3, attributes=kind, data=data))
    scene.produce(batch([b"a"], times=[9]))
    assert scene.list_offset(9) == (24, 9)


def test_the_epoch_ends_where_the_log_ends(scene: Scene) -> None:
    scene.produce(batch([b"a"] * 3))

    def end(epoch: int, current: int = -1) -> tuple[str, int, int]:
        partition = {"partition": 0, "current_leader_epoch": current, "leader_epoch": epoch}
        topics = [{"topic": "orders", "partitions": [partition]}]
        answer = scene.ask("offset_for_leader_epoch", 4, topics=topics, replica_id=-1)
        found = answer.topics[0].partitions[0]
        return found.error_code.name, found.leader_epoch, found.end_offset

    assert end(0) == ("none", 0, 3)
    assert end(1) == ("none", -1, -1)
    assert end(-2) == ("none", -2, 0)
    assert end(0, current=1) == ("unknown_leader_epoch", -1, -1)
    assert end(0, current=-2) == ("fenced_leader_epoch", -1, -1)


@pytest.mark.parametrize(
    ("time", "version", "error"),
    [(-3, 7, "none"), (-3, 6, "unsupported_version"), (-4, 7, "unsupported_version"),
     (-5, 9, "none"), (-6, 10, "unsupported_version")],
)  # fmt: skip
def test_special_times_need_a_version(scene: Scene, time: int, version: int, error: str) -> None:
    asked = {"partition_index": 0, "timestamp": time, "current_leader_epoch": -1}
    topics = [{"name": "orders", "partitions": [asked]}]
    found = scene.ask("list_offsets", version, topics=topics, replica_id=-1)
    assert found.topics[0].partitions[0].error_code.name == error


def test_a_topic_has_a_largest_batch_of_its_own(scene: Scene) -> None:
    def create(value: str) -> str:
        config = {"name": "max.message.bytes", "value": value}
        topic = {"name": "small", "num_partitions": 1, "replication_factor": 1}
        answer = scene.ask("create_topics", 7, topics=[{**topic, "configs": [config]}])
        return str(answer.topics[0].error_code.name)

    assert create("many") == "invalid_config"
    assert create("100") == "none"
    assert scene.produce(batch([b"x" * 10]), topic="small").error_code.name == "none"
    assert scene.produce(batch([b"x" * 90]), topic="small").error_code.name == "message_too_large"


def test_the_batch_is_looked_at_before_acks(scene: Scene) -> None:
    assert scene.produce(b"", acks=2).error_code.name == "invalid_record"
    damage = damaged(batch([b"a"]), 18)
    assert scene.produce(damage, acks=2).error_code.name == "invalid_required_acks"


# -- limits ---------------------------------------------------------------------------------


def test_the_oldest_batches_are_deleted_when_a_partition_is_full() -> None:
    one = batch([b"x" * 100] * 2)
    scene = Scene(max_partition_bytes=10 * len(one))
    scene.broker.topics.create("orders")
    for number in range(25):
        assert scene.produce(one).base_offset == 2 * number
    start, _ = scene.list_offset(-2)
    log = scene.broker.topics.named("orders").logs[0]
    assert log.size <= 10 * len(one)
    assert start == log.start == 50 - 2 * (log.size // len(one)) > 0
    assert scene.fetched(scene.fetch(start - 1)).error_code.name == "offset_out_of_range"
    assert len(scene.fetched(scene.fetch(start)).records) == log.size


def test_the_last_batch_is_kept_however_large_it_is() -> None:
    scene = Scene(max_partition_bytes=100)
    scene.broker.topics.create("orders")
    for number in range(3):
        assert scene.produce(batch([b"x" * 1_000])).log_start_offset == number
    assert len(scene.fetched(scene.fetch(2)).records) > 1_000
