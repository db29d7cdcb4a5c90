"""Random histories: mostly the next step of a healthy rebalance, otherwise any request.

Each request is the best of a few candidates: the one whose deciding guard was seen least, in
this state of the group, by this kind of request. So guards that rarely decide are aimed at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import attrs

from kspec.field.conform.guards import Coverage, decide, edge_of
from kspec.field.conform.history import (
    APIS,
    LONG,
    OLDER,
    TOPIC,
    AnyRequest,
    Ask,
    Pause,
    Send,
    Step,
)
from kspec.field.conform.requests import RandomRequests
from kspec.field.conform.translate import with_version
from kspec.field.conform.worlds import Moment, World, forget, longest_delay, new_world, possible
from kspec.spec.coordinator import Group, GroupMember
from kspec.spec.core import evolve
from kspec.spec.messages import (
    NO_MEMBER_ID,
    DeleteGroup,
    GroupState,
    JoinGroup,
    LeaveGroup,
    Offset,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    Protocol,
    Settings,
    SyncGroup,
)
from kspec.spec.serving.fetch import Fetch
from kspec.spec.serving.list_offsets import (
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    EpochOfLeader,
    ListOffsets,
)
from kspec.spec.serving.partition import PARTITION
from kspec.spec.serving.produce import FLAWS, Produce
from kspec.spec.vocabulary import TopicPartition

NAMES = ("range", "sticky", "roundrobin")
Draw = Callable[[], AnyRequest]


@attrs.define
class Author(RandomRequests):
    """Generates one history."""

    random: Random
    settings: Settings
    versions: Mapping[str, tuple[int, int]]
    """The lowest and highest version of each API that both sides know."""
    profile: str
    coverage: Coverage
    world: World = attrs.field(init=False)
    """A state that the broker may be in after the steps so far."""
    issued: list[str] = attrs.field(init=False, factory=list)
    """Every member id that was ever issued."""
    number: int = attrs.field(init=False, default=0)
    now: float = attrs.field(init=False, default=0.0)

    def __attrs_post_init__(self) -> None:
        self.world = new_world(self.settings)

    @property
    def group(self) -> Group:
        """The group after the steps so far."""
        return self.world.group

    def write(self, steps: int) -> list[Step]:
        """A history of so many steps."""
        return [self.step() for _ in range(steps)]

    def step(self) -> Step:
        """The next step; the state after it is one of those that are possible."""
        step = self.draw_step()
        if isinstance(step, Pause):
            self.now += step.milliseconds / 1000 + self.initial_delay
        for ask in step.asks:
            self.coverage.add(self.world, ask)
        self.now += 0.001
        worlds = possible([forget(self.world)], step.asks, Moment(self.now, self.now))
        self.world = min(worlds, key=repr) if len(worlds) > 1 else worlds.pop()
        self.issued += [ask.symbol for ask in step.asks if isinstance(ask.request, JoinGroup)]
        return step

    @property
    def initial_delay(self) -> float:
        """The initial delay, in seconds, until it has certainly ended."""
        return longest_delay([self.world], self.now - 0.01)

    def draw_step(self) -> Step:
        """A step of the profile."""
        waits = self.group.in_initial_delay and self.settings.initial_rebalance_delay
        if waits and self.chance(0.4):
            return Pause(0)
        if self.profile == "timers" and self.chance(0.25):
            return Pause(self.random.choice((50, 150, 400, 900)))
        size = self.random.choices((1, 2, 3), (92, 6, 2))[0]
        if self.profile in ("timers", "records"):
            size = 1
        return Send(tuple(self.ask() for _ in range(size)))

    def ask(self) -> Ask:
        """A request: the next of a healthy rebalance, or the least seen of some."""
        self.number += 1
        if self.chance(0.45):
            helpful = self.helpful()
            if helpful is not None:
                return self.numbered(helpful)
        drawn = [self.numbered(self.any_request()) for _ in range(6)]
        return min(drawn, key=self.seen)

    def seen(self, ask: Ask) -> int:
        """How often the guard was seen that decides this request."""
        return self.coverage.edges[edge_of(self.world, ask, decide(self.world, ask))]

    def numbered(self, request: AnyRequest) -> Ask:
        """The request in a version that the broker knows."""
        lowest, highest = self.versions[APIS[type(request)]]
        version = highest if self.chance(0.6) else self.random.randint(lowest, highest)
        if isinstance(request, LeaveGroup) and len(request.members) > 1:
            version = max(version, min(3, highest))
        ask = with_version(request, version)
        if isinstance(ask.request, JoinGroup):
            ask = evolve(ask, request=evolve(ask.request, client=f"k{self.number}"))
        return evolve(ask, number=self.number)

    # -- a healthy rebalance ----------------------------------------------------------------------

    def helpful(self) -> AnyRequest | None:
        """The next request of a healthy rebalance, if there is one."""
        if self.profile == "records":
            return self.valid_records_request()
        group = self.group
        members = group.members
        match group.state:
            case GroupState.DEAD | GroupState.EMPTY:
                if group.pending:
                    return self.join_of_pending()
                return self.join(member=NO_MEMBER_ID, instance=self.instance(0.3))
            case GroupState.PREPARING_REBALANCE:
                if group.pending and self.chance(0.6):
                    return self.join_of_pending()
                missing = [m for m in members if m.awaiting_join is None]
                return self.rejoin(self.random.choice(missing)) if missing else None
            case GroupState.COMPLETING_REBALANCE:
                unsynced = [m for m in members if m.awaiting_sync is None]
                if not unsynced:
                    return None
                member = self.random.choice(unsynced)
                return self.sync(member.id, member.instance, group.generation)
            case _:
                if len(members) < 3 and self.chance(0.4):
                    return self.join(member=NO_MEMBER_ID, instance=self.instance(0.3))
                static = [m for m in members if m.instance is not None]
                if static and self.chance(0.3):
                    return self.restart(self.random.choice(static))
                return None

    # -- requests ---------------------------------------------------------------------------------

    def any_request(self) -> AnyRequest:
        """A request of the profile."""
        draws: tuple[Draw, ...]
        weights: tuple[int, ...]
        if self.profile == "offsets":
            draws = (
                self.commit,
                self.fetch,
                self.offset_delete,
                self.delete,
                self.any_join,
                self.leave,
            )
            weights = (45, 25, 8, 4, 10, 8)
        elif self.profile == "records":
            draws = self.produce, self.fetch_records, self.list_offsets, self.end_of_epoch
            weights = (40, 25, 20, 15)
        else:
            draws = (
                self.any_join, self.any_sync, self.heartbeat, self.leave, self.commit, self.fetch,
                self.delete, self.offset_delete,
            )  # fmt: skip
            weights = (34, 22, 12, 12, 12, 3, 3, 2)
        while True:
            request = self.random.choices(draws, weights)[0]()
            if APIS[type(request)] in self.versions:
                return request

    def join_of_pending(self) -> JoinGroup:
        """The JoinGroup of a pending member."""
        return self.join(member=self.random.choice(sorted(self.group.pending)), instance=None)

    def restart(self, member: GroupMember) -> JoinGroup:
        """The first JoinGroup of a static member that restarted."""
        return evolve(self.rejoin(member), member=NO_MEMBER_ID)

    def join(self, **details: Any) -> JoinGroup:
        """A JoinGroup whose other fields are random."""
        own = f"k{self.number}".encode()
        names = self.random.choices(
            (NAMES[:2], NAMES[1::-1], NAMES[:1], NAMES, NAMES[2:], ()), (50, 20, 15, 8, 5, 2)
        )[0]
        settings = self.settings
        longest, shortest = settings.max_session_timeout, settings.min_session_timeout
        valid = min(LONG, longest)
        rebalance = LONG
        if self.profile == "timers":
            valid = max(shortest, self.random.choice((700, 1500)))
            rebalance = self.random.choice((400, 900, 2000))
        session = self.random.choices(
            (valid, shortest - 1, min(longest + 1, 2**31 - 1)), (94, 3, 3)
        )
        defaults = {
            "protocols": tuple(Protocol(name, own + name[:1].encode()) for name in names),
            "protocol_type": self.random.choices(("consumer", "connect", ""), (94, 4, 2))[0],
            "session_timeout": session[0],
            "rebalance_timeout": rebalance,
        }
        return JoinGroup(**(defaults | details))

    def sync(self, member_id: str, instance: str | None, generation: int) -> SyncGroup:
        """A SyncGroup with assignments, of which a leader may omit some."""
        group = self.group
        ids = [*(m.id for m in group.members), "nobody"]
        given = tuple((m, f"{m}@{self.number}".encode()) for m in ids if self.chance(0.8))
        if group.leader != member_id and self.chance(0.8):
            given = ()
        types = (group.protocol_type or "consumer", None, "connect")
        names = (group.protocol or "range", None, "other")
        return SyncGroup(
            member_id,
            generation,
            given,
            instance,
            self.random.choices(types, (90, 5, 5))[0],
            self.random.choices(names, (90, 5, 5))[0],
        )

    def partitions(self) -> tuple[TopicPartition, ...]:
        """Some partitions; one may not exist."""
        pool = (*(TopicPartition(TOPIC, index) for index in (0, 1)), TopicPartition("none", 0))
        count = self.random.choice((1, 1, 2))
        return tuple(dict.fromkeys(self.random.choices(pool, (45, 45, 10), k=count)))

    def commit(self) -> OffsetCommit:
        """Offsets with metadata that may be too long."""
        limit = self.settings.max_metadata
        notes = "", "note", "x" * limit, "x" * (limit + 1)
        offsets = tuple(
            (
                tp,
                Offset(
                    self.random.randrange(1000),
                    self.random.choices(notes, (60, 34, 3, 3))[0],
                    self.random.choice((-1, 0, 5)),
                ),
            )
            for tp in self.partitions()
        )
        if self.chance(0.35):
            return OffsetCommit(offsets)
        member_id, instance = self.identity()
        return OffsetCommit(offsets, member_id, self.generation(), instance)

    def fetch(self) -> OffsetFetch:
        """The offsets of some partitions, or of all."""
        return OffsetFetch(None if self.chance(0.3) else self.partitions())

    def delete(self) -> DeleteGroup:
        """The group is deleted."""
        return DeleteGroup()

    def offset_delete(self) -> OffsetDelete:
        """Offsets are deleted."""
        return OffsetDelete(self.partitions())

    # -- records ----------------------------------------------------------------------------------

    def somewhere(self) -> TopicPartition:
        """The partition; sometimes one that does not exist."""
        others = TopicPartition(TOPIC, 1), TopicPartition("none", 0)
        return self.random.choices((PARTITION, *others), (94, 3, 3))[0]

    def epoch(self) -> int:
        """A leader epoch: mostly the current one, or none."""
        return self.random.choices((-1, 0, OLDER, 1), (45, 40, 7, 8))[0]

    def produce(self) -> Produce:
        """A batch: of any producer, or of an idempotent one."""
        times = tuple(self.random.randrange(100) for _ in range(self.random.choice((1, 1, 2, 3))))
        request = Produce(
            self.somewhere(),
            times,
            self.random.choice(FLAWS) if self.chance(0.15) else "",
            self.random.choices((-1, 1, 2), (70, 25, 5))[0],
        )
        if "init_producer_id" not in self.versions or self.chance(0.4):
            return request
        known = self.world.partition.producer
        epoch = known.epoch + self.random.choices((0, 1, -1), (85, 8, 7))[0]
        if self.chance(0.25) and known.batches:  # the same batch once more
            again = self.random.choice(known.batches)
            times = (0,) * (again.offset_delta + 1)
            return evolve(request, times=times, epoch=max(epoch, 0), sequence=again.first_sequence)
        following = known.last_sequence + 1
        off = self.random.choices((0, 1, -1), (80, 10, 10))[0]
        if epoch != known.epoch and self.chance(0.7):
            following = off = 0
        return evolve(request, epoch=max(epoch, 0), sequence=max(following + off, 0))

    def valid_records_request(self) -> AnyRequest:
        """A batch that is appended, or an offset by time."""
        times = tuple(self.random.randrange(100) for _ in range(self.random.choice((1, 2, 3))))
        known = self.world.partition.producer
        if self.chance(0.3):
            return ListOffsets(time=self.random.randrange(100))
        if "init_producer_id" not in self.versions or self.chance(0.3):
            return Produce(times=times)
        return Produce(times=times, epoch=max(known.epoch, 0), sequence=known.last_sequence + 1)

    def fetch_records(self) -> Fetch:
        """A fetch: mostly from an offset of the log."""
        end = self.world.partition.log.end
        offset = self.random.choice((0, end, self.random.randint(0, end), end + 1, -1))
        most = self.random.choice((1, 200, 2**20))
        return Fetch(self.somewhere(), offset, max(self.epoch(), -1), self.chance(0.5), most)

    def list_offsets(self) -> ListOffsets:
        """The log's end, its start, or an offset by time."""
        special = LATEST, EARLIEST, MAX_TIMESTAMP
        time = self.random.choice((*special, self.random.randrange(110)))
        return ListOffsets(self.somewhere(), time, self.epoch(), self.chance(0.5))

    def end_of_epoch(self) -> EpochOfLeader:
        """Where an epoch ended: the current one, a later one, or one that never was."""
        asked = self.random.choice((0, 0, 1, OLDER, -1))
        return EpochOfLeader(self.somewhere(), asked, self.epoch())


def write_history(
    seed: int,
    index: int,
    steps: int,
    settings: Settings,
    versions: Mapping[str, tuple[int, int]],
    profile: str,
    coverage: Coverage,
) -> list[Step]:
    """The history with this index of a seed; `coverage` counts what histories aimed at so far."""
    random = Random(f"{seed} {profile} {index}")
    return Author(random, settings, versions, profile, coverage).write(steps)
