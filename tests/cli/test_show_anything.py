"""Whatever a file holds, `kspec show` answers with an exit code and never with a traceback."""

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


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents)
def test_whatever_a_file_holds_is_shown_or_refused(kspec: Kspec, document: object) -> None:
    Path("t.json").write_text(json.dumps(document))
    ran = kspec("show", "t.json", "--html", "t.html")
    assert ran.code in (0, 3, 151)
    assert ran.err.count("\n") == (ran.code != 0)


@pytest.mark.parametrize(
    "value", [{"#map": [[1]]}, {"#set": None}, {"#bigint": 3}, {"#tup": {}}, None]
)
def test_what_is_no_value_is_refused(kspec: Kspec, value: object) -> None:
    Path("t.json").write_text(json.dumps({"vars": ["x"], "states": [{"x": value}]}))
    ran = kspec("show", "t.json")
    assert ran.code == 151
    assert "state 0 has no ITF value for x" in ran.err
