"""Requests and answers of the explorer, as JSON objects: what the page and its tests speak.

A request names what to do: `{"do": "take", "node": 3, "rule": "leader_appends", "choice": 0}`. The
answer is a JSON object; where something is wrong, it is `{"error": "…"}`. Answers that visit states
have `nodes`, the visited states, and `at`, the one to show; with `known` in the request, only the
nodes from that number on.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from kspec.checkers.engine.verdict import DEADLOCK, fails
from kspec.checkers.explore.moves import Move, all_moves, why_nothing
from kspec.checkers.explore.seek import Found, Seeker
from kspec.checkers.explore.session import Node, Session
from kspec.checkers.explore.what_if import replay_under, variants_beside
from kspec.spec.core import Always, Reachable, SpecError, look_up
from kspec.spec.core.errors import code_of
from kspec.traces.itf import parse, to_itf
from kspec.traces.page import page
from kspec.traces.story import Story, in_plain
from kspec.traces.text import all_printable
from kspec.traces.trace import settings

Answer: TypeAlias = dict[str, Any]


class Explorer:
    """Answers requests about one session, one at a time; a search runs beside them."""

    def __init__(self, session: Session) -> None:
        """Start with what the session has visited."""
        self.session = session
        self.at = session.first
        """The state that a page shows when it is opened."""
        self.lock = threading.Lock()
        self.search: SearchInBackground | None = None

    def answer(self, request: Any) -> Answer:
        """Answer one request."""
        try:
            if not isinstance(request, dict):
                raise SpecError("a request is a JSON object")
            do = look_up("request", str(request.get("do")), REQUESTS)
            with self.lock:
                answered: Answer = do(self, request)
                return answered
        except SpecError as error:
            return {"error": str(error)}

    def close(self) -> None:
        """Stop the search, if one is running."""
        if self.search is not None:
            self.search.seeker.is_stopped = True

    # -- visiting -------------------------------------------------------------------------------

    def describe(self, request: Mapping[str, Any]) -> Answer:
        """The model, and everything that was visited: for a page that is opened or loaded again."""
        session = self.session
        model, system = session.model, session.first.system
        picture = session.first.picture
        return {
            "model": model.name,
            "doc": in_plain(model.doc),
            "variant": system.variant.name,
            "variants": [{"name": v.name, "why": in_plain(v.why)} for v in model.variants],
            "bounds": dict(settings(session.bounds)),
            "properties": [
                {"name": p.name, "summary": in_plain(p.summary)}
                for p in model.all_properties
                if isinstance(p, Always | Reachable)
            ],
            "goals": goals(session),
            "words": picture.words,
            "colour": picture.colour,
            **self.visited({}, self.at),
        }

    def visited(self, request: Mapping[str, Any], at: Node, **more: Any) -> Answer:
        """The nodes that the page does not know yet, and the one to show.

        A page knows the first `known` nodes: they are numbered in the order of their visits.
        """
        self.at = at
        known = whole(request, "known") if "known" in request else 0
        new = self.session.nodes[max(known, 0) :]
        return {"nodes": [as_json(node) for node in new], "at": at.id, **more}

    def look(self, request: Mapping[str, Any]) -> Answer:
        """What each rule can do in a state."""
        node = self.session.node(request.get("node"))
        self.at = node
        rules = list(all_moves(node.system, node.state))
        nothing = not any(move.is_enabled for _, moves in rules for move in moves)
        known = {child.state: child.id for child in self.session.children.get(node.id, [])}
        return {
            "rules": [
                {
                    "name": rule.name,
                    "by": rule.by,
                    "summary": in_plain(rule.summary),
                    "moves": [move_as_json(move, known) for move in moves],
                }
                for rule, moves in rules
            ],
            "nothing": why_nothing(node.system, node.state) if nothing else "",
            "failing": [
                {"says": f"{fails(name, place)}.", "promise": promise_of(node, name)}
                for name, place in node.failing.items()
            ],
            "what_if": variants_beside(self.session, node),
        }

    def take(self, request: Mapping[str, Any]) -> Answer:
        """Take a step."""
        node = self.session.node(request.get("node"))
        move = self.session.move(node, str(request.get("rule")), request.get("choice"))
        return self.visited(request, self.session.take(node, move))

    def walk(self, request: Mapping[str, Any]) -> Answer:
        """Walk at random."""
        node = self.session.node(request.get("node"))
        steps, seed = whole(request, "steps"), whole(request, "seed")
        return self.visited(request, self.session.walk(node, steps, seed))

    def begin(self, request: Mapping[str, Any]) -> Answer:
        """Go to an initial state of a variant."""
        system = self.session.system(text(request, "variant"))
        return self.visited(request, self.session.begin(system))

    def replay_under(self, request: Mapping[str, Any]) -> Answer:
        """Take the same steps under another variant."""
        node = self.session.node(request.get("node"))
        found = replay_under(self.session, node, text(request, "variant"))
        return self.visited(
            request, found.node, parts_at=found.parts_at, blocked=found.blocked, says=found.says
        )

    def compare(self, request: Mapping[str, Any]) -> Answer:
        """Where two states differ, and how far the ways to them are the same."""
        left, right = (self.session.node(request.get(side)) for side in ("left", "right"))
        return {
            "fork": self.session.fork(left, right),
            "differences": [
                {"at": piece.at, "left": piece.before, "right": piece.text}
                for piece in self.session.difference(left, right)
            ],
        }

    # -- searching ------------------------------------------------------------------------------

    def seek(self, request: Mapping[str, Any]) -> Answer:
        """Begin to search for the nearest state that satisfies a condition."""
        if self.search is not None and self.search.is_running:
            raise SpecError("a search is running: stop it first")
        node = self.session.node(request.get("node"))
        self.search = SearchInBackground(Seeker(node, text(request, "goal")), node)
        self.search.start()
        return {"running": True}

    def progress(self, request: Mapping[str, Any]) -> Answer:
        """How far the search is; once it has ended, its result."""
        search = self.search
        if search is None:
            raise SpecError("there is no search")
        if search.is_running:
            p = search.seeker.progress
            counts = {"level": p.level, "distinct": p.distinct, "seconds": p.seconds} if p else {}
            return {"running": True, **counts}
        self.search = None
        if isinstance(search.result, SpecError):
            raise search.result
        found = search.result
        assert found is not None, "a search that has ended has a result"
        at = self.session.follow(search.node, found.trace) if found.trace else search.node
        says = found.says(search.seeker.goal)
        result = {"running": False, "found": found.trace is not None, "says": says}
        return {**result, **self.visited(request, at)}

    def stop(self, request: Mapping[str, Any]) -> Answer:
        """Ask the search to stop; its result is asked for as usual."""
        self.close()
        return {}

    # -- files ----------------------------------------------------------------------------------

    def load(self, request: Mapping[str, Any]) -> Answer:
        """Visit the states of an ITF file."""
        name = str(request.get("name", "the file"))
        return self.visited(request, self.session.load(parse(text(request, "text"), name)))

    def save(self, request: Mapping[str, Any]) -> Answer:
        """The way to a state as an ITF file, or as a page."""
        node = self.session.node(request.get("node"))
        suffix, content = look_up("kind of file", text(request, "as"), FILES)
        name = f"{self.session.model.name}-{node.system.variant.name}-{node.number}"
        return {"name": f"{name}{suffix}", "text": content(self.session, node)}


class SearchInBackground(threading.Thread):
    """A search in a thread of its own."""

    def __init__(self, seeker: Seeker, node: Node) -> None:
        """Prepare to search from a node."""
        super().__init__(daemon=True, name="search")
        self.seeker = seeker
        self.node = node
        self.result: Found | SpecError | None = None

    def run(self) -> None:
        """Search; an error is kept for the one who asks for the result."""
        try:
            with code_of("the search"):
                self.result = self.seeker.run()
        except SpecError as error:
            self.result = error

    @property
    def is_running(self) -> bool:
        """Whether there is no result yet."""
        return self.result is None


REQUESTS: Mapping[str, Callable[[Explorer, Mapping[str, Any]], Answer]] = {
    "describe": Explorer.describe,
    "look": Explorer.look,
    "take": Explorer.take,
    "walk": Explorer.walk,
    "begin": Explorer.begin,
    "what-if": Explorer.replay_under,
    "compare": Explorer.compare,
    "seek": Explorer.seek,
    "progress": Explorer.progress,
    "stop": Explorer.stop,
    "load": Explorer.load,
    "save": Explorer.save,
}
"""What can be asked for."""


# -- files --------------------------------------------------------------------------------------


def story_of(session: Session, node: Node) -> Story:
    """The way to a node as a story, with what it shows."""
    failing = [fails(name, place) for name, place in node.failing.items()]
    return session.story(node, failing[0] if failing else "a behaviour")


FILES: Mapping[str, tuple[str, Callable[[Session, Node], str]]] = {
    "itf": (".itf.json", lambda s, node: json.dumps(to_itf(s.trace(node)), indent=1) + "\n"),
    "page": (".html", lambda s, node: page(story_of(s, node))),
}
"""The files that a behaviour is saved as: the ends of their names, and what they contain."""


# -- values ---------------------------------------------------------------------------------------


def as_json(node: Node) -> Answer:
    """A visited state."""
    return {
        "id": node.id,
        "parent": node.parent.id if node.parent else None,
        "variant": node.system.variant.name,
        "failing": list(node.failing),
        "scene": attrs.asdict(all_printable(node.scene)),
    }


def move_as_json(move: Move, known: Mapping[Any, int]) -> Answer:
    """An instance of a rule; one that is enabled has no `blocked`."""
    if move.is_enabled:
        return {"choices": move.choices, "known": known.get(move.after)}
    return {"choices": move.choices, "blocked": move.blocked_by, "limit": move.is_limit}


def promise_of(node: Node, name: str) -> str:
    """The first paragraph of a property's docstring."""
    named = [p for p in node.system.properties if p.name == name]
    return in_plain(named[0].summary) if named else ""


def text(request: Mapping[str, Any], name: str) -> str:
    """A text of the request."""
    value = request.get(name)
    if not isinstance(value, str):
        raise SpecError(f"the request needs a text {name!r}")
    return value


def whole(request: Mapping[str, Any], name: str) -> int:
    """A whole number of the request."""
    value = request.get(name)
    if type(value) is not int:
        raise SpecError(f"the request needs a whole number {name!r}")
    return value


def goals(session: Session) -> Sequence[str]:
    """Conditions to suggest."""
    properties = [p for p in session.model.all_properties if isinstance(p, Always | Reachable)]
    invariants = [f"not {p.name}" for p in properties if isinstance(p, Always)]
    witnesses = [p.name for p in properties if isinstance(p, Reachable)]
    return [*invariants, *witnesses, DEADLOCK]
