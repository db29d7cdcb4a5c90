"""kspec: an executable, checked specification of Apache Kafka.

The parts are packages in here: `kspec.spec`, which `import spec` names as well, `kspec.impl`,
`kspec.traces`, `kspec.examples`, `kspec.checkers`, `kspec.field` and `kspec.spark_check`. In a
clone they are links to the folders at its top.
"""

from __future__ import annotations

from pathlib import Path

HOME = Path(__file__).resolve().parent
"""The folder of the parts."""
