"""The page in a browser: narrow and wide, dark and light, on paper, and read aloud."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from kspec.traces.story import Story

Open = Callable[..., Page]
Large = Callable[..., Story]
NARROW = 360

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.slow
@pytest.mark.other_software
def test_a_narrow_window_needs_no_horizontal_scrolling(
    opened: Open, large: Large, lost: Story, plain: Story, rebalance: Story
) -> None:
    for story in (lost, plain, rebalance, large()):
        shown = opened(story, width=NARROW)
        for _ in story.scenes[:9]:
            assert shown.evaluate(OVERFLOW) == 0
            shown.keyboard.press("j")


def test_a_long_log_scrolls_to_its_failing_cell(opened: Open, large: Large) -> None:
    shown = opened(large(), width=NARROW)
    log = shown.locator("[data-lane='broker 4'] .log")
    assert log.evaluate("log => log.scrollWidth > log.clientWidth")
    failing, frame = log.locator(".failing").bounding_box(), log.bounding_box()
    assert failing is not None
    assert frame is not None
    assert frame["x"] <= failing["x"]
    assert failing["x"] + failing["width"] <= frame["x"] + frame["width"]


@pytest.mark.slow
@pytest.mark.other_software
def test_the_current_step_of_two_hundred_is_in_view(opened: Open, large: Large) -> None:
    shown = opened(large(scenes=200), "#150")
    expect(shown.locator("#steps [aria-current]")).to_be_in_viewport()


CONTRASTS = """() => {
    const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = (colour) => {
        const [r, g, b] = channels(colour).slice(0, 3).map(
            v => v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (element) => {
        for (; element; element = element.parentElement) {
            const colour = getComputedStyle(element).backgroundColor;
            const [, , , alpha = 1] = channels(colour);
            if (alpha === 1) return colour;
            if (alpha > 0) throw new Error(`half transparent: ${element.className}`);
        }
    };
    const found = {};
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        if (!element.checkVisibility() || element.closest('.unseen, .skip, script')) continue;
        if (!texts.currentNode.data.trim()) continue;
        const [a, b] = [light(getComputedStyle(element).color), light(ground(element))];
        const key = `${element.tagName} ${element.className} in ${element.parentElement.className}`;
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        found[key] = Math.min(found[key] ?? 99, ratio);
    }
    return found;
}"""


@pytest.mark.slow
@pytest.mark.other_software
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(
    opened: Open, large: Large, lost: Story, rebalance: Story, witness: Story, scheme: str
) -> None:
    last = f"#{len(lost.scenes)}"
    looked_at = [(lost, last), (lost, "#4"), (witness, "#4"), (rebalance, "#7"), (large(), "#2")]
    for story, fragment in looked_at:
        ratios = opened(story, fragment, scheme=scheme).evaluate(CONTRASTS)
        assert len(ratios) > 15
        assert {text: ratio for text, ratio in ratios.items() if ratio < 4.5} == {}


@pytest.mark.slow
@pytest.mark.other_software
def test_dark_and_light_differ(opened: Open, lost: Story) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light, dark = (opened(lost, scheme=s).evaluate(ground) for s in ("light", "dark"))
    assert sum(map(int, light[4:-1].split(","))) > 600
    assert sum(map(int, dark[4:-1].split(","))) < 150


def test_cells_of_two_epochs_differ_in_colour_and_in_text(opened: Open, large: Large) -> None:
    shown = opened(large()).evaluate(
        """() => Object.fromEntries([
            ...document.querySelectorAll('[data-lane="broker 4"] .cell:not(.gone, .failing)')
        ].map(cell => [cell.dataset.colour, getComputedStyle(cell).backgroundColor]))"""
    )
    assert len(shown) == 7
    assert len(set(shown.values())) == 7


@pytest.mark.parametrize(("motion", "moves"), [("reduce", False), ("no-preference", True)])
def test_animations_are_off_with_reduced_motion(
    opened: Open, lost: Story, motion: str, moves: bool
) -> None:
    shown = opened(lost, f"#{len(lost.scenes)}", motion=motion)
    assert (shown.evaluate("document.getAnimations().length") > 0) == moves


def test_every_scene_is_printed(opened: Open, lost: Story) -> None:
    shown = opened(lost)
    shown.evaluate("dispatchEvent(new Event('beforeprint'))")
    shown.emulate_media(media="print")
    assert shown.locator("#print article:visible").count() == len(lost.scenes)
    assert shown.locator(".controls:visible, .stage:visible").count() == 0


def test_regions_have_names_and_the_focus_is_visible(opened: Open, lost: Story) -> None:
    shown = opened(lost)
    for role, name in [
        ("banner", None),
        ("navigation", "Steps"),
        ("main", "Scene"),
        ("contentinfo", "Legend"),
        ("slider", "Step"),
        ("region", "broker 0"),
    ]:
        part = shown.get_by_role(role, name=name, exact=True)  # type: ignore[arg-type]
        assert part.count() == 1, role
    shown.locator("#first").focus()
    shown.locator("#last").focus()
    shown.keyboard.press("Tab")
    width = "getComputedStyle(document.activeElement).outlineWidth"
    assert shown.evaluate("document.activeElement.id") == "slider"
    assert shown.evaluate(width) == "3px"


def test_the_legend_explains_the_signs_and_terms_in_use(
    opened: Open, lost: Story, plain: Story
) -> None:
    legend = opened(lost).locator("#legend").inner_text()
    for part in ("leader epoch 0", "HW", "LEO", "high watermark", "added by", "removed by"):
        assert part in legend
    assert "HW" not in opened(plain).locator("#legend").inner_text()
