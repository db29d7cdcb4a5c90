"""The report of a run: its counterexamples, verdict, findings and effort, printed in one place."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kspec.checkers.cli.options import writes
from kspec.checkers.cli.output import (
    OutputFile,
    as_json_text,
    complain,
    say,
    say_command,
    say_table,
    say_trace,
)
from kspec.checkers.engine.options import INTERRUPTED, NOT_WRITTEN
from kspec.checkers.engine.verdict import (
    BOUNDS,
    DEADLOCK,
    EXIT_BAD_INPUT,
    HOLDS,
    INCONCLUSIVE,
    SAMPLED,
    Verdict,
)
from kspec.spec.core import Blocked, Liveness, SpecError, System
from kspec.traces.text import counted
from kspec.traces.trace import settings

if TYPE_CHECKING:
    from kspec.checkers.engine.search import RuleFailed
    from kspec.traces.story import Story
    from kspec.traces.trace import Trace


def title(system: System[Any]) -> str:
    """What was checked: model, variant and bounds."""
    bounds = ", ".join(f"{name} {value}" for name, value in settings(system.bounds).items())
    return f"{system.model.name}, {system.variant.name}" + (f": {bounds}" if bounds else "")


def print_report(
    verdict: Verdict, model: str, files: TraceFiles, *, witness: Trace | None = None
) -> None:
    """Print what a run found; `model` is the model as the command line names it."""
    say(title(verdict.system))
    print_counterexamples(verdict, files)
    if witness:
        say()
        say_trace(files.story(witness, f"{witness.property} is reached", violated=False))
    say()
    for line in conclusions(verdict):
        say(line)
    print_expected_violation(verdict, model)


def print_counterexamples(verdict: Verdict, files: TraceFiles) -> None:
    """Print each violation; a trace that shows several of them is drawn once."""
    drawn: list[object] = []
    for violation in verdict.violations:
        trace = violation.trace
        if trace and trace.states not in drawn:
            drawn.append(trace.states)
            say()
            say_trace(files.story(trace, violation.says, violated=True))
            say()
        say(f"{violation.says}" + (f" ({violation.states} states)." if trace else "."))
        if trace and violation.name == DEADLOCK:
            print_blocking_guards(trace)
        if trace and trace.loop is not None:
            print_excuses(trace)


def print_excuses(trace: Trace) -> None:
    """Print where a loop blocks the weakly fair rules that it never takes."""
    from kspec.checkers.graph.excused import excuses

    for prop in trace.system.properties:
        if prop.name == trace.property and isinstance(prop, Liveness):
            for line in excuses(trace, prop):
                say(f"    {line}")


def print_blocking_guards(trace: Trace) -> None:
    """For each rule and choice in the last state, print the guard that blocks it."""
    from kspec.traces.story import choice_text

    state = trace.states[-1]
    for rule in trace.system.rules:
        for choice in rule.instances(state):
            chosen = " ".join(
                f"{name}={choice_text(value, state)}"
                for name, value in zip(rule.choices, choice, strict=True)
            )
            blocked = rule.attempt(state, choice)
            if isinstance(blocked, Blocked):
                say(f"    {f'{rule.name} {chosen}'.rstrip()} is blocked by: {blocked.guard}")
    say("    If a behaviour may end in this state, declare the state final: Model(final=…).")


def conclusions(verdict: Verdict) -> list[str]:
    """The verdict, what the model leaves out, findings and effort."""
    model = verdict.system.model
    lines = [outcome(verdict)]
    if verdict.verdict == HOLDS and model.not_modelled:
        lines.append(f"Not modelled: {', '.join(model.not_modelled)}.")
    if left_out := [p.name for p in verdict.system.too_small_for()]:
        names = ", ".join(left_out)
        lines.append(f"Not checked, since these bounds are too small to decide it: {names}.")
    return [*lines, *findings(verdict), effort(verdict)]


def outcome(verdict: Verdict) -> str:
    """The verdict in a sentence."""
    checked = ", ".join(p.name for p in verdict.system.properties) or "no property"
    if verdict.verdict == HOLDS:
        if not verdict.system.properties:
            return "Every state within these bounds was explored; no property was checked."
        return f"Holds in every state within these bounds: {checked}."
    if verdict.verdict == SAMPLED:
        return f"No walk violated a property, which proves nothing. Checked: {checked}."
    if verdict.verdict == INCONCLUSIVE:
        stopped = verdict.stopped_by
        if stopped == BOUNDS:
            return undecided(verdict)
        why = stopped if stopped == INTERRUPTED else f"stopped by {stopped}"
        return f"Inconclusive, {why}. No violation so far: {checked}."
    violated = ", ".join(
        f"{v.name} ({v.states} states)" if v.trace else v.name for v in verdict.violations
    )
    stopped = f" Stopped by {verdict.stopped_by}." if NOT_WRITTEN in verdict.stopped_by else ""
    return f"Violated: {violated}.{stopped}"


def undecided(verdict: Verdict) -> str:
    """What holds, and what the bounds leave undecided, in two sentences."""
    open_ones = {count.property for count in verdict.liveness if count.cut_off}
    held = [p.name for p in verdict.system.properties if p.name not in open_ones]
    rest = f" Holds in every state within these bounds: {', '.join(held)}." if held else ""
    return f"Inconclusive: these bounds leave {', '.join(sorted(open_ones))} undecided.{rest}"


def findings(verdict: Verdict) -> list[str]:
    """Further findings: witnesses, rules that were never enabled, the edge of the bounds."""
    lines = [
        f"{name} is reached in {len(trace.states)} states."
        for name, trace in verdict.witnesses.items()
    ]
    if verdict.complete and verdict.silent_rules:  # otherwise it says little about the rules
        lines.append(f"Rules that were never enabled: {', '.join(verdict.silent_rules)}.")
    lines += [
        f"{count.property} is undecided: from {counted(count.cut_off, 'state')} of the "
        f"{count.states:,} in which it is awaited, a behaviour continues beyond the bounds."
        for count in verdict.liveness
        if count.cut_off
    ]
    return lines


def effort(verdict: Verdict) -> str:
    """The number of states, the time, and the engine."""
    seconds = verdict.seconds.get("explore", 0.0)
    counts = f"{verdict.distinct:,} distinct states, {verdict.generated:,} generated"
    if verdict.stands_for is not None:
        counts = f"{verdict.distinct:,} distinct states up to symmetry, for {verdict.stands_for:,}"
    if "walks" in verdict.statistics:
        if not verdict.statistics["remembered"]:
            counts = f"at least {counts}"
        walked = counted(verdict.statistics["walks"], "walk")
        if verdict.stopped_by:
            walked = f"{verdict.statistics['finished']:,} of {walked} finished,"
        mean = verdict.statistics["states_per_walk"]["mean"]
        extent = f"{walked} of {mean} states on average, the longest of {verdict.depth}"
        extent += f", seed {verdict.seed}"
        # walks meet the same states again and again
        rate = f"{verdict.generated / max(seconds, 1e-9):,.0f} generated/s"
    else:
        extent = f"depth {verdict.depth}"
        rate = f"{verdict.states_per_second:,} states/s"
    return f"{counts}, {extent}; {seconds:.1f} s, {rate}, {verdict.engine} engine."


def print_expected_violation(verdict: Verdict, model: str) -> None:
    """Print the command that shows a variant's known violation, if this run did not look there."""
    if not verdict.expected:
        return
    name, violated = next(iter(verdict.expected.items()))
    command = ["kspec", "check", model, "--variant", verdict.system.variant.name]
    for bound, value in violated.bounds.items():
        command += ["--set", f"{bound}={value}"]
    if name != DEADLOCK:
        command += ["--property", name]
    say_command(f"This variant is expected to violate {name}", command)


