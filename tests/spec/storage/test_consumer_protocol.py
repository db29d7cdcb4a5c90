"""Subscriptions and assignments are read in every version, by their common beginning."""

from __future__ import annotations

import pytest

from kspec.spec.storage.consumer_protocol import (
    read_assignment,
    read_topics,
    write_assignment,
    write_subscription,
)
from kspec.spec.storage.varint import Malformed

VERSION_3 = bytes.fromhex(
    "0003"  # the version
    "00000002 0001 74 0001 75"  # topics t and u
    "ffffffff"  # no user data
    "00000001 0001 74 00000001 00000000"  # owned partitions: t-0
    "00000005 ffff"  # generation 5, no rack
)


def test_a_subscription_is_read_in_any_version() -> None:
    assert read_topics(VERSION_3) == ["t", "u"]
    assert read_topics(b"\x00\x63" + VERSION_3[2:]) == ["t", "u"]
    assert read_topics(write_subscription(["t", "u"])) == ["t", "u"]


def test_an_assignment_is_read() -> None:
    assert read_assignment(b"") == {}
    assert read_assignment(write_assignment({"t": [0, 2]})) == {"t": [0, 2]}


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xff", VERSION_3[:9]])
def test_other_bytes_are_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        read_topics(data)
