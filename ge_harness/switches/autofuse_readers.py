"""The seven readers of AUTOFUSE_FLAGS and AUTOFUSE_DFX_FLAGS, as their code reads.

Each reader is a function from the string to what it holds of it: key -> (number of the
entry, value). They disagree about dashes, blanks, a second "=" and duplicates, which is
why one string can be true for one and lost for another. Numbers of entries are indices
into `split_entries`.

Source: reference: autofuse_flags.md sections 1, 2, 5; behaviour checked against
hicann/ge compiler/api/aclgrph/option_utils.cc (P1), compiler/graph/optimize/autofuse/
autofuse/utils/auto_fuse_config.h (P2), hicann/graph-autofusion autofuse/common/
autofuse_config/auto_fuse_config_parser.cc (P3), autofuse/compiler/python/
compile_adapter.py (P5) and autofuse/ascir/meta/ascir_utils.cpp (P6).
"""

from __future__ import annotations

import re
from typing import Callable, Dict, Tuple

from ge_harness.switches.autofuse_keys import DFX_FLAGS, FLAGS, KEYS, keys_of

Reading = Dict[str, Tuple[int, str]]
"""key of the table -> (index of the entry that is taken, value taken)."""

_BLANKS = " \t\r\n"
_DEBUG = "--codegen_compile_debug"
_DEBUG_DIR = "--debug_dir"


def split_entries(text: str) -> list[str]:
    """Return the text between semicolons, empty entries included."""
    return text.split(";")


def read(reader: str, variable: str, text: str) -> Reading:
    """Return what one reader holds of one variable.

    Args:
        reader: "P1" to "P7".
        variable: `FLAGS` or `DFX_FLAGS`.
        text: the value of the variable.
    """
    names = [key.name for key in keys_of(variable) if reader in key.readers]
    if not names:
        return {}
    return _READERS[reader](text, names)


def read_all(variable: str, text: str) -> dict[str, Reading]:
    """Return what every reader of the variable holds of it."""
    readers = sorted({name for key in keys_of(variable) for name in key.readers})
    return {reader: read(reader, variable, text) for reader in readers}


def getline_split(text: str, separator: str) -> list[str]:
    """Split as C++ getline does: one empty field at the very end is not there."""
    parts = text.split(separator)
    if parts[-1] == "":
        parts.pop()
    return parts


def _read_gate(text: str, names: list[str]) -> Reading:
    """P1: the first entry that holds the key decides; a malformed one means unset.

    Any entry that contains the key as a substring and has not exactly one "=" stops the
    search, so `--enable_autofuse;--enable_autofuse=true` is unset.
    """
    found: Reading = {}
    entries = split_entries(text)
    for name in names:
        for index, entry in enumerate(entries):
            if name not in entry:
                continue
            parts = entry.split("=")
            if len(parts) != 2:
                break
            if parts[0] == name:
                if parts[1]:
                    found[name] = (index, parts[1])
                break
    return found


def _read_fusion(text: str, names: list[str]) -> Reading:
    """P2: the key with its dashes, exactly two fields, the last entry wins."""
    found: Reading = {}
    for index, entry in enumerate(split_entries(text)):
        parts = getline_split(entry, "=")
        if len(parts) == 2 and parts[0] in names:
            found[parts[0]] = (index, parts[1])
    return found


def _read_tiling(text: str, names: list[str]) -> Reading:
    """P3: like P2, but one leading "--" may be missing."""
    bare = {name[2:] if name.startswith("--") else name: name for name in names}
    found: Reading = {}
    for index, entry in enumerate(split_entries(text)):
        parts = getline_split(entry, "=")
        if len(parts) != 2:
            continue
        word = parts[0][2:] if parts[0].startswith("--") else parts[0]
        if word in bare:
            found[bare[word]] = (index, parts[1])
    return found


def _read_inductor(text: str, names: list[str]) -> Reading:
    """P4: the first occurrence of the key with its dashes."""
    found: Reading = {}
    for index, entry in enumerate(split_entries(text)):
        key, _, value = entry.partition("=")
        if key in names and value and key not in found:
            found[key] = (index, value)
    return found


def _read_compile(text: str, names: list[str]) -> Reading:
    """P5: any number of leading dashes, the first "=" splits, the last entry wins."""
    bare = {name.lstrip("-"): name for name in names}
    found: Reading = {}
    for index, entry in enumerate(split_entries(text)):
        key, equals, value = entry.partition("=")
        name = bare.get(key.lstrip("-"))
        if equals and name:
            found[name] = (index, value)
    return found