def print_coverage(verdict: Verdict) -> None:
    """Print how often each rule was enabled, and which guards blocked it."""
    columns = ("rule and guard", "enabled", "new states", "blocked by this guard")
    rows = []
    for name, count in verdict.rules.items():
        new = "" if count.new is None else f"{count.new:,}"
        rows.append([name, f"{count.fired:,}", new, ""])
        rows += [[f"    {guard}", "", "", f"{n:,}"] for guard, n in count.stopped_by.items()]
    say()
    say_table(columns, rows, right=(1, 2, 3))


def print_effort_in_detail(verdict: Verdict) -> None:
    """Print the time of each phase and, for the learned engine, what was learned and reused."""
    say()
    spent = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in verdict.seconds.items())
    say(f"Time: {spent}; {verdict.workers} worker{'s' * (verdict.workers > 1)}.")
    if "auto" in verdict.statistics:
        say(f"Engine: {verdict.engine}, since {verdict.statistics['auto']}.")
    learned = verdict.statistics.get("learned")
    if learned is None:
        return
    say(
        f"Learned: {learned['paths']:,} paths, {learned['kept_runs']:,} of them from the cache; "
        f"rules and properties were run {learned['runs']:,} times and checked again in "
        f"{learned['checked']:,} states."
    )
    most = ", ".join(f"{name} {count:,}" for name, count in learned["most_paths"].items())
    if most:
        say(f"Most paths: {most}.")
    for name, why in learned["plainer"].items():
        why = why.removeprefix("Untraceable: ")
        say(f"The {name} could not be traced ({why}): it reads whole values, which is slower.")


