from __future__ import annotations

import pytest

from ge_harness.worker import backend_lookup, launch
from tests import fakes


@pytest.fixture
def run_script(tmp_path, monkeypatch):
    """Run one script through a real worker and return its result."""
    monkeypatch.setenv(backend_lookup.TEST_VARIABLE, fakes.NAME)

    def run(script=None, *, sets=1, root=None, length=3, dtype="float32", **fields):
        case = fakes.scripted_case(tmp_path / "case", sets, length, dtype)
        request = fakes.scripted_request(case, script, **fields)
        return launch.launch([request], root or tmp_path / "jobs")[0]

    return run
