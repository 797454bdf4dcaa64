"""One comparison in one sentence, whatever its notes and names hold."""

from __future__ import annotations

import pytest

from ge_harness.records.comparison import Status, TensorComparison
from ge_harness.report.describe import describe


@pytest.mark.parametrize("status", [Status.UNREADABLE, Status.FORMAT_MISMATCH])
def test_what_a_note_says_of_a_hostile_path_reaches_no_terminal(status):
    pair = TensorComparison("y", status, (), "", (), "",
                            notes=("dir\n\x1b[31m/x: found nothing",))
    assert describe(pair).endswith(r"dir\x0a\x1b[31m/x: found nothing")
