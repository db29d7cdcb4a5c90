"""`kspec partition` at the prompt."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from kspec.spec.placement import key_partition
from tests.cli.conftest import Kspec


def test_each_key_has_its_hash_and_partition(kspec: Kspec) -> None:
    ran = kspec("partition", "21", "foobar", "--partitions", "10")
    assert ran.out.splitlines() == [
        "key        murmur2  of 10",
        "21      -973932308      0",
        "foobar  -790332482      6",
    ]
    assert ran.code == 0


def test_keys_that_change_their_partition_are_counted(kspec: Kspec) -> None:
    ran = kspec("partition", "21", "foobar", "", "--partitions", "10", "--after", "20")
    assert ran.out.splitlines() == [
        "key        murmur2  of 10  of 20",
        "21      -973932308      0      0",
        "foobar  -790332482      6      6",
        "         275646681      1      1",
        "",
        "Keys that change their partition: 0 of 3.",
    ]
    asked = ("partition", "a", "b", "c", "--partitions", "6", "--after", "7", "--json")
    found = json.loads(kspec(*asked).out)
    assert (found["partitions"], found["after"], found["type"]) == (6, 7, "string")
    assert found["moving"] == sum(each["moves"] for each in found["keys"]) == 3
    for each in found["keys"]:
        data = each["key"].encode()
        assert each["partition"] == key_partition(data, 6)
        assert each["after"] == key_partition(data, 7)
        assert each["moves"] == (each["partition"] != each["after"])


@pytest.mark.parametrize(
    ("kind", "key", "data"),
    [
        ("string", "é", "c3a9"),
        ("integer", "-2", "fffffffe"),
        ("long", "258", "0000000000000102"),
        ("hex", "00ff", "00ff"),
    ],
)
def test_keys_are_serialized_by_their_type(kspec: Kspec, kind: str, key: str, data: str) -> None:
    ran = kspec("partition", "--partitions", "1000", "--type", kind, "--json", "--", key)
    [found] = json.loads(ran.out)["keys"]
    assert found["partition"] == key_partition(bytes.fromhex(data), 1000)
    assert "after" not in found


@pytest.mark.parametrize(
    ("kind", "key"), [("integer", "x"), ("integer", "2147483648"), ("long", "1.0"), ("hex", "0")]
)
def test_a_key_of_another_type_is_refused(kspec: Kspec, kind: str, key: str) -> None:
    ran = kspec("partition", key, "--partitions", "6", "--type", kind)
    assert (ran.code, ran.out) == (151, "")
    assert ran.err == f"kspec: the key {key} is not of type {kind}\n"


def test_keys_are_read_from_a_file_or_from_standard_input() -> None:
    command = [
        sys.executable,
        "-m",
        "kspec",
        "partition",
        "c",
        "-",
        "--partitions",
        "6",
        "--json",
    ]
    ran = subprocess.run(command, input="a\r\n\nb\n", capture_output=True, text=True, check=True)
    assert [each["key"] for each in json.loads(ran.stdout)["keys"]] == ["c", "a", "b"]


def test_wrong_usage_is_reported(kspec: Kspec) -> None:
    assert kspec("partition", "--partitions", "6").code == 2
    assert "missing KEY or --file" in kspec("partition", "--partitions", "6").err
    assert kspec("partition", "a").code == 2
    assert kspec("partition", "a", "--partitions", "0").code == 2
    fewer = kspec("partition", "a", "--partitions", "6", "--after", "3")
    assert fewer.code == 2
    assert "Kafka adds partitions to a topic, and removes none" in fewer.err
