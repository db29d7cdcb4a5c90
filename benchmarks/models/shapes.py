"""State graphs of many shapes: deep, flat, wide, dense; and rules that compute much or read much."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from math import gcd

from attrs import frozen

from benchmarks.models import model
from kspec.spec.core import always, bound, constant, evolve, limit, reachable, replaced, rule

# -- one long line ----------------------------------------------------------------------------------


@frozen
class Counter:
    n: int = 0


@rule(by="counter")
def step(s):
    yield limit("top"), s.n < 20_000
    return Counter(s.n + 1)


@always
def NeverNegative(s):
    """The number is not negative."""
    return s.n >= 0


LINE = model("line", "20,001 states in a line.", lambda b: [Counter()], [step], [NeverNegative])


# -- ten lines beside each other --------------------------------------------------------------------


@frozen
class Lane:
    lane: int
    n: int = 0


@rule(by="lane")
def advance(s):
    yield limit("end"), s.n < 2_000
    return evolve(s, n=s.n + 1)


@rule(by="lane")
def jump(s):
    yield "at a multiple", s.n % 10 == s.lane
    yield limit("end"), s.n < 1_990
    return Lane((s.lane + 1) % 10, s.n + 3)


@always
def InALane(s):
    """There are ten lanes."""
    return 0 <= s.lane < 10 and s.n >= 0


LANES = model(
    "lanes",
    "Thin levels, 2,000 of them.",
    lambda b: [Lane(k) for k in range(10)],
    [advance, jump],
    [InALane],
)


# -- a grid -----------------------------------------------------------------------------------------


@frozen
class Grid:
    x: int = 0
    y: int = 0


@rule(by="x")
def move_x(s):
    yield limit("end"), s.x < 170
    return evolve(s, x=s.x + 1)


@rule(by="y")
def move_y(s):
    yield limit("end"), s.y < 170
    return evolve(s, y=s.y + 1)


@always
def InGrid(s):
    """Inside."""
    return s.x <= 170 and s.y <= 170


GRID = model("grid", "Two counters.", lambda b: [Grid()], [move_x, move_y], [InGrid])


# -- many fields ------------------------------------------------------------------------------------


@frozen
class Wide:
    a: int = 0
    b: int = 0
    c: int = 0
    d: bool = False
    e: bool = False
    f: str = "off"
    g: str = "off"
    h: int | None = None
    i: int = 0
    j: int = 0
    k: bool = False
    l: bool = False  # noqa: E741
    m: int = 0
    n: tuple[int, int] = (0, 0)


@rule(by="user", name=lambda s: "abcij")
def count_one(s, name):
    yield "below", getattr(s, name) < 1 + (name in "ab")
    return evolve(s, **{name: getattr(s, name) + 1})


@rule(by="user", name=lambda s: "dekl")
def flip(s, name):
    yield "not set", not getattr(s, name)
    return evolve(s, **{name: True})


@rule(by="user", name=lambda s: "fg")
def switch(s, name):
    yield "off, and a flag", getattr(s, name) == "off" and s.d
    return evolve(s, **{name: "on"})


@rule(by="user")
def settle(s):
    yield "both on", s.f == s.g == "on" and s.h is None
    return evolve(s, h=s.a + s.b, m=1, n=(s.i, s.j))


@always
def SettledOnce(s):
    """What is settled has a time."""
    return (s.h is None) == (s.m == 0)


WIDE = model(
    "wide", "Fourteen fields.", lambda b: [Wide()], [count_one, flip, switch, settle], [SettledOnce]
)


# -- independent switches ---------------------------------------------------------------------------


@frozen
class Switches:
    on: tuple[bool, ...] = (False,) * 13


@rule(by="user", k=lambda s: range(13))
def press(s, k):
    return Switches(replaced(s.on, k, not s.on[k]))


@always
def NotMoreThanThere(s):
    """There are thirteen."""
    return sum(s.on) <= 13


SWITCHES = model(
    "switches", "A cube of 13 dimensions.", lambda b: [Switches()], [press], [NotMoreThanThere]
)


# -- many initial states ----------------------------------------------------------------------------


@frozen
class Number:
    n: int
    steps: int = 0


@rule(by="number")
def collatz(s):
    yield "not one", s.n != 1
    yield limit("steps"), s.steps < 2
    return Number(s.n // 2 if s.n % 2 == 0 else 3 * s.n + 1, s.steps + 1)


@always
def Positive(s):
    """Numbers are positive."""
    return s.n > 0


INITIAL = model(
    "initial",
    "12,000 initial states.",
    lambda b: [Number(n) for n in range(1, 12_001)],
    [collatz],
    [Positive],
)


# -- a tree -----------------------------------------------------------------------------------------


@frozen
class Node:
    n: int = 1


@rule(by="node", side=lambda s: (0, 1))
def child(s, side):
    yield limit("depth"), s.n < 16_384
    return Node(2 * s.n + side)


@always
def AtLeastOne(s):
    """The root is one."""
    return s.n >= 1


TREE = model("tree", "A binary tree.", lambda b: [Node()], [child], [AtLeastOne])


# -- a dense graph ----------------------------------------------------------------------------------


@frozen
class Pair:
    a: int = 0
    b: int = 0


@rule(by="user", a=lambda s: range(32), b=lambda s: range(32))
def choose(s, a, b):
    yield "related", (s.a + s.b + a * b) % 7 == 0
    return Pair(a, b)


@always
def Small(s):
    """Both are small."""
    return s.a < 32 and s.b < 32


DENSE = model("dense", "A thousand choices in a state.", lambda b: [Pair()], [choose], [Small])


# -- many choices, of which few are enabled ---------------------------------------------------------


@frozen
class Board:
    pieces: tuple[int, ...] = (0, 9, 18)


@rule(by="player", piece=lambda s: range(3), to=lambda s: range(36))
def move(s, piece, to):
    x, y = divmod(s.pieces[piece], 6)
    u, v = divmod(to, 6)
    yield "a knight's move", {abs(x - u), abs(y - v)} == {1, 2}
    yield "free", to not in s.pieces
    return Board(replaced(s.pieces, piece, to))


@reachable
def KnightsAreInACorner(s):
    """All can be in a corner."""
    return set(s.pieces) == {0, 1, 6}


KNIGHTS = model(
    "knights",
    "108 choices, few of which are enabled.",
    lambda b: [Board()],
    [move],
    [KnightsAreInACorner],
)


# -- forty rules ------------------------------------------------------------------------------------


@frozen
class Registers:
    r: tuple[int, ...] = (0, 0, 0, 0, 0)


def assignment(number):
    a, b, c = number % 5, number // 5 % 5, number % 4

    def body(s):
        yield "different", s.r[a] != (s.r[b] + c) % 5
        return Registers(replaced(s.r, a, (s.r[b] + c) % 5))

    body.__name__ = f"assign_{number}"
    return rule(by="program")(body)


@always
def BelowFive(s):
    """Registers are below five."""
    return max(s.r) < 5


RULES = model(
    "rules",
    "Forty rules.",
    lambda b: [Registers()],
    [assignment(k) for k in range(40)],
    [BelowFive],
)


# -- puzzles ----------------------------------------------------------------------------------------


@frozen
class Permutation:
    items: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6)


@rule(by="player", k=lambda s: range(2, 8))
def reverse(s, k):
    return Permutation(s.items[:k][::-1] + s.items[k:])


@always
def APermutation(s):
    """Nothing is lost."""
    return set(s.items) == set(range(7))


PANCAKES = model(
    "pancakes", "All permutations of seven.", lambda b: [Permutation()], [reverse], [APermutation]
)


@frozen
class Tiles:
    tiles: str = "1234567_"


@rule(by="player", step=lambda s: (-4, -1, 1, 4))
def slide(s, step):
    hole = s.tiles.index("_")
    to = hole + step
    yield "on the board", 0 <= to < 8 and (abs(step) == 4 or hole // 4 == to // 4)
    tiles = list(s.tiles)
    tiles[hole], tiles[to] = tiles[to], tiles[hole]
    return Tiles("".join(tiles))


TILES = model("tiles", "Sliding tiles, as text.", lambda b: [Tiles()], [slide])


@frozen
class Hanoi:
    pegs: tuple[tuple[int, ...], ...] = (tuple(range(9, 0, -1)), (), ())


@rule(by="monk", a=lambda s: range(3), b=lambda s: range(3))
def move_disc(s, a, b):
    yield "a disc", a != b and len(s.pegs[a]) > 0
    yield "smaller", not s.pegs[b] or s.pegs[b][-1] > s.pegs[a][-1]
    pegs = replaced(s.pegs, a, s.pegs[a][:-1])
    return Hanoi(replaced(pegs, b, (*pegs[b], s.pegs[a][-1])))


@always
def PegsAreSorted(s):
    """No disc is on a smaller one."""
    return all(list(peg) == sorted(peg, reverse=True) for peg in s.pegs)


HANOI = model("hanoi", "Towers.", lambda b: [Hanoi()], [move_disc], [PegsAreSorted])


@frozen
class Queens:
    placed: tuple[int, ...] = ()


@rule(by="player", column=lambda s: range(8))
def place_queen(s, column):
    yield limit("board"), len(s.placed) < 8
    row = len(s.placed)
    yield "safe", all(column != c and abs(column - c) != row - r for r, c in enumerate(s.placed))
    return Queens((*s.placed, column))


@reachable
def EightAreSafe(s):
    """Eight queens can be placed."""
    return len(s.placed) == 8


QUEENS = model("queens", "Eight queens.", lambda b: [Queens()], [place_queen], [EightAreSafe])


# -- nothing repeats: all of a state is mixed -------------------------------------------------------


@frozen
class Mixed:
    a: int
    b: int
    c: int
    d: int


def mixed(*numbers):
    made = 0x9E37
    for number in numbers:
        made = (made ^ number) * 0x85EB % 0xFFF1
    return made


@rule(by="mixer")
def mix(s):
    h = mixed(s.a, s.b, s.c, s.d)
    return Mixed(h % 16, h // 16 % 16, h // 256 % 16, (s.a + h) % 8)


@rule(by="mixer")
def mix_back(s):
    h = mixed(s.d, s.c, s.b, s.a)
    yield "even", h % 3 > 0
    return Mixed((h + s.d) % 16, h // 7 % 16, h // 99 % 16, h % 8)


@always
def MixedIsSmall(s):
    """No mix is a certain number."""
    return mixed(s.a, s.b, s.c, s.d) < 0xFFF1


SCRAMBLE = model(
    "scramble", "Every rule reads and changes all of the state.",
    lambda b: [Mixed(a, a * 7 % 16, a % 5, a % 8) for a in range(16)], [mix, mix_back], [MixedIsSmall],
)  # fmt: skip


@frozen
class Sponge:
    words: tuple[int, ...]
    round: int = 0


@rule(by="mixer", key=lambda s: range(3))
def absorb(s, key):
    yield limit("rounds"), s.round < 9
    h = mixed(key, *s.words)
    return Sponge((h % 251, *s.words[:5]), s.round + 1)


@always
def WordsAreBytes(s):
    """Words are bytes, and their mix too."""
    return all(0 <= word < 251 for word in s.words) and mixed(*s.words) >= 0


SPONGE = model(
    "sponge",
    "A new value in each state.",
    lambda b: [Sponge((1, 2, 3, 4, 5, 6))],
    [absorb],
    [WordsAreBytes],
)


@frozen
class Big:
    n: int = 1


@rule(by="generator", k=lambda s: (3, 5))
def generate(s, k):
    return Big((s.n * (2 * k + 1) + k) % 30_011)


@always
def BelowModulus(s):
    """The number is below the modulus."""
    return s.n < 30_011


GENERATOR = model(
    "generator", "One number, and no pattern.", lambda b: [Big()], [generate], [BelowModulus]
)


# -- rules that compute much ------------------------------------------------------------------------


def slow(n):
    """The number of smaller numbers without a common divisor."""
    return sum(gcd(n, k) == 1 for k in range(1, n))


@frozen
class Heavy:
    a: int = 1
    b: int = 1
    c: int = 0


@rule(by="computer")
def compute_a(s):
    return evolve(s, a=(s.a + slow(900 + 7 * s.a)) % 25)


@rule(by="computer")
def compute_b(s):
    return evolve(s, b=(s.b + slow(1300 + 7 * s.b)) % 23)


@rule(by="computer")
def count_up(s):
    return evolve(s, c=(s.c + 1) % 60)


@always
def NothingIsTooLarge(s):
    """Small numbers."""
    return s.a < 25 and s.b < 23


HEAVY = model(
    "heavy",
    "Much computing for each value.",
    lambda b: [Heavy()],
    [compute_a, compute_b, count_up],
    [NothingIsTooLarge],
)


@rule(by="computer", k=lambda s: (1, 2))
def compute_all(s, k):
    n = slow(500 + s.a * 3 + s.b * 5 + s.c * 7)
    return Heavy((s.a + n) % 25, (s.b + k) % 23, (s.c + n + k) % 10)


HEAVY_WHOLE = model(
    "heavy-whole",
    "Much computing for each state.",
    lambda b: [Heavy()],
    [compute_all],
    [NothingIsTooLarge],
)


@frozen
class Life:
    cells: tuple[bool, ...]


@cache
def neighbours(k):
    x, y = k % 4, k // 4
    around = [(x + dx, y + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy]
    return [a + 4 * b for a, b in around if 0 <= a < 4 and 0 <= b < 3]


@rule(by="nature")
def generation(s):
    return Life(
        tuple(
            sum(s.cells[n] for n in neighbours(k)) in ((2, 3) if alive else (3,))
            for k, alive in enumerate(s.cells)
        )
    )


@rule(by="nature", k=lambda s: range(12))
def be_born(s, k):
    yield "dead", not s.cells[k]
    return Life(replaced(s.cells, k, True))


LIFE = model(
    "life", "A rule about all cells.", lambda b: [Life((False,) * 12)], [generation, be_born]
)


# -- properties about everything --------------------------------------------------------------------


@frozen
class Matrix:
    rows: tuple[tuple[int, ...], ...] = ((0, 0, 0),) * 3


@rule(by="user", x=lambda s: range(3), y=lambda s: range(3))
def add(s, x, y):
    yield limit("small"), s.rows[y][x] < 2
    return Matrix(replaced(s.rows, y, replaced(s.rows[y], x, s.rows[y][x] + 1)))


@always
def RowsAndColumns(s):
    """The sums of rows and of columns are equal, in any order."""
    yield "sums", sum(map(sum, s.rows)) == sum(sum(row[k] for row in s.rows) for k in range(3))
    for order in permutations(range(3)):
        yield f"order {order}", sum(sum(s.rows[k]) for k in order) <= 18


MATRIX = model(
    "matrix", "A property about everything.", lambda b: [Matrix()], [add], [RowsAndColumns]
)


# -- the same in larger bounds: a family ------------------------------------------------------------


@frozen
class Size:
    processes: int = bound(7, 1, 9, "processes")
    steps: int = bound(4, 1, 99, "steps of each")


@frozen
class Processes:
    at: tuple[int, ...]
    bounds: Size = constant()


@rule(by="process", k=lambda s: range(s.bounds.processes))
def process_steps(s, k):
    yield limit("steps"), s.at[k] < s.bounds.steps
    yield "not too far ahead", s.at[k] - min(s.at) < 3
    return evolve(s, at=replaced(s.at, k, s.at[k] + 1))


@always
def ProcessesStayClose(s):
    """No process is far ahead of another."""
    return max(s.at) - min(s.at) <= 3


PROCESSES = model(
    "processes", "Processes that wait for each other.",
    lambda bounds: [Processes((0,) * bounds.processes, bounds=bounds)], [process_steps], [ProcessesStayClose], bounds=Size,
)  # fmt: skip