def print_failure(error: RuleFailed, files: TraceFiles, *, drawn: bool) -> None:
    """Print the trace to a state in which the model's own code raises, and the error."""
    if drawn:
        say_trace(files.story(error.trace, str(error), violated=True))
    files.write_trace(error.trace, str(error), violated=True)
    complain(f"{error}, in state {len(error.trace.states)}")


def story_options(command: Callable[..., int]) -> Callable[..., int]:
    """`--out-itf` and `--html`. The command receives them together, as `TraceFiles`.

    Where the model's own code raises in a state, the trace to it is printed and written.
    """

    @functools.wraps(command)
    def run(out_itf: Path | None, html: Path | None, **rest: Any) -> int:
        from kspec.checkers.engine.search import RuleFailed

        files = TraceFiles(out_itf, html)
        try:
            return command(**rest, written=files)
        except RuleFailed as error:
            print_failure(error, files, drawn=not rest["as_json"])
            return EXIT_BAD_INPUT

    page = writes("--html", "Write the counterexample as an HTML page to step through.")
    itf = "Write the counterexample as an ITF file, for `kspec show` and other tools."
    return writes("--out-itf", itf)(page(run))


class TraceFiles:
    """The files that a counterexample or a witness is written to."""

    def __init__(self, out_itf: Path | None, html: Path | None) -> None:
        """Fail now if they cannot be written later."""
        if out_itf and html and out_itf.absolute() == html.absolute():
            raise SpecError(f"--out-itf and --html name the same file: {html}")
        self.itf = OutputFile(out_itf) if out_itf else None
        self.html = OutputFile(html) if html else None
        self.told: tuple[Trace, Story] | None = None

    def write(self, verdict: Verdict, witness: Trace | None = None) -> None:
        """Write the first counterexample, or else the witness that was asked for."""
        first = next((v for v in verdict.violations if v.trace), None)
        if first and first.trace:
            self.write_trace(first.trace, first.says, violated=True)
        elif witness:
            self.write_trace(witness, f"{witness.property} is reached", violated=False)
        else:
            self.complain_about_nothing("no counterexample was found")

    def complain_about_nothing(self, why: str) -> None:
        """Say that there is nothing to write."""
        for file in (self.itf, self.html):
            if file:
                complain(f"{why}; {file.path} was not written")

    def story(self, trace: Trace, says: str, *, violated: bool) -> Story:
        """The story of a trace, whose pictures are drawn once if it is written and printed."""
        from kspec.traces.story import tell

        if self.told is None or self.told[0] is not trace:
            self.told = trace, tell(trace, says, violated=violated)
        return self.told[1]

    def write_trace(self, trace: Trace, says: str, *, violated: bool) -> None:
        """Write one trace to each file."""
        from kspec.traces.itf import to_itf

        if self.itf:
            self.itf.write(as_json_text(to_itf(trace)))
        if self.html:
            from kspec.traces.page import page

            self.html.write(page(self.story(trace, says, violated=violated)))

    def print_names(self) -> bool:
        """Print the names of the files written; whether there are any."""
        written = [str(file.path) for file in (self.itf, self.html) if file and file.written]
        if written:
            say(f"Written: {', '.join(written)}")
        return bool(written)

    def print_where(self, verdict: Verdict) -> None:
        """Print the names of the files written, or the command that writes a page.

        The page says what each sign and term of the trace means.
        """
        if self.print_names():
            return
        if any(violation.trace for violation in verdict.violations):
            again = ["kspec", *sys.argv[1:], "--html", "counterexample.html"]
            say_command("As a page with a legend", again)
