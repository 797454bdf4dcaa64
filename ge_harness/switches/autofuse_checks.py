"""What is right and wrong with one entry of AUTOFUSE_FLAGS or AUTOFUSE_DFX_FLAGS.

Source: reference: autofuse_flags.md sections 2, 4 to 8 and 12.
"""

from __future__ import annotations

import functools
import re

from ge_harness.errors import nearest_name
from ge_harness.records.flags import FlagIssue
from ge_harness.switches import autofuse_readers as readers
from ge_harness.switches.autofuse_keys import (
    ASCIR,
    GE_TO_ASCIR,
    KEYS,
    PASSES,
    Key,
    keys_of,
)

_LONGEST_NAME = 80
_QUOTES = ('"', "'")
_BARE = {name.lstrip("-"): key for name, key in KEYS.items()}
_CASE = re.compile(r"[0-9]+(_R)?|g[0-9]+_[0-9]+(_R)?(,g[0-9]+_[0-9]+(_R)?)*")


def error(code: str, message: str, nearest: str = "") -> FlagIssue:
    """Return an issue that makes the string not do what it says."""
    return FlagIssue("error", code, message, nearest)


def warning(code: str, message: str, nearest: str = "") -> FlagIssue:
    """Return an issue a reader should see although the string works."""
    return FlagIssue("warning", code, message, nearest)


def note(code: str, message: str) -> FlagIssue:
    """Return a remark."""
    return FlagIssue("note", code, message)


def identify(written: str, variable: str) -> tuple[Key | None, FlagIssue | None]:
    """Return the key that was meant and what is wrong with how it was written.

    Args:
        written: the text in front of the first "=".
        variable: `FLAGS` or `DFX_FLAGS`.

    Returns:
        The key, or None where nothing is close; and None where it is written rightly.
    """
    own = KEYS.get(written)
    if own is not None and own.variable == variable:
        return own, None
    bare = written.strip().strip("\"'").lstrip("-").strip()
    key = _BARE.get(bare)
    if key is not None:
        return key, _misspelt(written, key, variable)
    if len(bare) > _LONGEST_NAME:
        return None, error("unknown_key", f"no key {_short(written)!r}; every reader "
                           "ignores it without a message")
    near = _nearest_key(bare.lower(), variable)
    hint = f"; did you mean {near}?" if near else ""
    return KEYS.get(near), error(
        "unknown_key", f"no key {_short(written)!r}; every reader ignores it without a "
        f"message{hint}", near)


@functools.lru_cache(maxsize=4096)
def _nearest_key(bare: str, variable: str) -> str:
    own = [key.name for key in keys_of(variable)]
    return nearest_name("--" + bare, own) or nearest_name("--" + bare, KEYS)


def _misspelt(written: str, key: Key, variable: str) -> FlagIssue:
    if key.variable != variable:
        return error("wrong_variable", f"{key.name} is a key of {key.variable}; in "
                     f"{variable} no reader looks for it", key.name)
    if written != written.strip():
        return error("blank_in_key", f"the key {_short(written)!r} has a blank that is "
                     f"not trimmed: {key.owner} does not know it", key.name)
    return error("dashes", f"the key is spelled {key.name}, found {_short(written)!r}; "
                 f"{key.owner} compares the dashes too", key.name)


def entry_issues(entry: str) -> list[FlagIssue]:
    """Return what is wrong with the form of an entry, whatever its key."""
    found = []
    if re.search(r"\s--?[A-Za-z]", entry.strip()):
        found.append(error("blank_separated", "entries are separated by ';' only; the "
                           "blank makes this one malformed entry, and all of it is "
                           "lost"))
    elif re.search(r",\s*--", entry):
        found.append(error("comma_separated", "entries are separated by ';' only; the "
                           "',' makes this one malformed entry"))
    if "\uff1b" in entry or "\uff1d" in entry or "\uff0c" in entry:
        found.append(error("full_width", "full-width punctuation separates nothing; "
                           "use ';', '=' and ','"))
    if re.match(r"\s*(export\s+)?AUTOFUSE_(DFX_)?FLAGS\s*=", entry):
        found.append(error("assignment", "the name of the variable is not part of its "
                           "value"))
    if any(ord(c) < 0x20 or ord(c) == 0x7f for c in entry):
        found.append(error("control_character", "a control character is part of the "
                           "entry; no reader drops it"))
    return found


def form_issues(entry: str, key: Key) -> list[FlagIssue]:
    """Return what a missing, empty or second "=" does to an entry of `key`."""
    _, equals, value = entry.partition("=")
    if not equals:
        return [error("no_value", f"{key.name} has no value; write {key.name}="
                      f"{key.choices[0] if key.choices else '...'}")]
    if not value.strip("="):
        return [error("empty_value", f"{key.name} has an empty value: the entry is "
                      f"dropped and {key.default} stays")]
    if "=" not in value:
        return []
    if key.owner in ("P5", "P6", "P7"):
        return []
    if key.owner != "P1" and value.endswith("=") and value.count("=") == 1:
        return [warning("trailing_equals", f"the '=' at the end is dropped by "
                        f"{key.owner}")]
    return [error("second_equals", f"a second '=' makes {key.owner} drop the entry; "
                  f"{key.default} stays")]


