"""A seeded part of scripts/fuzz_dumps.py: damage never makes a reader fail."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "fuzz_dumps.py"
_SPEC = importlib.util.spec_from_file_location("fuzz_dumps", str(_SCRIPT))
fuzz_dumps = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(fuzz_dumps)
SEEDS = {name: [(path, data) for path, data in files if "/shared/" not in path][:2]
         for name, files in fuzz_dumps.seeds().items()}
READERS = ("ascgraph", "atc_json", "compare", "data_dump", "fusion_result", "ge_onnx",
           "ge_proto", "hlo", "kernel_meta", "plog", "readable", "tf_pbtxt", "trace")


def test_every_reader_has_a_sound_file_of_its_own():
    assert [name for name in READERS if not SEEDS.get(name)] == []


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_give_warnings_or_a_dump_error(name, tmp_path, capsys):
    done, faults = fuzz_dumps.fuzz(name, SEEDS[name], 2026, 120, tmp_path)
    assert (done, faults) == (120, 0), capsys.readouterr().err


def test_a_reader_that_fails_is_caught():
    def broken(data):
        raise KeyError(data)

    assert "KeyError" in fuzz_dumps.attempt(broken, b"x")
    assert fuzz_dumps.attempt(len, b"x") == ""
