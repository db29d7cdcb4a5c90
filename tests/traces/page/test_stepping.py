"""The page in a browser: stepping, and what each scene shows and marks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from kspec.traces.story import Story

Open = Callable[..., Page]
Large = Callable[..., Story]

# -- what stands in a page ------------------------------------------------------------------


NUMBERS = """() => {
    const said = (id) => document.querySelector(id).textContent.match(/\\d+/)?.[0];
    return [
        location.hash.slice(1),
        document.querySelector('#slider').value,
        document.querySelector('#steps [aria-current=step]').hash.slice(1),
        said('#counter'), said('#drawing .step'), said('#said'),
    ];
}"""


def number(shown: Page) -> int:
    """The number of the shown step, in all its places, once the page has followed its hash."""
    shown.wait_for_function(
        "() => document.querySelector('#slider').value === location.hash.slice(1)"
    )
    said = shown.evaluate(NUMBERS)
    assert len(set(said)) == 1, said
    return int(said[0])


DRAWN = """() => [...document.querySelectorAll('#drawing .lane')].map(lane => {
    const texts = (selector) => [...lane.querySelectorAll(selector)].map(e => e.textContent);
    return {
        name: lane.dataset.lane,
        facts: texts('.fact .value'),
        before: texts('del.role, .fact del'),
        cells: texts('.cell .text'),
        new: texts('.cell.new .text'),
        gone: texts('.cell.gone .text'),
        failing: texts('.cell.failing .text'),
        marks: texts('.mark .label'),
        messages: texts('.message'),
    };
})"""


def failing_cells(shown: Page) -> list[tuple[str, str]]:
    """The lane and the text of each cell that is marked as failing."""
    return [(lane["name"], cell) for lane in shown.evaluate(DRAWN) for cell in lane["failing"]]


def text(inside: Page, selector: str) -> str:
    return str(inside.locator(selector).inner_text())


# -- stepping -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.other_software
def test_buttons_step_through_all_scenes(opened: Open, lost: Story) -> None:
    shown, last = opened(lost), len(lost.scenes)
    assert number(shown) == 1
    assert shown.locator("#back").is_disabled()
    for expected in range(2, last + 1):
        shown.click("#forward")
        assert number(shown) == expected
    assert shown.locator("#forward").is_disabled()
    shown.click("#back")
    assert number(shown) == last - 1
    shown.click("#first")
    assert number(shown) == 1
    shown.click("#last")
    assert number(shown) == last


@pytest.mark.slow
@pytest.mark.other_software
def test_keys_step_and_stop_at_both_ends(opened: Open, lost: Story) -> None:
    shown, last = opened(lost), len(lost.scenes)
    for key, expected in [
        ("ArrowRight", 2),
        ("j", 3),
        ("k", 2),
        ("ArrowLeft", 1),
        ("ArrowLeft", 1),
        ("End", last),
        ("ArrowRight", last),
        ("Home", 1),
    ]:
        shown.keyboard.press(key)
        assert number(shown) == expected, key


@pytest.mark.slow
@pytest.mark.other_software
def test_keys_step_while_a_disabled_button_has_the_focus(opened: Open, lost: Story) -> None:
    shown, last = opened(lost), len(lost.scenes)
    shown.focus("#last")
    shown.keyboard.press("Enter")
    shown.keyboard.press("ArrowLeft")
    assert number(shown) == last - 1


@pytest.mark.slow
@pytest.mark.other_software
def test_space_plays_to_the_end_and_pauses(opened: Open, lost: Story) -> None:
    shown, last = opened(lost), len(lost.scenes)
    shown.evaluate("setInterval = (tick) => (window.tick = tick, 1)")
    shown.keyboard.press(" ")
    expect(shown.locator("#play")).to_have_attribute("aria-label", "Pause")
    shown.evaluate("tick(), tick()")
    assert number(shown) == 3
    shown.keyboard.press(" ")
    expect(shown.locator("#play")).to_have_attribute("aria-label", "Play")
    shown.click("#play")
    shown.evaluate(f"for (let i = 0; i < {last}; i++) tick()")
    assert number(shown) == last
    expect(shown.locator("#play")).to_have_attribute("aria-label", "Play")


@pytest.mark.slow
@pytest.mark.other_software
def test_a_click_shows_a_step_and_the_browser_can_go_back(opened: Open, lost: Story) -> None:
    shown = opened(lost)
    shown.click("#steps a[href='#4']")
    assert number(shown) == 4
    shown.keyboard.press("ArrowDown")
    assert number(shown) == 5
    assert shown.evaluate("document.activeElement.hash") == "#5"
    shown.go_back()
    expect(shown.locator("#counter")).to_contain_text("1 /")


@pytest.mark.slow
@pytest.mark.other_software
def test_the_slider_steps(opened: Open, lost: Story) -> None:
    shown = opened(lost)
    shown.focus("#slider")
    shown.keyboard.press("ArrowRight")
    assert number(shown) == 2
    shown.locator("#slider").fill("6")
    assert number(shown) == 6


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [("#7", 7), ("", 1), ("#0", 1), ("#999", 9), ("#seven", 1), ("#7<b>", 1)],
)
def test_a_step_can_be_linked_to(opened: Open, lost: Story, fragment: str, expected: int) -> None:
    assert number(opened(lost, fragment)) == expected


def test_changing_the_fragment_changes_the_step(opened: Open, lost: Story) -> None:
    shown = opened(lost, "#3")
    shown.evaluate("location.hash = '#6'")
    expect(shown.locator("#counter")).to_contain_text("6 /")


# -- what a scene shows ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.other_software
def test_every_scene_shows_its_facts_cells_and_arrows(opened: Open, lost: Story) -> None:
    shown = opened(lost)
    for scene in lost.scenes:
        assert shown.evaluate(DRAWN) == [
            {
                "name": lane.name,
                "facts": [fact.value for fact in lane.facts],
                "before": [
                    *([lane.role_before] if lane.role_before else []),
                    *(fact.before for fact in lane.facts if fact.before),
                ],
                "cells": [cell.text for cell in lane.cells],
                "new": [cell.text for cell in lane.cells if cell.change == "new"],
                "gone": [cell.text for cell in lane.cells if cell.change == "gone"],
                "failing": [cell.text for cell in lane.cells if cell.failing],
                "marks": [f"{mark.label} {mark.at}" for mark in lane.marks],
                "messages": [
                    f"{arrow.label} from {arrow.source}"
                    for arrow in scene.arrows
                    if arrow.target == lane.name
                ],
            }
            for lane in scene.lanes
        ]
        assert shown.locator("#drawing svg .line").count() == len(scene.arrows)
        assert text(shown, "#drawing .doc") == scene.doc
        shown.keyboard.press("j")


def test_rules_are_named_in_words_and_by_identifier(opened: Open, lost: Story) -> None:
    advance = next(s.number for s in lost.scenes if s.rule == "leader_advances_hw")
    shown = opened(lost, f"#{advance}")
    assert text(shown, "#drawing h2") == "Leader advances HW"
    assert text(shown, "#drawing code") == "leader_advances_hw"
    assert text(shown, "#drawing .step b") == "leader 0"


@pytest.mark.slow
@pytest.mark.other_software
def test_only_the_failing_step_and_cell_are_marked(opened: Open, lost: Story) -> None:
    shown, last = opened(lost), len(lost.scenes)
    for step in range(1, last + 1):
        failing = [("broker 1", "r0 e0")] if step == last else []
        assert failing_cells(shown) == failing
        assert shown.locator("#drawing .outcome .fails").count() == len(failing)
        shown.keyboard.press("j")
    assert shown.locator("#steps li.failing a").get_attribute("href") == f"#{last}"
    assert lost.verdict in text(shown, "#masthead .verdict")
    assert lost.promise in text(shown, "#masthead .verdict")
    assert lost.verdict in text(shown, "#said")


def test_a_failing_lane_and_a_missing_record_are_marked(opened: Open, large: Large) -> None:
    shown = opened(large())
    assert shown.locator("#drawing .lane.failing").get_attribute("data-lane") == "broker 2"
    assert failing_cells(shown)[0] == ("broker 0", "missing")


def test_a_sign_stands_behind_the_text_of_its_cell(opened: Open, large: Large) -> None:
    shown = opened(large())
    texts = shown.locator("#drawing .lane").nth(1).locator(".cell .text").all_text_contents()
    assert texts[:4] == ["r0 e0✓", "r1 e1✓", "r2 e2✓", "r3 e3"]


def test_a_witness_marks_no_failure(opened: Open, witness: Story) -> None:
    shown = opened(witness, f"#{len(witness.scenes)}")
    assert shown.locator(".failing, .fails").count() == 0
    assert text(shown, "#drawing .outcome") == "✓ Witness: everyone knows"


def test_a_lasso_returns_to_its_loop(opened: Open, going_round: Story) -> None:
    shown = opened(going_round, "#2")
    outcome = text(shown, "#drawing .outcome")
    assert "the behaviour repeats: step aside together, back to step 1" in outcome
    assert "then back to step 1" in text(shown, "#steps")
    shown.keyboard.press("ArrowRight")
    assert number(shown) == 1


@pytest.mark.slow
@pytest.mark.other_software
def test_marks_at_one_offset_stay_readable(opened: Open, lost: Story) -> None:
    readable = """() => [...document.querySelectorAll('#drawing .log')].map(log => {
        const box = (element) => element.getBoundingClientRect();
        const labels = [...log.querySelectorAll('.label span')];
        const inside = (a, b) =>
            a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom;
        const [high, low] = labels.map(box);
        return labels.length === 2 && high.bottom < low.top
            && labels.every(label => inside(box(label), box(log)));
    })"""
    shown = opened(lost)
    for _ in lost.scenes:
        assert shown.evaluate(readable) == [True, True]
        shown.keyboard.press("j")


@pytest.mark.slow
@pytest.mark.other_software
def test_a_mark_is_between_the_cells_it_divides(opened: Open, lost: Story) -> None:
    shown = opened(lost, f"#{len(lost.scenes)}")
    leader = shown.locator("[data-lane='broker 0']")
    for mark in leader.locator(".mark").all():
        line = mark.bounding_box()
        first, second = (cell.bounding_box() for cell in leader.locator(".cell").all())
        assert line is not None
        assert first is not None
        assert second is not None
        right = line["x"] + line["width"]
        assert first["x"] + first["width"] - 2 <= right <= second["x"] + 2


# -- the strip of states --------------------------------------------------------------------

STRIP = """() => [...document.querySelectorAll('#timeline .band')].map(band => [
    Number(band.style.gridRow.split(' ')[0]), band.hash.slice(1), band.textContent])"""


@pytest.mark.slow
@pytest.mark.other_software
def test_the_strip_has_a_segment_for_each_stay_in_a_state(opened: Open, rebalance: Story) -> None:
    expected = []
    for row, lane in enumerate(rebalance.scenes[0].lanes):
        before = None
        for scene in rebalance.scenes:
            band = next(other.band for other in scene.lanes if other.name == lane.name)
            assert band is not None
            if band != before:
                expected.append([row + 1, str(scene.number), band.name])
            before = band
    assert opened(rebalance).evaluate(STRIP) == expected
    assert len(expected) > 5


@pytest.mark.slow
@pytest.mark.other_software
def test_the_strip_shows_the_current_step_and_links_to_each_change(
    opened: Open, rebalance: Story
) -> None:
    shown = opened(rebalance, "#2")
    shown.click("#timeline .band:text-is('Stable')")
    stable = number(shown)
    assert rebalance.scenes[stable - 1].lanes[0].band_before == "CompletingRebalance"
    now = shown.locator("#timeline .now").bounding_box()
    piece = shown.locator("#timeline .band:text-is('Stable')").bounding_box()
    assert now is not None
    assert piece is not None
    assert abs(now["x"] - piece["x"]) < 4


@pytest.mark.slow
@pytest.mark.other_software
def test_a_lane_shows_its_state_and_the_previous_one(opened: Open, rebalance: Story) -> None:
    prepares = next(s.number for s in rebalance.scenes if s.lanes[0].band_before == "Empty")
    lane = opened(rebalance, f"#{prepares}").locator("[data-lane='coordinator']")
    assert lane.locator("del.band").inner_text() == "Empty"
    assert lane.locator("span.band.changed").inner_text() == "PreparingRebalance"
    assert "coordinator: PreparingRebalance" in str(
        opened(rebalance, f"#{prepares}").locator("#said").text_content()
    )


def test_lanes_without_bands_have_no_strip(opened: Open, lost: Story) -> None:
    assert opened(lost).locator("#timeline").is_hidden()
