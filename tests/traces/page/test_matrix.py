"""The page of `kspec advise`: a table whose cells open the shortest losses."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from kspec.field.advice.matrix import Cell, questions
from kspec.field.advice.page import matrix_page
from kspec.field.advice.questions import answer


@pytest.fixture(scope="module")
def cells() -> list[Cell]:
    """The cells of a single replica: small questions."""
    some = (one for one in questions("kafka-4.1") if one[0].factor == 1)
    return [Cell(s, b, answer(s, b)) for s, b in some]


@pytest.mark.slow
@pytest.mark.other_software
def test_a_cell_opens_its_loss_and_nothing_is_blocked(
    browser: Browser, cells: list[Cell], tmp_path: Path
) -> None:
    file = tmp_path / "matrix.html"
    file.write_text(matrix_page(cells, "kafka-4.1", ["clocks <b>"]), encoding="ascii")
    tab = browser.new_page()
    complaints: list[str] = []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.goto(file.as_uri())
    expect(tab.locator("tbody tr")).to_have_count(3)
    expect(tab.locator("main")).to_contain_text("clocks <b>")
    lost = [cell for cell in cells if cell.answer.loss is not None]
    buttons = tab.locator("button[data-loss]")
    expect(buttons).to_have_count(len(lost))
    for index in (0, len(lost) - 1):
        buttons.nth(index).click()
        frame = tab.frame_locator("#loss")
        states = lost[index].answer.states
        expect(frame.locator("#counter")).to_have_text(f"1 / {states}")
        frame.locator("#steps a").nth(2).click()
        expect(frame.locator("#counter")).to_have_text(f"3 / {states}")
        frame.locator("#last").click()
        expect(frame.locator("#counter")).to_have_text(f"{states} / {states}")
        tab.locator("dialog button").first.click()
        expect(tab.locator("dialog")).not_to_be_visible()
    tab.close()
    assert complaints == []