def value_issues(key: Key, value: str, chip: str) -> list[FlagIssue]:
    """Return what is wrong or worth knowing of the value the owner takes."""
    check = _CHECKS.get(key.kind)
    found = list(check(key, value, chip)) if check else []
    if value[:1] in _QUOTES or value[-1:] in _QUOTES:
        if key.name == "--debug_dir":
            found.append(warning("quotes", "quotes around the folder are dropped"))
        else:
            found.append(error("quotes", "quotes are part of the value; write it "
                               "without them"))
    return found


def in_effect(key: Key, reader: str, raw: str | None) -> tuple[str, bool]:
    """Return (what acts in one reader, whether that is what was written)."""
    if raw is None:
        return key.default, False
    if key.kind == "bool":
        return _bool(key, reader, raw)
    if key.kind == "choice":
        return (raw, True) if raw in key.choices else (key.fallback, False)
    if key.kind == "passes":
        names = readers.split_names(raw)
        good = sorted({name for name in names if name in PASSES},
                      key=list(PASSES).index)
        return ",".join(good), len(good) == len(names)
    if key.kind == "blacklist":
        return _blacklist(raw)
    number = {"int": readers.parse_threshold, "size": readers.parse_size,
              "count": readers.parse_count}.get(key.kind)
    if number is not None:
        acts, written = number(raw)
        return str(acts), written
    if key.kind == "tiling_int":
        acts, written = readers.parse_tiling_int(key.name, raw)
        return str(acts), written
    return raw, True


def _bool(key: Key, reader: str, raw: str) -> tuple[str, bool]:
    word = raw.lower() if reader == "P5" else raw
    if word in ("true", "false"):
        return word, True
    return ("true" if key.fallback == "true" else "false"), False


def _blacklist(raw: str) -> tuple[str, bool]:
    names = readers.split_blacklist(raw)
    good = []
    for name in names:
        if name and name == name.strip() and name not in good:
            good.append(name)
    text = ",".join(good)
    if text and not (text[-1].isalnum() or ord(text[-1]) > 0x7f):
        text += ","
    return text, len(good) == len(names)


def _check_bool(key: Key, value: str, chip: str) -> list[FlagIssue]:
    if value in ("true", "false"):
        return []
    if value.strip().lower() in ("true", "false") and "P5" in key.readers:
        return [error("readers_disagree", f"{_short(value)!r} is true for the kernel "
                      f"compile adapter and not for its other readers; write it in "
                      f"lower case without blanks", value.strip().lower())]
    acts = "true" if key.fallback == "true" else "false"
    return [error("bad_bool", f"{key.name} takes true or false in lower case, found "
                  f"{_short(value)!r}: it counts as {acts}",
                  _meant_bool(value))]


def _meant_bool(value: str) -> str:
    word = value.strip().strip("\"'").lower()
    if word in ("true", "1", "yes", "on"):
        return "true"
    return "false" if word in ("false", "0", "no", "off") else ""


def _check_number(key: Key, value: str, chip: str) -> list[FlagIssue]:
    acts, written = in_effect(key, key.owner, value)
    if key.kind == "size":
        return _check_size(key, value, int(acts), written)
    if written:
        return []
    return [error("bad_number", f"{key.name} takes {key.accepted}, found "
                  f"{_short(value)!r}: {acts} is used, and only the product's log says "
                  "so")]


def _check_size(key: Key, value: str, acts: int, written: bool) -> list[FlagIssue]:
    if not written:
        rest = value.lstrip("0123456789")
        if rest in (",", ";"):
            return [warning("trailing_comma", f"the {rest!r} behind the number is "
                            "dropped")]
        return [error("bad_number", f"{key.name} takes {key.accepted}, found "
                      f"{_short(value)!r}: {acts} is used")]
    if acts == 0:
        return [note("no_fusion", "0 leaves every operator to its own kernel: nothing "
                     "is fused")]
    if acts <= 8:
        return [note("small_size", "Data, Load, Store and Output nodes count too, so a "
                     "limit this small allows almost no joining of kernels")]
    return []


def _check_choice(key: Key, value: str, chip: str) -> list[FlagIssue]:
    if value in key.choices:
        return []
    near = nearest_name(value.strip(), key.choices)
    hint = f"; did you mean {near}?" if near else ""
    return [error("bad_choice", f"{key.name} takes {key.accepted}, found "
                  f"{_short(value)!r}: {key.fallback} is used{hint}", near)]


