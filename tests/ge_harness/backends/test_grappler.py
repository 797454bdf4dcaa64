"""The Grappler backend on the TensorFlow here; every run in a process of its own."""

from __future__ import annotations

import numpy as np
import pytest

from ge_harness.backends import graph_structure
from ge_harness.backends.grappler import GrapplerBackend
from tests.ge_harness.backends.compiler_child import run_jobs
from tests.ge_harness.backends.conftest import FIELD, f32

ARITHMETIC, FOLDING = "arithmetic_optimization", "constant_folding"
_random = np.random.RandomState(3)
CHAIN = {name: _random.standard_normal((16, 64)).astype(np.float16) for name in "xab"}
ODD = np.array(_random.randint(0, 1 << 16, (3, 4)), np.uint16)


def _field(graph, **job):
    dtype = "float16" if graph == "reductions" else "float32"
    return {"graph": graph, "backend": "grappler", "inputs": FIELD[graph],
            "dtype": dtype, **job}


JOBS = {
    **{graph: _field(graph) for graph in (
        "log_exp", "reciprocals", "divisions", "cancel", "times_one", "zeros",
        "reductions", "checked", "asserted", "square", "text")},
    "reciprocals/off": _field("reciprocals", off=[ARITHMETIC]),
    "divisions/off": _field("divisions", off=[FOLDING, "loop_optimization"]),
    "square/off": _field("square", off=[ARITHMETIC]),
    "square/misspelt": _field("square", off=["remaping"]),
    "square/without dumps": _field("square", dumps=False, off=[ARITHMETIC]),
    "checked/stripped": _field("checked", on=["debug_stripper"]),
    "movement": {"graph": "movement", "backend": "grappler", "dtype": "bfloat16",
                 "inputs": {"x": ODD}},
    "chain/nodewise": {"graph": "chain", "backend": "grappler", "dtype": "float16",
                       "inputs": CHAIN, "mode": "nodewise"},
    "chain/eager": {"graph": "chain", "backend": "eager", "dtype": "float16",
                    "inputs": CHAIN},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory, stack):
    results = run_jobs(tmp_path_factory.mktemp("grappler"), list(JOBS.values()))
    return dict(zip(JOBS, results))


def _out(runs, name, output="y0"):
    assert runs[name].get("failure") == "", (runs[name], runs[name]["log"][-2000:])
    return runs[name]["outputs"][output]


def _same(first, second):
    return first.dtype == second.dtype and first.tobytes() == second.tobytes()


def _passes(run):
    return {each["name"]: each for each in run["passes"]}


def _status(run):
    return {each["switch"]["name"]: each["status"] for each in run["effects"]}


@pytest.mark.tf
def test_a_reciprocal_twice_is_exact_until_arithmetic_optimization_is_off(runs):
    given = FIELD["reciprocals"]["x"]
    assert _same(_out(runs, "reciprocals"), given)
    off = _out(runs, "reciprocals/off")
    away = np.abs(off.view(np.int32).astype(np.int64) - given.view(np.int32))
    assert away.max() == 1
    active = _passes(runs["reciprocals"])[ARITHMETIC]
    assert "Reciprocal x2 -> nothing" in active["evidence"]
    assert (active["family"], active["precision_class"]) == ("grappler", "algorithm")
    assert ARITHMETIC not in _passes(runs["reciprocals/off"])
    assert _status(runs["reciprocals/off"]) == {ARITHMETIC: "proved"}


@pytest.mark.tf
def test_division_by_three_is_folded_until_constant_folding_is_off(runs):
    given = FIELD["divisions"]["x"]
    assert _same(_out(runs, "divisions"), given * np.float32(1 / 3))
    assert _same(_out(runs, "divisions/off"), given / np.float32(3))
    for output, divisor in (("y1", 2), ("y2", 1024)):
        assert _same(_out(runs, "divisions", output), given / np.float32(divisor))
    active = _passes(runs["divisions"])[FOLDING]
    assert "RealDiv x3 -> Mul x3" in active["evidence"]
    assert {"Mul", "RealDiv"} <= set(active["ops"])
    assert active["dtypes"] == ["float32"]


@pytest.mark.tf
def test_a_switch_with_nothing_to_do_is_told_from_one_that_acted(runs):
    assert _status(runs["divisions/off"]) == {
        FOLDING: "proved", "loop_optimization": "no_target"}


@pytest.mark.tf
def test_log_of_exp_and_products_that_cancel_stay_as_they_are(runs):
    assert _same(_out(runs, "log_exp"), f32(88, np.inf, np.inf, -np.inf))
    assert _same(_out(runs, "cancel"), f32(0.0))


