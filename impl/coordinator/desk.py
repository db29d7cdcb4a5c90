"""What the handlers share: the groups, the timers, and what comes of the call under way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Protocol

import attrs

from impl.coordinator.answers import JOINED, SYNCED
from impl.coordinator.group import Group, Member, Parked
from impl.coordinator.timers import TimerKey, TimerKind, Timers
from spec.messages import Answer, Error, Joined, JoinGroup, Record, Settings, Synced
from spec.vocabulary import TopicPartition

Caller = Hashable


@attrs.define
class Outcome:
    """What comes of one call."""

    answers: list[tuple[Caller, Answer]]
    """To whom which answer goes: to the one who called, and to those who waited."""
    records: Sequence[Record] = ()
    """What is to be written to the offsets topic, in this order."""
    pending: int | None = None
    """The ticket for `GroupCoordinator.stored`, if something waits until they are replicated."""


class Waiting(Protocol):
    """What is done once records are replicated, or could not be."""

    def stored(self, desk: Desk, ticket: int, error: Error) -> None:
        """The records are replicated; or they are not, for this reason."""


class Desk:
    """The groups of one partition of the offsets topic, and the means to deal with them."""

    __slots__ = (
        "_answers",
        "_parked",
        "_pending",
        "_records",
        "_tickets",
        "clock",
        "groups",
        "new_member_id",
        "partition_exists",
        "settings",
        "timers",
        "topics_of",
        "waiting",
    )

    def __init__(
        self,
        settings: Settings,
        timers: Timers,
        new_member_id: Callable[[JoinGroup], str],
        clock: Callable[[], int],
        topics_of: Callable[[Hashable], Collection[str] | None],
        partition_exists: Callable[[TopicPartition], bool],
    ) -> None:
        self.settings = settings
        self.timers = timers
        self.new_member_id = new_member_id
        self.clock = clock
        self.topics_of = topics_of
        self.partition_exists = partition_exists
        self.groups: dict[str, Group] = {}
        self.waiting: dict[int, Waiting] = {}
        """By ticket."""
        self._parked: dict[Caller, list[Parked]] = {}
        self._tickets = 0
        self._answers: list[tuple[Caller, Answer]] = []
        self._records: list[Record] = []
        self._pending: int | None = None

    # -- what comes of a call --------------------------------------------------------------

    def answer(self, caller: Caller, answer: Answer) -> None:
        """Answer somebody."""
        self._answers.append((caller, answer))

    def write(self, *records: Record) -> None:
        """Records for the offsets topic; nothing waits for them."""
        self._records.extend(records)

    def write_and_wait(self, waiting: Waiting, *records: Record) -> int:
        """Records for the offsets topic, and what is to be done once they are replicated."""
        self.write(*records)
        self._tickets += 1
        self.waiting[self._tickets] = waiting
        self._pending = self._tickets
        return self._tickets

    def outcome(self) -> Outcome:
        """What has come of the call that ends here."""
        answers = self._answers
        self._answers = []
        if not self._records:
            return Outcome(answers)
        outcome = Outcome(answers, self._records, self._pending)
        self._records, self._pending = [], None
        return outcome

    # -- requests that are answered later --------------------------------------------------

    def park(self, caller: Caller) -> Parked:
        """Keep a caller waiting."""
        parked = Parked(caller)
        self._parked.setdefault(caller, []).append(parked)
        return parked

    def release(self, parked: Parked, answer: Answer | None) -> None:
        """Answer who has waited; not if it was forgotten, or another waits in its place."""
        if parked.forgotten:
            return
        others = self._parked[parked.caller]
        others.remove(parked)
        if not others:
            del self._parked[parked.caller]
        if answer is not None:
            self.answer(parked.caller, answer)

    def forget(self, caller: Caller) -> None:
        """A caller has gone. What it asked for goes on; its answers go nowhere."""
        for parked in self._parked.pop(caller, ()):
            parked.forgotten = True

    def park_join(self, group: Group, member: Member, caller: Caller) -> None:
        """A member waits for the round to end; who asks twice is answered once, in the end."""
        if member.join is None:
            group.joined += 1
        else:
            self.release(member.join, None)
        member.join = self.park(caller)

    def answer_join(self, group: Group, member: Member, answer: Joined) -> None:
        """Answer a member's join, if it waits."""
        if member.join is not None:
            self.release(member.join, answer)
            member.join = None
            group.joined -= 1

    def park_sync(self, member: Member, caller: Caller) -> None:
        """A member waits for its assignment."""
        if member.sync is not None:
            self.release(member.sync, None)
        member.sync = self.park(caller)

    def answer_sync(self, member: Member, answer: Synced) -> None:
        """Answer a member's sync, if it waits."""
        if member.sync is not None:
            self.release(member.sync, answer)
            member.sync = None

    # -- groups and members ----------------------------------------------------------------

    def create(self, group_id: str) -> Group:
        """A group that was not there before."""
        group = self.groups[group_id] = Group(group_id, self.clock())
        return group

    def expect_sign_of_life(self, member: Member) -> None:
        """Set a member's timer anew."""
        new = member.is_new
        delay = self.settings.new_member_timeout if new else member.session_timeout
        self.timers.schedule(member.timer, delay)

    def remove(self, group: Group, member: Member, error: Error = Error.UNKNOWN_MEMBER_ID) -> None:
        """Drop a member, whatever that means for the group; its requests get this answer."""
        self.answer_join(group, member, JOINED[error])
        self.answer_sync(member, SYNCED[error])
        self.timers.cancel(member.timer)
        group.remove(member)

    def drop_pending(self, group: Group, member_id: str) -> None:
        """An id that was given out is of no use any more."""
        group.pending_joins.discard(member_id)
        self.timers.cancel(group.pending_timer(member_id))

    def member_timer(self, group: Group, member_id: str) -> TimerKey:
        """The timer of a member that is about to be added."""
        return TimerKey(TimerKind.MEMBER, group.id, member_id)
