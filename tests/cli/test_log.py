"""`kspec log` at the prompt."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from random import Random

import pytest

from tests.cli.conftest import Kspec
from tests.field.disk.test_audit import FIRST, in_batch, sound
from tests.impl.storage.real_logs import RECORDED
from tests.spec.storage.draws import changed


def test_a_sound_directory_is_listed(kspec: Kspec, tmp_path: Path) -> None:
    sound(tmp_path / "data")
    ran = kspec("log", "data")
    assert (ran.code, ran.err) == (0, "")
    header, row, *rest = ran.out.splitlines()
    assert header.split()[:4] == ["segments", "batches", "records", "start"]
    assert row.split() == ["2", "16", "30", "4", "30", "28", "28", "0", "data/orders-0"]
    assert "producer 8 has a transaction open since offset 28" in rest[0]
    assert rest[-1] == "No problem was found."


def test_a_problem_is_told_with_its_file_and_byte(kspec: Kspec, tmp_path: Path) -> None:
    folder = sound(tmp_path / "data")
    in_batch(FIRST, 2, 70, b"\xff", checked=False)(folder)
    ran = kspec("log", "data/orders-0")
    assert ran.code == 3
    line = f"data/orders-0/{FIRST}.log, byte 314: the checksum of the batch is wrong"
    assert line in ran.out.splitlines()


def test_the_json_has_the_documented_fields(kspec: Kspec, tmp_path: Path) -> None:
    folder = sound(tmp_path / "data")
    in_batch(FIRST, 2, 70, b"\xff", checked=False)(folder)
    ran = kspec("log", "data", "--json")
    assert ran.code == 3
    (partition,) = json.loads(ran.out)["partitions"]
    fields = {name: partition[name] for name in ("topic", "partition", "segments", "start", "end")}
    assert fields == {"topic": "orders", "partition": 0, "segments": 2, "start": 4, "end": 30}
    assert partition["problems"] == [
        {
            "file": f"data/orders-0/{FIRST}.log",
            "position": 314,
            "problem": "the checksum of the batch is wrong",
        }
    ]


def test_replicas_of_two_brokers_are_compared(kspec: Kspec, tmp_path: Path) -> None:
    sound(tmp_path / "one")
    in_batch(FIRST, 3, 100, b"w")(sound(tmp_path / "two"))
    ran = kspec("log", "one", "two")
    assert ran.code == 3
    assert "offset 6 of leader epoch 0 is a different record in one/orders-0" in ran.out


def test_the_page_is_written(kspec: Kspec, tmp_path: Path) -> None:
    sound(tmp_path / "data")
    ran = kspec("log", "data", "--html", "logs.html")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "Written: logs.html")
    assert "orders-0" in (tmp_path / "logs.html").read_text()


def test_what_is_no_partition_is_refused_in_one_line(kspec: Kspec, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "odd-0").mkdir()
    (tmp_path / "odd-0" / f"{'9' * 20}.log").write_text("")  # more than 63 bits
    (tmp_path / "folder-0").mkdir()
    (tmp_path / "folder-0" / f"{0:020}.log").mkdir()
    for name in ("nothing", "file", "empty", "odd-0", "folder-0"):
        ran = kspec("log", name)
        assert (ran.code, ran.out, ran.err.count("\n")) == (151, "", 1), name


def test_the_extra_is_named_if_it_is_missing(kspec: Kspec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kspec.checkers.needs.find_spec", lambda _: None)
    ran = kspec("log", "data")
    assert ran.code == 151
    assert "pip install -e '.[storage]'" in ran.err


@pytest.mark.slow
def test_damaged_files_end_in_a_report(kspec: Kspec, tmp_path: Path) -> None:
    """Whatever is changed in the files of a broker, there is an answer."""
    chance = Random("damaged files")
    with zipfile.ZipFile(RECORDED) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    names = [name for name, data in content.items() if data and name != "dump.txt"]
    codes = []
    for number in range(6):
        damaged = chance.sample(names, chance.choice((1, 3, 20)))
        root = tmp_path / str(number)
        for name, data in content.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(changed(chance, data, 20) if name in damaged else data)
        codes.append(kspec("log", str(number), "--json").code)
    assert set(codes) <= {0, 3}
    assert codes.count(3) >= 4
