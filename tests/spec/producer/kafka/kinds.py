"""A kind of call: how one is drawn at random, and what the specification answers.

A call and its answer are lines of text, so that a Java program reads and writes them without a
library, and a recorded case is a pair of strings.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from kspec.field.oracle.draws import Draw


@attrs.frozen
class Kind:
    """A kind of call, which Kafka's own classes and the specification answer."""

    name: str
    """Its name, which the Java program receives as its argument, and the file of its cases has."""
    program: str
    """The Java program in this folder: it answers each line of its input with a line."""
    versions: tuple[str, ...]
    """The versions of Kafka that it is compared with."""
    draw: Callable[[Draw, str], str]
    """A random call for a version."""
    answer: Callable[[str, str], str]
    """What the specification answers, given the version and the call."""
    artifact: str = "kafka-clients"
    """The Maven artifact with Kafka's classes."""
