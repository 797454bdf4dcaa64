"""A pytest plugin: assertions on tensors whose failure says where and how far.

Installed with ge_harness and found by pytest by itself. Take the assertions as
fixtures, or import them:

    def test_relu(assert_max_ulp):
        assert_max_ulp(actual, expected, 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import pytest

if TYPE_CHECKING:
    from ge_harness.records.comparison import TensorComparison


def assert_bit_equal(actual: Any, expected: Any, *, name: str = "tensor",
                     dtype: str | None = None) -> None:
    """Fail unless every element has the same bits.

    Args:
        actual: [...] the tensor under test.
        expected: [...] what it must be.
        name: what the failure calls it.
        dtype: what raw bits stand for, e.g. "bfloat16" for uint16 arrays.

    Raises:
        AssertionError: shape, dtype or bits differ.
    """
    __tracebackhide__ = True
    pair = _compare(actual, expected, name, dtype)
    if not pair.bit_equal:
        _fail(pair)


def assert_max_ulp(actual: Any, expected: Any, max_ulp: int, *, name: str = "tensor",
                   dtype: str | None = None) -> None:
    """Fail unless every element is within `max_ulp` representable values.

    Integers and booleans must be equal. A number against NaN or infinity fails.

    Args:
        actual: [...] the tensor under test.
        expected: [...] what it must be near to.
        max_ulp: the greatest distance allowed.
        name: what the failure calls it.
        dtype: what raw bits stand for, e.g. "bfloat16" for uint16 arrays.

    Raises:
        AssertionError: shape or dtype differ, or an element is too far.
    """
    __tracebackhide__ = True
    pair = _compare(actual, expected, name, dtype, standards=(f"ulp:{int(max_ulp)}",))
    if not pair.standards[0].passed:
        _fail(pair, allowed_ulp=int(max_ulp))


def assert_within(actual: Any, expected: Any, standard: str, *, name: str = "tensor",
                  dtype: str | None = None, reference: Any = None) -> None:
    """Fail unless a named standard passes; `ge_harness list standards` shows them.

    Args:
        actual: [...] the tensor under test.
        expected: [...] the base line.
        standard: "mixed", "ulp:2", "dual:L1", ...
        name: what the failure calls it.
        dtype: what raw bits stand for, e.g. "bfloat16" for uint16 arrays.
        reference: [...] the truth, needed by `dual`, used by the others where given.

    Raises:
        AssertionError: the standard fails, or has no thresholds for the dtype.
    """
    __tracebackhide__ = True
    pair = _compare(actual, expected, name, dtype, standards=(standard,),
                    reference=reference)
    verdict = pair.standards[0]
    if not verdict.passed:
        _fail(pair, because=f"standard {verdict.name}: {verdict.reason}")


def _compare(actual: Any, expected: Any, name: str, dtype: str | None,
             **options: Any) -> TensorComparison:
    from ge_harness.compare.compare import compare_tensor

    return compare_tensor(name, actual, expected, dtype=dtype, **options)


def _fail(pair: TensorComparison, *, allowed_ulp: int | None = None,
          because: str = "") -> None:
    from ge_harness.report.describe import describe

    __tracebackhide__ = True
    text = describe(pair, allowed_ulp=allowed_ulp)
    raise AssertionError(f"{text}\n{because}" if because else text)


@pytest.fixture(name="assert_bit_equal")
def _bit_equal_fixture() -> Callable[..., None]:
    """Assert that two tensors have the same bits."""
    return assert_bit_equal


@pytest.fixture(name="assert_max_ulp")
def _max_ulp_fixture() -> Callable[..., None]:
    """Assert that two tensors are within a number of ULP."""
    return assert_max_ulp


@pytest.fixture(name="assert_within")
def _within_fixture() -> Callable[..., None]:
    """Assert that two tensors meet a named standard."""
    return assert_within


@pytest.fixture(name="ulp_diff")
def _ulp_diff_fixture() -> Callable[..., Any]:
    """Count the representable values between elements."""
    from ge_harness.toolkit import ulp_diff

    return ulp_diff


@pytest.fixture(name="error_stats")
def _error_stats_fixture() -> Callable[..., Any]:
    """Measure a tensor against a reference."""
    from ge_harness.toolkit import error_stats

    return error_stats
