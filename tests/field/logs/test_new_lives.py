"""Brokers that restart, topics and groups that are made anew: their logs are possible."""

from __future__ import annotations

from pathlib import Path

import pytest

from kspec.field.logs.adapter import read_logs
from kspec.field.logs.files import find_files
from kspec.field.logs.validate import validate_logs

LEADER = (
    "[Broker id={broker}] Leader t-0 with topic id Some({id}) starts at leader epoch {epoch} from "
    "offset {offset} with partition epoch 9, high watermark {offset}, ISR [1,2], adding replicas "
    "[] and removing replicas [] . Previous leader None and previous leader epoch was -1."
)
OLD_LEADER = (
    "[Broker id={broker}] Leader t-0 starts at leader epoch {epoch} from offset {offset} with high "
    "watermark {offset} ISR [1,2] addingReplicas [] removingReplicas []. Previous leader epoch was "
    "-1"
)
DELETED = "Log for partition t-0 is renamed to /d/t-0.1f-delete and is scheduled for deletion"
UNCLEAN = (
    "[QuorumController id=9] UNCLEAN partition change for t-0 with topic ID AAA: leader: 1 -> 2"
)
PREPARING = (
    "[GroupCoordinator id=1 topic=__consumer_offsets partition=0] Preparing to rebalance group g "
    "in state PreparingRebalance with old generation {generation} (reason: Adding new member m "
    "with group instance id null; client reason: not provided)."
)
STABILIZED = (
    "[GroupCoordinator id=1 topic=__consumer_offsets partition=0] Stabilized group g generation "
    "{generation} with {members} members."
)
ASSIGNED = (
    "[GroupCoordinator id=1 topic=__consumer_offsets partition=0] Assignment received from leader "
    "m for group g for generation {generation}. The group has {members} members, 0 of which are "
    "static."
)


def verdicts(tmp_path: Path, *messages: str, **settings: str) -> list[str]:
    """The verdicts on a log with a line for each message, a minute apart."""
    log = tmp_path / "server.log"
    stamp = "[2024-05-01 10:{:02}:00,000] INFO {}\n"
    log.write_text("".join(stamp.format(*pair) for pair in enumerate(messages)))
    reading = read_logs(find_files([log], []))
    found = validate_logs("kafka-log", reading, {"settings": settings})
    return [one.verdict for one in found]


def test_a_topic_that_is_created_anew_begins_with_epoch_0(tmp_path: Path) -> None:
    first = LEADER.format(broker=1, id="AAA", epoch=5, offset=90)
    again = LEADER.format(broker=1, id="BBB", epoch=0, offset=0)
    assert verdicts(tmp_path, first, again) == ["accepted", "accepted"]
    assert verdicts(tmp_path, first, again.replace("BBB", "AAA")) == ["rejected"]


def test_a_deleted_log_begins_with_epoch_0_where_lines_have_no_topic_id(tmp_path: Path) -> None:
    first = OLD_LEADER.format(broker=1, epoch=5, offset=90)
    again = OLD_LEADER.format(broker=1, epoch=0, offset=0)
    assert verdicts(tmp_path, first, DELETED, again) == ["accepted", "accepted"]
    assert verdicts(tmp_path, first, again) == ["rejected"]


def test_an_unclean_election_may_lose_committed_records(tmp_path: Path) -> None:
    first = LEADER.format(broker=1, id="AAA", epoch=5, offset=90)
    later = LEADER.format(broker=2, id="AAA", epoch=7, offset=40)
    assert verdicts(tmp_path, first, later) == ["rejected"]
    assert verdicts(tmp_path, first, UNCLEAN, later) == ["accepted"]
    assert verdicts(tmp_path, first, later, unclean="true") == ["accepted"]


@pytest.mark.parametrize("lines", ["some", "all"])
def test_a_broker_that_restarts_may_have_lost_a_round(tmp_path: Path, lines: str) -> None:
    """The group was never stored, so the coordinator does not load it."""
    start = "[GroupCoordinator id=1] Starting up."
    round_begins = PREPARING.format(generation=0)
    assert verdicts(tmp_path, round_begins, start, round_begins, lines=lines) == ["accepted"]


def test_a_group_with_few_generations_may_be_deleted_between_two_lines(tmp_path: Path) -> None:
    some = STABILIZED.format(generation=1, members=1), ASSIGNED.format(generation=1, members=2)
    assert verdicts(tmp_path, *some) == ["accepted"]
    assert verdicts(tmp_path, *some, lines="all") == ["rejected"]
    later = STABILIZED.format(generation=9, members=1), ASSIGNED.format(generation=9, members=2)
    assert verdicts(tmp_path, *later) == ["rejected"]
