"""Parameters: every name of the model, how they are set, forced ones, the ensemble."""

from __future__ import annotations

import pathlib

import pytest

from ge_harness.backends.emulator import params
from ge_harness.backends.emulator.params import PARAMETERS, EmulatorParams, parse
from ge_harness.errors import SwitchError
from tests.shared import SHARED, needs_shared


@needs_shared
def test_every_parameter_of_the_reference_is_a_field():
    text = (SHARED / "reference" / "numerics_model.md").read_text(encoding="utf-8")
    table = text.split("## 8. Model parameters")[1].split("## 9.")[0]
    names = set()
    for line in table.splitlines():
        if line.startswith("| `"):
            cell = line.split("|")[1]
            names |= {part.strip(" `") for part in cell.split(",")}
    assert len(names) > 35
    assert names <= set(PARAMETERS)


def test_every_parameter_has_a_meaning_and_evidence():
    for name, parameter in PARAMETERS.items():
        assert parameter.meaning, name
        assert set(parameter.evidence) & set("CDI?"), name


def test_defaults_are_the_values_the_table_says():
    plain = EmulatorParams()
    assert parse([]) == plain
    for name, parameter in PARAMETERS.items():
        assert getattr(plain, name) == parameter.default, name


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_every_value_a_parameter_lists_can_be_set(name):
    parameter = PARAMETERS[name]
    texts = parameter.values or (
        *parameter.alternatives,
        *(["auto"] if parameter.low == 0 and parameter.default == 0 else []),
        str(parameter.multiple * 2))
    for text in texts:
        found = parse([f"{name}={text}"])
        assert params.shown(name, getattr(found, name)) in (text, "auto")
        assert found.given == (name,)


def test_a_later_setting_wins():
    assert parse(["r_tile=64", "r_tile=512"]).r_tile == 512


@pytest.mark.parametrize(("text", "part"), [
    ("r_tiles=8", "Did you mean 'r_tile'?"),
    ("rsqrt_form=newton4", "Did you mean 'newton"),
    ("r_tile=100", "a multiple of 8"),
    ("r_tile=-8", "a whole number"),
    ("r_tile=99999999999999999999", "a whole number"),
    ("r_tile=\u0662\u0664", "a whole number"),
    ("r_cores=0", "from 1"),
    ("r_cores=49", "num_vector_cores=48"),
    ("muls_equals_mul=True", "Did you mean 'true'?"),
    ("r_tile", "NAME=VALUE"),
    ("=3", "no emulator parameter named ''"),
    ("given=x", "no emulator parameter named 'given'"),
    ("const_scalar=rounded", "known: exact"),
], ids=lambda text: text[:30])
def test_what_would_do_nothing_is_refused(text, part):
    with pytest.raises(SwitchError) as caught:
        parse([text])
    assert part in str(caught.value)


def test_forced_settings_are_named_and_others_are_not():
    found = parse(["r_tile=1024", "rsqrt_form=newton3", "div_form=newton2",
                   "muls_equals_mul=false", "r_cores=8", "rsqrt_form=newton2"])
    assert params.forced(found) == (
        "muls_equals_mul=false", "rsqrt_form=newton2", "div_form=newton2",
        "r_tile=1024")
    assert params.forced(parse(["rsqrt_form=newton", "r_tile=auto"])) == ()


def test_the_canonical_text_holds_every_parameter_and_is_sorted():
    lines = params.as_lines(parse(["r_tile=512"]))
    assert list(lines) == sorted(lines)
    assert len(lines) == len(PARAMETERS)
    assert "r_tile=512" in lines
    assert "ub_bytes=auto" in lines
    assert "muls_equals_mul=true" in lines
    assert parse(lines) == EmulatorParams(
        r_tile=512, given=tuple(sorted(PARAMETERS)))


def test_changed_lists_only_what_differs():
    assert params.changed(parse(["r_tile=512", "chip=auto"])) == ("r_tile=512",)


def test_an_ensemble_changes_one_uncertain_parameter_at_a_time():
    members = params.ensemble(parse([]))
    assert members[0] == ("model", EmulatorParams())
    labels = [label for label, _ in members]
    assert len(set(labels)) == len(labels)
    named = {label.split("=")[0] for label in labels[1:]}
    assert named >= {"div_accuracy", "exp_accuracy", "r_tile", "r_cores",
                     "muls_equals_mul", "eager_reduce_order", "eager_fp16_exp"}
    for label, member in members[1:]:
        assert params.changed(member) == (label,)


def test_an_ensemble_leaves_alone_what_was_set_by_hand():
    given = parse(["r_tile=auto", "exp_accuracy=noise", "num_vector_cores=8"])
    labels = [label for label, _ in params.ensemble(given)]
    assert not any(label.startswith(("r_tile", "exp_accuracy")) for label in labels)
    assert "r_cores=8" in labels
    assert "r_cores=48" not in labels


def test_the_document_lists_every_parameter_as_it_is():
    path = pathlib.Path(__file__).resolve().parents[4] / "docs/emulator_numerics.md"
    text = path.read_text(encoding="utf-8")
    for name, parameter in PARAMETERS.items():
        row = next(line for line in text.splitlines()
                   if line.startswith(f"| `{name}` |"))
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[1] == params.shown(name, parameter.default), name
        assert cells[3] == parameter.evidence, name
        assert cells[4].startswith(parameter.meaning), name
        if parameter.values:
            assert cells[2] == ", ".join(parameter.values), name
