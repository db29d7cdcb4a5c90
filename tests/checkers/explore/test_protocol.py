"""The explorer's requests and answers, without a browser."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kspec.checkers.explore.protocol import REQUESTS, Explorer
from kspec.checkers.explore.seek import Found
from kspec.checkers.explore.session import Session
from kspec.checkers.models.find import find_model, registered_models
from tests.known import KIP_101_LOSS

Ask = Callable[..., dict[str, Any]]


def asking(explorer: Explorer) -> Ask:
    """Ask an explorer, through JSON as a page does; an error fails the test."""

    def ask(do: str, **more: Any) -> dict[str, Any]:
        request = json.loads(json.dumps({"do": do, **more}))
        answer: dict[str, Any] = json.loads(json.dumps(explorer.answer(request)))
        assert "error" not in answer, answer
        return answer

    return ask


def explorer(model: str = "replication", variant: str | None = "kip-101") -> Explorer:
    return Explorer(Session(find_model(model).system(variant)))


def line(rule: dict[str, Any], move: dict[str, Any]) -> str:
    """A move as a story writes it."""
    return " ".join([rule["name"], *(f"{k}={v}" for k, v in move["choices"].items())])


def take(ask: Ask, at: int, wanted: str, known: int = 0) -> dict[str, Any]:
    """Take the enabled move of that line."""
    for rule in ask("look", node=at)["rules"]:
        for index, move in enumerate(rule["moves"]):
            if line(rule, move) == wanted:
                assert "blocked" not in move, move
                return ask("take", node=at, rule=rule["name"], choice=index, known=known)
    raise AssertionError(wanted)


def reach_loss(ask: Ask) -> int:
    """Take the steps to the loss by hand; the number of the last state."""
    at = ask("describe")["at"]
    for step in KIP_101_LOSS:
        at = take(ask, at, step)["at"]
    return int(at)


@pytest.mark.parametrize("name", registered_models())
def test_every_model_is_described_and_looked_at(name: str) -> None:
    ask = asking(explorer(name, None))
    about = ask("describe")
    model = find_model(name)
    assert about["model"] == name
    assert [v["name"] for v in about["variants"]] == [v.name for v in model.variants]
    assert about["variant"] == model.variant().name
    assert about["goals"][-1] == "deadlock"
    rules = ask("look", node=about["at"])["rules"]
    assert [rule["name"] for rule in rules] == [rule.name for rule in model.variant().rules]
    assert all("blocked" in move or "known" in move for rule in rules for move in rule["moves"])


def test_the_loss_of_kip_101_is_reached_by_hand_and_replayed_under_kip_320() -> None:
    ask = asking(explorer())
    lost = reach_loss(ask)
    seen = ask("look", node=lost)
    assert [found["says"] for found in seen["failing"]] == [
        "StrongIsr fails at offset 0 on broker 2, committed by broker 1."
    ]
    assert seen["failing"][0]["promise"].startswith("Every record below a presumed leader's")
    other = ask("what-if", node=lost, variant="kip-320", known=lost + 1)
    assert "is blocked by: " in other["says"]
    assert all(not node["failing"] for node in other["nodes"])
    compared = ask("compare", left=lost, right=other["at"])
    assert compared["fork"] == 0
    assert {"at": "quorum.isr", "left": "2", "right": ""} in compared["differences"]


def test_an_answer_has_only_the_nodes_that_the_page_does_not_know() -> None:
    ask = asking(explorer())
    about = ask("describe")
    assert [node["id"] for node in about["nodes"]] == [0]
    taken = take(ask, 0, KIP_101_LOSS[0], known=1)
    assert [node["id"] for node in taken["nodes"]] == [1]
    assert taken["nodes"][0]["parent"] == 0
    again = take(ask, 0, KIP_101_LOSS[0], known=2)
    assert (again["nodes"], again["at"]) == ([], 1)
    moves = [m for rule in ask("look", node=0)["rules"] for m in rule["moves"]]
    assert [move["known"] for move in moves if move.get("known") is not None] == [1]
    described = ask("describe")
    assert [node["id"] for node in described["nodes"]] == [0, 1]


def test_a_behaviour_is_saved_and_loaded_into_another_session() -> None:
    ask = asking(explorer())
    lost = reach_loss(ask)
    saved = ask("save", node=lost, **{"as": "itf"})
    assert saved["name"] == "replication-kip-101-12.itf.json"
    other = asking(explorer(variant="kip-320"))
    other("describe")
    loaded = other("load", text=saved["text"], name=saved["name"])
    end = next(node for node in loaded["nodes"] if node["id"] == loaded["at"])
    assert (end["variant"], end["failing"]) == ("kip-101", ["StrongIsr"])
    assert end["scene"]["number"] == 12
    page = ask("save", node=lost, **{"as": "page"})
    assert page["name"] == "replication-kip-101-12.html"
    assert "StrongIsr fails at offset 0" in page["text"]


def test_walks_and_variants() -> None:
    ask = asking(explorer("die-hard", None))
    at = ask("describe")["at"]
    walked = ask("walk", node=at, steps=6, seed=1)
    assert walked == ask("walk", node=at, steps=6, seed=1)
    assert ask("begin", variant="die-hard")["at"] == at


def finished(ask: Ask, explorer: Explorer) -> dict[str, Any]:
    """The result of the search, once it has one."""
    if explorer.search is not None:
        explorer.search.join(timeout=600)
    return ask("progress")


def test_a_search_runs_beside_other_requests() -> None:
    one = explorer("die-hard", None)
    ask = asking(one)
    at = ask("describe")["at"]
    assert ask("seek", node=at, goal="big == 4") == {"running": True}
    ask("look", node=at)
    found = finished(ask, one)
    assert found["found"]
    assert found["says"].startswith("6 steps away: big == 4 (states explored: ")
    assert ask("look", node=found["at"])["failing"]
    ask("seek", node=at, goal="big == 6")
    assert not finished(ask, one)["found"]


def test_a_search_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    one = explorer("die-hard", None)
    ask = asking(one)
    at = ask("describe")["at"]
    stopped = threading.Event()

    def endless(seeker: Any) -> Found:
        while not seeker.is_stopped:
            stopped.wait(0.01)
        return Found(None, 7, "stop")

    monkeypatch.setattr("kspec.checkers.explore.seek.Seeker.run", endless)
    ask("seek", node=at, goal="big == 4")
    assert ask("progress") == {"running": True}
    assert (
        "a search is running" in one.answer({"do": "seek", "node": at, "goal": "big == 4"})["error"]
    )
    ask("stop")
    says = finished(ask, one)["says"]
    assert says == "Not found before the stop: big == 4 (states explored: 7)."


def test_a_rule_that_raises_ends_the_search_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    one = explorer("die-hard", None)
    ask = asking(one)

    def broken(seeker: Any) -> Found:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("kspec.checkers.explore.seek.Seeker.run", broken)
    ask("seek", node=ask("describe")["at"], goal="big == 4")
    assert one.search is not None
    one.search.join(timeout=600)
    error = one.answer({"do": "progress"})["error"]
    assert error.startswith("the search raised ZeroDivisionError: by zero (")
    assert one.answer({"do": "progress"}) == {"error": "there is no search"}


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ([], "a request is a JSON object"),
        ({}, "no request named 'None'"),
        ({"do": "tak"}, "did you mean take"),
        ({"do": "look"}, "there is no state None"),
        ({"do": "look", "node": -1}, "there is no state -1"),
        ({"do": "look", "node": True}, "there is no state True"),
        ({"do": "take", "node": 0, "rule": "leader_append"}, "did you mean leader_appends"),
        ({"do": "take", "node": 0, "rule": "leader_appends", "choice": 0}, "is blocked by: "),
        ({"do": "walk", "node": 0, "steps": "x", "seed": 1}, "whole number 'steps'"),
        ({"do": "walk", "node": 0, "steps": 10**9, "seed": 1}, "a walk has 1 to"),
        ({"do": "begin"}, "needs a text 'variant'"),
        ({"do": "begin", "variant": "kip-320x"}, "did you mean kip-320"),
        ({"do": "what-if", "node": 0, "variant": "kip"}, "no variant of replication named 'kip'"),
        ({"do": "seek", "node": 0, "goal": "import"}, "no field or property named 'import'"),
        ({"do": "seek", "node": 0, "goal": "quorum.leader"}, "is not a condition"),
        ({"do": "load", "text": "{"}, "not JSON"),
        ({"do": "load", "text": "{}"}, "not an ITF trace"),
        ({"do": "save", "node": 0, "as": "pickle"}, "no kind of file named 'pickle'"),
        ({"do": "look", "node": 0, "known": "x"}, ""),
        ({"do": "walk", "node": 0, "steps": 1, "seed": 1, "known": "x"}, "whole number 'known'"),
    ],
)
def test_what_is_wrong_is_answered_in_a_line(request_: Any, says: str) -> None:
    answer = explorer().answer(request_)
    assert says in answer.get("error", "")
    assert "\n" not in answer.get("error", "")


def test_every_request_is_tested_above() -> None:
    assert set(REQUESTS) == {
        "describe", "look", "take", "walk", "begin", "what-if", "compare", "seek", "progress",
        "stop", "load", "save",
    }  # fmt: skip