@pytest.mark.tf
def test_subnormals_survive_times_one_in_a_function_not_in_a_session(runs, stack):
    given = FIELD["times_one"]["x"]
    flushed = f32(0, 0, -0.0, -0.0, 2e-38)
    assert _same(_out(runs, "times_one"), given if stack >= (2, 0) else flushed)
    route = "tf.function" if stack >= (2, 0) else "v1 session"
    assert runs["times_one"]["route"] == route


@pytest.mark.tf
def test_minus_zero_is_kept(runs):
    assert _same(_out(runs, "zeros", "y1"), f32(0.0, -0.0))


@pytest.mark.tf
def test_half_precision_reductions_are_those_of_eager(runs):
    assert [float(_out(runs, "reductions", name)) for name in ("y0", "y1", "y2")] == [
        59968, 9992, 8]


@pytest.mark.tf
def test_checks_raise_unless_the_optimizer_strips_them(runs):
    assert runs["checked"]["failure"] == "run"
    assert "Tensor had NaN" in runs["checked"]["message"]
    assert runs["asserted"]["failure"] == "run"
    assert "assertion failed" in runs["asserted"]["message"]
    assert np.isnan(_out(runs, "checked/stripped")).tolist() == [False, True]
    assert _status(runs["checked/stripped"]) == {"debug_stripper": "proved"}


@pytest.mark.tf
def test_a_square_is_an_active_pass_that_changes_no_bit(runs):
    active = _passes(runs["square"])[ARITHMETIC]
    assert "Mul -> Square" in active["evidence"]
    assert _same(_out(runs, "square"), _out(runs, "square/off"))
    assert _status(runs["square/off"]) == {ARITHMETIC: "proved"}


@pytest.mark.tf
def test_movement_is_bit_exact(runs):
    assert _same(_out(runs, "movement"), np.concatenate([ODD.T[1:3], ODD.T[0:1]]))


@pytest.mark.tf
def test_a_misspelt_optimizer_is_refused_with_the_nearest_name(runs):
    assert runs["square/misspelt"]["failure"] == "usage"
    assert "Did you mean 'remapping'" in runs["square/misspelt"]["message"]


@pytest.mark.tf
def test_nodewise_is_eager_and_says_so(runs):
    assert _same(_out(runs, "chain/nodewise"), _out(runs, "chain/eager"))
    assert any("is eager execution" in note for note in runs["chain/nodewise"]["notes"])


@pytest.mark.tf
def test_what_was_sent_and_ran_is_recorded(runs):
    sent = dict(runs["divisions/off"]["sent"])
    assert sent["min_graph_nodes"] == "-1"
    assert sent[FOLDING] == "OFF"
    assert "fetched through an Identity" in runs["divisions/off"]["notes"]
    assert runs["divisions"]["artifact_hashes"][0][0] == "graph that ran"
    hashes = [runs[name]["artifact_hashes"] for name in ("square", "square/off")]
    assert hashes[0] != hashes[1]


@pytest.mark.tf
def test_without_dumps_nothing_is_run_again(runs):
    assert runs["square/without dumps"]["passes"] == []
    assert _status(runs["square/without dumps"]) == {ARITHMETIC: "unproved"}


def test_switches_need_no_tensorflow():
    assert {switch.family for switch in GrapplerBackend().switches()} == {"grappler"}


class _Node:
    """As much of a NodeDef as a structure reads."""

    def __init__(self, name, op, inputs=()):
        self.name, self.op, self.input, self.attr = name, op, list(inputs), {}


def test_names_and_order_do_not_matter_but_wiring_does():
    first = [_Node("a", "_Arg"), _Node("m", "Mul", ["a", "a"]),
             _Node("e", "Exp", ["m:0"])]
    second = [_Node("z/e", "Exp", ["z/m"]), _Node("z/m", "Mul", ["b", "b:0"]),
              _Node("b", "_Arg")]
    of = graph_structure.of
    assert graph_structure.difference(of(first), of(second)) is None
    other = [_Node("a", "_Arg"), _Node("e", "Exp", ["a"]),
             _Node("m", "Mul", ["e", "e"])]
    change = graph_structure.difference(of(first), of(other))
    assert graph_structure.describe(change) == "same op types, connected otherwise"
    fewer = graph_structure.difference(of(first), of(first[:2]))
    assert graph_structure.describe(fewer) == "Exp -> nothing"
    assert fewer.ops == ("Exp",)


def test_control_inputs_and_loops_are_survived():
    nodes = [_Node("a", "Merge", ["c", "b"]), _Node("b", "Next", ["a"]),
             _Node("c", "Enter", ["^d"]), _Node("d", "NoOp")]
    assert sum(graph_structure.of(nodes).nodes.values()) == 4
