"""A user's own command as the oracle of a bisection.

Each trial gets a folder with the switches as files, and tells the command where they
are by variables. Exit status 0 means that the results agree, 1 that they differ;
anything else, and a command that takes too long, leaves the trial undecided.
"""

from __future__ import annotations

import shlex
import subprocess
import time
from pathlib import Path
from typing import Mapping, Sequence

from ge_harness.bisect import files
from ge_harness.bisect.trials import Answer
from ge_harness.errors import UsageError
from ge_harness.records.switch import Switch, SwitchSetting
from ge_harness.switches.autofuse_keys import DFX_FLAGS, FLAGS
from ge_harness.worker.process import end_group

TRIAL_DIR = "GE_HARNESS_TRIAL_DIR"
OFF = "GE_HARNESS_OFF"
SCRIPT = "command.sh"
PATHS = {field: f"GE_HARNESS_{field.upper()}" for field in files.NAMES}
"""Field of `BisectFiles` -> variable with the path of that file, "" for none."""
_OWN = (FLAGS, DFX_FLAGS, "XLA_FLAGS")
_CANNOT = (126, 127)


class CommandOracle:
    """Runs the command once a trial.

    Args:
        command: taken apart as a shell would, but run without one.
        environ: the variables of the command; those of the switches are replaced.
        root: each trial gets a new folder in it.
        timeout_s: limit on one trial, in seconds.
    """

    def __init__(self, command: str, environ: Mapping[str, str], root: Path,
                 timeout_s: float) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"--command={command}: {error}") from error
        if not self._words:
            raise UsageError("--command is empty")
        self._environ = {name: value for name, value in environ.items()
                         if name not in _OWN}
        self._root = root
        self._timeout_s = timeout_s

    def run(self, number: int, backend: str, setting: SwitchSetting,
            off: Sequence[Switch]) -> Answer:
        """Run the command with switches off.

        Raises:
            UsageError: there is no such command.
        """
        folder = self._folder(number)
        written = files.write(backend, setting, off, folder)
        variables = {**self._environ, **dict(written.variables),
                     TRIAL_DIR: str(folder),
                     OFF: ",".join(f"{each.family}:{each.name}" for each in off)}
        for field, name in PATHS.items():
            file = getattr(written.files, field)
            variables[name] = file.path if file else ""
        self._write_script(variables, folder)
        status = self._status(variables, folder)
        log = f"; see {folder / 'log.txt'}"
        if status is None:
            return Answer(None, f"timeout: longer than {self._timeout_s:g} s{log}",
                          str(folder))
        agrees = {0: True, 1: False}.get(status)
        how = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
        if status in _CANNOT:
            how += ", as where a shell finds no such command"
        return Answer(agrees, how + ("" if agrees is not None else log), str(folder))

    def _folder(self, number: int) -> Path:
        """Make a folder; one that an interrupted trial left is not touched."""
        for again in range(1, 1000):
            name = f"{number:04d}" if again == 1 else f"{number:04d}-{again}"
            try:
                (self._root / name).mkdir(parents=True)
                return self._root / name
            except FileExistsError:
                continue
        raise UsageError(f"{self._root}: a thousand folders of trial {number}")

    def _write_script(self, variables: Mapping[str, str], folder: Path) -> None:
        """Leave a script that repeats the trial."""
        names = sorted(name for name in variables if name in _OWN
                       or name in (TRIAL_DIR, OFF, *PATHS.values()))
        lines = [f"cd {shlex.quote(str(Path.cwd()))} || exit",
                 f"unset {' '.join(_OWN)}"]
        lines += [f"export {name}={shlex.quote(variables[name])}" for name in names]
        lines.append("exec " + " ".join(shlex.quote(word) for word in self._words))
        (folder / SCRIPT).write_text("\n".join((*lines, "")), encoding="utf-8",
                                     errors="surrogateescape")

    def _status(self, variables: Mapping[str, str], folder: Path) -> int | None:
        """Return the exit status (negative: signal), None for a time-out."""
        with (folder / "log.txt").open("wb") as log:
            try:
                process = subprocess.Popen(
                    self._words, env=dict(variables), stdin=subprocess.DEVNULL,
                    stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
            except (OSError, ValueError) as error:
                raise UsageError(f"--command: cannot start {self._words[0]!r}: "
                                 f"{getattr(error, 'strerror', error)}") from error
            begun = time.monotonic()
            try:
                return process.wait(self._timeout_s)
            except subprocess.TimeoutExpired:
                return None
            finally:
                end_group(process.pid)
                process.wait(max(1.0, begun + 30 - time.monotonic()))