def _check_text(key: Key, value: str, chip: str) -> list[FlagIssue]:
    if key.name == "--force_tiling_case" and _CASE.fullmatch(value) is None:
        return [error("bad_case", f"{key.name} takes {key.accepted}, found "
                      f"{_short(value)!r}: kernel generation fails")]
    if value != value.strip():
        return [error("blank_in_value", f"the blank in {_short(value)!r} is kept")]
    return []


def _check_passes(key: Key, value: str, chip: str) -> list[FlagIssue]:
    found: list[FlagIssue] = []
    seen: set[str] = set()
    names = readers.split_names(value)[:200]
    for name in names:
        if name in PASSES:
            if name in seen:
                found.append(warning("repeated_name", f"{name} is named twice"))
            elif key.name == "--autofuse_enable_pass":
                found += _chip_issues(name, chip, names)
            seen.add(name)
        elif not name:
            found.append(warning("empty_name", "an empty name between commas does "
                                 "nothing"))
        elif name.strip() in PASSES:
            found.append(error("blank_in_name", f"the name {name!r} (with its blank) "
                               f"is lost: names are not trimmed, so {name.strip()} is "
                               "not switched", name.strip()))
        else:
            found.append(_unknown_pass(name))
    if not any(name.strip() for name in names):
        found.append(error("names_nothing", f"{key.name} names nothing; known: "
                           f"{', '.join(PASSES)}"))
    return found


def _unknown_pass(name: str) -> FlagIssue:
    near = nearest_name(name.strip()[:_LONGEST_NAME].lower(), PASSES)
    hint = f"; did you mean {near}?" if near else ""
    return error("unknown_pass", f"no pass name {_short(name)!r}; it is ignored "
                 f"without a message (known: {', '.join(PASSES)}){hint}", near)


def _chip_issues(name: str, chip: str, names: list[str]) -> list[FlagIssue]:
    one = PASSES[name]
    effect = {"910b": one.on_910b, "950": one.on_950}.get(chip, "")
    if not chip:
        return [] if one.on_910b == "works" else [
            note("chip", f"{name} on 910B: {one.on_910b}; on 950: {one.on_950}")]
    if effect.startswith("no effect") and not (name == "split" and "slice" in names):
        return [error("no_effect_on_chip", f"{name} on {chip}: {effect}",
                      "slice" if name == "split" else "")]
    return [] if effect == "works" else [note("chip", f"{name} on {chip}: {effect}")]


def _check_blacklist(key: Key, value: str, chip: str) -> list[FlagIssue]:
    found = [note("whole_region", "low precision is kept only where every computing "
                  "node of a fused loop is listed; one other node upcasts the loop")]
    names = readers.split_blacklist(value)
    if ",".join(names) != value:
        found.append(warning("last_character", f"the {value[-1]!r} at the end is "
                             "dropped"))
    for name in names[:200]:
        found += _blacklist_name(name, chip)
    if not any(name.strip() for name in names):
        found.append(error("names_nothing", f"{key.name} names nothing; it takes AscIR "
                           "types or all"))
    if "all" in names and len(names) > 1:
        found.append(note("all", "with all in the list the other names add nothing"))
    return found


def _blacklist_name(name: str, chip: str) -> list[FlagIssue]:
    bare = name.strip()
    if not bare:
        return [warning("empty_name", "an empty name between commas does nothing")]
    if bare != name:
        return [error("blank_in_name", f"the name {name!r} (with its blank) is lost: "
                      "names are not trimmed", bare)]
    if name == "all":
        return []
    if name in GE_TO_ASCIR and name not in ASCIR:
        return [error("ge_name", f"{name} is a GE operator type; the list wants AscIR "
                      f"types, here {GE_TO_ASCIR[name]}", GE_TO_ASCIR[name])]
    if name in ("Mean", "Prod") or (name == "Sum" and chip == "910b"):
        return [error("always_upcast", f"{name} has no low-precision form "
                      f"{'on 910B' if name == 'Sum' else 'on any chip'}: listing it "
                      "fails the compile of the fused loop")]
    if name == "Sum" and not chip:
        return [warning("always_upcast", "listing Sum fails the compile on 910B; 950 "
                        "accepts it")]
    if name in ASCIR:
        return []
    near = nearest_name(name[:_LONGEST_NAME], sorted(ASCIR))
    hint = f"; did you mean {near}?" if near else ""
    return [warning("unknown_ascir", f"{_short(name)!r} is not among the AscIR types "
                    f"publicly known; spell it as an AscGraph dump does behind 'ge:'"
                    f"{hint}", near)]


_CHECKS = {
    "bool": _check_bool, "passes": _check_passes, "blacklist": _check_blacklist,
    "int": _check_number, "size": _check_number, "tiling_int": _check_number,
    "count": _check_number, "choice": _check_choice, "text": _check_text,
    "path": _check_text,
}


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:40]}...({len(text)} characters)"
