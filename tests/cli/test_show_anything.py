"""`kspec show` handles any file with an exit code, never with a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.conftest import Kspec

KEYS = ["#bigint", "#set", "#map", "#tup", "#unserializable", "tag", "value", "x"]
NAMES = ["x", "y", "#meta", "mbt::actionTaken", "mbt::nondetPicks"]

leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)
    ),
    max_leaves=6,
)
states = st.dictionaries(st.sampled_from(NAMES), values, max_size=4).map(lambda s: {"x": 0, **s})
about = st.fixed_dictionaries(
    {},
    optional={
        "model": st.sampled_from(["replication", "counter", "no-such"]) | values,
        "variant": values,
        "bounds": values,
        "property": values,
        "where": values,
    },
)
documents = values | st.fixed_dictionaries(
    {"vars": st.just(["x"]) | values, "states": st.lists(states, min_size=1, max_size=3)},
    optional={"#meta": values | st.fixed_dictionaries({"kspec": about}), "loop": values},
)


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(documents)
def test_any_file_is_shown_or_refused(kspec: Kspec, document: object) -> None:
    Path("t.json").write_text(json.dumps(document))
    ran = kspec("show", "t.json", "--html", "t.html")
    assert ran.code in (0, 3, 151)
    assert ran.err.count("\n") == (ran.code != 0)


@pytest.mark.parametrize(
    "value", [{"#map": [[1]]}, {"#set": None}, {"#bigint": 3}, {"#tup": {}}, None]
)
def test_invalid_itf_values_are_refused(kspec: Kspec, value: object) -> None:
    Path("t.json").write_text(json.dumps({"vars": ["x"], "states": [{"x": value}]}))
    ran = kspec("show", "t.json")
    assert ran.code == 151
    assert "state 0 has no ITF value for x" in ran.err


def test_a_trace_of_an_unknown_model_says_that_it_was_not_checked(kspec: Kspec) -> None:
    about = {"model": "locks", "property": "OneHolds"}
    trace = {
        "#meta": {"kspec": about},
        "vars": ["x"],
        "states": [{"x": 0, "mbt::actionTaken": "init"}],
    }
    Path("t.json").write_text(json.dumps(trace))
    ran = kspec("show", "t.json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith(
        "\n\nRecorded for OneHolds. The steps were not checked against rules: kspec has no model "
        "locks. If it is yours, --model FILE.py checks them.\n"
    )
    assert "   1  initial\n" in ran.out


def test_a_trace_of_an_unknown_variant_is_refused_and_not_drawn(kspec: Kspec) -> None:
    about = {"model": "counter", "variant": "no-such"}
    trace = {"#meta": {"kspec": about}, "vars": ["x"], "states": [{"x": 0}]}
    Path("t.json").write_text(json.dumps(trace))
    ran = kspec("show", "t.json")
    assert (ran.code, ran.out) == (3, "")
    assert "t.json: no variant of counter named 'no-such'" in ran.err


def test_a_trace_without_states_is_refused(kspec: Kspec) -> None:
    Path("t.json").write_text(json.dumps({"vars": ["x"], "states": []}))
    assert 'its list "states" is empty' in kspec("show", "t.json").err
