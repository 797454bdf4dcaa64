"""The options of `run`, and what they mean as records."""

from __future__ import annotations

import argparse
import os
import re
from typing import Sequence

from ge_harness.backends.ge_machine import Machine
from ge_harness.backends.ge_probe import probe_active
from ge_harness.backends.table import BACKENDS
from ge_harness.errors import UnavailableError, UnknownNameError, UsageError
from ge_harness.experiment import setting
from ge_harness.experiment.options import RunOptions

CANDIDATES = ("ge", "emulator", "xla", "grappler", "eager")
_GE_OPTIONS = ("opt_level", "preset", "autofuse_flags", "autofuse_dfx_flags", "chip")
_GE_WISHES = ("chip", "data_dump")
_SHAPE = re.compile(r"(?P<name>[^:]+(?::\d+)?):(?P<axes>\d*(,\d+)*)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what to run, on what, with which switches."""
    parser.add_argument("source", metavar="SUBGRAPH|FILE|all",
                        help="a shipped subgraph ('list subgraphs'), FILE.py, FILE.pb, "
                        "FILE.pbtxt, a SavedModel folder, or all shipped subgraphs")
    add_options(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare on what and how to run, without what."""
    add = parser.add_argument
    add("--backend", default=None, metavar="NAME[,NAME]",
        help="auto, " + ", ".join(CANDIDATES))
    add("--baseline", default="both", choices=("eager", "nodewise", "both"))
    add("--opt-level", choices=("O0", "O1", "O3"), help="optimization level of GE")
    add("--preset", metavar="NAME", help="named set of switches of GE")
    add("--autofuse-flags", metavar="STRING", help="AUTOFUSE_FLAGS as GE reads it")
    add("--autofuse-dfx-flags", metavar="STRING")
    add("--disable-pass", action="append", default=[], metavar="NAME")
    add("--enable-pass", action="append", default=[], metavar="NAME")
    add("--xla-flags", default="", metavar="STRING")
    add("--grappler", choices=("on", "off"), default=None,
        help="TensorFlow's own optimizers before the compiler (default: off)")
    add("--chip", choices=("910b", "950"))
    add("--ge-option", action="append", default=[], metavar="NAME=VALUE",
        help="an option of the TensorFlow adapter, e.g. precision_mode_v2=fp16")
    add("--data-dump", choices=("tensor", "stats"),
        help="have GE dump its tensors; the emulator takes tensor only")
    add("--collect", action="store_true", help="a further run on GE that collects "
        "evidence; its numbers are not compared")
    add("--explain", action="store_true", help="look for the roundings, contractions "
        "and orders that reproduce the candidate's bits")
    add("--ensemble", action="store_true")
    add("--emulator-param", action="append", default=[], metavar="NAME=VALUE")
    add("--threads", type=positive, default=2, metavar="N")
    add("--dtype", choices=("float16", "bfloat16", "float32"), default="")
    add("--variant", action="append", default=[], metavar="NAME=VALUE")
    add("--shape", action="append", default=[], metavar="NAME:8,2048")
    add("--size", choices=("desk", "paper"), default="desk")
    add("--seed", type=int, default=0, metavar="N")
    add("--sets", type=positive, default=1, metavar="N", help="number of input sets")
    add("--repeat", type=_repeat, default=2, metavar="N",
        help="executions of each set, at least 2")
    add("--timeout", type=float, default=600.0, metavar="SECONDS")
    add("--standard", default="bits", metavar="NAME",
        help="the rule that decides ('list standards')")
    add("--inputs", default="", metavar="FILE.npz")
    add("--fetch", action="append", default=[], metavar="TENSOR")
    add("--feed", action="append", default=[], metavar="TENSOR")
    add("--signature", default="", metavar="NAME")
    add("--out", default="", metavar="DIR")
    add("--resume", default="", metavar="DIR")
    add("--json", action="store_true", help="print one JSON document")


def backends(args: argparse.Namespace) -> tuple[tuple[str, str], ...]:
    """Return (backend, why it was chosen) pairs.

    Raises:
        UnknownNameError: no such backend.
        UnavailableError: `auto` finds none.
    """
    if args.backend is None and args.source == "all":
        return tuple((name, "usable here") for name in CANDIDATES
                     if name != "eager" and _usable(name))
    chosen = []
    for name in (args.backend or "auto").split(","):
        if name == "auto":
            chosen.append(_auto())
        elif name not in CANDIDATES:
            raise UnknownNameError("backend", name, (*CANDIDATES, "auto"))
        else:
            chosen.append((name, "asked for with --backend"))
    return tuple(dict.fromkeys(chosen))


def options(args: argparse.Namespace, source: str, backend: str) -> RunOptions:
    """Return the options of one subgraph on one backend.

    Raises:
        UsageError: an option whose value cannot be used.
    """
    if not args.timeout > 0:
        raise UsageError(f"--timeout={args.timeout}: expected seconds above zero")
    asked = _asked(args, backend)
    return RunOptions(
        source=source, backend=backend, baselines=_baselines(args.baseline, backend),
        dtype=args.dtype, size=args.size, shapes=_shapes(args.shape),
        variants=_pairs("--variant", args.variant), fetch=tuple(args.fetch),
        feed=tuple(args.feed), signature=args.signature, inputs_path=args.inputs,
        seed=args.seed, sets=args.sets, repeat=args.repeat, threads=args.threads,
        timeout_s=args.timeout, standard=args.standard,
        setting=setting.build(backend, asked),
        backend_options=_backend_options(args, backend), diagnose=args.collect,
        explain=args.explain,
        asked=_as_written(args))


def _backend_options(args: argparse.Namespace, backend: str
                     ) -> tuple[tuple[str, str], ...]:
    found = {"grappler": args.grappler or ""}
    if backend == "ge":
        found.update((name, getattr(args, name) or "") for name in _GE_WISHES)
        found["device"] = os.environ.get("ASCEND_DEVICE_ID", "")
    if backend == "emulator":
        found["chip"] = args.chip or ""
        found["data_dump"] = args.data_dump or ""
        found["emulator_param"] = ";".join(args.emulator_param)
        found["ensemble"] = "on" if args.ensemble else ""
    return tuple(sorted(pair for pair in found.items() if pair[1]))


def _asked(args: argparse.Namespace, backend: str) -> setting.Asked:
    ge = [(name, str(getattr(args, name))) for name in _GE_OPTIONS
          if getattr(args, name) is not None]
    if args.ensemble:
        ge.append(("ensemble", "true"))
    ge += [("emulator_param", text) for text in args.emulator_param]
    ge += [(setting.GE_OPTION, text) for text in args.ge_option]
    for name, takes in (("data_dump", ("ge", "emulator")), ("collect", ("ge",))):
        if getattr(args, name) and backend not in takes:
            raise UsageError(f"--{name.replace('_', '-')} goes with --backend="
                             f"{' or '.join(takes)}, not {backend}")
    return setting.Asked(tuple(args.disable_pass), tuple(args.enable_pass),
                         args.xla_flags, args.grappler or "", tuple(ge))


def _as_written(args: argparse.Namespace) -> tuple[tuple[str, object], ...]:
    names = (*_GE_OPTIONS, "disable_pass", "enable_pass", "xla_flags", "grappler",
             "ensemble", "emulator_param", "threads", "ge_option", "data_dump",
             "collect")
    pairs = ((name, getattr(args, name)) for name in names)
    return tuple((name, value) for name, value in pairs if value)


def _baselines(text: str, backend: str) -> tuple[str, ...]:
    if backend == "eager":
        return ("eager",)
    return ("eager", "nodewise") if text == "both" else (text,)


def _auto() -> tuple[str, str]:
    probe = probe_active(Machine(dict(os.environ)))
    if probe.usable:
        return "ge", "chosen by --backend=auto"
    if _usable("emulator"):
        return "emulator", ("chosen by --backend=auto, since ge is not usable here: "
                            f"{probe.reason}")
    raise UnavailableError(
        f"--backend=auto: ge is not usable here ({probe.reason}) and there is no "
        "emulator; choose --backend=xla for a real fusing compiler on this CPU, not "
        "Ascend")


def _usable(name: str) -> bool:
    if not BACKENDS.entry(name).target:
        return False
    return bool(BACKENDS.load(name)().probe().usable)


def _shapes(texts: Sequence[str]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    found = []
    for text in texts:
        match = _SHAPE.fullmatch(text)
        if match is None:
            raise UsageError(f"--shape={text}: expected NAME:8,2048 (NAME: alone for a "
                             "scalar)")
        axes = match["axes"]
        found.append((match["name"],
                      tuple(int(axis) for axis in axes.split(",")) if axes else ()))
    return tuple(found)


def _pairs(option: str, texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    found = []
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise UsageError(f"{option}={text}: expected NAME=VALUE")
        found.append((name, value))
    return tuple(found)


def positive(text: str) -> int:
    """Return a whole number above zero.

    Raises:
        ArgumentTypeError: it is less.
    """
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not 1 or more")
    return value


def _repeat(text: str) -> int:
    value = int(text)
    if value < 2:
        raise argparse.ArgumentTypeError(
            f"{value} is not 2 or more (a side that runs once cannot show that it "
            "repeats itself)")
    return value
