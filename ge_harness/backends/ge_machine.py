"""What the probe of `ge` may look at, so that tests can give it another machine."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping

from ge_harness.backends import tf_loader
from ge_harness.report.plain import printable

_LIMIT_S = 120.0


@dataclass(frozen=True)
class ChildAnswer:
    """What a snippet in a process of its own came to.

    Attributes:
        ok: it ended with status 0.
        text: the last line of its stderr, or that it took too long.
        data: the JSON object it printed last, empty where there is none.
    """

    ok: bool
    text: str
    data: Mapping[str, Any]


class Machine:
    """The machine, read through few functions.

    Attributes:
        environ: the environment to be checked.
        root: prefix of every absolute path.
    """

    def __init__(self, environ: Mapping[str, str], root: str = "/") -> None:
        self.environ = environ
        self.root = Path(root)

    def platform(self) -> tuple[str, str]:
        """Return operating system and machine, e.g. ("Linux", "x86_64")."""
        return platform.system(), platform.machine()

    def python(self) -> tuple[int, int]:
        """Return the version of this interpreter."""
        return sys.version_info[0], sys.version_info[1]

    def tensorflow(self) -> str:
        """Return the version of TensorFlow without importing it, "" for none."""
        return tf_loader.installed()

    def has_module(self, name: str) -> bool:
        """Say whether a top-level module can be found, without importing it."""
        try:
            return importlib.util.find_spec(name) is not None
        except (ImportError, ValueError, AttributeError):
            return False

    def path(self, text: str) -> Path:
        """Return an absolute path on the machine."""
        return self.root / text.lstrip("/")

    def usable(self, path: Path) -> bool:
        """Say whether a device node or folder can be read and written."""
        return os.access(str(path), os.R_OK | os.W_OK)

    def free_bytes(self, path: str) -> int:
        """Return the free space at a folder."""
        return shutil.disk_usage(path).free

    def child(self, code: str, limit_s: float = _LIMIT_S) -> ChildAnswer:
        """Run a snippet in a process of its own; a failed import poisons a process."""
        return self.command([sys.executable, "-c", code], limit_s)

    def command(self, words: list[str], limit_s: float = _LIMIT_S) -> ChildAnswer:
        """Run a program; never raises."""
        try:
            done = subprocess.run(
                words, env=dict(self.environ), timeout=limit_s, capture_output=True,
                stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return ChildAnswer(False, f"took longer than {limit_s:.0f} s", {})
        except (OSError, ValueError) as error:
            return ChildAnswer(False, printable(str(error), 200), {})
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        text = printable(lines[-1], 300) if lines else f"status {done.returncode}"
        return ChildAnswer(done.returncode == 0, text,
                           _last_object(done.stdout.decode("utf-8", "replace")))


def _last_object(text: str) -> Mapping[str, Any]:
    for line in reversed(text.strip().splitlines()):
        try:
            data = json.loads(line)
        except ValueError:
            continue
        if isinstance(data, dict):
            return data
    return {"text": printable(text, 2000)} if text.strip() else {}
