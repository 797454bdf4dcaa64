"""The XLA backend on the TensorFlow here; every run in a process of its own."""

from __future__ import annotations

import numpy as np
import pytest

from ge_harness.backends.xla import XlaBackend
from ge_harness.records.run import RunRequest
from ge_harness.records.switch import Switch, SwitchSetting
from ge_harness.records.tensor import Case
from tests.ge_harness.backends.compiler_child import run_jobs
from tests.ge_harness.backends.conftest import FIELD, f32

pytestmark = pytest.mark.tf

INF = np.inf
SLOW = {"xla_cpu_enable_fast_math": "false"}
_random = np.random.RandomState(7)
CHAIN = {name: _random.standard_normal((64, 256)).astype(np.float16) for name in "xab"}
LAYER = {"x": _random.standard_normal((8, 64)).astype(np.float32),
         "gamma": f32(*_random.standard_normal(64)),
         "beta": f32(*_random.standard_normal(64))}
ODD = np.array(_random.randint(0, 1 << 16, (3, 4)), np.uint16)


def _field(graph, **job):
    dtype = "float16" if graph == "reductions" else "float32"
    return dict(graph=graph, inputs=FIELD[graph], dtype=dtype, **job)


LEVEL_0 = {"xla_backend_optimization_level": "0"}
MOVED = {"graph": "movement", "dtype": "bfloat16", "inputs": {"x": ODD}}
JOBS = {
    **{f"{graph}/{kind}": _field(graph, **job)
       for graph in ("log_exp", "reciprocals", "divisions", "cancel", "times_one",
                     "zeros", "reductions", "checked", "asserted", "square")
       for kind, job in (("eager", {"backend": "eager"}), ("whole", {}),
                         ("nodewise", {"mode": "nodewise"}))},
    **{f"{graph}/algsimp off": _field(graph, off=["algsimp"])
       for graph in ("log_exp", "reciprocals", "divisions", "times_one")},
    **{f"{graph}/algsimp off, fast math off": _field(
        graph, off=["algsimp"], values=SLOW)
       for graph in ("log_exp", "reciprocals", "divisions")},
    "log_exp/fast math off": _field("log_exp", values=SLOW),
    "log_exp/level 0": _field("log_exp", values=LEVEL_0),
    "times_one/fusion off": _field("times_one", off=["fusion"]),
    "times_one/both off": _field("times_one", off=["algsimp", "fusion"]),
    "cancel/fusion off": _field("cancel", off=["fusion"]),
    "cancel/level 0": _field("cancel", values=LEVEL_0),
    "movement/whole": MOVED,
    "movement/nodewise": {**MOVED, "mode": "nodewise"},
    "text/whole": _field("text"),
    "shapes/nodewise": {"graph": "shapes", "mode": "nodewise",
                        "inputs": {"x": np.ones((2, 3, 4), np.float32)}},
    "given_back/whole": {"graph": "given_back", "inputs": {"x": f32(1, 2)}},
    "chain/whole": {"graph": "chain", "dtype": "float16", "inputs": CHAIN},
    "chain/nodewise": {"graph": "chain", "dtype": "float16", "inputs": CHAIN,
                       "mode": "nodewise"},
    "chain/nodewise without dumps": {
        "graph": "chain", "dtype": "float16", "inputs": CHAIN, "mode": "nodewise",
        "dumps": False},
    "chain/fusion off": {"graph": "chain", "dtype": "float16", "inputs": CHAIN,
                         "off": ["fusion"]},
    "chain/grappler on": {"graph": "chain", "dtype": "float16", "inputs": CHAIN,
                          "options": {"grappler": "on"}},
    "chain/no such pass": {"graph": "chain", "dtype": "float16", "inputs": CHAIN,
                           "off": ["cpu-instruction-fusion"]},
    "chain/pass without target": {"graph": "chain", "dtype": "float16", "inputs": CHAIN,
                                  "off": ["cholesky_expander"]},
    "chain/no such flag": {"graph": "chain", "dtype": "float16", "inputs": CHAIN,
                           "values": {"xla_cpu_enable_fast_mth": "true"}},
    "chain/bad value": {"graph": "chain", "dtype": "float16", "inputs": CHAIN,
                        "values": {"xla_cpu_enable_fast_math": "perhaps"}},
    "chain/blank": {"graph": "chain", "dtype": "float16", "inputs": CHAIN,
                    "off": [" fusion"]},
    "layernorm/pinned whole": {
        "graph": "layernorm", "inputs": LAYER, "every": True,
        "off": ["fusion", "tree_reduction_rewriter", "dot-library-rewriter"],
        "values": {"xla_allow_excess_precision": "false"}},
    "layernorm/pinned nodewise": {
        "graph": "layernorm", "inputs": LAYER, "every": True, "mode": "nodewise",
        "off": ["fusion", "tree_reduction_rewriter", "dot-library-rewriter"],
        "values": {"xla_allow_excess_precision": "false"}},
    "layernorm/planted": {
        "graph": "layernorm", "inputs": LAYER, "every": True, "mode": "nodewise",
        "options": {"plant": "Square"},
        "off": ["fusion", "tree_reduction_rewriter", "dot-library-rewriter"],
        "values": {"xla_allow_excess_precision": "false"}},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory, stack):
    results = run_jobs(tmp_path_factory.mktemp("xla"), list(JOBS.values()))
    return dict(zip(JOBS, results))


