"""Files and options: whose settings they hold, which value is in effect, what is ignored."""

from __future__ import annotations

from pathlib import Path

import pytest

from kspec.field.advice.advice import ASSUMED, settings_from
from kspec.field.advice.catalogue import catalogue
from kspec.field.advice.settings import Refused, Settings
from kspec.field.advice.sources import Source, from_option, read_source
from kspec.spec.core import SpecError

NOW = catalogue("4.1")
EXAMPLES = Path(__file__).parents[2] / "cases" / "advise"


def source(tmp_path: Path, text: str | bytes, kind: str | None = None, name: str = "a") -> Source:
    file = tmp_path / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_source(file, kind, NOW)


@pytest.mark.parametrize(
    ("text", "taken_as"),
    [
        ("broker.id=1\nmin.insync.replicas=2", "settings of a broker"),
        ("min.insync.replicas=2", "settings of a broker"),
        ("min.insync.replicas=2\nretention.ms=1", "settings of a topic"),
        ("bootstrap.servers=a\nlinger.ms=1", "settings of a producer"),
        ("bootstrap.servers=a\ngroup.id=g", "settings of a consumer"),
    ],
)
def test_a_file_is_taken_for_what_its_settings_say(
    tmp_path: Path, text: str, taken_as: str
) -> None:
    assert source(tmp_path, text).taken_as == taken_as


def test_an_option_says_whose_a_file_is(tmp_path: Path) -> None:
    assert source(tmp_path, "min.insync.replicas=2", "topic").given[0].kind == "topic"
    assert source(tmp_path, "", "producer").given == []


def problems(found: Source) -> dict[str, str]:
    return {remark.setting: f"{remark.problem}; {remark.fix}" for remark in found.remarks}


