from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from ge_harness.records.job import BuiltCase, JobFailure
from ge_harness.records.run import Environment, FailureKind, RunSuccess
from ge_harness.worker import backend_lookup, built, launch, supervise, warm
from graphs.built import BuildOptions
from tests import fakes

pytestmark = pytest.mark.tf
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module", autouse=True)
def _own_pool():
    """Leave no warm worker of other tests behind, and none of these."""
    warm.POOL.close()
    yield
    warm.POOL.close()


@pytest.fixture(autouse=True)
def _warm_backend(monkeypatch):
    monkeypatch.setenv(backend_lookup.TEST_VARIABLE, fakes.WARM_NAME)


@pytest.fixture
def run_warm(tmp_path):
    def run(script=None, *, sets=1, **fields):
        case = fakes.scripted_case(tmp_path / "case", sets)
        fields.setdefault("backend", fakes.WARM_NAME)
        return launch.launch([fakes.scripted_request(case, script, **fields)],
                             tmp_path / "jobs")[0]

    return run


def _server():
    return next(reversed(warm.POOL._servers.values()))


def _note(result, start):
    return next(note for note in result.notes if note.startswith(start))


def test_runs_are_forked_from_one_process_that_has_tensorflow(run_warm):
    first = run_warm()
    server = _server()
    second = run_warm()
    assert _server() is server
    assert _note(first, "process ") != _note(second, "process ")
    assert first.environment.tensorflow == second.environment.tensorflow != ""


def test_a_warm_run_costs_a_fraction_of_a_second(run_warm):
    run_warm()
    best = min(_timed(run_warm) for _ in range(5))
    assert best < 0.5


def _timed(run):
    started = time.monotonic()
    assert isinstance(run(), RunSuccess)
    return time.monotonic() - started


def test_xla_flags_are_set_after_the_fork_and_do_not_leak(run_warm):
    one = run_warm(options={"xla_flags": "--one"})
    server = _server()
    two = run_warm(options={"xla_flags": "--two"})
    none = run_warm()
    found = [_note(result, "XLA_FLAGS=") for result in (one, two, none)]
    assert found == ["XLA_FLAGS=--one", "XLA_FLAGS=--two", "XLA_FLAGS="]
    assert _server() is server


def test_another_environment_at_import_needs_another_warm_worker(run_warm):
    run_warm()
    server = _server()
    result = run_warm(threads=1)
    assert _server() is not server
    assert ("OMP_NUM_THREADS", "1") in result.environment.variables


def test_a_cold_run_is_not_forked(run_warm):
    run_warm()
    server = _server().pid
    found = run_warm({"0": ["parent"]}, cold=True)
    assert found.message.endswith(f"parent {os.getpid()}")
    assert run_warm({"0": ["parent"]}).message.endswith(f"parent {server}")


@pytest.mark.parametrize(("action", "kind", "status"), [
    (["abort"], FailureKind.CRASH, -signal.SIGABRT),
    (["kill", 9], FailureKind.KILLED, -9),
    (["exit", 0], FailureKind.GARBAGE, 0),
    (["memory"], FailureKind.OUT_OF_MEMORY, 0),
], ids=["abort", "kill", "exit", "memory"])
def test_a_forked_run_fails_by_name_and_the_next_one_works(
        run_warm, action, kind, status):
    result = run_warm({"1": action}, sets=3)
    assert (result.kind, result.exit_code) == (kind, status)
    assert "1 of 3 sets are finished" in result.message
    assert isinstance(run_warm({"*": ["print", "{\"exited\": 1}\n"]}), RunSuccess)


def test_a_forked_run_over_its_limit_is_killed_with_its_grandchildren(
        run_warm, tmp_path):
    result = run_warm({"0": ["grandchild", str(tmp_path / "pid")]}, timeout_s=1.0)
    assert result.kind is FailureKind.TIMEOUT
    pid = (tmp_path / "pid").read_text()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists():
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        if state == "Z":
            break
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_without_its_warm_worker_a_run_is_done_cold_and_says_so(run_warm):
    run_warm()
    os.kill(_server().pid, signal.SIGKILL)
    result = run_warm()
    assert isinstance(result, RunSuccess)
    assert any("fresh process" in note for note in result.notes)
    after = run_warm()
    assert not any("fresh process" in note for note in after.notes)


