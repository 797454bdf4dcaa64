"""The parameters of the numerical model: what is known, what is not, what is forced.

Each field of `EmulatorParams` is one parameter of the model. `PARAMETERS` says what it
means, which values it takes, how sure the public sources are, and which other values
are as likely. `auto` leaves the choice to the rules of the chip and the side (fused or
single operator).

Evidence: C code read, D documented, I inferred, ? unknown.

Source: reference: numerics_model.md section 8.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Iterable, NamedTuple, Sequence, Tuple, Union

from ge_harness.errors import SwitchError, nearest_name

Value = Union[str, int, bool]
Ensemble = Sequence[Tuple[str, "EmulatorParams"]]
AUTO = "auto"
_LARGEST = 1 << 24
_ONLY_910B = ("impl_mode", "eager_fp16_exp", "eager_fp16_div", "eager_unlocated_910b")


class Parameter(NamedTuple):
    """What is known of one parameter.

    Attributes:
        name: as in `name=value`.
        meaning: what it decides.
        default: the model's value.
        values: accepted words; empty for a number.
        low: smallest number; 0 stands for auto and is written so.
        multiple: the number must be a multiple of it.
        evidence: letters of the sources' certainty.
        alternatives: values an ensemble tries, as text.
        forced: values that no chip is known to use: mechanisms for experiments.
        part: "run", or "compile" where the compilation honors it.
    """

    name: str
    meaning: str
    default: Value
    values: tuple[str, ...]
    low: int
    multiple: int
    evidence: str
    alternatives: tuple[str, ...]
    forced: tuple[str, ...]
    part: str


def _is(default: Value, evidence: str, meaning: str, values: str = "", *,
        also: str = "", forced: str = "", low: int = 0, multiple: int = 1,
        part: str = "run") -> Any:
    """Return a dataclass field that carries its own description."""
    words = ("true", "false") if isinstance(default, bool) else tuple(values.split())
    return dataclasses.field(default=default, metadata={"parameter": Parameter(
        "", meaning, default, words, low, multiple, evidence, tuple(also.split()),
        tuple(forced.split()), part)})


@dataclass(frozen=True)
class EmulatorParams:
    """Parameters of the model; each field's meaning is in `PARAMETERS`.

    Attributes:
        given: names that were set by hand, sorted; an ensemble leaves them alone.
    """

    # What rounds, and where.
    chip: str = _is(
        AUTO, "C", "rule set; auto is the chip of the plan", "auto 910b 950")
    fused_compute_dtype: str = _is(
        "fp32", "C", "inside a fused kernel; storage is what an effective precision "
        "blacklist gives", "fp32 storage")
    fused_round_at: str = _is(
        "outputs", "C", "where a fused kernel rounds to the storage dtype",
        "outputs operators")
    drop_float_casts: bool = _is(
        True, "C", "casts between floats inside a fused kernel are deleted")
    drop_roundtrip_cast_pairs: bool = _is(
        True, "C", "casts A to B to A are deleted before lowering (CastRemove)",
        part="compile")
    bf16_pointwise_fusable: str = _is(
        AUTO, "C", "a fused kernel may compute on bfloat16; auto: 950 only",
        "auto true false", part="compile")
    extra_fp16_hop_to_int8: str = _is(
        AUTO, "C", "float32 reaches int8 and uint8 by way of float16; auto: both on "
        "910B, uint8 on 950", "auto true false")
    eager_round: str = _is(
        AUTO, "C", "rounding of single operators: nearest even; auto has the ties of "
        "LayerNorm's bfloat16 output away from zero on 910B", "auto rne")
    overflow_mode: str = _is(
        "inf_nan", "C", "what becomes of results beyond float16 and bfloat16",
        "inf_nan saturate")
    global_precision_mode: str = _is(
        "origin", "D", "fp16 (inference's default) has every float32 tensor stored in "
        "float16", "origin fp16")
    # Single operators.
    impl_mode: str = _is(
        "high_performance", "D", "high_precision has 910B's float16 Exp and RealDiv "
        "in float32", "high_performance high_precision")
    eager_fp16_exp: str = _is(
        "native_noise", "C kernel, ? accuracy", "910B's float16 Exp: rounded once, "
        "with or without 1 ULP of noise, or float32", "native_noise native_rne fp32",
        also="native_rne fp32")
    eager_fp16_div: str = _is(
        "correct", "C kernel, ? accuracy", "910B's float16 RealDiv, with or without "
        "1 ULP of noise", "correct noise", also="noise")
    eager_softmax_sub_dtype: str = _is(
        AUTO, "C", "dtype of x - max in float16 SoftmaxV2; auto: fp16 on 910B, fp32 "
        "on 950", "auto fp16 fp32")
    eager_unlocated_910b: str = _is(
        "fp32_once", "?", "910B kernels that were not found (SquaredDifference, "
        "DivNoNan, Muls ...): float32 rounded once, or each step in float16",
        "fp32_once native_steps", also="native_steps")
    # Instructions.
    div_accuracy: str = _is(
        AUTO, "D 950, I 910B", "float32 division: correctly rounded, one of the two "
        "neighbors (faithful), or 1 ULP of noise; auto: correct on 910B, faithful on "
        "950", "auto correct faithful noise", also="correct noise")
    sqrt_accuracy: str = _is(
        "rounded", "D 950, ? 910B", "float32 square root: rounded, or with 1 ULP of "
        "noise", "rounded noise", also="noise")
    exp_accuracy: str = _is(
        "rounded", "D 950, ? 910B", "float32 exponential: float64 rounded once, or "
        "with 1 ULP of noise", "rounded noise", also="noise")
    ln_accuracy: str = _is(
        "rounded", "D 950, ? 910B", "float32 logarithm, as exp_accuracy",
        "rounded noise", also="noise")
    noise_seed: int = _is(
        1, "I", "which operands the noise hits; a function of the operands' bits",
        low=1)
    fma_contraction: bool = _is(
        False, "I", "a product followed by a sum in a fused kernel rounds once",
        also="true")
    muls_equals_mul: bool = _is(
        True, "D 950, ? 910B", "a product with a scalar gives the bits of the product "
        "with a tensor of it; false: 1 ULP of noise", also="false", forced="false")
    attr_scalar_decimals: str = _is(
        "7", "C", "digits of attribute scalars in fused kernels", "7 exact")
    const_scalar: str = _is(
        "exact", "C", "0-d float32 constants in fused kernels", "exact")
    subnormals: str = _is(
        AUTO, "D", "float32 subnormals: kept, flushed by exp, ln, sqrt, rsqrt, div "
        "and reciprocal (auto on 950), or by everything",
        "auto keep flush_functions flush_all")
    nan_minmax: str = _is(
        "propagate", "?", "Maximum, Minimum and their reductions with NaN",
        "propagate ignore")
    # Algorithms.
    rsqrt_form: str = _is(
        AUTO, "C", "auto: 1 / sqrt, and the norm kernels' own; newton: theirs on 950; "
        "newton2, newton3: steps from an integer guess",
        "auto div_sqrt newton scalar_unit newton2 newton3", forced="newton2 newton3")
    div_form: str = _is(
        AUTO, "I", "newton2, newton3: division as a product with a reciprocal from "
        "Newton's steps", "auto newton2 newton3", forced="newton2 newton3")
    tanh_form: str = _is(AUTO, "C", "tanh by the chip's polynomial, or exact",
                         "auto libm")
    erf_form: str = _is(AUTO, "C", "erf by the chip's polynomial, or exact",
                        "auto libm")
    gelu_form: str = _is(AUTO, "C", "GELU by the chip's form, or exact tanh form",
                         "auto libm")
    pow_form: str = _is(AUTO, "C", "pow by the chip's rules, or exact", "auto libm")
    # Sums.
    row_tree: str = _is(
        AUTO, "C", "order inside one tile; auto: pairs on 910B, halving on 950",
        "auto fold_tail_then_pairs fold_tail_then_halving_then_pairs sequential "
        "pairwise")
    row_pad: str = _is("neutral8", "C", "padding of a tile to 8 elements",
                       "neutral8 none")
    outer_tree: str = _is("fold_halving", "C", "order over rows of an outer axis",
                          "fold_halving sequential")
    tile_combine: str = _is("sequential", "C", "order over the tiles of fused sums",
                            "sequential tree")
    r_tile: int = _is(
        0, "C rule, I value", "reduced elements of a tile; a number holds for single "
        "operators too, since a sum alone is given back to its own kernel",
        also="64 256 1024 4096", forced="*", multiple=8)
    r_cores: int = _is(
        1, "C template, ? choice", "cores that split a reduced axis in fused kernels",
        also="8 48", low=1)
    ub_bytes: int = _is(
        0, "C 910B, I 950", "unified buffer that r_tile=auto divides; auto: 196352 on "
        "910B, 253696 on 950")
    num_vector_cores: int = _is(
        48, "D", "vector cores, the most that r_cores can use", low=1)
    mean_form: str = _is(
        AUTO, "C", "mean: sum times float32(1/n); auto has 910B's LayerNorm scale "
        "before the sum",
        "auto sum_times_reciprocal sum_over_n scale_before_sum")
    eager_reduce_order: str = _is(
        AUTO, "C 950, ? 910B", "single sums; auto: pairs of tiles and a counter tree "
        "on 950, row_tree then tile by tile on 910B",
        "auto pairwise row_tree_sequential sequential permuted",
        also="pairwise row_tree_sequential permuted")
    # Matrix products.
    matmul_accum: str = _is(
        "fp32", "D ?", "accumulator: float32; split_k adds partial sums of parts of "
        "K; hf32 has float32 inputs with 11 bits", "fp32 split_k hf32")
    matmul_k_tile: int = _is(
        0, "?", "K added up tile by tile, each as NumPy's float32 product; auto: one",
        multiple=16)
    matmul_k_cores: int = _is(2, "?", "parts of K under split_k", low=1)
    given: tuple[str, ...] = ()


PARAMETERS: dict[str, Parameter] = {
    each.name: each.metadata["parameter"]._replace(name=each.name)
    for each in dataclasses.fields(EmulatorParams) if "parameter" in each.metadata}
"""Every parameter by name, in the order of the fields."""


def parse(settings: Iterable[str]) -> EmulatorParams:
    """Return the parameters that `name=value` texts set; later ones win.

    Raises:
        SwitchError: a text, name or value that would not do what it says.
    """
    found: dict[str, Value] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals:
            raise SwitchError(f"cannot read emulator parameter {text!r}: expected "
                              "NAME=VALUE")
        if name not in PARAMETERS:
            raise SwitchError(_unknown("emulator parameter", name, PARAMETERS))
        found[name] = read_value(PARAMETERS[name], value.strip())
    params = EmulatorParams(given=tuple(sorted(found)), **found)  # type: ignore[arg-type]
    if params.r_cores > params.num_vector_cores:
        raise SwitchError(f"r_cores={params.r_cores} is more than num_vector_cores="
                          f"{params.num_vector_cores}")
    return params


def read_value(parameter: Parameter, text: str) -> Value:
    """Return a parameter's value from its text.

    Raises:
        SwitchError: the parameter does not take it.
    """
    if isinstance(parameter.default, bool):
        if text not in parameter.values:
            raise SwitchError(_unknown(
                f"value of {parameter.name}", text, parameter.values))
        return text == "true"
    if parameter.values:
        if text not in parameter.values:
            raise SwitchError(_unknown(
                f"value of {parameter.name}", text, parameter.values))
        return text
    if text == AUTO and parameter.low == 0 and parameter.default == 0:
        return 0
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
    if number < parameter.low or number > _LARGEST or number % parameter.multiple:
        step = f", a multiple of {parameter.multiple}" if parameter.multiple > 1 else ""
        raise SwitchError(f"{parameter.name}={text}: expected a whole number from "
                          f"{parameter.low} to {_LARGEST}{step}")
    return number


def _unknown(kind: str, name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    near = nearest_name(name, names)
    hint = f" Did you mean {near!r}?" if near else ""
    return f"no {kind} named {name!r}; known: {', '.join(names)}.{hint}"


def shown(name: str, value: Value) -> str:
    """Return a parameter's value as it is written."""
    if isinstance(value, bool):
        return "true" if value else "false"
    parameter = PARAMETERS[name]
    is_auto = value == 0 and not parameter.values and not parameter.low
    return AUTO if is_auto else str(value)