def test_what_kafka_ignores_is_named(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbfbroker.id=1\nmin.insync.replica=2\nlog.dirs=/a\nacks=all\nfoo=1\n"
    found = problems(source(tmp_path, text + b"zookeeper.connect=z\nnode.id=1\nnode.id=2"))
    assert "write min.insync.replicas" in found["min.insync.replica"]
    assert "setting of a producer, and a broker ignores it" in found["acks"]
    assert "removed in 4.0" in found["zookeeper.connect"]
    assert "byte order mark" in found["\xef\xbb\xbfbroker.id"]
    assert "on lines 7 and 8; Kafka uses the last" in found["node.id"]
    assert len(found) == 5


PLUGINS = (
    "super.users",
    "allow.everyone.if.no.acl.found",
    "rsm.config.fs.root",
    "rlmm.config.remote.log.metadata.topic.replication.factor",
    "confluent.license.topic.replication.factor",
    "confluent.offsets.topic.replication.factor",
    "cruise.control.metrics.reporter.bootstrap.servers",
    "schema.registry.url",
    "auto.register.schemas",
    "basic.auth.user.info",
)


@pytest.mark.parametrize("kind", ["broker", "producer", "consumer"])
def test_settings_of_plugins_are_counted_and_no_problem(tmp_path: Path, kind: str) -> None:
    found = source(tmp_path, "".join(f"{name}=1\n" for name in [*PLUGINS, PLUGINS[0]]), kind)
    assert [r.setting for r in found.remarks] == ["super.users"]  # it is given twice
    assert found.not_kafkas == list(PLUGINS)


@pytest.mark.parametrize(
    ("kind", "wrong", "meant"),
    [
        ("broker", "min.insync.replica", "min.insync.replicas"),
        ("broker", "default.replicaton.factor", "default.replication.factor"),
        ("producer", "ack", "acks"),
        ("producer", "enable.idempotense", "enable.idempotence"),
        ("consumer", "boostrap.servers", "bootstrap.servers"),
    ],
)
def test_a_misspelt_setting_is_a_problem(tmp_path: Path, kind: str, wrong: str, meant: str) -> None:
    found = source(tmp_path, f"{wrong}=1", kind)
    assert problems(found)[wrong].endswith(f"; write {meant} if you mean that")
    assert not found.not_kafkas


def test_a_listeners_own_settings_are_known(tmp_path: Path) -> None:
    found = source(tmp_path, "node.id=1\nlistener.name.internal.ssl.keystore.location=/k")
    assert not found.remarks


CONFIGS = """\
Dynamic configs for broker 1 are:
  min.insync.replicas=2 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:min.insync.replicas=2, \
STATIC_BROKER_CONFIG:min.insync.replicas=1, DEFAULT_CONFIG:min.insync.replicas=1}
  ssl.key.password=null sensitive=true synonyms={DYNAMIC_BROKER_CONFIG:ssl.key.password=null}
Default configs for brokers in the cluster are:
  unclean.leader.election.enable=true sensitive=false synonyms={\
DYNAMIC_DEFAULT_BROKER_CONFIG:unclean.leader.election.enable=true, \
DEFAULT_CONFIG:unclean.leader.election.enable=false}
"""


def test_dynamic_settings_come_before_static_ones(tmp_path: Path) -> None:
    static = "node.id=1\nmin.insync.replicas=3\nunclean.leader.election.enable=false"
    sources = [source(tmp_path, CONFIGS, name="d"), source(tmp_path, static, name="s")]
    for some in (sources, sources[::-1]):
        s = Settings(NOW, [one for each in some for one in each.given])
        assert s.number("topic", "min.insync.replicas") == 2
        assert "DYNAMIC_BROKER_CONFIG" in s.value("topic", "min.insync.replicas").origin
        assert s.truth("topic", "unclean.leader.election.enable") is True


def test_a_setting_of_one_broker_is_not_that_of_all(tmp_path: Path) -> None:
    s = Settings(NOW, source(tmp_path, CONFIGS).given)
    assert ["set for broker 1 only" in r.problem for r in s.remarks.values()] == [True]


def test_a_topic_overrides_its_broker(tmp_path: Path) -> None:
    broker = source(tmp_path, CONFIGS, name="b").given
    topic = source(tmp_path, "min.insync.replicas=1", "topic", name="t").given
    assert Settings(NOW, [*topic, *broker]).number("topic", "min.insync.replicas") == 1
    option = from_option("min.insync.replicas=3", NOW)
    assert Settings(NOW, [option, *topic, *broker]).number("topic", "min.insync.replicas") == 3


def test_brokers_that_differ_are_named(tmp_path: Path) -> None:
    one = source(tmp_path, "node.id=1\nmin.insync.replicas=1", name="one").given
    two = source(tmp_path, "node.id=1\nmin.insync.replicas=2", name="two").given
    s = Settings(NOW, [*one, *two])
    assert s.number("topic", "min.insync.replicas") == 2
    assert list(s.remarks) == [("broker", "min.insync.replicas")]
    assert "1 in " in s.remarks["broker", "min.insync.replicas"].problem


def test_a_described_topic_has_its_replication_factor() -> None:
    described = read_source(EXAMPLES / "halting" / "topic.txt", None, NOW)
    s = Settings(NOW, described.given)
    assert s.number("topic", "replication.factor") == 3
    assert s.number("topic", "min.insync.replicas") == 3


def test_a_listed_value_may_have_commas(tmp_path: Path) -> None:
    configs = "cleanup.policy=compact,delete,x=1"
    text = f"Topic: a\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: {configs}"
    found = source(tmp_path, text)
    assert [(g.name, g.text) for g in found.given][1:] == [
        ("cleanup.policy", "compact,delete"),
        ("x", "1"),
    ]
    assert (found.remarks, found.not_kafkas) == ([], ["x"])


def test_three_replicas_are_assumed_where_no_number_is_given() -> None:
    s = settings_from(NOW, [], [])
    assert s.number("topic", "replication.factor") == 3
    assert "assumed" in s.value("topic", "replication.factor").origin
    given = settings_from(NOW, [], [from_option("default.replication.factor=2", NOW)])
    assert given.number("topic", "replication.factor") == 2


def test_the_default_number_of_replicas_applies_to_a_brokers_file(tmp_path: Path) -> None:
    broker = source(tmp_path, "node.id=1", name="broker")
    factor = settings_from(NOW, [broker], []).value("topic", "replication.factor")
    assert (factor.value, factor.origin) == (1, "the default of Kafka 4.1")
    producer = source(tmp_path, "acks=all", name="producer")
    dynamic = source(tmp_path, CONFIGS, name="dynamic")
    for others in ([producer], [dynamic], [producer, dynamic]):
        s = settings_from(NOW, others, [])
        assert s.value("topic", "replication.factor").origin == ASSUMED
    assert settings_from(NOW, [producer, broker], []).number("topic", "replication.factor") == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"foo=1\nbar=2", "no setting of Kafka 4.1 was found"),
        (b"", "no setting of Kafka 4.1 was found"),
        (b"acks=" + b"a" * 2**20, "a properties file has at most 1 MiB"),
        (b"acks=\\u00", "line 1: a .u escape needs four hexadecimal digits"),
        (b"a\0c\0k\0s\0", "is not text; is it UTF-16, or binary"),
        (b"Dynamic configs for broker 1 are:\nwhat=1", "line 2: not what kafka-configs"),
        (b"Dynamic configs for user-principal 'a' are:\n", "line 1: settings of a user-principal"),
        (b"Dynamic configs for topic a are:\nDynamic configs for topic b are:\n", "several topics"),
        (b"Topic: a\tReplicationFactor: 1\nTopic: b\tReplicationFactor: 1", "several topics"),
        (b"Topic: \xff\tReplicationFactor: 1\n", "line 1: not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_understood_is_refused(
    tmp_path: Path, text: bytes, problem: str
) -> None:
    with pytest.raises(SpecError, match=problem):
        source(tmp_path, text)


def test_every_value_that_kafka_refuses_is_named_with_its_line(tmp_path: Path) -> None:
    found = source(tmp_path, "acks=2\nretries=many\nlinger.ms=${env:LINGER}")
    with pytest.raises(Refused) as refused:
        Settings(NOW, found.given)
    assert [problem.partition(": ")[0][-6:] for problem in refused.value.problems] == [
        "line 1",
        "line 2",
        "line 3",
    ]
    assert "acks must be one of all, -1, 0, 1, not '2'" in refused.value.problems[0]
    assert "config providers are not resolved" in refused.value.problems[2]


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("acks", "--set takes NAME=VALUE"),
        ("aks=all", "did you mean acks"),
        ("request.timeout.ms=1", "write broker:request.timeout.ms or producer:"),
        ("group:acks=1", "not of a 'group'"),
        ("consumer:acks=1", "a consumer has no setting acks: it is a setting of a producer"),
        ("producer:replication.factor=3", "a producer has no setting replication.factor"),
        ("zookeeper.connect=z", "removed in 4.0"),
    ],
)
def test_an_option_that_names_no_setting_is_refused(option: str, problem: str) -> None:
    with pytest.raises(SpecError, match=problem):
        from_option(option, NOW)


def test_an_option_may_say_whose_setting_it_is() -> None:
    assert from_option("producer:request.timeout.ms=1", NOW).kind == "producer"
