"""Files named by users: none hangs, none is quoted, none says two things at once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from phantoms import PhantomsError
from phantoms._files import read_json
from phantoms.calibration import Calibration
from phantoms.cli.main import main

SECRET = "hunter2"


def refusal(path: Path, most: int = 100) -> str:
    with pytest.raises(PhantomsError) as e:
        read_json(path, "BAD_PLAN", "Give another.", most)
    assert e.value.error_class == "BAD_PLAN"
    assert str(path) in e.value.message
    return e.value.message


def test_what_cannot_be_read_is_said_at_once(tmp_path: Path) -> None:
    pipe, large, fits = tmp_path / "pipe", tmp_path / "large", tmp_path / "fits"
    os.mkfifo(pipe)
    large.write_text(" " * 101)
    fits.write_text("1" + " " * 99)
    assert "regular" in refusal(pipe)
    assert "directory" in refusal(tmp_path).lower() or "regular" in refusal(tmp_path)
    assert "regular" in refusal(Path("/dev/zero"))
    assert "No such file" in refusal(tmp_path / "none")
    assert "more than" in refusal(large)
    assert read_json(fits, "BAD_PLAN", "Give another.", 100) == 1


@pytest.mark.parametrize("text", [SECRET, f'{{"{SECRET}": 1, "{SECRET}": 2}}', f'{{"a": {SECRET}}}', "[" * 100_000])
def test_content_is_not_quoted(tmp_path: Path, text: str) -> None:
    file = tmp_path / "any.json"
    file.write_text(text)
    assert SECRET not in refusal(file, 10**6)


def test_a_file_of_something_else_is_no_calibration(tmp_path: Path) -> None:
    for document in (
        {"format": SECRET, "version": 1},
        {"format": "phantoms-machine", "version": 1, "constants": {"c1": SECRET}},
    ):
        with pytest.raises(PhantomsError) as e:
            Calibration.from_dict(document)
        assert SECRET not in str(e.value)


def test_the_command_reads_no_pipe_and_no_name_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe, twice = tmp_path / "pipe", tmp_path / "twice.json"
    os.mkfifo(pipe)
    twice.write_text(json.dumps({"queries": [["A"]]})[:-1] + ', "queries": []}')
    assert main(["plan", str(pipe)]) == 2
    assert main(["plan", str(twice)]) == 2
    said = capsys.readouterr().err
    assert "regular" in said
    assert "twice" in said
