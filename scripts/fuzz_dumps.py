"""Feed damaged files to every reader and see that none of them fails.

    python scripts/fuzz_dumps.py --count=200000 --seed=1

A reader may give a graph with warnings or raise DumpError. Any other exception, a run
of more than five seconds, or memory beyond the limit is a fault; it is reported with
what repeats it, and the script ends with status 1. Also fed: the comparison of a
damaged dump with the sound one, and everything a graph parses on demand.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from dumps import (  # noqa: E402
    data_dump,
    detect,
    fusion_result,
    kernel_meta,
    plog,
    trace,
)
from dumps.changes import compare  # noqa: E402
from dumps.data_dump_items import DataItem, OriginalOp  # noqa: E402
from dumps.data_dump_write import pack  # noqa: E402
from dumps.discover import discover  # noqa: E402
from dumps.errors import DumpError  # noqa: E402
from tests.dumps.mutate import mutations  # noqa: E402

TIME_LIMIT_S = 5.0
MEMORY_LIMIT_BYTES = 3 << 30
LARGEST_SEED = 24 * 1024
EVIDENCE = {"data_dump": data_dump.read, "fusion_result": fusion_result.read,
            "kernel_meta": kernel_meta.read,
            "plog": plog.read, "trace": trace.read}
Reader = Callable[[bytes], Any]
Seeds = Dict[str, List[Tuple[str, bytes]]]


class TooSlowError(BaseException):
    """A reader ran out of time; not an Exception, so no reader can swallow it."""


def main() -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=200000, help="inputs in total")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reader", action="append", help="only this one (repeat)")
    args = parser.parse_args()
    limit_memory()
    table = seeds()
    names = [name for name in sorted(table) if not args.reader or name in args.reader]
    per_reader = max(1, args.count // max(1, len(names)))
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            begin = time.monotonic()
            done, bad = fuzz(name, table[name], args.seed, per_reader, Path(folder))
            faults += bad
            print(f"{name}: {done} inputs, {bad} faults, "
                  f"{time.monotonic() - begin:.1f} s", flush=True)
    return 1 if faults else 0


def fuzz(name: str, files: list[tuple[str, bytes]], seed: int, count: int,
         folder: Path) -> tuple[int, int]:
    """Feed `count` damaged inputs to one reader; return inputs and faults."""
    read = reader(name, folder)
    done = faults = 0
    share = -(-count // len(files))
    for number, (path, data) in enumerate(files):
        wanted = min(share, count - done)
        for place, (damage, mutated) in enumerate(
                mutations(data, seed * 1000 + number, wanted)):
            done += 1
            problem = attempt(read, mutated)
            if problem:
                faults += 1
                print(f"{name}: {path}, seed {seed}, input {place} ({damage}):\n"
                      f"{problem}", file=sys.stderr, flush=True)
    return done, faults


def attempt(read: Reader, data: bytes) -> str:
    """Read one input; return what went wrong, "" where nothing did."""
    try:
        with deadline():
            explore(read(data))
    except DumpError as error:
        return "" if len(str(error)) < 5000 else "a message of more than 5000 letters"
    except TooSlowError:
        return f"took more than {TIME_LIMIT_S:g} s"
    except Exception:  # noqa: BLE001 - what this script looks for
        return traceback.format_exc(limit=-6)
    return ""


def explore(found: Any) -> None:
    """Use everything a graph holds or parses on demand."""
    if isinstance(found, data_dump.DataDump):
        for item in found.items:
            with contextlib.suppress(DumpError):
                data_dump.load(found, item).array.tobytes()
        return
    if not hasattr(found, "walk"):
        return
    for graph, node in found.walk():
        for key in node.attributes:
            node.attributes[key]
        for desc in (*node.input_descs, *node.output_descs):
            dict(desc.attributes)
        dict(node.fields)
        len(node.text)
        len(node.subgraphs)
        graph.node(node.name)
    dict(found.attributes)
    len(found.all_edges)
    for warning in found.warnings:
        if not str(warning).isprintable():
            raise ValueError(f"a warning that is not printable: {str(warning)!r}")


def reader(name: str, folder: Path) -> Reader:
    """Return the function that reads bytes for one reader."""
    if name == "compare":
        return compare_with_sound(folder)
    if name in EVIDENCE:
        path = folder / f"{name}.json"

        def from_file(data: bytes) -> Any:
            path.write_bytes(data)
            return EVIDENCE[name](path)

        return from_file
    if name == "hlo":
        hlo = importlib.import_module("dumps.hlo")
        return lambda data: hlo.to_graph(hlo.parse_module(
            data.decode("utf-8", "replace"), "fuzzed"))
    module = importlib.import_module(f"dumps.{name}")
    return lambda data: module.parse(data, "fuzzed")


def compare_with_sound(folder: Path) -> Reader:
    """Return a function that compares a damaged dump with the sound one."""
    proto = importlib.import_module("dumps.ge_proto")
    sound = proto.parse(series_seed()[1], "sound")

    def both(data: bytes) -> Any:
        damaged = proto.parse(data, "fuzzed")
        compare(sound, damaged)
        compare(damaged, sound)
        return damaged

    return both


def data_dump_seeds() -> list[tuple[str, bytes]]:
    """Return sound data dumps, made here: no real one is public."""
    parts = []
    for index, (dtype, raw, width) in enumerate((
            ("float16", "FLOAT16", 2), ("bfloat16", "BF16", 2), ("bool", "BOOL", 1),
            ("complex64", "COMPLEX64", 8))):
        for kind in ("input", "output"):
            origin = OriginalOp("scope/op", index, "float16", "NHWC")
            parts.append((DataItem(
                kind, index, dtype, raw, "NC1HWC0", (1, 2, 3), (3, 2), True, 6 * width,
                address=4096 * index, original=origin if kind == "output" else None),
                bytes(6 * width)))
    parts.append((DataItem("buffer", 0, size=4), b"abcd"))
    return [("small", pack(parts[:2], "add_1", 1689262885123456)),
            ("large", pack(parts, "scope/op", 1689262885123456))]


def series_seed() -> tuple[str, bytes]:
    """Return one dump of the kept series."""
    path = next((ROOT / "tests" / "data" / "dumps" / "series").rglob(
        "*AutoFuser_AfterLowering.txt"))
    return str(path.relative_to(ROOT)), path.read_bytes()


def seeds() -> Seeds:
    """Return sound files for every reader, from the test data and the samples."""
    table: Seeds = {"compare": [series_seed()], "data_dump": data_dump_seeds()}
    for root in (ROOT / "tests" / "data" / "dumps", ROOT.parent / "shared" / "samples"):
        if not root.is_dir():
            continue
        for file in discover(root)[0]:
            path = Path(file.path)
            data = path.read_bytes()
            if not data or len(data) > LARGEST_SEED or data[:2] == b"\x1f\x8b":
                continue
            kind = file.kind
            if kind in ("graph", "hlo_pass"):
                kind = file.format or detect.by_content(data, path.name) or "hlo"
            if kind == "hlo_pass" or kind == "other":
                continue
            found = table.setdefault(kind, [])
            if len(found) < 6:
                found.append((str(path), data))
    return table


class deadline:  # noqa: N801 - reads as a statement
    """Stops what runs inside after the time limit."""

    def __enter__(self) -> None:
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, _too_slow)
            signal.setitimer(signal.ITIMER_REAL, TIME_LIMIT_S)

    def __exit__(self, *_: object) -> None:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)


def _too_slow(signum: int, frame: Any) -> None:
    raise TooSlowError


def limit_memory() -> None:
    """Let allocations beyond the limit fail, where the system can."""
    try:
        resource = importlib.import_module("resource")
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
    except (ImportError, ValueError, OSError):
        print("memory is not limited here", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
