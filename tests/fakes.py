"""Backends whose answers a test scripts, run through the real worker.

A script is a JSON object in the request's option "script": set index -> action, "*"
for every other set. An action is a list, its first item being what to do:
["give", [numbers]], ["raise", kind, text], ["error", text], ["abort"], ["exit", int],
["sleep", seconds], ["print", text], ["memory"], ["limit", bytes], ["flip"],
["grandchild", path], ["kill", signal], ["shape", [axes]], ["outcome", text],
["variable", name], ["parent"], ["linger"]. What stands under "evidence" is done when
the worker asks for evidence.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Mapping

import numpy as np

from ge_harness.backends.base import (
    Backend,
    BackendFailure,
    Compiled,
    Evidence,
    Probe,
)
from ge_harness.errors import SwitchError
from ge_harness.records.run import FailureKind, RunRequest
from ge_harness.records.tensor import Case, Port, TensorSpec

NAME = "tests.fakes:ScriptedBackend"
WARM_NAME = "tests.fakes:WarmScriptedBackend"


class ScriptedBackend(Backend):
    """Answers as the request's script says; never warm, so it needs no TensorFlow."""

    name = NAME
    label = "scripted answers for tests"
    warm = False

    def probe(self) -> Probe:
        return Probe(True, "always")

    def environment(self, request: RunRequest, job_dir: Path) -> dict[str, str]:
        options = dict(request.options)
        if "refuse" in options:
            raise SwitchError(options["refuse"])
        return {"SCRIPTED": options.get("variable", "")}

    def compile(self, request: RunRequest, job_dir: Path) -> Compiled:
        return _Scripted(json.loads(dict(request.options).get("script", "{}")),
                         request.case, job_dir)


class WarmScriptedBackend(ScriptedBackend):
    """The same, forked from a warm worker."""

    name = WARM_NAME
    warm = True

    def environment(self, request: RunRequest, job_dir: Path) -> dict[str, str]:
        flags = dict(request.options).get("xla_flags", "")
        return {"XLA_FLAGS": flags} if flags else {}


class _Scripted(Compiled):
    def __init__(self, script: Mapping[str, Any], case: Case, job_dir: Path) -> None:
        self._script = script
        self._case = case
        self._job_dir = job_dir
        self._calls = 0
        self._extra = [0]

    def execute(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        first = next(iter(inputs.values())) if inputs else np.zeros(1)
        key = str(int(np.ravel(first)[0])) if first.size else "0"
        self._calls += 1
        action = self._script.get(key, self._script.get("*", ["echo"]))
        answer = getattr(self, f"_{action[0]}")(first, *action[1:])
        given = first if answer is None else answer
        return {port.spec.name: given for port in self._case.outputs}

    def evidence(self) -> Evidence:
        fault = self._script.get("evidence")
        if fault:
            getattr(self, f"_{fault[0]}")(np.zeros(1), *fault[1:])
        return Evidence(route="script", notes=(
            f"called {self._calls} times", f"process {os.getpid()}",
            f"XLA_FLAGS={os.environ.get('XLA_FLAGS', '')}"))

    def _echo(self, x: np.ndarray) -> None:
        """Give the first input back."""

    def _give(self, x: np.ndarray, numbers: list[float]) -> np.ndarray:
        return np.asarray(numbers, dtype=x.dtype)

    def _raise(self, x: np.ndarray, kind: str, text: str) -> None:
        raise BackendFailure(FailureKind(kind), text)

    def _error(self, x: np.ndarray, text: str) -> None:
        raise KeyError(text)

    def _abort(self, x: np.ndarray) -> None:
        sys.stderr.write("something is wrong in here\n")
        os.abort()

    def _exit(self, x: np.ndarray, status: int) -> None:
        os._exit(status)

    def _sleep(self, x: np.ndarray, seconds: float) -> None:
        time.sleep(seconds)

    def _print(self, x: np.ndarray, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.buffer.write(b"\xff\x00\x1b[31m{\"exited\": 1}\n")

    def _memory(self, x: np.ndarray) -> None:
        raise MemoryError

    def _limit(self, x: np.ndarray, size: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def _flip(self, x: np.ndarray) -> np.ndarray:
        return x + np.asarray(self._calls, x.dtype)

    def _grandchild(self, x: np.ndarray, path: str) -> None:
        process = subprocess.Popen(["sleep", "600"])
        Path(path).write_text(str(process.pid))
        time.sleep(600)

    def _kill(self, x: np.ndarray, number: int) -> None:
        os.kill(os.getpid(), number)
        time.sleep(60)

    def _shape(self, x: np.ndarray, axes: list[int]) -> np.ndarray:
        return np.zeros(axes, x.dtype)

    def _outcome(self, x: np.ndarray, text: str) -> None:
        (self._job_dir / "outcome.json").write_text(text)
        os._exit(0)

    def _linger(self, x: np.ndarray) -> None:
        threading.Thread(target=time.sleep, args=(600,)).start()

    def _parent(self, x: np.ndarray) -> None:
        raise BackendFailure(FailureKind.RUN, f"parent {os.getppid()}")

    def _variable(self, x: np.ndarray, name: str) -> None:
        raise BackendFailure(FailureKind.RUN, f"{name}={os.environ.get(name)!r}")


def scripted_case(folder: Path, sets: int = 1, length: int = 3,
                  dtype: str = "float32") -> Case:
    """Return a case whose input x of set i is [i, 1, 2, ...] and whose output is y."""
    folder.mkdir(parents=True, exist_ok=True)
    stacked = np.stack([np.arange(length) for _ in range(sets)]).astype(
        "uint16" if dtype == "bfloat16" else dtype)
    stacked[:, 0] = np.arange(sets)
    path = folder / "x.npy"
    np.save(str(path), stacked if sets > 1 else stacked[0])
    return Case(
        subgraph="scripted", variant="test", seed=0, graph_path="",
        inputs=(Port(TensorSpec("x", (length,), dtype), "x:0"),),
        outputs=(Port(TensorSpec("y", (length,), dtype), "y:0"),),
        input_paths=(str(path),), set_count=sets)


def scripted_request(case: Case, script: Mapping[str, Any] | None = None,
                     **fields: Any) -> RunRequest:
    """Return a request for the scripted backend."""
    options = dict(fields.pop("options", {}))
    options["script"] = json.dumps(script or {})
    fields.setdefault("backend", NAME)
    fields.setdefault("timeout_s", 30.0)
    return RunRequest(case=case, options=tuple(sorted(options.items())), **fields)
