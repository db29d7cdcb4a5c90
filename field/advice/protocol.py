"""Findings on brokers that are configured for an older protocol than that of their release."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kspec.field.advice.catalogue import order, releases
from kspec.field.advice.questions import KRAFT, variant_of, zookeeper_variant
from kspec.field.advice.remarks import Remark, remark
from kspec.field.advice.settings import Settings

PROTOCOL = "inter.broker.protocol.version"
FORMATS = (("topic", "message.format.version"), ("broker", "log.message.format.version"))


def on_protocol(s: Settings) -> Iterator[Remark]:
    """Brokers replicate by the release in their settings, not by the one that they run."""
    explored = variant_of(s)
    if explored in KRAFT:  # the feature metadata.version decides
        return
    if s.is_set("broker", PROTOCOL):
        named = version_of(s, "broker", PROTOCOL)
        known = named if order(named) >= order(releases()[0]) else releases()[0]
        if order(named) < order(s.known.release) and zookeeper_variant(order(named)) != explored:
            yield remark("older-protocol", named=named, known=known, release=s.known.release)
    kind, name = next((f for f in FORMATS if s.is_set(*f)), FORMATS[1])
    if order(s.known.release) >= order("3.0") or not s.is_set(kind, name):
        return  # 3.0 ignores it, unless the protocol is older too
    named = version_of(s, kind, name)
    if order(named) < order("0.11.0") <= order(s.known.release):
        yield remark("older-format", name=name, named=named)


def version_of(s: Settings, kind: str, name: str) -> str:
    """The release in a value such as 2.7-IV2, without the patch."""
    value = s.text(kind, name)
    found = re.match(r"0\.\d+\.\d+|\d+\.\d+", value)
    return found[0] if found else s.known.release