def _out(runs, name, output="y0"):
    assert runs[name].get("failure") == "", (runs[name], runs[name]["log"][-2000:])
    return runs[name]["outputs"][output]


def _same(first, second):
    return first.dtype == second.dtype and first.tobytes() == second.tobytes()


def _ulp(first, second):
    return np.abs(first.view(np.int32).astype(np.int64) - second.view(np.int32))


def _active(run):
    return {each["name"]: each for each in run["passes"]}


def _effect(run, name):
    return next(each for each in run["effects"] if each["switch"]["name"] == name)


def test_log_of_exp_is_its_argument_and_algsimp_is_named(runs, stack):
    expected = f32(88, INF, INF, -INF)
    assert _same(_out(runs, "log_exp/eager"), expected)
    assert _same(_out(runs, "log_exp/nodewise"), expected)
    assert _same(_out(runs, "log_exp/whole"), f32(88, 89, 200, -200))
    assert "algsimp" in _active(runs["log_exp/whole"])
    assert _same(_out(runs, "log_exp/fast math off"), f32(88, 89, 200, -200))
    assert _same(_out(runs, "log_exp/level 0"), f32(88, 89, 200, -200))
    if stack >= (2, 16):
        assert _same(_out(runs, "log_exp/algsimp off"), expected)
    # Where fast math is the default, LLVM does the same as algsimp.
    assert _same(_out(runs, "log_exp/algsimp off, fast math off"), expected)


def test_a_reciprocal_twice_is_exact_and_node_by_node_off_by_one(runs, stack):
    given = FIELD["reciprocals"]["x"]
    assert _same(_out(runs, "reciprocals/whole"), given)
    for kind in ("eager", "nodewise"):
        away = _ulp(_out(runs, f"reciprocals/{kind}"), given)
        assert away.max() == 1
    assert "algsimp" in _active(runs["reciprocals/whole"])
    assert _ulp(_out(runs, "reciprocals/algsimp off, fast math off"), given).max() == 1
    if stack >= (2, 16):
        assert _same(_out(runs, "reciprocals/algsimp off"),
                     _out(runs, "reciprocals/nodewise"))


def test_division_by_three_becomes_a_multiplication(runs, stack):
    third = FIELD["divisions"]["x"] * np.float32(1 / 3)
    assert _same(_out(runs, "divisions/whole"), third)
    eager = _out(runs, "divisions/eager")
    assert _same(eager, FIELD["divisions"]["x"] / np.float32(3))
    assert sorted(_ulp(eager, third)) == [0, 0, 0, 1, 1, 1]
    for output in ("y1", "y2"):
        assert _same(_out(runs, "divisions/whole", output),
                     _out(runs, "divisions/eager", output))
    assert _same(_out(runs, "divisions/algsimp off, fast math off"), eager)
    if stack >= (2, 6):
        assert _same(_out(runs, "divisions/nodewise"), eager)
        assert _same(_out(runs, "divisions/algsimp off"), eager)


def test_products_that_cancel_show_the_unrounded_one_only_with_fma(
        runs, stack, has_fma):
    for kind in ("eager", "nodewise", "level 0"):
        assert _same(_out(runs, f"cancel/{kind}"), f32(0.0))
    whole = _out(runs, "cancel/whole")
    if stack >= (2, 16) and has_fma:
        np.testing.assert_allclose(whole, [4.993411e21], rtol=1e-6)
        assert _same(_out(runs, "cancel/fusion off"), f32(0.0))
        assert "fusion" in _active(runs["cancel/whole"])
    else:
        assert _same(whole, f32(0.0))