def inert(params: EmulatorParams, chip: str) -> tuple[str, ...]:
    """Return settings that cannot change anything on a chip, as `name=value`.

    Args:
        params: as parsed.
        chip: "910b" or "950", the plan's; parameter `chip` overrules it.
    """
    chip = chip if params.chip == AUTO else params.chip
    idle = set(_ONLY_910B) if chip != "910b" else set()
    if params.matmul_accum != "split_k":
        idle.add("matmul_k_cores")
    return tuple(each for each in changed(params) if each.split("=")[0] in idle)


def as_lines(params: EmulatorParams) -> tuple[str, ...]:
    """Return every parameter as `name=value`, sorted: the canonical text of a hash."""
    return tuple(f"{name}={shown(name, getattr(params, name))}"
                 for name in sorted(PARAMETERS))


def forced(params: EmulatorParams) -> tuple[str, ...]:
    """Return the settings that no chip is known to use, as `name=value`."""
    found = []
    for name, parameter in PARAMETERS.items():
        text = shown(name, getattr(params, name))
        default = shown(name, parameter.default)
        if text != default and (text in parameter.forced or "*" in parameter.forced):
            found.append(f"{name}={text}")
    return tuple(found)


def changed(params: EmulatorParams) -> tuple[str, ...]:
    """Return the settings that differ from the model's defaults, as `name=value`."""
    return tuple(f"{name}={shown(name, getattr(params, name))}"
                 for name, parameter in PARAMETERS.items()
                 if getattr(params, name) != parameter.default)


def ensemble(params: EmulatorParams) -> list[tuple[str, EmulatorParams]]:
    """Return the members whose spread is the band of the uncertain parameters.

    The first is `params` itself, labeled "model"; each other one changes a single
    uncertain parameter. What was set by hand stays.
    """
    members = [("model", params)]
    for name, parameter in PARAMETERS.items():
        if name in params.given:
            continue
        for text in parameter.alternatives:
            value = read_value(parameter, text)
            if value == getattr(params, name):
                continue
            if name == "r_cores" and int(value) > params.num_vector_cores:
                continue
            members.append((f"{name}={text}", dataclasses.replace(
                params, **{name: value})))  # type: ignore[arg-type]
    return members