def test_a_warm_worker_that_dies_during_a_run_costs_no_result(run_warm, monkeypatch):
    run_warm()
    server = _server()
    watch = supervise._watch

    def kill_first(process, tasks):
        if isinstance(process, warm.WarmProcess):
            os.kill(server.pid, signal.SIGKILL)
        return watch(process, tasks)

    monkeypatch.setattr(supervise, "_watch", kill_first)
    result = run_warm({"*": ["sleep", 0.2]})
    assert isinstance(result, RunSuccess)
    assert any("fresh process" in note for note in result.notes)


def test_warm_workers_end_with_the_process_that_started_them(tmp_path):
    code = textwrap.dedent(f"""
        import os, sys
        sys.path.insert(0, {str(ROOT)!r})
        from pathlib import Path
        from ge_harness.worker import launch, warm
        launch.probe_stack(Path({str(tmp_path / 'jobs')!r}))
        print(next(iter(warm.POOL._servers.values())).pid, flush=True)
        if sys.argv[1] == "kill":
            os.kill(os.getpid(), 9)
    """)
    for how in ("kill", "leave"):
        process = subprocess.run([sys.executable, "-c", code, how], check=False,
                                 stdout=subprocess.PIPE, timeout=120)
        pid = int(process.stdout)
        deadline = time.monotonic() + 10
        while Path(f"/proc/{pid}/cmdline").exists() and (
                Path(f"/proc/{pid}/cmdline").read_bytes()):
            assert time.monotonic() < deadline, how
            time.sleep(0.05)


def test_an_interrupt_ends_the_forked_worker_and_the_warm_one(tmp_path):
    code = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(ROOT)!r})
        from pathlib import Path
        from tests import fakes
        from ge_harness.worker import launch, warm
        root = Path({str(tmp_path)!r})
        script = {{"0": ["grandchild", str(root / "pid")]}}
        request = fakes.scripted_request(
            fakes.scripted_case(root / "case"), script, backend=fakes.WARM_NAME)
        try:
            launch.launch([request], root / "jobs")
        except KeyboardInterrupt:
            sys.exit(40 + len(warm.POOL._servers))
    """)
    process = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 60
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline, "the run never began"
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 40
    stat = Path(f"/proc/{(tmp_path / 'pid').read_text()}/stat")
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline + 30
        time.sleep(0.05)


def test_the_stack_is_described(tmp_path):
    found = launch.probe_stack(tmp_path / "jobs")
    assert isinstance(found, Environment)
    assert found.tensorflow.count(".") >= 2
    assert found.onednn in ("on", "off", "not built in")


def test_a_shipped_subgraph_is_built_in_a_worker(tmp_path):
    found = launch.build("elementwise_chain", BuildOptions(dtype="float16"),
                         tmp_path / "jobs")
    assert isinstance(found, BuiltCase), found
    assert Path(found.graph_path).stat().st_size > 0
    assert {port.spec.dtype for port in found.inputs} == {"float16"}
    feeds = built.feeds(found)
    assert [feed.name for feed in feeds] == [port.spec.name for port in found.inputs]
    assert all(feed.shape == port.spec.shape
               for feed, port in zip(feeds, found.inputs))


@pytest.mark.parametrize(("body", "words"), [
    ("1 / 0", "division"), ("tf.no_such_op(x)", "no_such_op"),
    ("__import__('os').abort()", "SIGABRT"),
    ("__import__('sys').exit(0)", "SystemExit"),
], ids=["raises", "unknown-op", "aborts", "exits"])
def test_a_graph_file_that_goes_wrong_is_a_named_failure(tmp_path, body, words):
    path = tmp_path / "mine.py"
    path.write_text(textwrap.dedent(f"""
        '''x [2] -- something -- y [2].'''
        from graphs.subgraph import Input
        INPUTS = (Input("x", (2,), "float32"),)

        def build(tf, x):
            return {{"y": {body}}}
    """))
    found = launch.build(str(path), BuildOptions(), tmp_path / "jobs")
    assert isinstance(found, JobFailure)
    assert words in found.message
    assert "\n" not in found.message


def test_outputs_of_a_forked_run_are_those_of_a_cold_one(run_warm):
    warm_one, cold_one = run_warm(sets=2), run_warm(sets=2, cold=True)
    assert warm_one.output_hashes == cold_one.output_hashes
    np.testing.assert_array_equal(np.load(warm_one.output_paths[0]),
                                  np.load(cold_one.output_paths[0]))
