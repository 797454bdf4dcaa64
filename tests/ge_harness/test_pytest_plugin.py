from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ge_harness.pytest_plugin import assert_bit_equal, assert_max_ulp, assert_within

ROOT = Path(__file__).resolve().parents[2]
F2 = np.float16


def text_of(function, *args, **options):
    with pytest.raises(AssertionError) as caught:
        function(*args, **options)
    return str(caught.value)


def test_failure_of_a_ulp_limit_is_the_sentence_of_the_house():
    expected = np.ones((4, 1024), F2)
    actual = expected.copy()
    actual[0, 0] = actual[3, 3] = 1 + 2.0**-10
    actual[1, 7] = 1 + 2.0**-9
    assert text_of(assert_max_ulp, actual, expected, 1, name="y") == (
        "y: 3 of 4096 elements differ; worst at [1, 7]: 1.00195312, reference 1 "
        "(2 ULP, 1 allowed)")
    assert_max_ulp(actual, expected, 2)


@pytest.mark.parametrize(("actual", "expected", "text"), [
    (F2([0.0]), F2([-0.0]), "t: 1 of 1 elements have other bits, all values are equal; "
     "first at [0]: 0 (0x0000), reference -0 (0x8000)"),
    (F2([1, np.inf]), F2([1, 65504]), "t: 1 of 2 elements differ; worst at [1]: inf, "
     "reference 65504 (infinity against a finite number, within no tolerance; "
     "1 saturated)"),
    (F2(1), F2([1]), "t: shape [], reference has shape [1]"),
    (F2([1]), np.float32([1]), "t: dtype float16, reference has dtype float32"),
    (np.int8([112]), np.int8([-112]), "t: 1 of 1 elements differ; worst at [0]: 112, "
     "reference -112 (difference 224)"),
    (np.array([True]), np.array([False]), "t: 1 of 1 elements differ; worst at [0]: "
     "True, reference False (flipped)"),
    (np.array([1 + 2.0**-52]), np.array([1.0]), "t: 1 of 1 elements differ; worst at "
     "[0]: 1.0000000000000002, reference 1 (1 ULP)"),
])
def test_failure_says_what_differs(actual, expected, text):
    assert text_of(assert_bit_equal, actual, expected, name="t") == text


def test_failure_of_a_standard_gives_its_figures():
    text = text_of(assert_within, F2([2]), F2([1]), "stat", name="t")
    assert text.split("\n")[1].startswith("standard stat: mean relative error 1")
    assert_within(F2([1]), F2([1]), "stat")


def test_a_change_of_kind_is_within_no_limit():
    text = text_of(assert_max_ulp, F2([np.nan]), F2([1]), 70000, name="t")
    assert "NaN against a finite number, within no tolerance" in text


def test_bfloat16_bits_are_told():
    bits = np.array([0x3F80], np.uint16)
    assert_bit_equal(bits, bits.copy(), dtype="bfloat16")
    assert "1.0078125" in text_of(assert_max_ulp, bits + np.uint16(1), bits, 0,
                                  dtype="bfloat16")


def test_fixtures_work_in_a_session_of_its_own(tmp_path):
    (tmp_path / "test_user.py").write_text(
        "import numpy as np\n"
        "def test_good(assert_bit_equal, assert_within, ulp_diff, error_stats):\n"
        "    assert_bit_equal(np.float32([1]), np.float32([1]))\n"
        "    assert_within(np.float32([1]), np.float32([1]), 'mixed')\n"
        "    assert int(ulp_diff(np.float32([1]), np.float32([1]))[0]) == 0\n"
        "    assert error_stats(np.float32([1]), np.array([1.0]))['count'] == 1\n"
        "def test_bad(assert_max_ulp):\n"
        "    assert_max_ulp(np.float32([1]), np.float32([3]), 1, name='y')\n")
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "ge_harness.pytest_plugin",
         "-p", "no:cacheprovider", str(tmp_path)],
        stdout=subprocess.PIPE, text=True, cwd=str(tmp_path),
        env=dict(os.environ, PYTHONPATH=str(ROOT), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"))
    assert "1 failed, 1 passed" in found.stdout
    assert "y: 1 of 1 elements differ; worst at [0]: 1, reference 3" in found.stdout
