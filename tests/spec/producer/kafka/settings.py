"""Settings of producers, as `KafkaProducer` accepts and changes them."""

from __future__ import annotations

from kspec.field.oracle.draws import Draw
from kspec.spec.producer.releases import parse_release
from kspec.spec.producer.settings import ProducerSettings, effective
from tests.spec.producer.kafka.kinds import Kind

INT_MAX = str(2**31 - 1)

VALUES = {
    "acks": ("0", "1", "-1", "all"),
    "retries": ("0", "1", "5", INT_MAX),
    "max.in.flight.requests.per.connection": ("1", "2", "5", "6", "100"),
    "enable.idempotence": ("true", "false"),
    "transactional.id": ("t",),
    "linger.ms": ("0", "5", "1000", "90000", "120000", INT_MAX),
    "request.timeout.ms": ("1", "1000", "30000", "60000", INT_MAX),
    "delivery.timeout.ms": ("0", "31000", "119999", "120000", "150000", INT_MAX),
}
"""Values of each setting, with those at which an answer changes."""


def draw_settings(draw: Draw, version: str) -> str:
    """Some settings; `-` for none."""
    chosen = []
    for name, values in VALUES.items():
        if draw.chance(0.3 if name.endswith("ms") else 0.5):
            chosen.append(f"{name}={draw.choose(values)}")
    return " ".join(chosen) or "-"


def read_settings(call: str) -> ProducerSettings:
    """The settings of a call."""
    given = dict(word.split("=") for word in call.split(" ") if word != "-")

    def number(name: str) -> int | None:
        return int(given[name].replace("all", "-1")) if name in given else None

    return ProducerSettings(
        acks=number("acks"),
        retries=number("retries"),
        in_flight=number("max.in.flight.requests.per.connection"),
        enable_idempotence=(
            given["enable.idempotence"] == "true" if "enable.idempotence" in given else None
        ),
        transactional_id="transactional.id" in given,
        linger_ms=number("linger.ms"),
        request_timeout_ms=number("request.timeout.ms"),
        delivery_timeout_ms=number("delivery.timeout.ms"),
    )


def answer_settings(version: str, call: str) -> str:
    """The values in effect, or the setting that is refused first."""
    made = effective(read_settings(call), parse_release(version))
    if made.refused:
        return f"refused {made.refused[0]}"
    return (
        f"acks={made.acks} retries={made.retries} idempotent={str(made.is_idempotent).lower()} "
        f"delivery={made.delivery_timeout_ms}"
    )


SETTINGS = (
    Kind(
        name="settings",
        program="Settings.java",
        versions=("2.3.1", "2.8.2", "3.0.0", "3.0.1", "3.1.0", "3.9.1", "4.1.0"),
        draw=draw_settings,
        answer=answer_settings,
    ),
)
"""The settings in effect."""
