"""One producer and one partition: retries, with and without idempotence (KIP-98, KIP-360).

The producer sends batches of one record, with several requests in flight. Responses and whole
connections are lost, other brokers are elected with or without the last batches, batches time out,
and brokers forget the producer. Three ideas keep the model small:

1. **Leaders have terms, not names.** Each election begins a term, and each term has its own
   connection. A request to an earlier leader is refused; on a connection nothing is reordered.
2. **Replication is chosen late.** A new leader has at least the log up to the last offset whose
   acknowledgement the producer has received, and any part of the rest: before the acknowledgement,
   nobody can tell whether the batch was replicated.
3. **The producer state is derived from the log**: the batches of the producer's latest epoch,
   unless the brokers have forgotten it.

Read in this order:

- `state`: batches, requests, the log, and the producer
- `producer`, `leader`, `failures`: the rules by actor, since 2.5 and 4.5
- `since_kip_360`: the leader from 2.5 to 4.4, and two proposals
- `before_kip_360`: producer and leader from 0.11 to 2.4
- `without`: no idempotence, and idempotence without one of its conditions
- `properties`, `liveness`: what the application may rely on
- `variants`: the releases, each with the fault of its parent

Kafka's classes and methods are those of 3.9.0 and 4.0.0, unless another release is named. The
change in 4.5 is that of KAFKA-15591 (pull request 23234).
"""

from __future__ import annotations

from kspec.spec.core import Model
from kspec.spec.idempotence.baseline import BASELINE
from kspec.spec.idempotence.liveness import LIVENESS
from kspec.spec.idempotence.picture import picture
from kspec.spec.idempotence.properties import ON_REQUEST, PROPERTIES
from kspec.spec.idempotence.state import Bounds, Exchange, initial
from kspec.spec.idempotence.variants import VARIANTS

__all__ = ["IDEMPOTENCE", "Bounds", "Exchange"]

IDEMPOTENCE = Model(
    name="idempotence",
    doc=(
        "One producer and one partition, release by release: retries, lost responses, elections, "
        "sequence numbers, epochs and timeouts."
    ),
    bounds=Bounds,
    initial=initial,
    properties=PROPERTIES,
    on_request=(*ON_REQUEST, *LIVENESS),
    variants=VARIANTS,
    default_variant="kafka-4.5",
    final=lambda s: all(batch.is_done for batch in s.batches),
    not_modelled=(
        "transactions",
        "several partitions in one producer",
        "batches of several records, and their splitting",
        "unclean elections and lost disks",
        "a producer that restarts with another producer id",
        "retention, and records deleted from the log",
        "sequence numbers and epochs that overflow",
        "a limited number of retries",
        "an earlier leader that is elected again while it still has requests",
    ),
    baseline=BASELINE,
    picture=picture,
)
