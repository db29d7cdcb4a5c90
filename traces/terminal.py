"""A trace in the terminal: each step with what it changed, and nothing else.

The cells of a log are in brackets, with the high watermark and the end offset between them:
`[r0 e0] HW› [r1 e0] LEO›`. A new cell has a `+`, a removed one a `-`, and the one at which the
property fails a `✗`; a fact that changed is shown as `old→new`,
and a fact with parts by the parts that changed: `votes[1].voted -1→1`.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from kspec.spec.core.picture import Arrow, Band
from kspec.traces.difference import Piece
from kspec.traces.story import Scene, SceneCell, SceneFact, SceneLane, Story
from kspec.traces.text import all_printable

COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "bright_red")


def draw(story: Story) -> Iterator[Text]:
    """The trace, line by line."""
    story = all_printable(story)
    width = max((len(lane.name) for s in story.scenes for lane in s.lanes), default=0)
    for scene in story.scenes:
        yield from draw_scene(scene, width, last=scene is story.scenes[-1])
    if story.loop is not None:
        line = Text("      ", style="bold")
        chosen = [f"{name}={value}" for name, value in story.loop_choices.items()]
        if story.loop_rule:
            line.append("  ".join([story.loop_rule, *chosen, ""]))
        stays = story.loop == len(story.scenes)
        what = "then stays in" if stays else "then repeats from"
        yield line.append(f"{what} state {story.loop}")


def draw_scene(scene: Scene, width: int, *, last: bool = False) -> Iterator[Text]:
    """One step with what it changed; the first state whole."""
    yield heading(scene)
    yield from (arrow(message) for message in scene.arrows)
    for lane in scene.lanes:
        everything = scene.number == 1 or (last and lane.failing)
        if everything or lane.changed or any(cell.failing for cell in lane.cells):
            yield lane_line(lane, width, everything=everything)


def draw_state(scene: Scene) -> Iterator[Text]:
    """A whole state."""
    scene = all_printable(scene)
    width = max((len(lane.name) for lane in scene.lanes), default=0)
    yield from (lane_line(lane, width, everything=True) for lane in scene.lanes)


def heading(scene: Scene) -> Text:
    """The rule, its choices and its actor."""
    line = Text()
    line.append(f"{scene.number:4}  {scene.rule}", style="bold")
    for name, value in scene.choices.items():
        line.append(f"  {name}=", style="dim")
        line.append(value)
    if scene.by:
        line.append(f"  ({scene.by})", style="dim")
    return line


def arrow(message: Arrow) -> Text:
    """A message of the step."""
    return Text(f"      {message.source} → {message.target}: {message.label}", style="dim")


def lane_line(lane: SceneLane, width: int, *, everything: bool) -> Text:
    """A lane: its role, its facts (those that changed, or all) and its log."""
    line = Text()
    line.append("    ✗ " if lane.failing else "      ", style="bold red")
    line.append(f"{lane.name:{width}}", style="bold red" if lane.failing else "")
    line.append("  ")
    if lane.role and (everything or lane.role_before is not None):
        line.append(f"{lane.role}  ", style="italic")
    if lane.band and (everything or lane.band_before is not None):
        line.append_text(band_text(lane.band, lane.band_before, everything=everything))
    marked = {mark.label for mark in lane.marks}
    for fact in lane.facts:
        if fact.name not in marked and (everything or fact.before is not None):
            line.append_text(fact_text(fact, everything=everything))
    if lane.cells or lane.marks:
        line.append_text(cells(lane))
    line.rstrip()
    return line


def band_text(band: Band, before: str | None, *, everything: bool) -> Text:
    """The state of a lane, and the one before if that was another."""
    out = Text()
    if before and not everything:
        out.append(f"{before}→", style="dim")
    return out.append(f"{band.name}  ", style=f"bold {style_of(band.colour)}")


def fact_text(fact: SceneFact, *, everything: bool) -> Text:
    """A fact, with its value before if it changed."""
    out = Text()
    if fact.pieces and not everything:
        for leaf in fact.leaves:
            out.append_text(leaf_text(fact.name, leaf))
        return out
    out.append(f"{fact.name} ", style="dim")
    if fact.before and not everything:
        out.append(f"{fact.before}→", style="dim")
    out.append(fact.value, style="bold" if fact.before is not None and not everything else "")
    return out.append("  ")


def leaf_text(name: str, leaf: Piece) -> Text:
    """A part of a fact that changed, was added or was removed."""
    out = Text(f"{name}{leaf.at} ", style="dim")
    if leaf.before and leaf.text:
        out.append(f"{leaf.before}→", style="dim").append(leaf.text, style="bold")
    elif leaf.text:
        out.append(f"+{leaf.text}", style="bold")
    else:
        out.append(f"-{leaf.before}", style="strike dim")
    return out.append("  ")


def cells(lane: SceneLane) -> Text:
    """A log with its marks."""
    out = Text()
    for at in range(max([len(lane.cells), *(mark.at + 1 for mark in lane.marks)])):
        here = [mark for mark in lane.marks if mark.at == at]
        if here:
            label = "=".join(mark.label for mark in here)
            out.append(f"{label}› ", style="bold" if any(m.moved for m in here) else "dim")
        if at < len(lane.cells):
            out.append_text(cell_text(lane.cells[at]))
    return out


def cell_text(cell: SceneCell) -> Text:
    """A cell, marked if it is new, removed, or where the property fails."""
    if not cell.text and not cell.failing:
        return Text()
    style = style_of(cell.colour)
    text = " ".join(filter(None, [cell.text, cell.sign]))
    if cell.failing:
        sign = "-" if cell.change == "gone" else ""
        return Text(f"✗{sign}[{text or 'missing'}] ", style="bold red")
    if cell.change == "gone":
        return Text(f"-[{text}] ", style=f"{style} strike dim")
    return Text(f"{'+' if cell.change == 'new' else ''}[{text}] ", style=style)


def style_of(colour: int | None) -> str:
    """The style of a picture's colour."""
    return "" if colour is None else COLOURS[colour % len(COLOURS)]
