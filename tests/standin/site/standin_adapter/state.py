"""What the stand-in reads once, at import, as the real libraries do: mode, environment.

The journal is the test's window: one JSON line an event, a file a process, in the
folder that STANDIN_JOURNAL names.
"""

from __future__ import annotations

import json
import os
import sys

MODES = (
    "normal", "import_fails", "plugin_missing", "unsupported", "e10001", "no_device",
    "abort", "hang", "half_dumps", "no_dumps", "ignores_option", "nondeterministic",
    "kernels_differ", "graph_fails", "run_fails",
)
VERSION = "standin"


class Snapshot:
    """Mode and environment as they were when an adapter was first imported.

    Attributes:
        mode: one of `MODES`.
        argument: what follows the colon in STANDIN_MODE, "" for nothing.
        environment: every variable at that moment; later changes are not seen.
    """

    def __init__(self, environment):
        text = environment.get("STANDIN_MODE", "normal") or "normal"
        self.mode, _, self.argument = text.partition(":")
        if self.mode not in MODES:
            raise ValueError(
                "STANDIN_MODE={!r}: expected one of {}".format(text, ", ".join(MODES)))
        self.environment = dict(environment)

    def get(self, name, default=""):
        """Return a variable as it was at import."""
        return self.environment.get(name, default)


_TAKEN = []


def snapshot():
    """Return the snapshot, taking it at the first call of the process."""
    if not _TAKEN:
        _TAKEN.append(Snapshot(os.environ))
        shown = {name: value for name, value in sorted(os.environ.items())
                 if name not in ("PATH", "HOME") and len(value) < 4096}
        journal("snapshot", environment=shown, cwd=os.getcwd())
    return _TAKEN[0]


def journal(event, **fields):
    """Write down one event for the test, where it asked for it."""
    folder = os.environ.get("STANDIN_JOURNAL")
    if not folder:
        return
    line = json.dumps(dict(fields, event=event), sort_keys=True)
    with open(os.path.join(folder, f"{os.getpid()}.jsonl"), "a") as out:
        out.write(line + "\n")


def say(letter, text):
    """Write a line as TensorFlow's own log does, if its level lets it through."""
    level = int(snapshot().get("TF_CPP_MIN_LOG_LEVEL", "0") or 0)
    if "IWEF".index(letter) >= level:
        sys.stderr.write(f"2026-01-01 00:00:00.000000: {letter} "
                         f"tf_adapter/standin.cc:1] {text}\n")
        sys.stderr.flush()
    if letter == "W":
        journal("warning", text=text)


def fatal(text):
    """End the process as TensorFlow's LOG(FATAL) does: SIGABRT, no Python exception."""
    journal("fatal", text=text)
    say("F", text)
    os.abort()
