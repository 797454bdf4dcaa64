from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ge_harness.records import serialize
from ge_harness.records.doctor import BackendHealth, Check, DoctorReport
from ge_harness.report.doctor_text import describe


def _run(*words):
    environ = {name: value for name, value in os.environ.items()
               if not name.startswith("ASCEND_")}
    done = subprocess.run([sys.executable, "-m", "ge_harness", "doctor", *words],
                          timeout=300, capture_output=True, env=environ)
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")


def test_ge_is_unavailable_without_cann_with_the_reasons():
    status, out, _ = _run("--backend=ge", "--json")
    assert status == 3
    body = serialize.loads("doctor", out, "stdout")
    assert body["works"] is False
    checks = {check["what"]: check for check in body["backends"][0]["checks"]}
    assert checks["CANN environment"]["status"] == "fail"
    assert "set_env.sh" in checks["CANN environment"]["mend"]
    assert checks["runtime"]["status"] == "skip"


def test_a_backend_nobody_knows_is_a_usage_error():
    assert _run("--backend=gee")[0] == 2


@pytest.mark.tf
def test_a_compiler_that_works_here_makes_the_status_0():
    status, out, _ = _run("--backend=xla")
    assert status == 0
    assert "small run: ran in" in out
    assert out.rstrip().endswith("usable here: xla")


@pytest.mark.parametrize(("works", "asked", "last"), [
    (True, "", "usable here: xla"), (False, "ge", "ge is not usable here"),
    (False, "", "no compiler backend is usable here")])
def test_the_last_line_is_the_verdict(works, asked, last):
    health = BackendHealth("xla", "label", True, works, "why", (
        Check("a", "found \x1b[31m", "ok"), Check("b", "no", "fail", "mend it")))
    text = describe(DoctorReport(works, asked, "3.7", "Linux", (health,)))
    assert text.rstrip().splitlines()[-1] == last
    assert "\x1b" not in text
    assert "mend it" in text
