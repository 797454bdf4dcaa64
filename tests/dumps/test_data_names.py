"""Names of data-dump files."""

from __future__ import annotations

import pytest

from dumps import data_names
from dumps.data_dump_write import file_name
from dumps.data_names import DataName
from dumps.errors import DumpError


@pytest.mark.parametrize(("name", "found"), [
    ("AscBackend.autofuse_pointwise_0_Abs_Add.1.59.1767681027598365", DataName(
        "AscBackend", "autofuse_pointwise_0_Abs_Add", 1, 59, 1767681027598365)),
    ("Add.add_1.1.59.1767681027598365.4.2.3.0", DataName(
        "Add", "add_1", 1, 59, 1767681027598365, 2, 3)),
    ("Add.scope.add.1.59.1767681027598365", DataName(
        "Add", "scope_add", 1, 59, 1767681027598365)),
    ("Opdebug.Node_OpDebug.1.59.1767681027598365", DataName(
        "Opdebug", "Node_OpDebug", 1, 59, 1767681027598365)),
    ("exception_info.3.7.1767681027598365", DataName(
        "", "", 7, 3, 1767681027598365)),
])
def test_names_of_dumps_are_taken_apart(name, found):
    assert data_names.parse(name) == found


@pytest.mark.parametrize("name", [
    "", "add.npy", "Add.add.1.2.3", "Add.add.x.2.1767681027598365",
    ".add.1.2.1767681027598365", "Add..1.2.1767681027598365",
    "Add.add.1.2.1767681027598365.4.0", "mapping.csv", "9" * 400,
    "Add.add.1.59.1767681027598365.csv"])
def test_other_names_are_none(name):
    assert data_names.parse(name) is None


@pytest.mark.parametrize(("stem", "found"), [
    ("AscBackend.autofuse_pointwise_0_Abs_Add.1.59.1767681027598365.output.0",
     ("autofuse_pointwise_0_Abs_Add", 1767681027598365, "output", 0)),
    ("Add.add_1.1.59.1767681027598365.4.0.1.0.input.12",
     ("add_1", 1767681027598365, "input", 12)),
    ("Add.add_1.1.59.1767681027598365.output.0.2x3",
     ("add_1", 1767681027598365, "output", 0)),
    ("Add.scope_add.1.59.1767681027598365.add.output.0.NC1HWC0",
     ("scope_add", 1767681027598365, "output", 0)),
    ("scope_add.0.1767681027598365", ("scope_add", 1767681027598365, "output", 0)),
    ("add_1.output.3", ("add_1", 0, "output", 3)),
    ("scope/add.output.3", ("scope_add", 0, "output", 3)),
])
def test_names_of_converted_tensors_are_taken_apart(stem, found):
    parsed = data_names.parse_converted(stem)
    assert (parsed.op_name, parsed.time_us, parsed.io, parsed.index) == found


@pytest.mark.parametrize("stem", ["x", "add_1", "y.0", "output.0",
                                  "Add.add_1.1.59.1767681027598365"])
def test_names_that_say_no_operator_are_none(stem):
    assert data_names.parse_converted(stem) is None


def test_names_are_escaped_as_the_writer_escapes_them():
    assert data_names.escape(r"a b.c/d\e_f") == "a_b_c_d_e_f"
    name = file_name("T/1", "../../etc/passwd", (1, 2, 1767681027598365))
    assert name == "T_1.______etc_passwd.1.2.1767681027598365"
    assert data_names.parse(name).op_name == "______etc_passwd"


def test_the_mapping_of_long_names_is_read(tmp_path):
    assert data_names.read_mapping(tmp_path) == {}
    (tmp_path / "mapping.csv").write_bytes(
        b"123456,Add.a.1.2.1767681027598365\n\nodd line\n,x\n7,\n"
        b"89\xff,Add.b,c.1.2.1767681027598365\r\n")
    found = data_names.read_mapping(tmp_path)
    assert found["123456"] == "Add.a.1.2.1767681027598365"
    assert found["89\udcff"] == "Add.b,c.1.2.1767681027598365"
    assert len(found) == 2
    assert data_names.is_hashed("14695981039346656037")
    assert not data_names.is_hashed("14695981039346656037x")


def test_a_mapping_without_end_is_refused(tmp_path):
    with (tmp_path / "mapping.csv").open("wb") as stream:
        stream.truncate(1 << 30)
    with pytest.raises(DumpError, match=r"mapping\.csv: found more than"):
        data_names.read_mapping(tmp_path)


def test_order_is_thread_then_time_then_context():
    names = ["A.a.1.1.1767681027598364.4.0.1.0", "A.a.1.1.1767681027598366.4.0.0.0",
             "A.a.1.1.1767681027598365.4.1.0.0", "A.a.1.1.1767681027598365.4.0.0.0",
             "A.a.1.1.1767681027598366", "A.a.1.1.1767681027598365"]
    ordered = sorted(names, key=lambda name: data_names.parse(name).order)
    assert ordered == names[::-1]
