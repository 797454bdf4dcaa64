"""The field cases as graph files: they carry their exact inputs."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from graphs.build import BuildOptions, build_graph
from graphs.inputs import draw
from graphs.source import load_subgraph, resolve

FOLDER = Path(__file__).resolve().parents[1] / "data" / "cases"
FILES = sorted(FOLDER.glob("f*.py"))


def build(tf, stem, **options):
    return build_graph(tf, resolve(str(FOLDER / f"{stem}.py")), BuildOptions(**options))


def test_there_is_a_file_for_every_case_with_a_graph():
    assert {path.name[:3] for path in FILES} == {
        "f01", "f02", "f03", "f04", "f05", "f06", "f07", "f08", "f10"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_case_file_has_the_form_of_a_graph_file(path):
    assert load_subgraph(resolve(str(path))).summary.startswith(path.stem[:3].upper())


def test_inputs_are_the_ones_of_the_case():
    one = load_subgraph(resolve(str(FOLDER / "f05_mul_one.py"))).inputs[0]
    bits = draw(one, one.desk, 123).astype(np.float32).view(np.uint32)
    last, = struct.unpack("<I", struct.pack("<f", 2e-38))
    assert bits.tolist() == [1, 71362, 0x80000000 + 71362, 0x80000000, last]


@pytest.mark.tf
@pytest.mark.parametrize(("stem", "options", "right"), [
    ("f01_log_exp", {}, {"y": [88, np.inf, np.inf, -np.inf]}),
    ("f03_div3", {"variants": (("divisor", "1024"),)},
     {"y": [x / 1024 for x in (1, 2, 5, 7, 10, 11)]}),
    ("f04_fma", {}, {"y": [0]}),
    ("f06_add_zero", {}, {"z": [0, 0], "y": [0, -0.0]}),
    ("f06_add_zero", {"variants": (("order", "y_first"),)},
     {"y": [0, -0.0], "z": [0, 0]}),
], ids=lambda value: str(value)[:40])
def test_op_by_op_gives_the_value_of_the_case(tf, run, stem, options, right):
    found = run(build(tf, stem, **options))
    assert list(found) == list(right)
    for name, values in right.items():
        array = np.array(values, dtype=np.float32)
        assert found[name].tobytes() == array.tobytes()


@pytest.mark.tf
def test_float16_sums_go_wrong_op_by_op(tf, run):
    found = run(build(tf, "f07_reduce"))
    assert (float(found["sum"]), float(found["mean"]), float(found["std"])) == (
        59968.0, 9992.0, 8.0)


@pytest.mark.tf
@pytest.mark.parametrize("stem", ["f08_check_numerics", "f08_assert"])
def test_the_cases_that_raise_do_raise(tf, run, stem):
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(build(tf, stem))


@pytest.mark.tf
def test_no_input_of_a_case_is_a_constant(tf, ops):
    for path in FILES:
        subgraph = load_subgraph(resolve(str(path)))
        built = build_graph(tf, resolve(str(path)), BuildOptions())
        fed = [name for op, name in ops(built) if op == "Placeholder"]
        assert fed == [item.name for item in subgraph.inputs]
