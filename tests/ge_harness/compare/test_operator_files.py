"""What a walk over hostile and broken places finds, and what it says of the rest."""

from __future__ import annotations

import os

import numpy as np
import pytest

from ge_harness.compare.folder import Plan, compare_places
from ge_harness.errors import UsageError
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
