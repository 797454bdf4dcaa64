"""Entry point: parses the command line, calls one command, turns errors into statuses.

Only the command asked for is imported, so listing and comparing answer without
TensorFlow. This is one of the two places where every exception is caught; the other is
`worker/child.py`.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import NoReturn

from absl import app, flags
from absl import logging as absl_logging
from absl.flags import argparse_flags

from ge_harness.cli import exit_codes, terminal
from ge_harness.errors import HarnessError, nearest_name
from ge_harness.registry import Entry, Registry
from ge_harness.version import VERSION

_PACKAGE = "ge_harness.cli"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
COMMANDS = Registry("command", {
    "list": Entry(f"{_PACKAGE}.list_command", "what there is, a line each"),
    "run": Entry(f"{_PACKAGE}.run_command",
                 "run a subgraph, compare it, name the passes that can account for it"),
    "inspect": Entry(f"{_PACKAGE}.inspect_command",
                     "what a compiler's dumps say: stages, changes, active passes"),
    "compare": Entry(f"{_PACKAGE}.compare_command",
                     "compare tensors: bits, ULPs, errors, standards"),
    "bisect": Entry(f"{_PACKAGE}.bisect_command",
                    "smallest set of switches that restores agreement"),
    "experiment": Entry(f"{_PACKAGE}.experiment_command",
                        "the experiments A, B, C1, C2, C3, D, E"),
    "flags": Entry(f"{_PACKAGE}.flags_command",
                   "parse, check and explain an AUTOFUSE_FLAGS string"),
    "passes": Entry(f"{_PACKAGE}.passes_command", "the catalogue of passes"),
    "doctor": Entry(f"{_PACKAGE}.doctor_command",
                    "whether this machine can run each backend"),
    "report": Entry(f"{_PACKAGE}.report_command",
                    "rebuild report.html from what is on disk"),
    "pack": Entry(f"{_PACKAGE}.pack_command",
                  "one archive with everything worth sending to somebody"),
})


class _Parser(argparse_flags.ArgumentParser):  # type: ignore[misc]
    """An argument parser whose errors are one line with the nearest valid name."""

    def error(self, message: str) -> NoReturn:
        unknown = "unrecognized arguments: "
        if message.startswith(unknown):
            word = message[len(unknown):].split(" ")[0].split("=")[0]
            near = nearest_name(word, self._known_options())
            hint = f" Did you mean {near!r}?" if near else ""
            message = f"no option or argument {word!r} here.{hint}"
        sys.stderr.write(f"{self.prog}: {message} See '{self.prog} --help'.\n")
        sys.exit(exit_codes.USAGE)

    def _known_options(self) -> list[str]:
        own = [name for action in self._actions for name in action.option_strings]
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for parser in action.choices.values():
                    own += [name for other in parser._actions
                            for name in other.option_strings]
        return [name for name in own if name.startswith("--")]


def main() -> None:
    """Run the command line and exit with its status."""
    sys.argv[0] = "ge_harness"
    terminal.harden()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app.run(_dispatch, flags_parser=_parse)
    except flags.Error as error:
        print(f"ge_harness: {error}", file=sys.stderr)  # noqa: T201 - the console
        sys.exit(exit_codes.USAGE)


def _parse(argv: list[str]) -> argparse.Namespace:
    command = next((word for word in argv[1:] if word in COMMANDS.names()), "")
    parser = _Parser(
        prog="ge_harness", allow_abbrev=False,
        description="What a graph compiler did to a TensorFlow graph and its numbers.")
    parser.add_argument("--version", action="version", version=f"ge_harness {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name in COMMANDS.names():
        entry = COMMANDS.entry(name)
        sub = commands.add_parser(name, help=entry.help, allow_abbrev=False,
                                  description=entry.help)
        if name == command and entry.target:
            COMMANDS.load(name).add_arguments(sub)
        elif name == command:
            sub.add_argument("anything", nargs=argparse.REMAINDER)
    words = list(argv[1:])
    if command == "flags":
        words = _positional_last(words)
    arguments: argparse.Namespace = parser.parse_args(words)
    arguments.parser = parser
    return arguments


def _positional_last(words: list[str]) -> list[str]:
    """Move what `flags` explains behind `--`, since it begins with dashes itself."""
    own = ("--dfx", "--json", "--help", "-h")
    valued = ("--chip", "--verbosity", "--flagfile", "-v")
    front, back, index = ["flags"], [], words.index("flags")
    front[:0] = words[:index]
    rest = words[index + 1:]
    while rest:
        word = rest.pop(0)
        if word == "--":
            back += rest
            break
        if word in own or (word.split("=")[0] in valued and "=" in word):
            front.append(word)
        elif word in valued and rest:
            front += [word, rest.pop(0)]
        else:
            back.append(word)
    return front + (["--", *back] if back else [])


def _dispatch(arguments: argparse.Namespace) -> None:
    sys.exit(_guarded(arguments))


def _guarded(arguments: argparse.Namespace) -> int:
    if not arguments.command:
        arguments.parser.print_help()
        return exit_codes.USAGE
    try:
        with terminal.tables():
            status = int(COMMANDS.load(arguments.command).run(arguments))
            sys.stdout.flush()
            return status
    except HarnessError as error:
        return _report(error, error.exit_code)
    except KeyboardInterrupt:
        return _say("interrupted; finished parts are kept", exit_codes.UNDECIDED)
    except MemoryError:
        return _say("out of memory; smaller inputs need less", exit_codes.UNDECIDED)
    except Exception as error:  # noqa: BLE001 - the one net of the command line
        if type(error).__name__ in ("DumpError", "GraphError", "GraphUnsupportedError"):
            return _report(error, exit_codes.USAGE)
        if isinstance(error, OSError) and error.errno in _FULL:
            place = f": {error.filename}" if error.filename else ""
            return _say(f"no room left on the disk{place}", exit_codes.UNDECIDED)
        return _internal(error)


def _report(error: BaseException, status: int) -> int:
    if absl_logging.get_verbosity() >= 1:
        traceback.print_exception(type(error), error, error.__traceback__)
    return _say(str(error), status)


def _internal(error: BaseException) -> int:
    descriptor, path = tempfile.mkstemp(prefix="ge_harness-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as out:
        traceback.print_exception(type(error), error, error.__traceback__, file=out)
    if absl_logging.get_verbosity() >= 1:
        traceback.print_exception(type(error), error, error.__traceback__)
    text = str(error).split("\n")[0]
    return _say(f"fault of the harness itself: {type(error).__name__}: {text}; details "
                f"in {Path(path)}", exit_codes.INTERNAL)


def _say(text: str, status: int) -> int:
    from ge_harness.report.plain import printable

    for line in text.split("\n")[:3]:
        print(f"ge_harness: {printable(line)}", file=sys.stderr)  # noqa: T201 - console
    return status
