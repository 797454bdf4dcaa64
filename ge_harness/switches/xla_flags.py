"""XLA_FLAGS and the names of HLO passes: parse, check, compose, and read complaints.

XLA tells nobody of a mistake in time: TensorFlow 2.21 dies at the first compilation on
an unknown flag, 2.6 and 1.15 too, but ignore a bad value ("=1" for a boolean) and take
an unknown flag that begins like a known one for the known one with a bad value. A
pass name that does not exist, or one with a leading blank, is ignored everywhere.

Source: reference/xla_cpu.md section 2.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Iterable, Sequence

from ge_harness import catalogue
from ge_harness.errors import SwitchError, nearest_name
from ge_harness.records.switch import Switch, SwitchSetting, SwitchValue

PASS = "hlo_pass"
FLAG = "xla_flag"
DISABLE = "xla_disable_hlo_passes"
# The harness itself sends these; a second value would take its dumps away.
RESERVED = frozenset({
    "xla_dump_to", "xla_dump_hlo_as_text", "xla_dump_hlo_pass_re",
    "xla_dump_disable_metadata", "xla_flags_reset",
})
_FLAG = re.compile(r"--(?P<name>[a-z][a-z0-9_]*)(?:=(?P<value>.*))?", re.DOTALL)
_PASS_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*(?: [A-Za-z0-9_.\-]+)*")
_TOKEN = re.compile(r"(?:[^\s'\"]|'[^']*'|\"[^\"]*\")+")
_UNKNOWN = re.compile(r"Unknown flags? in XLA_FLAGS:(?P<flags>.*)")
_BAD_VALUE = re.compile(
    r"(?:Couldn't interpret value (?P<old>.*?) for flag (?P<flag>[a-z0-9_]+)\.|"
    r"Illegal value for --(?P<flag2>[a-z0-9_]+)[ .]*(?P<new>.*))")


def parse(text: str) -> tuple[tuple[str, str], ...]:
    """Take a string of flags apart.

    Args:
        text: as XLA_FLAGS or --xla-flags holds it: "--name=value --name ...".

    Returns:
        (name, value) pairs in the order given; a flag without value is "true".

    Raises:
        SwitchError: something that is no flag, a flag given twice with two values, or
            one that the harness sends itself.
    """
    found: dict[str, str] = {}
    for token in _TOKEN.findall(text):
        match = _FLAG.fullmatch(token)
        if match is None:
            raise SwitchError(
                f"--xla-flags: found {token!r}, expected --xla_name=value")
        name = match["name"]
        value = "true" if match["value"] is None else _unquoted(match["value"])
        _check_flag(name, value)
        if name == DISABLE and name in found:
            value = f"{found[name]},{value}"
        elif found.get(name, value) != value:
            raise SwitchError(
                f"--xla-flags: --{name} is given twice, as {found[name]!r} and as "
                f"{value!r}; XLA would silently take the last")
        found[name] = value
    return tuple(found.items())


def extend(setting: SwitchSetting, text: str) -> SwitchSetting:
    """Return a setting with the flags of a string added.

    Names in --xla_disable_hlo_passes become switches of the family "hlo_pass", so that
    their effect is proved like that of --disable-pass.

    Raises:
        SwitchError: as `parse`, or a pass name that XLA would ignore.
    """
    off = list(setting.off)
    values = list(setting.values)
    for name, value in parse(text):
        if name == DISABLE:
            off += [Switch(PASS, check_pass_name(each)) for each in value.split(",")]
        else:
            values.append(SwitchValue(Switch(FLAG, name), value))
    return dataclasses.replace(
        setting, off=tuple(dict.fromkeys(off)), values=tuple(values))


def check_pass_name(name: str) -> str:
    """Return the name of an HLO pass, or say why XLA would ignore it.

    Raises:
        SwitchError: empty, with a blank at an end, or with a character no pass has.
    """
    if not name.strip():
        raise SwitchError("an empty name of an HLO pass; XLA would silently ignore it")
    if name != name.strip():
        raise SwitchError(
            f"HLO pass {name!r}: a blank at an end; XLA would silently ignore the "
            f"name. Write {name.strip()!r}")
    if not _PASS_NAME.fullmatch(name):
        raise SwitchError(
            f"HLO pass {name!r}: expected one name of letters, digits, '-' and '_'; "
            "XLA would silently ignore it")
    return name


def check(setting: SwitchSetting) -> None:
    """Refuse what cannot be sent to XLA.

    Raises:
        SwitchError: a level, a switch of another compiler, a pass switched on, a name
            or flag that XLA would ignore, or the same flag with two values.
    """
    if setting.level:
        raise SwitchError(
            f"XLA has no level {setting.level!r}; its own is "
            "--xla-flags=--xla_backend_optimization_level=0")
    for switch in setting.on:
        raise SwitchError(
            f"XLA cannot switch {switch.family} {switch.name!r} on; every pass is on "
            "unless it is switched off")
    for switch in setting.off:
        if switch.family != PASS:
            raise SwitchError(
                f"XLA has no switch of the family {switch.family!r} ({switch.name!r}); "
                "it has HLO passes and flags")
        check_pass_name(switch.name)
    seen: dict[str, str] = {}
    for item in setting.values:
        if item.switch.family != FLAG:
            raise SwitchError(
                f"XLA takes no value for {item.switch.family} {item.switch.name!r}")
        _check_flag(item.switch.name, item.value)
        if seen.setdefault(item.switch.name, item.value) != item.value:
            raise SwitchError(f"--{item.switch.name} is given two values")


def compose(setting: SwitchSetting, dump_dir: str, version: str) -> str:
    """Return the value of XLA_FLAGS.

    Args:
        setting: checked with `check`.
        dump_dir: where the dumps go, "" for none.
        version: version of TensorFlow ("2.21.0"); decides which dump flags it knows.

    Raises:
        SwitchError: a dump folder whose name XLA_FLAGS cannot carry.
    """
    parts = dump_flags(dump_dir, version) if dump_dir else []
    names = [switch.name for switch in setting.off if switch.family == PASS]
    if names:
        parts.append(f"--{DISABLE}={_quoted(','.join(dict.fromkeys(names)))}")
    flags = {item.switch.name: item.value for item in setting.values
             if item.switch.family == FLAG}
    parts += [f"--{name}={_quoted(value)}" for name, value in flags.items()]
    return " ".join(parts)


def dump_flags(dump_dir: str, version: str) -> list[str]:
    """Return the flags that make XLA write a text after every pass.

    Raises:
        SwitchError: a folder name that XLA_FLAGS cannot carry.
    """
    if "'" in dump_dir and '"' in dump_dir:
        raise SwitchError(
            f"XLA cannot write its dumps to {dump_dir!r}: the name holds both kinds of "
            "quotes. Use another --out folder")
    flags = [f"--xla_dump_to={_quoted(dump_dir)}", "--xla_dump_hlo_as_text",
             "--xla_dump_hlo_pass_re=.*"]
    if knows_metadata_flag(version):
        flags.append("--xla_dump_disable_metadata=true")
    return flags


def knows_metadata_flag(version: str) -> bool:
    """Say whether a TensorFlow has --xla_dump_disable_metadata (later than 2.6)."""
    numbers = [int(part) for part in re.findall(r"\d+", version)[:2]]
    return tuple(numbers) >= (2, 16)


def complaints(log: str) -> tuple[tuple[str, str], ...]:
    """Return what XLA said against its flags at start-up.

    Args:
        log: standard error of a process that has used XLA.

    Returns:
        (flag, what is wrong with it) pairs in the order of the log.
    """
    found: dict[str, str] = {}
    for match in _UNKNOWN.finditer(log):
        for token in match["flags"].split():
            name = token.lstrip("-").partition("=")[0]
            found.setdefault(name, "XLA does not know this flag")
    for match in _BAD_VALUE.finditer(log):
        name = match["flag"] or match["flag2"]
        value = (match["old"] if match["flag"] else match["new"]).strip("=' ")
        found.setdefault(name, f"XLA does not take the value {value!r}")
    return tuple(found.items())


def known_passes() -> tuple[str, ...]:
    """Return the HLO passes of the catalogue, sorted."""
    return tuple(sorted(info.name for info in catalogue.by_family(PASS)))


def nearest_pass(name: str, seen: Iterable[str]) -> str:
    """Return the known pass most like a name, "" where none is close.

    Args:
        name: as asked for.
        seen: names that occur in the dumps of this graph; they come first.
    """
    seen = sorted(seen)
    other = [word for word in (name.replace("_", "-"), name.replace("-", "_"))
             if word in seen and word != name]
    if other:
        return other[0]
    tail = re.split(r"[-_]", name)[-1]
    if tail in seen and tail != name:
        return tail
    return nearest_name(name, seen) or nearest_name(
        name, [known for known in known_passes() if known != name])


def nearest_flag(name: str, known: Sequence[str]) -> str:
    """Return the known flag most like a name, "" where none is close."""
    return nearest_name(name, known)


def _check_flag(name: str, value: str) -> None:
    if not re.fullmatch(r"xla_[a-z0-9_]+", name):
        raise SwitchError(f"--{name} is not a flag of XLA; they begin with xla_")
    if name in RESERVED:
        raise SwitchError(
            f"--{name} is sent by the harness; its dumps are in the run's folder")
    if "\0" in value or ("'" in value and '"' in value):
        raise SwitchError(f"--{name}: a value that XLA_FLAGS cannot carry: {value!r}")


def _quoted(value: str) -> str:
    """Quote a value with blanks as XLA's own splitter wants it."""
    if not re.search(r"[\s'\"]", value):
        return value
    return f'"{value}"' if '"' not in value else f"'{value}'"


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value
