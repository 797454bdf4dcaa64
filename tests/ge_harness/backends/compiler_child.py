"""Runs cases on compiler backends for tests: one process, a fork for each run.

As a program: `python compiler_child.py JOBS_FILE`; each job is a dict (see `run_jobs`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]


def run_jobs(folder, jobs, variables=None):
    """Run jobs in a child of their own and return their results.

    A job: graph (name in field_graphs.GRAPHS), dtype, backend, mode, off, values,
    options, dumps, inputs (port -> nested list or array), every (fetch every node).
    A result: outputs, failure, passes, effects, sent, route, notes, artifacts, log.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for number, job in enumerate(jobs):
        inputs = {name: np.asarray(value) for name, value in job["inputs"].items()}
        np.savez(str(folder / f"in{number}.npz"), **inputs)
    plain = [{key: value for key, value in job.items() if key != "inputs"}
             for job in jobs]
    (folder / "jobs.json").write_text(json.dumps(plain))
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("XLA_", "TF_"))}
    environment.update({"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "2"})
    environment.update(variables or {})
    done = subprocess.run(
        [sys.executable, __file__, str(folder)], env=environment, timeout=600,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        cwd=str(ROOT), check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    results = [_result(folder, number) for number in range(len(jobs))]
    for result in results:
        result["log"] = done.stdout
    return results


def _result(folder, number):
    path = folder / f"result{number}.json"
    result = json.loads(path.read_text()) if path.exists() else {"died": True}
    result["folder"] = folder / f"job{number}"
    arrays = folder / f"out{number}.npz"
    result["outputs"] = {}
    if arrays.exists():
        with np.load(str(arrays), allow_pickle=False) as content:
            result["outputs"] = {name: content[name] for name in content.files}
    return result


def _main(folder):
    from ge_harness.backends import tf_loader

    folder = Path(folder)
    tf_loader.load()
    for number, job in enumerate(json.loads((folder / "jobs.json").read_text())):
        pid = os.fork()
        if pid == 0:
            try:
                _one(folder, number, job)
            except BaseException:  # noqa: BLE001
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(0)
        os.waitpid(pid, 0)


def _one(folder, number, job):
    from ge_harness.backends.base import BackendFailure
    from ge_harness.errors import SwitchError
    from ge_harness.records.serialize import to_plain

    job_dir = folder / f"job{number}"
    job_dir.mkdir()
    try:
        outputs, evidence = _execute(folder, number, job, job_dir)
    except BackendFailure as failure:
        result = {"failure": failure.kind.value, "message": str(failure)}
    except SwitchError as error:
        result = {"failure": "usage", "message": str(error)}
    else:
        np.savez(str(folder / f"out{number}.npz"), **outputs)
        result = to_plain(evidence)
        result["failure"] = ""
    (folder / f"result{number}.json").write_text(json.dumps(result))


def _execute(folder, number, job, job_dir):
    from ge_harness.backends.table import BACKENDS
    from ge_harness.records.run import Mode, RunRequest
    from ge_harness.records.switch import Switch, SwitchSetting, SwitchValue

    backend = BACKENDS.load(job.get("backend", "xla"))()
    family = {"grappler": "grappler"}.get(job.get("backend"), "hlo_pass")
    setting = SwitchSetting(
        off=tuple(Switch(family, name) for name in job.get("off", ())),
        on=tuple(Switch(family, name) for name in job.get("on", ())),
        values=tuple(SwitchValue(Switch("xla_flag", name), value)
                     for name, value in sorted(job.get("values", {}).items())))
    with np.load(str(folder / f"in{number}.npz"), allow_pickle=False) as content:
        inputs = {name: content[name] for name in content.files}
    request = RunRequest(
        _built_case(job, inputs, job_dir), job.get("backend", "xla"),
        Mode(job.get("mode", "whole")), setting, want_dumps=job.get("dumps", True),
        options=tuple(sorted(job.get("options", {}).items())))
    os.environ.update(backend.environment(request, job_dir))
    compiled = backend.compile(request, job_dir)
    for _ in range(2):
        outputs = compiled.execute(inputs)
    return outputs, compiled.evidence()


def _built_case(job, inputs, job_dir):
    """Build the case in a fork: no op may have run here before the backend's."""
    from ge_harness.records.serialize import build, to_plain
    from ge_harness.records.tensor import Case

    pid = os.fork()
    path = job_dir / "case.json"
    if pid == 0:
        try:
            path.write_text(json.dumps(to_plain(_case(job, inputs, job_dir))))
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(0)
    os.waitpid(pid, 0)
    return build(Case, json.loads(path.read_text()))


def _case(job, inputs, job_dir):
    from ge_harness.backends import tf_loader
    from ge_harness.records.tensor import Case, Port, TensorSpec
    from tests.ge_harness.backends import field_graphs

    tf = tf_loader.load()
    dtype = job.get("dtype", "float32")
    graph = tf.Graph()
    with graph.as_default():
        placeholders = {
            name: tf.compat.v1.placeholder(
                dtype if array.dtype.kind == "f" or array.dtype == np.uint16
                else array.dtype, array.shape, name=name)
            for name, array in inputs.items()}
        outputs = field_graphs.GRAPHS[job["graph"]](tf.compat.v1, dtype, **placeholders)
    fetched = {f"y{index}": tensor for index, tensor in enumerate(outputs)}
    if job.get("every"):
        fetched = {
            f"y_{op.name}": op.outputs[0] for op in graph.get_operations()
            if op.type not in ("Placeholder", "Const") and op.outputs
            and op.outputs[0].dtype.is_floating}
    path = job_dir / "graph.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())

    def port(name, tensor):
        return Port(TensorSpec(name, tuple(tensor.shape.as_list()), tensor.dtype.name),
                    tensor.name)

    return Case("test", dtype, 0, str(path),
                tuple(port(*item) for item in placeholders.items()),
                tuple(port(*item) for item in fetched.items()), ())


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    _main(sys.argv[1])
