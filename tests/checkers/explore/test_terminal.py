"""The explorer in a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.text import Text

from kspec.checkers.explore.session import Session
from kspec.checkers.explore.terminal import COMMANDS, HELP, Lines, Terminal
from kspec.checkers.models.find import find_model
from kspec.spec.core import SpecError
from tests.known import KIP_101_LOSS


def plain(lines: Lines) -> list[str]:
    return [line.plain if isinstance(line, Text) else line for line in lines]


def terminal(model: str = "replication", variant: str | None = "kip-101") -> Terminal:
    return Terminal(Session(find_model(model).system(variant)))


def test_the_beginning_shows_the_state_and_what_is_enabled() -> None:
    lines = plain(terminal("die-hard", None).begin())
    assert lines == [
        "die-hard, die-hard. Type help for the commands.",
        "",
        "   1  initial",
        "      state  small 0  big 0",
        "      1  fill_small",
        "      2  fill_big",
        "      3  empty_small",
        "      4  empty_big",
        "      5  pour_small_into_big",
        "      6  pour_big_into_small",
    ]


def test_the_loss_is_reached_by_hand_and_replayed_saved_and_loaded(tmp_path: Path) -> None:
    one = terminal()
    for step in KIP_101_LOSS:
        lines = plain(one.do(step))
    assert "    ✗ StrongIsr fails at offset 0 on broker 2, committed by broker 1" in lines
    itf, page = tmp_path / "lost file.itf.json", tmp_path / "lost.html"
    assert plain(one.do(f"save '{itf}'")) == [f"Written: {itf}"]
    plain(one.do(f"page {page}"))
    assert "StrongIsr" in page.read_text(encoding="utf-8")
    says = plain(one.do("what-if kip-320"))[0]
    assert "Step 11 of 11 is not possible: leader_expands_isr is blocked by: " in says
    assert one.at.system.variant.name == "kip-320"
    branches = plain(one.do("branches"))
    assert [("✗ StrongIsr" in line, "(here)" in line) for line in branches] == [
        (True, False),
        (False, True),
    ]
    compared = plain(one.do("compare 11"))
    assert "      quorum.isr  – | 2" in compared
    other = terminal(variant="kip-320")
    assert "StrongIsr fails" in "\n".join(plain(other.do(f"load '{itf}'")))
    assert len(plain(other.do("steps"))) == 12
    plain(other.do("back 4"))
    assert other.at.number == 8
    plain(other.do("back"))
    plain(other.do("go #1"))
    assert other.at.id == 1


def test_blocked_rules_name_their_guards() -> None:
    lines = plain(terminal().do("blocked"))
    assert "      leader_appends: leader presumes leadership: leader=0; leader=1; leader=2" in lines
    assert "      broker_becomes_leader: there is nothing to choose from" in lines


def test_a_search_lists_the_steps_on_the_way() -> None:
    one = terminal("die-hard", None)
    lines = plain(one.do("find big == 4"))
    assert lines[0].startswith("6 steps away: big == 4 (states explored: ")
    assert [line.split()[0] for line in lines[1:7]] == ["2", "3", "4", "5", "6", "7"]
    assert "    ✗ GoalIsNeverMeasured fails at 4 litres in the big jug" in lines
    assert plain(one.do("find big == 4")) == ["This state already satisfies it: big == 4."]
    assert plain(one.do("find big == 6"))[0].startswith("Not reachable from here: ")


def test_a_walk_and_the_whole_state() -> None:
    one = terminal("die-hard", None)
    plain(one.do("walk 3 7"))
    assert one.at.number <= 4
    [state] = plain(one.do("state"))
    assert state.split()[:2] == ["state", "small"]
    plain(one.do("walk"))
    assert not plain(one.do("  "))


def test_where_behaviours_part_is_listed() -> None:
    one = terminal("partition", "kafka-0.10")
    plain(one.do("what-if kafka-0.11"))
    assert one.at.system.variant.name == "kafka-0.11"


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("0", "no rule has the number 0"),
        ("99", "no rule has the number 99"),
        ("9" * 5000, "a number is needed"),
        ("fill_smal", "did you mean fill_small"),
        ("walkk", "did you mean walk"),
        ("fill_small x=1", "fill_small has no choice x=1 here"),
        ("back x", "a number is needed, not 'x'"),
        ("go 99", "there is no state 99"),
        ("find", "a name expected"),
        ("find big >", "a name expected at the end"),
        ("what-if", "name a variant: "),
        ("what-if x", "no variant of die-hard"),
        ("save", "name one file"),
        ("save a b", "name one file"),
        ("save 'a", "No closing quotation"),
        ("load /nonexistent/file", "cannot read /nonexistent/file"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(typed: str, says: str) -> None:
    one = terminal("die-hard", None)
    with pytest.raises(SpecError) as refused:
        plain(one.do(typed))
    assert says in str(refused.value)


def test_help_names_every_command() -> None:
    one = terminal("die-hard", None)
    assert plain(one.do("help")) == HELP.splitlines()
    for name in COMMANDS:
        assert name == "help" or name in HELP
    plain(one.do("quit"))
    assert one.has_ended
