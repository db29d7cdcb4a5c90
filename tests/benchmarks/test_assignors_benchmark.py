"""The assignors' benchmark poses the documented inputs, and its output can be read."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET

import pytest

from benchmarks.assignors import (
    SIZES,
    Peers,
    Times,
    again,
    few_topics_each,
    half_and_half,
    in_words,
    leave_some,
    one_differs,
)
from benchmarks.peers.kafka_java import HOW_TO_GET, KafkaJava, find_jar, question
from benchmarks.picture import Line, log_log
from kspec.spec.assignors import ASSIGNORS, KafkaRaises, Member, TopicPartition, kafka_order


def test_sizes_are_those_of_kafkas_own_benchmarks() -> None:
    shapes = {}
    for name, make in SIZES.items():
        partitions, members = make()
        shapes[name] = len(partitions), len(members)
    assert shapes == {
        "one subscription": (500, 2000),
        "one differs": (500, 2000),
        "half and half": (100, 500),
        "few topics each": (40, 200),
    }


def test_subscriptions_of_the_unequal_groups() -> None:
    _, members = one_differs(topics=4, size=2, members=3)
    assert [len(member.topics) for member in members.values()] == [4, 4, 1]
    _, members = half_and_half(topics=4, size=2, members=5)
    assert [member.topics[0][-1] for member in members.values()] == ["0", "2", "2", "2", "0"]


def test_the_next_round_has_owned_partitions_and_departures() -> None:
    _, owning = again("sticky", few_topics_each())
    assert owning[min(owning)].owned == ()
    assert sum(bool(member.owned) for member in owning.values()) > 100
    assert len(leave_some(owning)) == 150


def test_without_peers_only_kspec_is_measured() -> None:
    times = Peers(None, {}, repeat=2, patience=1).measure("range", few_topics_each(), "few")
    assert list(times) == ["kspec"]
    assert 0 < times["kspec"].best <= times["kspec"].median


def test_a_peer_that_fails_has_no_time() -> None:
    def fails(*_: object) -> None:
        raise KeyError

    times = Peers(None, {"range": fails}, 1, 1).measure("range", few_topics_each(), "few")
    assert list(times) == ["kspec"]


def test_times_are_the_best_and_the_median() -> None:
    assert Times.of([3, 1, 2]) == Times(1, 2)
    assert [in_words(seconds) for seconds in (1.5, 0.0123)] == ["1.5 s", "12.3 ms"]


def test_a_picture_has_a_named_line_for_each_assignor() -> None:
    lines = [Line("ours & theirs", [(100, 0.5), (1000, 7)]), Line("b", [(100, 1), (1000, 2)])]
    drawn = ET.fromstring(log_log(lines, across="members", up="seconds"))
    names = [element.text for element in drawn.iter() if element.tag.endswith("text")]
    assert sum(element.tag.endswith("polyline") for element in drawn.iter()) == 2
    assert {"ours & theirs", "b", "members", "seconds", "100", "1,000"} <= set(names)


def test_a_request_encodes_topics_and_text() -> None:
    text, topics = question("range", {"t": 1}, {"m": Member(["u"], rack="r")}, {"t": [["a"]]})
    assert topics == ["t", "u"]
    assert text == "range 0 2 .0074 1 1 1 .0061 .0075 0 0 1 .006d - .0072 - - 1 1 0\n"


JAVA_AND_JAR = pytest.mark.skipif(
    shutil.which("javac") is None or find_jar() is None,  # it is compiled first
    reason=f"needs Java and Kafka's own classes: {HOW_TO_GET}",
)


@pytest.mark.slow
@JAVA_AND_JAR
def test_kafkas_assignors_agree_with_the_specification() -> None:
    jar = find_jar()
    assert jar is not None
    racks = {"t": [["a"], ["b"], ["b"]]}
    members = kafka_order({"é": Member(["t"], rack="b"), "m": Member(["t"], rack="a")})
    with KafkaJava(jar, memory="512m") as kafka:
        for strategy, assign in ASSIGNORS.items():
            ours = assign({"t": 3}, members, racks=racks)
            assert kafka.assign(strategy, {"t": 3}, members, racks) == ours
        kafka.seconds("range", {"t": 3}, members, measurements=2)
        assert len(kafka.seconds_again(3)) == 3
        impossible = {"a": Member([], [TopicPartition("t", 1)], 1), "b": Member(["t"], (), 1)}
        with pytest.raises(KafkaRaises, match="IllegalStateException"):
            kafka.assign("sticky", {"t": 1}, impossible)
