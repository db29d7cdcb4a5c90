"""The variants: five generations of the truncation protocol, from 0.10 to Kafka as it is.

Each begins with its parent's rules, and replaces those that were wrong. To add one, derive it
from its parent here, say in `why` what the parent gets wrong, and in `violates` what it fails.
"""

from __future__ import annotations

from kspec.spec.core import Variant, Violated
from kspec.spec.replication import first_try, follower, leader, unfenced
from kspec.spec.replication.controller import controller_elects_leader, controller_shrinks_isr
from kspec.spec.replication.leader import broker_becomes_leader, leader_appends
from kspec.spec.replication.truncation import end_of_agreement, end_of_last_epoch
from kspec.spec.replication.unfenced import become_follower_truncating_to

TRUNCATE_TO_HW = Variant(
    name="truncate-to-hw",
    rules=(
        controller_shrinks_isr,
        controller_elects_leader,
        broker_becomes_leader,
        leader_appends,
        unfenced.leader_shrinks_isr,
        unfenced.leader_expands_isr,
        unfenced.leader_advances_hw,
        unfenced.broker_becomes_follower_and_truncates,
        unfenced.follower_fetches,
    ),
    why=(
        "Kafka before KIP-101 (0.11). A follower learns the high watermark one fetch late, so "
        "truncating to it removes committed records. If that follower is elected next, they are "
        "lost on every broker."
    ),
    violates={"WeakIsr": Violated(states=9), "StrongIsr": Violated(states=9)},
)

KIP_101 = TRUNCATE_TO_HW.derive(
    "kip-101",
    replace={
        unfenced.broker_becomes_follower_and_truncates: become_follower_truncating_to(
            end_of_last_epoch
        )
    },
    why=(
        "Truncating to the high watermark lost committed records, so a follower asks the leader "
        "where the epoch of its last record ended (0.11). A leader that does not know this epoch "
        "answers with the offset of another one (KIP-279), and a deposed leader can still count "
        "a follower that belongs to a newer epoch."
    ),
    violates={
        "StrongIsr": Violated(states=12),
        "RecordsAreCommitted": Violated(states=13),
        "ReplicasConverge": Violated(states=13),
    },
)

KIP_279 = TRUNCATE_TO_HW.derive(
    "kip-279",
    replace={
        unfenced.broker_becomes_follower_and_truncates: become_follower_truncating_to(
            end_of_agreement
        )
    },
    why=(
        "Under KIP-101 a response without an epoch could leave a divergent record in the log. "
        "Now both logs agree after truncation (2.0). Yet replicas of different leader epochs "
        "still work with each other: a deposed leader can count a follower that belongs to a "
        "newer epoch, and commit what the new leader does not have."
    ),
    violates={"StrongIsr": Violated(states=12)},
)

KIP_320_FIRST_TRY = TRUNCATE_TO_HW.derive(
    "kip-320-first-try",
    replace={
        unfenced.leader_shrinks_isr: first_try.leader_shrinks_isr,
        unfenced.leader_expands_isr: first_try.leader_expands_isr,
        unfenced.leader_advances_hw: first_try.leader_advances_hw,
        unfenced.broker_becomes_follower_and_truncates: first_try.broker_becomes_follower,
        unfenced.follower_fetches: first_try.follower_fetches,
    },
    add=(first_try.follower_truncates,),
    why=(
        "KIP-279 did not fence replicas of another leader epoch. The first design compared the "
        "epochs of the records that leader and follower hold, not the leader epochs that they "
        "are in, and so fenced too little. The default bounds are too small to show it."
    ),
    violates={
        "WeakIsr": Violated(states=12, bounds={"log_size": 1, "max_epoch": 2}),
        "StrongIsr": Violated(states=13, bounds={"log_size": 1, "max_epoch": 2}),
    },
)

KIP_320 = KIP_320_FIRST_TRY.derive(
    "kip-320",
    replace={
        first_try.leader_shrinks_isr: leader.leader_shrinks_isr,
        first_try.leader_expands_isr: leader.leader_expands_isr,
        first_try.leader_advances_hw: leader.leader_advances_hw,
        first_try.broker_becomes_follower: follower.broker_becomes_follower_and_truncates,
        first_try.follower_fetches: follower.follower_fetches,
    },
    remove=(first_try.follower_truncates,),
    why=(
        "The first design compared the epochs of records. Comparing the leader epochs of leader "
        "and follower fences every replica that is out of date, and a follower truncates again "
        "when an epoch begins, with the leader of that epoch (2.1)."
    ),
)

VARIANTS = (TRUNCATE_TO_HW, KIP_101, KIP_279, KIP_320_FIRST_TRY, KIP_320)
