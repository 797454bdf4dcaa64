"""What a walk over hostile and broken places finds, and what it says of the rest."""

from __future__ import annotations

import os

import numpy as np
import pytest

from dumps import data_names
from ge_harness.compare.folder import Plan, compare_places
from ge_harness.errors import UsageError
from ge_harness.records.comparison import Verdict
from tests.ge_harness.compare.operator_folders import dump

ONE = np.float32([1, 2, 3])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
@pytest.mark.parametrize("with_dumps", [True, False], ids=["dumps", "arrays"])
def test_an_archive_that_is_a_pipe_is_not_waited_for(tmp_path, with_dumps):
    if with_dumps:
        dump(tmp_path, "Add", "add", [ONE])
    os.mkfifo(str(tmp_path / "x.npz"))
    with pytest.raises(UsageError, match=r"x\.npz: is not a plain file"):
        compare_places(Plan(tmp_path, tmp_path))


@pytest.mark.parametrize("which", ["a", "b", "reference"])
@pytest.mark.parametrize("name", ["y" * 300, "x/" * 3000], ids=["name", "path"])
def test_a_path_that_no_system_takes_is_one_line(tmp_path, which, name):
    good = dump(tmp_path / "good", "Add", "add", [ONE]).parent
    places = {"a": good, "b": good, which: tmp_path / name}
    with pytest.raises(UsageError) as caught:
        compare_places(Plan(**places))
    assert "\n" not in str(caught.value)


def test_a_link_to_itself_is_named_as_one(tmp_path):
    (tmp_path / "round").symlink_to(tmp_path / "round")
    with pytest.raises(UsageError, match=r"round: \S"):
        compare_places(Plan(tmp_path / "round", tmp_path))


def test_a_link_to_a_folder_is_named_and_not_followed(tmp_path):
    dump(tmp_path / "far", "Add", "add", [ONE])
    for side in "ab":
        dump(tmp_path / side, "Add", "add", [ONE])
        (tmp_path / side / "step").symlink_to(tmp_path / "far")
    found = compare_places(Plan(tmp_path / "a", tmp_path / "b"))
    assert len(found.pairs) == 1
    assert all("step: a link to a folder" in text for text in found.skipped)
    assert len(found.skipped) == 2
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "step").symlink_to(tmp_path / "far")
    with pytest.raises(UsageError, match="step: a link to a folder"):
        compare_places(Plan(tmp_path / "c", tmp_path / "a"))


def test_a_mapping_is_named_only_where_it_cannot_be_read(tmp_path, monkeypatch):
    dump(tmp_path, "Add", "add", [ONE])
    (tmp_path / "mapping.csv").write_text("1234567,Add.add.1.2.1767681027598365\n")
    assert compare_places(Plan(tmp_path, tmp_path)).skipped == ()
    monkeypatch.setattr(data_names, "_LARGEST_MAPPING", 8)
    assert "mapping.csv" in compare_places(Plan(tmp_path, tmp_path)).skipped[0]


def test_what_the_converter_made_of_a_dump_beside_it_is_left_out(tmp_path):
    for side in "ab":
        path = dump(tmp_path / side, "Add", "scope/add", [ONE])
    np.save(f"{path}.output.0.npy", ONE)
    found = compare_places(Plan(tmp_path / "a", tmp_path / "b"))
    assert [pair.name for pair in found.pairs] == ["scope/add.output.0"]
    assert found.verdict is Verdict.AGREES
    assert "made of a dump beside it" in found.skipped[0]