def test_subnormals_survive_times_one_until_both_passes_are_off(runs, stack):
    given = FIELD["times_one"]["x"]
    flushed = f32(0, 0, -0.0, -0.0, 2e-38)
    assert _same(_out(runs, "times_one/whole"), given)
    assert _same(_out(runs, "times_one/nodewise"), flushed)
    if stack >= (2, 16):
        assert _same(_out(runs, "times_one/eager"), flushed)
        assert _same(_out(runs, "times_one/algsimp off"), given)
        assert _same(_out(runs, "times_one/fusion off"), given)
        assert _same(_out(runs, "times_one/both off"), flushed)


def test_minus_zero_is_kept_whatever_was_added_before(runs):
    for kind in ("eager", "whole", "nodewise"):
        assert _same(_out(runs, f"zeros/{kind}", "y1"), f32(0.0, -0.0))


def test_half_precision_reductions_are_exact_under_xla(runs):
    for kind in ("whole", "nodewise"):
        got = [float(_out(runs, f"reductions/{kind}", name)) for name in
               ("y0", "y1", "y2")]
        assert got == [60000, 10000, 0]
    eager = [float(_out(runs, "reductions/eager", name)) for name in ("y0", "y1", "y2")]
    assert eager == [59968, 9992, 8]


def test_checks_raise_op_by_op_and_are_dropped_under_xla(runs):
    assert runs["checked/eager"]["failure"] == "run"
    assert "Tensor had NaN" in runs["checked/eager"]["message"]
    assert np.isnan(_out(runs, "checked/whole")).tolist() == [False, True]
    assert runs["asserted/eager"]["failure"] == "run"
    assert "assertion failed" in runs["asserted/eager"]["message"]
    for kind in ("whole", "nodewise"):
        assert _same(_out(runs, f"asserted/{kind}"), f32(-2))


def test_a_string_op_is_a_failure_of_the_compilation(runs):
    assert runs["text/whole"]["failure"] == "compile"
    assert "AsString" in runs["text/whole"]["message"]


def test_movement_and_squares_are_bit_exact(runs):
    expected = np.concatenate([ODD.T[1:3], ODD.T[0:1]])
    for kind in ("whole", "nodewise"):
        assert _same(_out(runs, f"movement/{kind}"), expected)
        assert _same(_out(runs, f"square/{kind}"), _out(runs, "square/eager"))


def test_fused_half_precision_differs_on_1_15_and_fusion_off_restores_it(runs, stack):
    nodewise = _out(runs, "chain/nodewise")
    share = np.mean(_out(runs, "chain/whole") != nodewise)
    assert _same(_out(runs, "chain/fusion off"), nodewise)
    assert "fusion" in _active(runs["chain/whole"])
    assert "fusion" not in _active(runs["chain/fusion off"])
    if stack == (1, 15):
        assert 0.4 < share < 0.6
    elif stack >= (2, 16):
        assert share == 0
    else:
        assert share < 0.02


def test_active_passes_say_what_they_touched_and_how_to_stop_them(runs):
    fusion = _active(runs["chain/whole"])["fusion"]
    assert fusion["dtypes"] == ["float16"]
    assert {"add", "fusion", "multiply", "tanh"} <= set(fusion["ops"])
    assert fusion["switch_off"] == "XLA_FLAGS=--xla_disable_hlo_passes=fusion"
    assert fusion["precision_class"] != "unknown"
    assert "after_fusion" in fusion["evidence"]


@pytest.mark.parametrize(("name", "count"), [
    ("chain/whole", 1), ("chain/nodewise", 12), ("shapes/nodewise", 4),
    ("given_back/whole", 1)])
def test_every_unit_is_compiled_once(runs, name, count):
    note = next(note for note in runs[name]["notes"] if "compilations expected" in note)
    assert note.startswith(f"{count} compilations expected, {count} modules dumped")
    assert note.endswith("in 2 executions: each compiled once")
    numbers = {path.name.split("module_")[1][:4]
               for path in (runs[name]["folder"] / "dumps").iterdir()}
    assert len(numbers) == count