def _read_dump(text: str, names: list[str]) -> Reading:
    """P6: substring search in each entry; the first hit wins; blanks are forgiven."""
    found: Reading = {}
    for index, entry in enumerate(split_entries(text)):
        entry = entry.strip(_BLANKS)
        if _DEBUG not in found and (
                "codegen_compile_debug=true" in entry
                or "codegen_compile_debug = true" in entry):
            found[_DEBUG] = (index, "true")
        folder = _folder(entry)
        if folder and _DEBUG_DIR not in found:
            found[_DEBUG_DIR] = (index, folder)
    return {name: found[name] for name in names if name in found}


def _folder(entry: str) -> str:
    for pattern in ("debug_dir=", "debug_dir ="):
        _, hit, value = entry.partition(pattern)
        if hit and pattern.endswith(" ="):
            return value.strip(" \t\"'")
        if hit and value:
            value = value[1:] if value[0] in "\"'" else value
            return value[:-1] if value and value[-1] in "\"'" else value
    return ""


def _read_kernel(text: str, names: list[str]) -> Reading:
    """P7: `replace_kernel` by pattern, `autofuse_pgo_algo=pruning` as a substring."""
    found: Reading = {}
    for index, entry in enumerate(split_entries(text)):
        match = re.search(r"replace_kernel=(.+)", entry, re.DOTALL)
        if match and "replace_kernel" not in found:
            found["replace_kernel"] = (index, match.group(1))
        if "autofuse_pgo_algo=pruning" in entry and "--autofuse_pgo_algo" not in found:
            found["--autofuse_pgo_algo"] = (index, "pruning")
    return {name: found[name] for name in names if name in found}


_READERS: dict[str, Callable[[str, list[str]], Reading]] = {
    "P1": _read_gate, "P2": _read_fusion, "P3": _read_tiling, "P4": _read_inductor,
    "P5": _read_compile, "P6": _read_dump, "P7": _read_kernel,
}


def parse_threshold(value: str) -> tuple[int, bool]:
    """Return (number that acts, taken as written) for --recomputation_threshold.

    A C++ stream reads the number: leading blanks and a sign pass, anything behind it
    does not, and what is refused becomes 1.
    """
    match = re.fullmatch(r"[ \t\n\v\f\r]*([+-]?[0-9]+)", value)
    number = int(_short(match.group(1))) if match else -1
    return (number, True) if 0 <= number <= 255 else (1, False)


def parse_size(value: str) -> tuple[int, bool]:
    """Return (number that acts, taken as written) for --max_fusion_size.

    Leading digits count; the next character may be "," or ";" and then everything
    behind it is dropped, so "1,000" means 1. What is refused leaves 64.
    """
    match = re.match(r"[0-9]+", value)
    if match is None:
        return 64, False
    rest = value[match.end():]
    if rest and rest[0] not in ",;":
        return 64, False
    number = int(_short(match.group(0)))
    if number >= 2 ** 64:
        return 64, False
    return number, not rest


def parse_tiling_int(name: str, value: str) -> tuple[int, bool]:
    """Return (number that acts, taken as written) for an integer of P3."""
    key = KEYS[name]
    if re.fullmatch(r"[+-]?[0-9]+", value) is None:
        return int(key.default), False
    number = int(_short(value))
    if not key.low <= number <= key.high:
        return int(key.fallback), False
    return number, True


def parse_count(value: str) -> tuple[int, bool]:
    """Return (number that acts, taken as written) for --autofuse_pgo_topn (P5)."""
    match = re.fullmatch(r"\s*[+-]?[0-9]+(_[0-9]+)*\s*", value, re.ASCII)
    if match is None or len(value) > 40 or int(value) < 0:
        return 5, False
    return int(value), True


def split_names(value: str) -> list[str]:
    """Return the names of a pass list as P2 splits them, blanks and all."""
    return getline_split(value, ",")


def split_blacklist(value: str) -> list[str]:
    """Return the names of the precision blacklist as P2 splits them.

    One punctuation character at the very end is dropped first.
    """
    if value and value[-1] in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~":
        value = value[:-1]
    return value.split(",")


def _short(digits: str) -> str:
    """Keep `int` away from numbers of 100,000 digits; the sign and size survive."""
    sign = digits[0] if digits[0] in "+-" else ""
    body = digits[len(sign):].lstrip("0") or "0"
    return sign + (body if len(body) <= 40 else "9" * 40)


__all__ = [
    "DFX_FLAGS", "FLAGS", "Reading", "getline_split", "parse_count", "parse_size",
    "parse_threshold", "parse_tiling_int", "read", "read_all", "split_blacklist",
    "split_entries", "split_names",
]
