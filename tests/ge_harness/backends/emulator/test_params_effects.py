"""Each parameter changes what it says and nothing else; bytes are the same everywhere.

The tables are in tests/data/emulator_numerics; `probes` says how they are made.
"""

from __future__ import annotations

import pathlib

import pytest

from ge_harness.backends.emulator.params import PARAMETERS, inert, parse
from tests.ge_harness.backends.emulator import probes

DATA = pathlib.Path(__file__).resolve().parents[3] / "data" / "emulator_numerics"


def table(name):
    text = (DATA / f"{name}.tsv").read_text(encoding="utf-8")
    return text.splitlines()


EFFECTS = {tuple(line.split("\t")[:2]): set(line.split("\t")[2].split()) - {"-"}
           for line in table("effects")}


@pytest.fixture(scope="module")
def measured():
    return probes.effects()


def test_every_setting_changes_the_kernels_that_the_table_says(measured):
    assert measured == table("effects")


def test_bytes_are_the_same_under_every_python_and_numpy():
    assert probes.digests() == table("digests")


def test_every_parameter_of_the_run_moves_something_somewhere():
    moved = {name for (_, setting), found in EFFECTS.items() if found
             for name in [setting.split("=")[0]] if "," not in setting}
    together = {part.split("=")[0] for (_, setting), found in EFFECTS.items()
                if found and "," in setting for part in setting.split(",")}
    idle = {name for name, parameter in PARAMETERS.items()
            if parameter.part == "run" and name not in moved | together}
    assert idle == {"num_vector_cores", "const_scalar"}


@pytest.mark.parametrize("chip", probes.CHIPS)
def test_a_setting_that_is_called_inert_moves_nothing(chip):
    for setting in probes.settings():
        if "," not in setting and inert(parse([setting]), chip):
            assert not EFFECTS[chip, setting], setting


def test_settings_without_effect_on_a_chip_are_named():
    given = parse(["eager_fp16_exp=fp32", "matmul_k_cores=4", "r_tile=64"])
    assert inert(given, "910b") == ("matmul_k_cores=4",)
    assert inert(given, "950") == ("eager_fp16_exp=fp32", "matmul_k_cores=4")
    both = parse(["chip=910b", "eager_fp16_exp=fp32"])
    assert inert(both, "950") == ()


ROUNDING = {"fused_compute_dtype", "fused_round_at", "drop_float_casts",
            "fma_contraction", "attr_scalar_decimals", "tile_combine"}
SINGLE = {"eager_fp16_exp", "eager_fp16_div", "eager_softmax_sub_dtype", "impl_mode",
          "eager_unlocated_910b", "eager_reduce_order", "eager_round"}
SUMS = {"sum32", "mean32", "norm32", "normb16", "softmax16", "outer32", "f_sum32",
        "f_outer32", "f_short32"}
OUTER = {"outer32", "f_outer32"}


@pytest.mark.parametrize("chip", probes.CHIPS)
def test_fused_parameters_leave_single_operators_alone_and_the_other_way(chip):
    for (which, setting), found in EFFECTS.items():
        name = setting.split("=")[0]
        if which != chip or "," in setting:
            continue
        if name in ROUNDING or name == "r_cores":
            assert all(each.startswith("f_") for each in found), setting
        if name in SINGLE:
            assert not any(each.startswith("f_") for each in found), setting


def test_orders_change_sums_and_nothing_else():
    for (_, setting), found in EFFECTS.items():
        name = setting.split("=")[0]
        if name in ("row_tree", "row_pad", "r_tile", "r_cores", "ub_bytes"):
            if "," not in setting:
                assert found <= SUMS, setting
            if name in ("row_tree", "row_pad"):
                assert not found & OUTER, setting
        if name == "outer_tree":
            assert found == OUTER
        if name.startswith("matmul"):
            assert found <= {"matmul32"}


@pytest.mark.parametrize("kind", ["tanh", "erf", "gelu", "pow"])
def test_a_form_changes_its_function_only(kind):
    for chip in probes.CHIPS:
        found = EFFECTS[chip, f"{kind}_form=libm"]
        assert found <= {f"{kind}32", f"f_{kind}32"}
        assert found or (kind, chip) == ("pow", "950")


def test_forced_newton_steps_reach_single_operators_too():
    for chip in probes.CHIPS:
        for steps in (2, 3):
            found = EFFECTS[chip, f"rsqrt_form=newton{steps}"]
            assert {"rsqrt32", "f_rsqrt32"} <= found
            assert not found - {"rsqrt32", "f_rsqrt32", "norm32", "normb16",
                                "tie_b16"}
