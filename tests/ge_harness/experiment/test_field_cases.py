"""F01 to F10 of the field cases through a whole run: verdict, suspects, way out."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from ge_harness.experiment import execute, setting
from ge_harness.experiment.options import RunOptions
from ge_harness.experiment.store import RunFolder
from ge_harness.records.report import RunVerdict
from ge_harness.worker import environment

CASES = Path(__file__).resolve().parents[2] / "data" / "cases"
EXACT = "--xla_cpu_enable_fast_math=false"
pytestmark = pytest.mark.tf


@pytest.fixture(scope="module")
def tf_version():
    from ge_harness.backends import tf_loader

    version = tf_loader.installed()
    if not version:
        pytest.skip("TensorFlow is not installed")
    return tuple(int(part) for part in version.split(".")[:2])


@pytest.fixture
def run(tmp_path):
    def one(case, backend, *disable, **fields):
        asked = setting.Asked(disable=disable, xla_flags=fields.pop("xla_flags", ""))
        options = RunOptions(
            source=str(CASES / f"{case}.py"), backend=backend,
            setting=setting.build(backend, asked), **fields)
        folder = RunFolder.create(str(tmp_path / "run"), "run", case)
        return execute.run(options, folder, lambda text: None)

    return one


def _output(report, number=0):
    return report.outputs[number]


def _eager(report, number=0):
    return _output(report, number).vs_baseline["eager"]


def _names(report):
    return [item.name for item in report.suspects]


def _values(report, side, number=0):
    name = report.artifacts[f"outputs_{side}"][number]
    return np.load(str(Path(report.artifacts["folder"]) / name))


def test_f01_finite_against_infinity_is_a_kind_and_algsimp_the_suspect(run):
    report = run("f01_log_exp", "xla")
    assert report.verdict is RunVerdict.DIFFERS
    assert _eager(report).mismatch_count == 3
    assert _eager(report).nonfinite.finite_vs_inf == 3
    assert "3 finite against inf" in report.why
    assert _eager(report).ulp.share_kind == 0.75
    assert _names(report) == ["algsimp"]
    assert _values(report, "candidate").tolist() == [88, 89, 200, -200]
    assert _output(report).nearest == "candidate"


def test_f01_algsimp_off_restores_agreement(run, tf_version):
    # Where fast math is the default (2.6.5, 1.15), LLVM does what algsimp did.
    exact = "" if tf_version >= (2, 21) else EXACT
    report = run("f01_log_exp", "xla", "algsimp", xla_flags=exact)
    assert report.verdict is RunVerdict.AGREES


@pytest.mark.parametrize("flags", ["--xla_backend_optimization_level=0",
                                   "--xla_cpu_enable_fast_math=false"])
def test_f01_neither_level_zero_nor_exact_maths_restores_it(run, flags):
    report = run("f01_log_exp", "xla", xla_flags=flags)
    assert report.verdict is RunVerdict.DIFFERS
    assert _eager(report).nonfinite.finite_vs_inf == 3


@pytest.mark.parametrize(("backend", "culprit"), [
    ("grappler", "arithmetic_optimization"), ("xla", "algsimp")])
def test_f02_the_compiled_reciprocals_are_exact_and_nearer(
        run, tf_version, backend, culprit):
    report = run("f02_reciprocal", backend)
    assert report.verdict is RunVerdict.DIFFERS
    assert _output(report).ulp.max == 1
    assert "candidate" in _output(report).nearest
    assert "eager" not in _output(report).nearest
    assert culprit in _names(report)
    if backend == "xla" and tf_version < (2, 0):
        # Fast math is the default there, and the kernels of eager round elsewhere.
        undone = run("f02_reciprocal", backend, culprit, xla_flags=EXACT)
        assert _output(undone).vs_reference["candidate"].ulp.max >= 0.5
    else:
        assert run("f02_reciprocal", backend, culprit).verdict is RunVerdict.AGREES


@pytest.mark.parametrize(("backend", "culprit"), [
    ("grappler", "constant_folding"), ("xla", "algsimp")])
def test_f03_a_division_by_three_is_multiplied_and_said_to_be_one_ulp(
        run, tf_version, backend, culprit):
    report = run("f03_div3", backend)
    assert report.verdict is RunVerdict.DIFFERS
    assert _eager(report).mismatch_count == 3
    assert _output(report).ulp.max == 1
    if backend == "xla" and tf_version < (2, 0):
        # Fast math is the default there: a node alone multiplies too, and is to blame.
        assert _output(report).vs_baseline["nodewise"].bit_equal
        assert report.suspects == ()
        undone = run("f03_div3", backend, culprit, xla_flags=EXACT)
    else:
        assert culprit in _names(report)
        undone = run("f03_div3", backend, culprit)
    assert undone.verdict is RunVerdict.AGREES


@pytest.mark.parametrize("divisor", ["2", "1024"])
@pytest.mark.parametrize("backend", ["grappler", "xla"])
def test_f03_powers_of_two_raise_no_alarm(run, backend, divisor):
    report = run("f03_div3", backend, variants=(("divisor", divisor),))
    assert report.verdict is RunVerdict.AGREES
    assert report.suspects == ()


def test_f04_contraction_follows_the_instruction_set_which_is_recorded(run, tf_version):
    report = run("f04_fma", "xla")
    _, flags = environment.cpu()
    has_fma = "fma" in flags and tf_version >= (2, 21)
    assert (report.verdict is RunVerdict.DIFFERS) == has_fma
    expected = 4.993411e21 if has_fma else 0.0
    assert _values(report, "candidate").ravel()[0] == pytest.approx(expected, rel=1e-6)
    side = next(side for side in report.sides if side.name == "candidate")
    assert ("fma" in side.environment.cpu_flags) == ("fma" in flags)


@pytest.mark.parametrize(("disable", "flags"), [
    (("fusion",), ""), ((), "--xla_backend_optimization_level=0"),
    ((), "--xla_cpu_max_isa=AVX")])
def test_f04_each_known_way_out_restores_agreement(run, tf_version, disable, flags):
    if tf_version < (2, 21):
        pytest.skip("nothing to restore: this XLA agrees with eager by default")
    report = run("f04_fma", "xla", *disable, xla_flags=flags)
    assert report.verdict is RunVerdict.AGREES


def test_f05_subnormals_survive_until_both_passes_are_off(run, tf_version):
    if tf_version < (2, 21):
        pytest.skip("the case is stated for TensorFlow 2.21")
    report = run("f05_mul_one", "xla")
    assert report.verdict is RunVerdict.DIFFERS
    worst = sorted(item.ulp for item in _eager(report).worst if item.ulp)
    assert worst == [1, 71362, 71362]
    assert "candidate" in _output(report).nearest
    for alone in ("algsimp", "fusion"):
        assert run("f05_mul_one", "xla", alone).verdict is RunVerdict.DIFFERS
    assert run("f05_mul_one", "xla", "algsimp",
               "fusion").verdict is RunVerdict.AGREES


@pytest.mark.parametrize("backend", ["eager", "xla", "grappler"])
def test_f06_minus_zero_is_kept_on_every_side(run, backend):
    for order in ("z_first", "y_first"):
        report = run("f06_add_zero", backend, variants=(("order", order),))
        names = [output.name for output in report.outputs]
        y = names.index("y")
        assert _output(report, y).bit_equal
        for side in ("candidate", "eager"):
            signs = np.signbit(_values(report, side, y))
            assert signs.tolist() == [False, True]


def test_f07_compiled_half_sums_are_nearer_and_no_switch_is_offered(run):
    report = run("f07_reduce", "xla", dtype="float16")
    assert report.verdict is RunVerdict.DIFFERS
    compiled = [float(_values(report, "candidate", n).ravel()[0]) for n in range(3)]
    eager = [float(_values(report, "eager", n).ravel()[0]) for n in range(3)]
    truth = [float(_values(report, "reference", n).ravel()[0]) for n in range(3)]
    assert sorted(compiled) == [0, 10000, 60000]
    assert sorted(truth) == [0, 10000, 60000]
    assert sorted(eager) == [8, 9990, 59970] or sorted(eager) == [8, 9992, 59968]
    assert report.suspects == ()
    assert all("candidate" in output.nearest for output in report.outputs)


@pytest.mark.parametrize("case", ["f08_check_numerics", "f08_assert"])
def test_f08_eager_raises_and_the_compiled_side_returns(run, case):
    report = run(case, "xla")
    assert report.verdict is RunVerdict.OUTCOME_MISMATCH
    assert "eager raised, candidate returned" in report.why


def test_f08_what_cannot_be_compiled_is_an_outcome_mismatch_too(run):
    report = run("f08_not_compilable", "xla")
    assert report.verdict is RunVerdict.OUTCOME_MISMATCH
    assert "candidate raised, eager returned" in report.why


def test_f09_a_flag_xla_does_not_know_is_an_invalid_switch(run):
    report = run("f10_square", "xla", xla_flags="--xla_no_such_flag=1")
    assert report.verdict is RunVerdict.INVALID_SWITCH
    assert "xla_no_such_flag" in report.why
    side = next(side for side in report.sides if side.name == "candidate")
    assert side.status == "invalid_switch"


def test_f09_a_pass_that_never_occurs_is_an_unknown_switch(run):
    report = run("f10_square", "xla", "cpu-instruction-fusionn")
    assert report.verdict is RunVerdict.INVALID_SWITCH
    assert "cpu-instruction-fusionn" in report.why
    side = next(side for side in report.sides if side.name == "candidate")
    assert side.status == "unknown_switch"


@pytest.mark.parametrize("case", ["f10_movement", "f10_square"])
@pytest.mark.parametrize("backend", ["grappler", "xla"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_f10_movement_and_squares_agree_and_nobody_is_blamed(run, case, backend, dtype):
    report = run(case, backend, dtype=dtype)
    assert report.verdict is RunVerdict.AGREES, report.why
    assert report.suspects == ()


def test_a_polluted_environment_does_not_reach_the_base_line(run, monkeypatch):
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit")
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    report = run("f01_log_exp", "xla")
    assert report.verdict is RunVerdict.DIFFERS
    for side in report.sides:
        removed = dict(side.environment.removed)
        assert removed["TF_XLA_FLAGS"] == os.environ["TF_XLA_FLAGS"]
        assert removed["XLA_FLAGS"] == os.environ["XLA_FLAGS"]
