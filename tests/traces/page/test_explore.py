"""The page of `kspec explore` in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from kspec.checkers.explore.protocol import Explorer
from kspec.checkers.explore.server import ExplorerServer
from kspec.checkers.explore.session import Session
from kspec.checkers.models.find import find_model
from kspec.spec.core import Model, Step, Variant, evolve, replaced, rule
from tests.known import KIP_101_LOSS

pytestmark = [pytest.mark.slow, pytest.mark.other_software]

NARROW = 360
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

Explore = Callable[..., Page]


@pytest.fixture
def explored(browser: Browser) -> Iterator[Explore]:
    """Open the page of a system; afterwards, check that nothing was asked of another server."""
    servers: list[ExplorerServer] = []
    complaints: list[str] = []
    requests: list[str] = []
    with browser.new_context(reduced_motion="reduce", accept_downloads=True) as context:
        context.set_default_timeout(180_000)

        def open_page(
            model: str | Model[Any], variant: str | None = None, width: int = 1280
        ) -> Page:
            found = find_model(model) if isinstance(model, str) else model
            server = ExplorerServer(Explorer(Session(found.system(variant))))
            servers.append(server)
            tab = context.new_page()
            tab.set_viewport_size({"width": width, "height": 900})
            tab.on("console", lambda message: complaints.append(message.text))
            tab.on("pageerror", lambda error: complaints.append(str(error)))
            tab.on("request", lambda request: requests.append(request.url))
            tab.goto(server.address)
            expect(tab.locator("#counter")).to_have_text("1 / 1")
            return tab

        yield open_page
        own = tuple(f"{scheme}http://{s.host}/" for s in servers for scheme in ("", "blob:"))
        assert [url for url in requests if not url.startswith((*own, "file:"))] == []
        assert complaints == []
    for server in servers:
        server.close()


def taking(tab: Page, step: str) -> Locator:
    """The button that takes a step, as a story writes it."""
    name, _, rest = step.partition(" ")
    card = tab.locator(f"#moves [data-rule='{name}']:is(article)")
    if not rest:
        return card.locator("button")
    words = ", ".join(choice.replace("=", " ", 1) for choice in with_names(rest))
    return card.locator("button").filter(has_text=words)


def with_names(rest: str) -> list[str]:
    """The choices of a step: `follower=2`, `request={epoch 0, leader 1, isr {0, 1}}`."""
    found: list[str] = []
    for word in rest.split():
        if "=" in word:
            found.append(word)
        else:
            found[-1] += f" {word}"
    return found


def reach_loss(tab: Page) -> None:
    """Click through the steps to the loss."""
    for number, step in enumerate(KIP_101_LOSS, 2):
        taking(tab, step).click()
        expect(tab.locator("#counter")).to_have_text(f"{number} / {number}")


def open_tool(tab: Page, name: str) -> None:
    """Open a panel of the tools."""
    tab.locator("#tools summary", has_text=name).click()


def test_the_loss_is_reached_by_hand_replayed_under_kip_320_saved_and_loaded(
    explored: Explore, tmp_path: Path
) -> None:
    tab = explored("replication", "kip-101")
    reach_loss(tab)
    expect(tab.locator("#drawing .outcome .fails")).to_contain_text(
        "StrongIsr fails at offset 0 on broker 2, committed by broker 1."
    )
    expect(tab.locator("#drawing .cell.failing .text")).to_have_text("missing")
    # A branch: three steps back, another step.
    for number in (11, 10, 9):
        tab.keyboard.press("ArrowLeft")
        expect(tab.locator("#counter")).to_have_text(f"{number} / 12")
    taking(tab, "leader_appends leader=1").click()
    expect(tab.locator("#counter")).to_have_text("10 / 10")
    open_tool(tab, "Branches")
    expect(tab.locator("#branches li")).to_have_count(2)
    tab.locator("#branches button").click()
    expect(tab.locator("#common")).to_have_text("Both branches begin with the same 9 states.")
    expect(tab.locator("#both-counter")).to_have_text("10 / 12")
    expect(tab.locator("#differences tbody tr")).not_to_have_count(0)
    tab.locator("#both-slider").fill("3")
    expect(tab.locator("#differences")).to_have_text("The states are equal.")
    tab.locator("#close").click()
    tab.locator("#branches a", has_text="12 states").click()
    expect(tab.locator("#counter")).to_have_text("12 / 12")
    # The same steps under KIP-320.
    open_tool(tab, "What if")
    tab.select_option("#other", "kip-320")
    expect(tab.locator("#other-why")).not_to_be_empty()
    tab.locator("#what-if button").click()
    says = "Step 11 of 11 is not possible: leader_expands_isr is blocked by: "
    expect(tab.locator("#message")).to_contain_text(says)
    expect(tab.locator("#left .kind")).to_have_text("kip-101")
    expect(tab.locator("#right .kind")).to_have_text("kip-320")
    expect(tab.locator("#left .fails").first).to_contain_text("StrongIsr")
    expect(tab.locator("#right .fails")).to_have_count(0)
    tab.locator("#close").click()
    # Saved, and loaded into a page that knows nothing of it.
    open_tool(tab, "File")
    with tab.expect_download() as saving:
        tab.locator("[data-save=itf]").click()
    itf = tmp_path / saving.value.suggested_filename
    saving.value.save_as(itf)
    assert itf.name == "replication-kip-101-12.itf.json"
    with tab.expect_download() as saving:
        tab.locator("[data-save=page]").click()
    page = tmp_path / saving.value.suggested_filename
    saving.value.save_as(page)
    other = explored("replication", "kip-320")
    open_tool(other, "File")
    other.set_input_files("#load", itf)
    expect(other.locator("#counter")).to_have_text("12 / 12")
    expect(other.locator("#variant")).to_have_value("kip-101")
    expect(other.locator("#drawing .outcome .fails")).to_contain_text("StrongIsr fails")
    # It goes on from any step, and is there again after the page is loaded anew.
    other.locator("#steps a").nth(3).click()
    expect(other.locator("#counter")).to_have_text("4 / 12")
    other.reload()
    expect(other.locator("#counter")).to_contain_text("4 / ")
    other.goto(page.as_uri())
    expect(other.locator("h1")).to_have_text("replication, kip-101")
    expect(other.locator("#steps li")).to_have_count(12)


def test_rules_are_enabled_or_blocked_by_a_named_guard(explored: Explore) -> None:
    tab = explored("replication", "kip-101")
    expect(tab.locator("#moves h2")).to_have_text("Enabled (6)")
    expect(tab.locator("#blocked summary")).to_have_text("Blocked rules (7)")
    tab.locator("#blocked summary").click()
    appends = tab.locator("#blocked [data-rule=leader_appends]:is(article)")
    expect(appends.locator(".blocked")).to_have_text(
        "blocked by leader presumes leadership: leader 0; leader 1; leader 2"
    )
    tab.keyboard.press("5")
    expect(tab.locator("#steps [aria-current] .detail")).to_have_text("controller · broker 1")
    tab.keyboard.press("k")
    expect(tab.locator("#moves .known")).to_have_count(1)
    tab.go_back()
    expect(tab.locator("#counter")).to_have_text("2 / 2")


def test_a_search_and_a_walk(explored: Explore) -> None:
    tab = explored("die-hard")
    open_tool(tab, "Search")
    tab.fill("#goal", "big ==")
    tab.keyboard.press("Enter")
    expect(tab.locator("#message.error")).to_have_text("a name expected at the end")
    tab.fill("#goal", "big == 4")
    tab.locator("#search button:not([type])").click()
    expect(tab.locator("#message:not(.error)")).to_contain_text("6 steps away: big == 4")
    expect(tab.locator("#counter")).to_have_text("7 / 7")
    expect(tab.locator("#drawing .fails")).to_contain_text("GoalIsNeverMeasured fails")
    open_tool(tab, "Walk at random")
    tab.fill("#walk-steps", "3")
    tab.locator("#walk button").click()
    expect(tab.locator("#walk-seed")).to_have_value("2")
    expect(tab.locator("#steps li")).not_to_have_count(7)


def test_a_server_that_has_ended_is_named(browser: Browser) -> None:
    server = ExplorerServer(Explorer(Session(find_model("die-hard").system())))
    tab = browser.new_page()
    tab.set_default_timeout(180_000)
    tab.goto(server.address)
    expect(tab.locator("#counter")).to_have_text("1 / 1")
    tab.route("**/*", lambda route: route.abort())
    tab.keyboard.press("1")
    expect(tab.locator("#message.error")).to_have_text("kspec does not answer: has it ended?")
    tab.close()
    server.close()


def test_no_view_is_wider_than_a_phone(explored: Explore) -> None:
    for model, variant, other in (
        ("replication", "kip-101", "kip-320"),
        ("partition", None, "kafka-2.1"),
        ("group", None, "cooperative"),
        ("transactions", None, "kip-447"),
    ):
        tab = explored(model, variant, width=NARROW)
        tab.locator("#blocked summary").click()
        for summary in tab.locator("#tools summary").all():
            summary.click()
            assert tab.evaluate(OVERFLOW) == 0, (model, summary.inner_text())
        for number in range(2, 6):
            tab.locator("#moves button").last.click()
            expect(tab.locator("#counter")).to_have_text(f"{number} / {number}")
            assert tab.evaluate(OVERFLOW) == 0, model
        names = [option.text_content() for option in tab.locator("#other option").all()]
        open_tool(tab, "What if")
        tab.select_option("#other", other if other in names else f"{names[0]}")
        tab.locator("#what-if button").click()
        expect(tab.locator("#comparison")).to_be_visible()
        assert tab.evaluate(OVERFLOW) == 0, f"{model}, compared"


@attrs.frozen
class Node:
    """A node that votes."""

    voted: int = -1
    log: tuple[str, ...] = ()


@attrs.frozen
class Nodes:
    """Several nodes."""

    nodes: tuple[Node, ...] = (Node(), Node())


HOSTILE = "<img src=x onerror=alert(1)>"


@rule(by="node", node=lambda s: range(2))
def votes(s: Nodes, node: int) -> Step[Nodes]:
    """A node votes."""
    yield f"node has not voted {HOSTILE}", s.nodes[node].voted < 0
    return evolve(s, nodes=replaced(s.nodes, node, Node(1, (HOSTILE,))))


VOTES = Model(
    name="votes",
    doc=f"Votes. {HOSTILE}",
    initial=lambda bounds: [Nodes()],
    properties=[],
    variants=[Variant("votes", (votes,), "It is the only one.")],
)


def test_a_model_of_ones_own_shows_the_leaves_that_changed(explored: Explore) -> None:
    tab = explored(VOTES)
    taking(tab, "votes node=1").click()
    leaves = tab.locator("#drawing .leaf")
    expect(leaves).to_have_count(2)
    expect(leaves.first).to_have_text("was -1→, now 1")
    assert leaves.first.get_attribute("title") == "nodes[1].voted"
    expect(leaves.nth(1).locator("mark")).to_have_text(HOSTILE)
    expect(tab.locator("#moves .blocked b")).to_have_text(f"node has not voted {HOSTILE}")
    assert tab.locator("img").count() == 0