def test_dumps_that_were_not_asked_for_are_not_written(runs):
    run = runs["chain/nodewise without dumps"]
    assert _same(_out(runs, "chain/nodewise without dumps"),
                 _out(runs, "chain/nodewise"))
    assert not (run["folder"] / "dumps").exists()
    assert run["passes"] == []
    assert dict(run["sent"])["XLA_FLAGS"] == ""


def test_shapes_stay_constants_of_their_node(runs):
    assert _out(runs, "shapes/nodewise").shape == (2, 3, 4)
    assert not _out(runs, "shapes/nodewise").any()


def test_a_switch_that_acted_is_proved(runs):
    assert _effect(runs["chain/fusion off"], "fusion")["status"] == "proved"
    assert _effect(runs["cancel/fusion off"], "fusion")["status"] == "proved"
    flag = _effect(runs["cancel/level 0"], "xla_backend_optimization_level")
    assert (flag["asked"], flag["status"]) == ("0", "proved")


def test_a_known_pass_with_nothing_to_do_has_no_target(runs, stack):
    effect = _effect(runs["chain/pass without target"], "cholesky_expander")
    # 1.15 dumps after every pass, so there its absence is a proof.
    assert effect["status"] == ("proved" if stack == (1, 15) else "no_target")


@pytest.mark.parametrize(("name", "kind", "said"), [
    ("chain/no such pass", "unknown_switch", "Did you mean 'fusion'"),
    ("chain/no such flag", "invalid_switch", "did you mean --xla_cpu_enable_fast_math"),
    ("chain/bad value", "invalid_switch", "does not take the value 'perhaps'"),
    ("chain/blank", "usage", "Write 'fusion'"),
])
def test_switches_that_would_do_nothing_are_failures(runs, name, kind, said):
    assert runs[name]["failure"] == kind
    assert said in runs[name]["message"]


def test_grappler_before_xla_is_recorded(runs):
    assert dict(runs["chain/grappler on"]["sent"])["grappler"] == "on"
    assert dict(runs["chain/whole"]["sent"])["grappler"] == "off"
    assert any("Grappler is on" in note for note in runs["chain/grappler on"]["notes"])


def test_artifacts_are_hashed_without_what_holds_addresses(runs):
    names = [name for name, _ in runs["chain/whole"]["artifact_hashes"]]
    assert len(set(names)) == len(names) >= 4
    assert any(name.endswith("after_optimizations.txt") for name in names)
    assert any(".ll" in name for name in names)
    assert not any("buffer" in name or "debug_options" in name for name in names)


def test_whole_equals_nodewise_at_every_node_with_fusion_pinned(runs, stack):
    if stack < (2, 16):
        pytest.skip("the passes that make this exact are those of TensorFlow 2.21")
    whole, nodewise = (runs[f"layernorm/pinned {kind}"]["outputs"]
                       for kind in ("whole", "nodewise"))
    assert len(whole) == 10
    for name in whole:
        assert _same(whole[name], nodewise[name]), name


def test_a_planted_wrong_rounding_is_found_and_named(runs, stack):
    if stack < (2, 16):
        pytest.skip("errors are planted on TensorFlow 2, and compared on 2.21")
    clean = runs["layernorm/pinned whole"]["outputs"]
    planted = runs["layernorm/planted"]["outputs"]
    differing = [name for name in clean if not _same(clean[name], planted[name])]
    # Outputs are in the order of the graph: the first to differ is the culprit.
    assert differing[0] == "y_Square"
    assert np.sum(clean["y_Square"] != planted["y_Square"]) == 1
    assert not {"y_Mean", "y_sub"} & set(differing)
    assert any("planted" in note for note in runs["layernorm/planted"]["notes"])


def test_switches_and_environment_need_no_tensorflow(tmp_path):
    backend = XlaBackend()
    names = {switch.name for switch in backend.switches()}
    assert {"fusion", "algsimp", "xla_cpu_enable_fast_math"} <= names
    case = Case("s", "v", 0, "graph.pb", (), (), ())
    setting = SwitchSetting(off=(Switch("hlo_pass", "fusion"),))
    flags = backend.environment(
        RunRequest(case, "xla", setting=setting), tmp_path)["XLA_FLAGS"]
    assert f"--xla_dump_to={tmp_path}/dumps" in flags
    assert "--xla_disable_hlo_passes=fusion" in flags
