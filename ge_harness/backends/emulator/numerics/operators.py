"""Operators that the interpreter computes otherwise, or does not have.

Each is a function of a `Call` whose policy is a `KernelPolicy`.

Source: reference: numerics_model.md sections 4.4, 5; types of `ir.GE_ONLY`.
"""

from __future__ import annotations

import numpy as np

from ge_harness.backends.emulator.numerics import casts
from ge_harness.backends.emulator.numerics.kernel import KernelPolicy
from ge_harness.backends.emulator.numerics.unit import single
from ge_harness.interpreter.call import Call, OpFunction, OpTable
from ge_harness.interpreter.ops_binary import ADD, MUL, SUB
from ge_harness.interpreter.policy import Elementwise
from ge_harness.interpreter.table import OPS
from ge_harness.interpreter.value import Tensor

_IDENTITY = Elementwise(lambda x: x, "exact")


def policy_of(call: Call) -> KernelPolicy:
    """Return the policy of a call, which must be a kernel's."""
    if not isinstance(call.policy, KernelPolicy):
        raise TypeError(f"{call.node.op} needs a kernel's policy")
    return call.policy


def _mean(call: Call) -> list[Tensor]:
    x = call.load(0)
    if x.dtype != np.float32:
        return OPS["Mean"](call)
    axes = call.axes(1, x.ndim)
    result = mean(call, x, axes, call.dtype())
    if not call.attr("keep_dims", call.attr("keepdims", False)):
        result = result.reshape([n for i, n in enumerate(x.shape) if i not in axes])
    return [call.store(result)]


def mean(call: Call, x: np.ndarray, axes: tuple[int, ...], dtype: str, *,
         form: str = "sum_times_reciprocal") -> np.ndarray:
    """Return the mean over axes, which stay at length 1.

    Args:
        call: for its policy and node.
        x: [...] float32.
        axes: sorted.
        dtype: of the tensor.
        form: what `mean_form=auto` is here.
    """
    policy = policy_of(call)
    wanted = policy.params.mean_form
    form = form if wanted == "auto" else wanted
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    scale = np.true_divide(single(1), single(max(count, 1)))
    if form == "scale_before_sum":
        scaled = policy.unit.mul(x, scale)
        return policy.reduce(call.node, "sum", scaled, axes=axes, dtype=dtype)
    total = policy.reduce(call.node, "sum", x, axes=axes, dtype=dtype)
    if form == "sum_over_n":
        return policy.unit.div(total, single(max(count, 1)))
    return policy.unit.mul(total, scale)


def _l2_loss(call: Call) -> list[Tensor]:
    x = call.load(0)
    if x.dtype != np.float32:
        return OPS["L2Loss"](call)
    half = call.step(call.compute(MUL, x, x), "square")
    half = call.compute(MUL, half, single(0.5))
    total = call.policy.reduce(call.node, "sum", half, axes=tuple(range(x.ndim)),
                               dtype=call.dtype())
    return [call.store(np.reshape(total, ()))]


def _with_scalar(op: Elementwise) -> OpFunction:
    def run(call: Call) -> list[Tensor]:
        value = single(call.attr("value", 0.0))
        x = call.load(0)
        return [call.store(call.compute(op, x, value.astype(x.dtype)))]

    return run


def _mat_mul(call: Call) -> list[Tensor]:
    left, right = call.load(0), call.load(1)
    left = np.swapaxes(left, -1, -2) if call.attr("transpose_a", False) else left
    right = np.swapaxes(right, -1, -2) if call.attr("transpose_b", False) else right
    call.need(left.shape[-1] == right.shape[-2],
              f"shapes {list(left.shape)} and {list(right.shape)} do not fit")
    product = call.policy.contract(call.node, left, right, call.dtype())
    if len(call.inputs) > 2:
        product = np.add(product, call.load(2), out=product)
    return [call.store(product)]


def _gelu(call: Call) -> list[Tensor]:
    return [call.store(call.compute(_IDENTITY, call.load(0)))]


def _softmax(call: Call) -> list[Tensor]:
    """Softmax over attribute axes: one, or the last where there is none."""
    x = call.inputs[0]
    axes = call.numbers("axes") or [-1]
    call.need(len(axes) == 1, f"softmax over {len(axes)} axes, expected 1")
    axis = call.axis(int(axes[0]), x.array.ndim)
    turned = Tensor(np.moveaxis(x.array, axis, -1), x.dtype)
    result = OPS["Softmax"](Call(call.node, [turned], call.policy))[0]
    return [Tensor(np.moveaxis(result.array, -1, axis), result.dtype)]


def _layer_norm(call: Call) -> list[Tensor]:
    """y, mean, variance: float32 throughout, 1 / sqrt in the norm kernels' form."""
    policy = policy_of(call)
    x, gamma, beta = (call.load(index) for index in range(3))
    first = call.axis(int(call.attr("begin_norm_axis", -1)), x.ndim)
    axes = tuple(range(first, x.ndim))
    is_v1 = policy.chip == "910b"
    form = "scale_before_sum" if is_v1 else "sum_times_reciprocal"
    center = mean(call, x, axes, call.dtype(), form=form)
    apart = call.compute(SUB, x, center)
    spread = mean(call, call.compute(MUL, apart, apart), axes, call.dtype(), form=form)
    epsilon = single(call.attr("epsilon", 1e-7))
    scale = norm_rsqrt(policy, call.compute(ADD, spread, epsilon))
    y = call.compute(MUL, call.compute(MUL, apart, scale), gamma)
    y = call.compute(ADD, y, beta)
    parameter = call.dtype(1)
    return [_norm_result(call, policy, y), call.store(center, parameter, 1),
            call.store(spread, parameter, 2)]


def norm_rsqrt(policy: KernelPolicy, x: np.ndarray) -> np.ndarray:
    """Return 1 / sqrt(x) as norm kernels do, unless `rsqrt_form` says otherwise."""
    if policy.params.rsqrt_form != "auto":
        return policy.unit.rsqrt(x)
    if policy.chip == "910b":
        return policy.unit.scalar_rsqrt(x)
    return policy.unit.norm_rsqrt(x)


def _norm_result(call: Call, policy: KernelPolicy, y: np.ndarray) -> Tensor:
    away = (call.dtype() == "bfloat16" and policy.chip == "910b" and
            policy.params.eager_round == "auto")
    if away and policy.params.overflow_mode == "inf_nan":
        return Tensor(casts.to_storage_ties_away(y, "bfloat16"), "bfloat16")
    return call.store(y)


OPERATORS: OpTable = {
    **OPS, "Mean": _mean, "L2Loss": _l2_loss, "Muls": _with_scalar(MUL),
    "Adds": _with_scalar(ADD), "MatMul": _mat_mul, "Gelu": _gelu,
    "SoftmaxV2": _softmax, "LayerNorm": _layer_norm,
}
"""Every operator of the emulator, by TensorFlow's op or the GE-only type."""
