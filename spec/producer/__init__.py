"""The producer client, and what a broker keeps of producers, as pure functions of plain values.

- `partitioners`: the partition that a producer chooses, by the class that chooses it.
"""

from __future__ import annotations
