"""The kernel of the model `group`: one for all its variants and bounds.

- **The sheet**: `fields` says where on it each field lies, `layout` how many bits of which word
  it takes, `sheet` what else is there; `writing` goes from words to the sheet and back.
- **States**: `states` ties together `packing` and `unpacking`, with `ids` and `lists`.
- **What may happen**: `expand` asks `coordinating` and `consuming`, which ask `holding` whether a
  timer would be early; `acts` are its names, `properties` what is checked.
- **What it does**: `requests` and `checks` for every request, `joining`, `syncing` and `leaving`
  for one each, then `group`, `failover`, and `consumers`.
"""

from __future__ import annotations

from threading import local

from impl.packed.compiled import Words
from impl.packed.group import expand, properties
from impl.packed.group.acts import ACTS, RENAMED
from impl.packed.group.fields import FANOUT
from impl.packed.group.sheet import new_sheet
from impl.packed.group.states import Packing
from impl.packed.kernel import DEADLOCK, Kernel
from spec.core import System, Taken
from spec.group.world import Ask, World

VARIANTS = (
    "eager",
    "no-generation-check",
    "before-kafka-12890",
    "before-kafka-9801",
    "before-kafka-8104",
    "before-kip-394",
)


def group_kernel(system: System[World]) -> Kernel[World]:
    """The kernel for one variant and its bounds."""
    variant = system.variant.name
    packing = Packing.of(system.bounds)
    sheet = new_sheet(packing, VARIANTS.index(variant))
    names = RENAMED.get(variant, {})
    acts = tuple(names.get(act, act) for act in ACTS)
    rules = {rule.name: rule for rule in system.rules}
    sheets = local()

    def own_sheet() -> Words:
        """The sheet of the thread that asks: several work at the same time."""
        if not hasattr(sheets, "sheet"):
            sheets.sheet = sheet.copy()
        return sheets.sheet  # type: ignore[no-any-return]

    def expand_states(
        words: Words, begin: int, end: int, _: Words, succ: Words, origins: Words, counts: Words
    ) -> tuple[int, int]:
        return expand.expand(words, begin, end, own_sheet(), succ, origins, counts)

    def check(words: Words, begin: int, end: int, masks: Words) -> int:
        return properties.check(words, begin, end, own_sheet(), masks)

    def taken(origin: int, s: World) -> Taken:
        rule = rules[acts[origin >> 8]]
        choice = origin & 255
        chosen: dict[str, object] = {
            "ask": Ask(choice >> 1, bool(choice & 1)),
            "member": packing.ids.id(choice) if choice < packing.ids.count else None,
            "consumer": choice,
        }
        return Taken(rule.name, {name: chosen[name] for name in rule.choices})

    return Kernel(
        layout=packing.layout,
        fanout=int(sheet[FANOUT]),
        acts=acts,
        properties=(*properties.PROPERTIES, DEADLOCK),
        expand=expand_states,
        check=check,
        pack=packing.pack,
        unpack=packing.unpack,
        taken=taken,
    )
