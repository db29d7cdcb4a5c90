"""A running Kafka 4.0.0 answers producers and zombies as the model `transactions` says.

Skipped with a reason where Java or Maven is missing. `game` says what is compared, and how.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing

import pytest

from kspec.spec.core import Always, Blocked, Rule, evolve
from kspec.spec.transactions import variants
from kspec.spec.transactions.state import Application, Phase
from kspec.traces.trace import Trace
from tests.known import explore_learned as explore
from tests.real_broker import real_broker
from tests.spec.transactions.clients import Librdkafka, results_of
from tests.spec.transactions.game import ANSWERS, Game
from tests.spec.transactions.requests import BOUNDS, TRANSACTIONS, sender_of
from tests.spec.transactions.wire import Wire

pytestmark = [pytest.mark.slow, pytest.mark.other_software]

WALKS, STEPS = 20, 40
"""How many random behaviours of each variant are played, and how long they are."""


@pytest.fixture(scope="module")
def version_1() -> Iterator[str]:
    """A broker with transactions version 1."""
    with real_broker(format_options=("--feature", "transaction.version=1")) as address:
        yield address


@pytest.fixture(scope="module")
def version_2() -> Iterator[str]:
    """A broker with transactions version 2."""
    with real_broker(format_options=("--feature", "transaction.version=2")) as address:
        yield address


@pytest.fixture(params=["kafka-3.7", "kafka-4.0", "kip-447"])
def variant(request: pytest.FixtureRequest) -> str:
    """A variant whose rules 4.0.0 has: 3.7 with transactions version 1, and two of version 2."""
    return str(request.param)


def new_game(request: pytest.FixtureRequest, variant: str) -> Game:
    """A game on a broker that has the rules of this variant."""
    if variant == "kafka-3.7":
        return Game(request.getfixturevalue("version_1"), variant)
    address = request.getfixturevalue("version_2")
    return Game(address, variant, in_group=variant == "kip-447", adds_two=True)


# -- zombies --------------------------------------------------------------------------------------

BEGIN_1 = (
    "coordinator_initializes_producer 0",
    "consumer_fetches_stable_offset 0",
    "consumer_polls 0",
    "producer_adds_partition 0",
    "producer_produces_verified 0",
)
BEGIN_2 = (*BEGIN_1[:3], "producer_produces_v2 0")
FENCE = (
    "group_assigns_input 1",
    "coordinator_fences_producer 1",
    "coordinator_initializes_producer 1",
)
ZOMBIES = {
    # the transactions version and the zombie's request: the behaviour, and the error of its end
    "1 AddPartitionsToTxn": (*BEGIN_1[:3], *FENCE[::2], "producer_adds_partition 0"),
    "1 Produce": (*BEGIN_1[:4], *FENCE, "producer_produces_verified 0"),
    "1 AddOffsetsToTxn": (*BEGIN_1, *FENCE, "producer_adds_offsets 0"),
    "1 TxnOffsetCommit": (
        *BEGIN_1,
        "producer_adds_offsets 0",
        *FENCE,
        "producer_sends_offsets_verified 0",
    ),
    "1 EndTxn": (
        *BEGIN_1,
        "producer_adds_offsets 0",
        "producer_sends_offsets_verified 0",
        *FENCE,
        "producer_commits 0",
    ),
    "1 InitProducerId": (
        *BEGIN_1[:4],
        "produce_is_delayed 0",
        "producer_aborts 0",
        *FENCE[::2],
        "producer_bumps_epoch 0",
    ),
    "2 Produce": (*BEGIN_2[:3], *FENCE[::2], "producer_produces_v2 0"),
    "2 TxnOffsetCommit": (*BEGIN_2, *FENCE, "producer_sends_offsets_v2 0"),
    "2 EndTxn": (*BEGIN_2, "producer_sends_offsets_v2 0", *FENCE, "producer_commits_v2 0"),
}


@pytest.mark.parametrize("zombie", ZOMBIES)
def test_a_zombie_is_answered_as_the_model_says(
    zombie: str, request: pytest.FixtureRequest
) -> None:
    version, name = zombie.split()
    with closing(new_game(request, "kafka-3.7" if version == "1" else "kafka-4.0")) as game:
        game.play(*ZOMBIES[zombie][:-1])
        assert not game.seen
        game.play(ZOMBIES[zombie][-1])
        assert {api for api, _ in game.seen} == {name}
        game.settle()


def test_a_late_produce_without_transaction_is_refused(version_1: str) -> None:
    with closing(Game(version_1, "kafka-3.7")) as game:
        game.play(*BEGIN_1[:4], "produce_is_delayed 0", "producer_aborts 0")
        game.play("late_produce_arrives_verified")
        assert game.seen == {("Produce", "coordinator verifies the partition")}
        game.settle()


def test_offsets_of_an_earlier_generation_are_refused(version_2: str) -> None:
    """KIP-447: a zombie with its own transactional id is not fenced, but its offsets are."""
    with closing(Game(version_2, "kip-447", in_group=True, adds_two=True)) as game:
        game.play(
            "coordinator_initializes_own_id 0",
            "consumer_fetches_stable_offset 0",
            "consumer_polls 0",
            "producer_produces_v2 0",
            "group_assigns_input 1",
            "coordinator_initializes_own_id 1",
        )
        assert not game.seen
        game.play("producer_sends_offsets_in_generation 0")
        assert game.seen == {("TxnOffsetCommit", "generation is current")}
        game.play("producer_aborts_v2 0", "consumer_fetches_stable_offset 1")
        game.play("consumer_polls 1", "producer_produces_v2 1")
        game.play("producer_sends_offsets_in_generation 1", "producer_commits_v2 1")
        game.settle()
        assert game.state.committed_offset == 1


def test_the_next_owner_waits_for_pending_offsets(version_2: str) -> None:
    """KIP-447: offsets that a zombie sent before the rebalance are waited for."""
    with closing(Game(version_2, "kip-447", in_group=True, adds_two=True)) as game:
        game.play(
            "coordinator_initializes_own_id 0",
            "consumer_fetches_stable_offset 0",
            "consumer_polls 0",
            "producer_produces_v2 0",
            "producer_sends_offsets_in_generation 0",
            "group_assigns_input 1",
            "coordinator_initializes_own_id 1",
            "consumer_fetches_stable_offset 1",
        )
        assert game.seen == {("OffsetFetch", "no transactional offset is pending")}
        game.play("producer_commits_v2 0", "consumer_fetches_stable_offset 1")
        game.settle()


# -- every request --------------------------------------------------------------------------------


def test_random_behaviours_are_answered_as_the_model_says(
    variant: str, request: pytest.FixtureRequest
) -> None:
    """Requests of both instances and late ones, also those that a guard blocks."""
    seen: set[tuple[str, str]] = set()
    played: Counter[str] = Counter()
    for seed in range(WALKS):
        with closing(new_game(request, variant)) as game:
            walk(game, random.Random(seed), played)
            game.settle()
            seen |= game.seen
    known = {rule.name for rule in game.system.rules if is_played(game, rule.name, request=True)}
    assert known <= set(played)
    assert len(seen) >= 5
    for _, guard in seen:
        assert guard in TRANSACTIONS.answers


def walk(game: Game, rng: random.Random, played: Counter[str]) -> None:
    """Play a random behaviour, with requests that are refused in between.

    Half of the steps are of the rules that were played least, or the rare ones would never be.
    """
    for _ in range(STEPS):
        taken, refused = [], []
        for name, rule in game.rules.items():
            if not is_played(game, name):
                continue
            for choice in rule.instances(game.state):
                after = rule.attempt(game.state, choice)
                if not isinstance(after, Blocked):
                    taken.append((name, choice))
                elif (sender_of(name)[0], after.guard) in ANSWERS:
                    refused.append((name, choice))
        rare = [step for step in taken if step[0] != "group_assigns_input"]
        if rare and rng.random() < 0.9:  # rebalances remain for later
            taken = rare
        pool = refused if refused and (not taken or rng.random() < 0.3) else taken
        if not pool:
            return
        if rng.random() < 0.5:
            least = min(played[name] for name, _ in pool)
            pool = [step for step in pool if played[step[0]] == least]
        step = rng.choice(pool)
        played[step[0]] += 1
        game.step(*step)


def is_played(game: Game, name: str, *, request: bool = False) -> bool:
    """Whether a rule is the test's to play; with `request`, whether it sends one.

    Kafka takes the other steps by itself. `kip-447` has the markers of 4.2, and 4.0.0 has not.
    """
    if "marker" in name and "later" in str(game.rules.get("partition_appends_later_marker")):
        return False
    try:
        return sender_of(name)[0] is not None or not request
    except KeyError:
        return False


@pytest.mark.parametrize("request_and_guard", ANSWERS, ids=" - ".join)
def test_the_model_documents_the_error(request_and_guard: tuple[str, str]) -> None:
    assert ANSWERS[request_and_guard] in TRANSACTIONS.answers[request_and_guard[1]]


# -- faults of 4.0.0 ------------------------------------------------------------------------------

FAULTS = [
    (variant.name, name, expected.bounds)
    for variant in (variants.KAFKA_3_7, variants.KAFKA_4_0)
    for name, expected in variant.violates.items()
]


@pytest.mark.parametrize(("name", "violated", "bounds"), FAULTS)
def test_a_counterexample_happens_on_the_broker(
    name: str, violated: str, bounds: Mapping[str, int], request: pytest.FixtureRequest
) -> None:
    """A late EndTxn or marker ends the next transaction (KAFKA-19446)."""
    (violation,) = explore(TRANSACTIONS.system(name, bounds).with_properties([violated])).violations
    assert violation.trace is not None
    (broken,) = (p for p in TRANSACTIONS.properties if p.name == violated)
    assert isinstance(broken, Always)
    with closing(new_game(request, name)) as game:
        for rule, choice in playable(game, violation.trace):
            game.step(rule, choice)
        game.settle()
        assert broken.failure(game.state) is not None


def playable(game: Game, trace: Trace) -> list[tuple[str, tuple[int, ...]]]:
    """The steps of a counterexample that are the test's to play.

    Where a late marker follows a commit, it arrives just before it: after a commit, the broker
    writes its own markers at once.
    """
    taken = [(step.rule, tuple(step.choices.values())) for step in trace.steps]
    steps = [step for step in taken if is_played(game, step[0])]
    for at, (rule, _) in enumerate(steps):
        if rule == "late_marker_arrives" and steps[at - 1][0].startswith("producer_commits"):
            steps[at - 1 : at + 1] = steps[at], steps[at - 1]
    return steps


# -- clients --------------------------------------------------------------------------------------


@pytest.mark.parametrize("last", ["Produce", "EndTxn"])
@pytest.mark.parametrize("version", ["version_1", "version_2"])
def test_a_zombie_client_reports_what_the_model_says(
    version: str, last: str, request: pytest.FixtureRequest
) -> None:
    """Its producer (2.16) speaks transactions version 1, also to a broker of version 2."""
    address = request.getfixturevalue(version)
    name = f"librdkafka-{last}"
    wire = Wire(address, {})
    wire.create_topic(name)
    rules = {rule.name: rule for rule in TRANSACTIONS.system("kafka-3.7", BOUNDS).rules}
    zombie, heir = Librdkafka(address, name), Librdkafka(address, name)
    with closing(wire), closing(zombie), closing(heir):
        s = after(rules, TRANSACTIONS.system("kafka-3.7", BOUNDS).initial()[0], *BEGIN_1)
        zombie.begin()
        assert zombie.produce(name, 0) == "NONE"
        if last == "EndTxn":
            s = after(rules, s, "producer_adds_offsets 0", "producer_sends_offsets_verified 0")
        s = after(rules, s, *FENCE[:2], "partition_appends_marker 0 0")
        if last == "EndTxn":
            s = after(rules, s, "partition_appends_marker 0 1")
        s = after(rules, s, "coordinator_completes_transaction 0", FENCE[2])
        heir.begin()

        if last == "Produce":
            # A second record: the model has one of each transaction.
            own = evolve(s.instances[0], phase=Phase.ADDED)
            s = evolve(s, instances=(own, s.instances[1]))
            blocked = rules["producer_produces_verified"].attempt(s, (0,))
            answer = zombie.produce(name, 0)
        else:
            blocked = rules["producer_commits"].attempt(s, (0,))
            answer = zombie.commit()
        assert isinstance(blocked, Blocked)
        assert answer == ANSWERS[last, blocked.guard]

        assert heir.produce(name, 7) == "NONE"
        assert heir.commit() == "NONE"
        assert results_of(address, name) == [7]


def after(rules: Mapping[str, Rule[Application]], s: Application, *steps: str) -> Application:
    """The state of the model after these steps."""
    for step in steps:
        name, *choice = step.split()
        then = rules[name].attempt(s, tuple(map(int, choice)))
        assert not isinstance(then, Blocked), (step, then)
        s = then
    return s
