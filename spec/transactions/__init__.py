"""Transactions: a consume-transform-produce loop, its coordinator, and its partitions.

An application reads inputs, writes a result of each, and commits what it has read, all in one
transaction. Two instances share the work; one may be a zombie. Four ideas keep the model small:

1. **A request is handled and answered in one step, or it is late.** A late request is in flight
   after its sender gave it up, or after a copy of it was answered. It arrives at any later moment,
   or never.
2. **A crash is an instance that takes no further step.** A zombie is one that does.
3. **Time is left out.** Whatever a timeout may do, it may do at any moment.
4. **Partitions are replicated, and their leaders do not fail.** The model `partition` has that.

- `log`: a partition, with what its leader knows of each producer. Functions for any use.
- `state`: instances, the coordinator, both partitions, the reader, and requests in flight.
- `application`: the group, the consumers, and the reader of the results.
- `coordinator`: producer epochs, timeouts, markers, failover.
- `version_1`, `late`, `verification`, `version_2`: producers and late requests, as they changed.
- `kip_447`: a transactional id for each instance, fenced by the group's generation.
- `omissions`: the rules of brokers and applications that lack an ingredient.
- `properties`: what must hold, and what must happen eventually.
- `variants`: versions of Kafka, and a failing variant for each ingredient.

Kafka's classes and methods are those of 4.2.0, unless another release is named.
"""

from __future__ import annotations

from kspec.spec.core import Model
from kspec.spec.transactions.baseline import BASELINE
from kspec.spec.transactions.picture import picture
from kspec.spec.transactions.properties import LIVENESS, PROPERTIES
from kspec.spec.transactions.state import Bounds, initial
from kspec.spec.transactions.variants import VARIANTS

TRANSACTIONS = Model(
    name="transactions",
    doc=(
        "A consume-transform-produce loop: two instances, a zombie among them, the transaction "
        "coordinator, a partition of results, one of offsets, and late requests."
    ),
    bounds=Bounds,
    initial=initial,
    properties=PROPERTIES,
    on_request=LIVENESS,
    variants=VARIANTS,
    default_variant="kafka-4.2",
    final=lambda s: True,
    answers={
        "no transaction is ongoing": "CONCURRENT_TRANSACTIONS",
        "no end of a transaction is in progress": "CONCURRENT_TRANSACTIONS",
        "producer epoch is the coordinator's": (
            "PRODUCER_FENCED; INVALID_PRODUCER_EPOCH to Produce and TxnOffsetCommit"
        ),
        "transaction to end is ongoing": "INVALID_TXN_STATE",
        "producer epoch is not older": "INVALID_PRODUCER_EPOCH",
        "sequence number is the next": "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "coordinator verifies the epoch": "INVALID_PRODUCER_EPOCH",
        "coordinator verifies the partition": "INVALID_TXN_STATE; TRANSACTION_ABORTABLE since 3.8",
        "generation is current": "ILLEGAL_GENERATION",
        "no transactional offset is pending": "UNSTABLE_OFFSET_COMMIT",
        "marker has no older producer epoch": "INVALID_PRODUCER_EPOCH",
        "marker has a later producer epoch": "INVALID_PRODUCER_EPOCH",
        "marker ends no later transaction": "INVALID_PRODUCER_EPOCH",
        "marker has no older coordinator epoch": "TRANSACTION_COORDINATOR_FENCED",
    },
    not_modelled=(
        "sequence numbers of repeated batches",
        "failures of partition leaders and of the group coordinator",
        "producers that recover from a timeout (KIP-588)",
        "expired transactional ids and exhausted epochs",
        "several transactions of one poll",
    ),
    baseline=BASELINE,
    picture=picture,
)
