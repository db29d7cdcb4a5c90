"""How any state of the model is built: what consumers, group, answers and storage have in common.

None of it is what a group is for (`properties`); but a rule that gets an effect wrong shows here.
"""

from __future__ import annotations

from spec.group.sanity.both import BOTH
from spec.group.sanity.consumers import CONSUMERS
from spec.group.sanity.group import GROUP_ITSELF
from spec.group.sanity.ids import IDS
from spec.group.sanity.stored import STORED
from spec.group.sanity.witnesses import WITNESSES

SANITY = (*CONSUMERS, *IDS, *GROUP_ITSELF, *BOTH, *STORED, *WITNESSES)
