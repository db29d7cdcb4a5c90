"""`kspec prove`: lemmas about the specification's functions, for all numbers at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kspec.checkers.cli.options import flag, json_option, option
from kspec.checkers.cli.output import say, say_json, say_wrapped
from kspec.checkers.engine.verdict import (
    EXIT_ALWAYS,
    EXIT_INCONCLUSIVE,
    EXIT_OK,
    HOLDS,
    INCONCLUSIVE,
    VIOLATED,
)
from kspec.checkers.needs import needs
from kspec.checkers.proofs.lemmas import find_lemmas
from kspec.spec.lemmas import Lemma

if TYPE_CHECKING:
    from kspec.checkers.proofs.prove import Finding, Proof

EXIT_CODES = {HOLDS: EXIT_OK, VIOLATED: EXIT_ALWAYS, INCONCLUSIVE: EXIT_INCONCLUSIVE}


@click.command()
@click.argument("references", metavar="[LEMMA]…", nargs=-1)
@flag("--list", "only_list", "List the lemmas without proving them.")
@option(
    "--timeout",
    "Time limit of the solver for each statement.",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    metavar="SECONDS",
)
@json_option
def prove(references: tuple[str, ...], only_list: bool, timeout: float, as_json: bool) -> int:
    """Prove each LEMMA for all integers in its domain, and refute its false neighbours.

    A lemma is a statement about functions of the specification; the solver is given these
    functions themselves. A false neighbour is a similar statement that is wrong, and is shown
    with numbers that refute it. LEMMA is a name that --list prints, or the path of a Python
    file with lemmas of your own, which is executed.

    \b
    kspec prove
    kspec prove rules_agree_but_for_one_hash
    kspec prove my_lemmas.py --timeout 10
    """
    lemmas: dict[Lemma, list[Lemma]] = {}
    for reference in references or (None,):
        lemmas.update(find_lemmas(reference))
    if only_list:
        print_list(lemmas, as_json=as_json)
        return EXIT_OK
    needs("proving", "prove", "z3")
    from kspec.checkers.proofs.prove import prove as judge

    proofs = []
    for lemma, neighbours in lemmas.items():
        proofs.append(judge(lemma, neighbours, timeout))
        if not as_json:
            show(proofs[-1])
    verdicts = [proof.verdict for proof in proofs]
    worst = next((v for v in (VIOLATED, INCONCLUSIVE) if v in verdicts), HOLDS)
    if as_json:
        say_json({"verdict": worst, "lemmas": [proof_record(proof) for proof in proofs]})
    else:
        say(summary(proofs))
    return EXIT_CODES[worst]


# -- for a person ---------------------------------------------------------------------------------


def print_list(lemmas: Mapping[Lemma, list[Lemma]], *, as_json: bool) -> None:
    """Print the lemmas without proving them."""
    if as_json:
        say_json([lemma_record(lemma) for lemma in lemmas])
        return
    for lemma in lemmas:
        say(lemma.name)
        describe(lemma)


def describe(lemma: Lemma) -> None:
    """A lemma: its statement, its functions and the domain of its numbers."""
    say_wrapped(f"    {lemma.summary}")
    if lemma.speaks_of:
        say_wrapped(f"    about {', '.join(functions_of(lemma))}")
    say_wrapped(f"    for {domain(lemma)}")


def functions_of(lemma: Lemma) -> list[str]:
    """The functions that it is about, and their modules."""
    return [
        f"{function.__module__.removeprefix('kspec.')}.{function.__qualname__}"
        for function in lemma.speaks_of
    ]


def domain(lemma: Lemma) -> str:
    """The domain of its numbers."""
    by_words: dict[str, list[str]] = {}
    for name, numbers in lemma.domain.items():
        by_words.setdefault(numbers.words, []).append(name)
    stated = "; ".join(f"{', '.join(names)} = {words}" for words, names in by_words.items())
    conditions = lemma.conditions()
    return stated + (f"; provided {' and '.join(conditions)}" if conditions else "")


def show(proof: Proof) -> None:
    """Print a proof."""
    says = {HOLDS: "proved", VIOLATED: "FALSE"}.get(proof.finding.verdict, "not decided")
    say(f"{proof.lemma.name}: {says}, {effort(proof.finding)}")
    describe(proof.lemma)
    print_example(proof.finding, "    ")
    for near, finding in proof.neighbours.items():
        says = {HOLDS: "is TRUE as well", VIOLATED: "refuted"}.get(finding.verdict, "not decided")
        say(f"    false neighbour {near.name}: {says}, {effort(finding)}")
        say_wrapped(f"        {near.summary}")
        print_example(finding, "        ")
    say()


def print_example(finding: Finding, indent: str) -> None:
    """Print the numbers that refute a statement."""
    if finding.counterexample is not None:
        numbers = ", ".join(f"{name} = {value}" for name, value in finding.counterexample.items())
        say_wrapped(f"{indent}counterexample: {numbers}: {finding.fails}")


def effort(finding: Finding) -> str:
    """How many cases and seconds it took."""
    stopped = f"stopped by {finding.stopped_by} in" if finding.stopped_by else "in"
    cases = "case" if finding.cases == 1 else "cases"
    return f"{stopped} {finding.cases} {cases}, {finding.seconds:.2f} s"


def summary(proofs: list[Proof]) -> str:
    """A summary of all proofs in one line."""
    verdicts = [proof.finding.verdict for proof in proofs]
    near = [finding.verdict for proof in proofs for finding in proof.neighbours.values()]
    parts = [
        f"{verdicts.count(HOLDS)} of {len(verdicts)} proved",
        f"{near.count(VIOLATED)} of {len(near)} false neighbours refuted",
    ]
    return f"{', '.join(parts)}; {sum(seconds(proof) for proof in proofs):.1f} s."


def seconds(proof: Proof) -> float:
    """Seconds of a lemma and its neighbours."""
    return proof.finding.seconds + sum(finding.seconds for finding in proof.neighbours.values())


# -- for a machine --------------------------------------------------------------------------------


def lemma_record(lemma: Lemma) -> dict[str, Any]:
    """A lemma as JSON."""
    return {
        "name": lemma.name,
        "says": lemma.summary,
        "speaks_of": functions_of(lemma),
        "domain": {
            name: {"words": numbers.words, "low": numbers.low, "high": numbers.high}
            for name, numbers in lemma.domain.items()
        },
        "provided": lemma.conditions(),
    }


def proof_record(proof: Proof) -> dict[str, Any]:
    """A proof as JSON."""
    return {
        **lemma_record(proof.lemma),
        **finding_record(proof.finding),
        "false_neighbours": [
            {"name": near.name, "says": near.summary, **finding_record(finding)}
            for near, finding in proof.neighbours.items()
        ],
    }


def finding_record(finding: Finding) -> dict[str, Any]:
    """The result for a statement as JSON."""
    return {
        "verdict": finding.verdict,
        "counterexample": finding.counterexample,
        "fails": finding.fails or None,
        "stopped_by": finding.stopped_by or None,
        "cases": finding.cases,
        "seconds": round(finding.seconds, 3),
    }
