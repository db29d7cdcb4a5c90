"""The variants: which HW a response to a fetch carries."""

from __future__ import annotations

from kspec.spec.core import Variant
from kspec.spec.watermarks import rules

REPLY_AFTER_UPDATE = Variant(
    "reply-after-update",
    rules=(rules.producer_sends, rules.follower_fetches),
    why=(
        "The mechanism as it is usually described, in four steps: a record is appended, fetched, "
        "committed by the next fetch, and the response to that fetch carries the new HW."
    ),
)

REPLY_BEFORE_UPDATE = REPLY_AFTER_UPDATE.derive(
    "reply-before-update",
    replace={rules.follower_fetches: rules.follower_fetches_previous_hw},
    why=(
        "Kafka reads the log and the HW before it records the offset of the fetch. A response "
        "that is sent at once carries the HW from before the fetch, and the follower learns of "
        "the commit one fetch later."
    ),
)

PARKED_FETCH = REPLY_BEFORE_UPDATE.derive(
    "parked-fetch",
    replace={rules.follower_fetches_previous_hw: rules.follower_fetches_records},
    add=(rules.leader_parks_fetch, rules.leader_completes_parked_fetch),
    why=(
        "Kafka responds at once only where there are records. A fetch that finds none, such as "
        "the one that commits the last record, is parked, and the log and the HW are read again "
        "when it completes: its own response carries the new HW, only later."
    ),
)

VARIANTS = (REPLY_AFTER_UPDATE, REPLY_BEFORE_UPDATE, PARKED_FETCH)
