"""The sheet: one array on which a state lies unpacked, with everything needed to work on it.

Compiled functions take a pointer to it, change what lies there, and know its places by the names
here. So whatever they need is at hand, and nothing is made anew for each state.

A member id is a number: its consumer's, times the ids that each may get, plus which of them. So
their order is that of their names. A set of members or partitions is a mask; a list of members
has a number, by which tables know it.
"""

from __future__ import annotations

MOST_CONSUMERS = 4
MOST_MEMBERS = 8
"""Member ids, ever: a list of members takes four bits for each."""

# -- the group in its coordinator's memory ----------------------------------------------------

STATE = 0
PREVIOUS = 1
GENERATION = 2
LEADER = 3
"""A member id; 0 where there are no members."""
MEMBERS = 4
"""The list of the members in the order in which they were added."""
PENDING = 5
"""The mask of the ids that were given out."""
JOINED_MEANWHILE = 6
DELAY_LEFT = 7
WAIT = 8
"""By member id: what it waits for, or is waited for."""
GIVEN = WAIT + MOST_MEMBERS
"""By member id: the mask of its assignment."""

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = range(5)
"""The states of a group."""

AT_REST, OWES_SYNC, SYNCS, SYNCS_UNHEARD, JOINS, JOINS_UNHEARD, JOINS_NEW, NEW_UNHEARD = range(8)
"""What the coordinator knows of a member's requests. Unheard: who sent it has hung up. New: it
was in no generation yet. Who is no member is at rest."""

# -- the group in the offsets topic -----------------------------------------------------------

STORED_GENERATION = GIVEN + MOST_MEMBERS
"""0 where nothing is stored."""
STORED_LEADER = STORED_GENERATION + 1
STORED_MEMBERS = STORED_GENERATION + 2
STORED_GIVEN = STORED_GENERATION + 3

# -- the world --------------------------------------------------------------------------------

COORDINATOR = STORED_GIVEN + MOST_MEMBERS
GROWN = COORDINATOR + 1
"""How many partitions the topic has got."""
CRASHES = GROWN + 1
LOSSES = GROWN + 2
EARLY = GROWN + 3
STALLS = GROWN + 4
LEAVES = GROWN + 5
COMMIT_BEHIND = GROWN + 6
COMMIT_BESIDE = GROWN + 7

# -- the consumers: each of these at CONSUMERS + CONSUMER_SIZE * the consumer's number --------

CONSUMERS = COMMIT_BESIDE + 1
CONSUMER_SIZE = 21

PHASE = 0
STALLED = 1
MEMBER = 2
"""Which of its ids it goes by, from 1; 0 for none."""
OF_GENERATION = 3
"""0 for none."""
HELD = 4
"""The mask of partitions that it owns, or was told of, or the answer on its way tells it of."""
TOLD = 5
"""Whether it was told of them, and its listener was not."""
WANTS_TO_REJOIN = 6
PLANNED = 7
"""How far the topic had grown when it assigned, and one; 0 if it did not."""
KNOWS = 8
"""The number of the coordinator that it found, and one; 0 for none."""
CALL = 9
ANSWERED_MEMBER = 10
"""Which of its ids the answer to its JoinGroup names."""
ANSWERED_GENERATION = 11
CALL_SAYS = 12
"""FOLLOWS: the leader's id. LEADS, SKIPS: the list of members. SYNC: the mask of those in the
leader's plan."""
LATE = 13
"""NOTHING, JOIN or SYNC."""
LATE_MEMBER = 14
LATE_GENERATION = 15
LATE_PLAN = 16
"""The mask of those in the plan of a late SyncGroup, and how far the topic had grown then."""
LATE_GROWN = 17
BEAT = 18
BEAT_IS_OLD = 19
IDS = 20

OUT, JOINING, SYNCING, AT_WORK, CRASHED, CLOSED, FENCED = range(7)
"""The phases of a consumer; at work it is stable. The last three are gone."""

NO_ERROR, UNKNOWN_MEMBER, ILLEGAL_GENERATION, FENCED_INSTANCE, NOT_COORDINATOR = range(5)
REBALANCING, NOT_AVAILABLE = 5, 6
ERRORS = 7

NOTHING, JOIN, SYNC = range(3)
FOLLOWS, LEADS, SKIPS = 3, 4, 5
"""JoinGroup is answered with a generation: to a follower, to the leader, to one that need not
assign."""
TAKE_ID = 6
JOIN_FAILS = 6
"""JoinGroup is answered with an error, which is added."""
SYNCED = 13
SYNC_FAILS = 13
"""SyncGroup is answered with an error, which is added."""
CALLS = SYNC_FAILS + ERRORS

# -- beside the state: how it began, the bounds, and tables -----------------------------------

STATE_SIZE = CONSUMERS + MOST_CONSUMERS * CONSUMER_SIZE
BEFORE = STATE_SIZE
"""The state that is expanded, while its successors are made of it."""

VARIANT = 2 * STATE_SIZE
HOW_MANY = VARIANT + 1
"""Consumers."""
IDS_EACH = VARIANT + 2
STATIC = VARIANT + 3
PARTITIONS = VARIANT + 4
"""At first."""
GROWTHS = VARIANT + 5
GENERATIONS = VARIANT + 6
MOST_CRASHES = VARIANT + 7
FAILOVERS = VARIANT + 8
MOST_LOSSES = VARIANT + 9
MOST_EARLY = VARIANT + 10
MOST_STALLS = VARIANT + 11
MOST_LEAVES = VARIANT + 12
ALL_IDS = VARIANT + 13
"""How many member ids there are."""
FANOUT = VARIANT + 14
WORDS = VARIANT + 15
"""How many words a state takes."""
LONGER_AT = VARIANT + 16
"""Where the table of longer lists begins."""

PACKED = VARIANT + 17
"""By word: the state that is expanded."""
OWNER = PACKED + STATE_SIZE // 16
"""By member id: its consumer."""
NTH = OWNER + MOST_MEMBERS
"""By member id: which of its consumer's ids it is, from 1."""
BLOCK = 16
"""So many fields, side by side on the sheet, are in the same word."""
MOST_WORDS = STATE_SIZE // BLOCK
WORD = NTH + MOST_MEMBERS
"""By word: the block that its fields begin with; after the last word, how many blocks there are."""
SHIFT = WORD + MOST_WORDS + 1
"""By place on the sheet: where in its word the field begins."""
MASK = SHIFT + STATE_SIZE
LISTS = MASK + STATE_SIZE
"""By list: its members, each as its id and one, the first in the lowest four bits."""

EAGER, NO_GENERATION_CHECK, BEFORE_12890, BEFORE_9801, BEFORE_8104, BEFORE_394 = range(6)
"""The variants."""
