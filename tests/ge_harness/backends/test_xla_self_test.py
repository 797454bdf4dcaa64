"""The comparator's self-test: every shipped subgraph, whole against nodewise.

With the passes off that change bits between the two, both must agree bit for bit; a
difference would be the harness's own. Through the real workers.
"""

from __future__ import annotations

import numpy as np
import pytest

import graphs
from ge_harness.compare.dtypes import round_to
from ge_harness.records.job import BuiltCase
from ge_harness.records.run import FailureKind, Mode, RunRequest, RunSuccess
from ge_harness.records.switch import Switch, SwitchSetting, SwitchValue
from ge_harness.records.tensor import Case
from ge_harness.worker import built, launch
from graphs.built import BuildOptions
from graphs.inputs import draw

pytestmark = pytest.mark.tf

PINNED = SwitchSetting(
    off=tuple(Switch("hlo_pass", name) for name in (
        "fusion", "dot-library-rewriter", "tree_reduction_rewriter")),
    values=(SwitchValue(Switch("xla_flag", "xla_allow_excess_precision"), "false"),))
# Where default flags change bits on a processor with FMA: contraction inside a fusion
# and another order of sums (float32), excess precision over reductions (bfloat16).
# Source: reference/xla_cpu.md section 4; measured with the shipped desk sizes.
DIFFERING = {
    "float16": set(),
    "bfloat16": {"attention", "ffn_front", "matmul_add_layernorm", "softmax"},
    "float32": {"elementwise_chain", "ffn_front", "gelu", "layernorm",
                "matmul_add_layernorm"},
}
SHORT = {"elementwise_chain", "softmax", "transpose_concat"}


def _case(folder, name, dtype):
    found = launch.build(name, BuildOptions(dtype=dtype), folder / "build")
    if not isinstance(found, BuiltCase):
        assert found.kind is FailureKind.UNAVAILABLE, (name, dtype, found.message)
        return None
    paths = []
    for number, feed in enumerate(built.feeds(found)):
        path = folder / f"{name}_{dtype}_{number}.npy"
        np.save(str(path), round_to(draw(feed, feed.shape, 1), feed.dtype))
        paths.append(str(path))
    return Case(name, dtype, 1, found.graph_path, found.inputs, found.outputs,
                tuple(paths))


def _outputs(result):
    assert isinstance(result, RunSuccess), result
    assert result.repeatable
    return [np.load(path).tobytes() for path in result.output_paths]


def _compare(folder, names, dtype):
    """Return the names that differ pinned, and those that differ by default."""
    cases = [case for case in (_case(folder, name, dtype) for name in names) if case]
    requests = [RunRequest(case, "xla", mode, setting) for case in cases
                for setting in (PINNED, SwitchSetting())
                for mode in (Mode.WHOLE, Mode.NODEWISE)]
    results = launch.launch(requests, folder / dtype)
    for result in results[1::2]:
        assert any("each compiled once" in note for note in result.notes), result.notes
    outputs = [_outputs(result) for result in results]
    pinned = {case.subgraph for number, case in enumerate(cases)
              if outputs[4 * number] != outputs[4 * number + 1]}
    default = {case.subgraph for number, case in enumerate(cases)
               if outputs[4 * number + 2] != outputs[4 * number + 3]}
    return {case.subgraph for case in cases}, pinned, default


def _check(folder, names, dtype, has_fma):
    ran, pinned, default = _compare(folder, names, dtype)
    assert ran
    assert pinned == set()
    if has_fma:
        assert default == DIFFERING[dtype] & ran
    elif dtype == "float16":
        assert default == set()


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_three_subgraphs_agree_pinned_and_differ_where_they_should(
        tmp_path, stack, has_fma, dtype):
    if stack < (2, 16):
        pytest.skip("the passes that make this exact are those of TensorFlow 2.21")
    _check(tmp_path, sorted(SHORT), dtype, has_fma)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_every_shipped_subgraph_agrees_pinned_and_differs_where_it_should(
        tmp_path, stack, has_fma, dtype):
    if stack < (2, 16):
        pytest.skip("the passes that make this exact are those of TensorFlow 2.21")
    _check(tmp_path, graphs.names(), dtype, has_fma)


def test_switches_that_do_nothing_are_named_outcomes(tmp_path, stack):
    case = _case(tmp_path, "abs_relu_exp", "float32")
    unknown = SwitchSetting(off=(Switch("hlo_pass", "cpu-instruction-fusion"),))
    invalid = SwitchSetting(values=(
        SwitchValue(Switch("xla_flag", "xla_no_such_flag"), "1"),))
    blank = SwitchSetting(off=(Switch("hlo_pass", " fusion"),))
    grappler = SwitchSetting(off=(Switch("grappler", "remaping"),))
    results = launch.launch(
        [RunRequest(case, "xla", setting=unknown), RunRequest(case, "xla",
                                                              setting=invalid),
         RunRequest(case, "xla", setting=blank),
         RunRequest(case, "grappler", setting=grappler), RunRequest(case, "xla")],
        tmp_path / "jobs")
    assert [getattr(result, "kind", None) for result in results] == [
        FailureKind.UNKNOWN_SWITCH, FailureKind.INVALID_SWITCH,
        FailureKind.INVALID_SWITCH, FailureKind.INVALID_SWITCH, None]
    assert "Did you mean 'fusion'" in results[0].message
    assert "xla_no_such_flag" in results[1].message
    assert isinstance(results[4], RunSuccess)
