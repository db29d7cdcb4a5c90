"""Whatever a trace holds, there is a verdict or an error in one line, and never a traceback."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kspec.checkers.registered import registered
from kspec.field.recorded import Validation, from_objects, validate_recordings
from kspec.field.recorded.find import MAPPINGS
from kspec.field.recorded.page import validation_page
from kspec.field.recorded.reading import from_lines
from kspec.field.recorded.report import lines
from kspec.spec.core import SpecError

KEYS = re.findall(
    r"\S+",
    "rule choices state group consumers generation phase consumer request big small event node "
    "sends receives time_ms source file line leader leader_epoch log_end_offset high_watermark "
    "isr epochs offset topic partition #bigint #set #map #tup 0 1",
)
WORDS = re.findall(r"\S+", "consumer_joins fill_big init truncated state EMPTY JOINING a1 -1 1")
HEADER_KEYS = re.findall(
    r"\S+", "variant bounds initial hidden most_hidden complete order nodes clock_skew_ms"
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 9)
    | st.sampled_from([10**40, 1.5, *WORDS])
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=8,
)
EVENTS = st.lists(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5), max_size=4)
HEADERS = st.dictionaries(st.sampled_from(HEADER_KEYS), VALUES, max_size=2)


def told(validation: Validation) -> None:
    """It can be written in every form."""
    json.dumps(validation.to_json(), default=str)
    assert list(lines(validation))
    assert validation_page([validation])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["group", "die-hard", *registered(MAPPINGS)])
@given(header=HEADERS, events=EVENTS)
@settings(max_examples=60, derandomize=True, deadline=None, database=None)
def test_any_event_has_a_verdict(name: str, header: dict[str, Any], events: list[Any]) -> None:
    found = from_objects("any", [{"kspec_trace": 1, **header, "mapping": name}, *events])
    with suppress(SpecError):
        told(validate_recordings([found], {}))


@given(st.lists(st.binary(max_size=20), max_size=4))
@settings(max_examples=60, derandomize=True, deadline=None, database=None)
def test_any_bytes_have_a_verdict(found: list[bytes]) -> None:
    recording = from_lines("any", enumerate(found, 1))
    with suppress(SpecError):
        told(validate_recordings([recording], {"mapping": "replica"}))
