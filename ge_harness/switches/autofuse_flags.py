"""Parse, check, explain and rewrite AUTOFUSE_FLAGS and AUTOFUSE_DFX_FLAGS.

`parse_flags` says of a string what GE's readers would make of it: what acts, what is
lost and to whom, what is inert, and what was probably meant. Nothing here wishes a
string better than it is: the readers are those of `autofuse_readers`.

Source: reference: autofuse_flags.md.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ge_harness.errors import SwitchError, UnknownNameError
from ge_harness.records.flags import (
    FlagDefault,
    FlagIssue,
    FlagItem,
    FlagsReport,
    ReaderView,
)
from ge_harness.switches import autofuse_checks as checks
from ge_harness.switches import autofuse_readers as readers
from ge_harness.switches.autofuse_keys import (
    CHIPS,
    DFX_FLAGS,
    DISABLE_PASS,
    ENABLE_PASS,
    FLAGS,
    GATE,
    KEYS,
    READERS,
    Key,
    keys_of,
)

_HALF_WIDTH = {0xff1b: ";", 0xff1d: "=", 0xff0c: ","}

MAX_BYTES = 131071
"""Longest "NAME=value" that Linux hands to a process, without its end mark."""


def parse_flags(text: str, variable: str = FLAGS, chip: str = "") -> FlagsReport:
    """Return what the readers of a variable make of `text`.

    Args:
        text: the value of the variable; anything at all is answered.
        variable: "AUTOFUSE_FLAGS" or "AUTOFUSE_DFX_FLAGS".
        chip: "910b", "950", or "" for no particular one.

    Raises:
        UnknownNameError: no such variable or chip.
    """
    if variable not in (FLAGS, DFX_FLAGS):
        raise UnknownNameError("variable", variable, (FLAGS, DFX_FLAGS))
    if chip and chip.lower() not in CHIPS:
        raise UnknownNameError("chip", chip, CHIPS)
    report = _Parser(text, variable, chip.lower()).report()
    if report.works:
        return report
    return replace(report, suggestion=_suggestion(report))


def check_flags(text: str, variable: str = FLAGS, chip: str = "") -> FlagsReport:
    """Return `parse_flags`, refusing a string that would not do what it says.

    Raises:
        SwitchError: with the first thing that is wrong and the string that was probably
            meant.
    """
    report = parse_flags(text, variable, chip)
    if report.works:
        return report
    wrong = [issue for item in report.items for issue in item.issues
             if issue.severity == "error"]
    wrong += [issue for issue in report.issues if issue.severity == "error"]
    more = f" ({len(wrong) - 1} more)" if len(wrong) > 1 else ""
    hint = f"\nprobably meant: {report.suggestion!r}" if report.suggestion else ""
    raise SwitchError(f"{variable} would not do what it says: {wrong[0].message}{more};"
                      f" 'ge_harness flags' explains the whole string{hint}")


class _Parser:
    """One string on its way to a report."""

    def __init__(self, text: str, variable: str, chip: str) -> None:
        self.text = text
        self.variable = variable
        self.chip = chip
        self.entries = readers.split_entries(text)
        self.readings = readers.read_all(variable, text)
        self.effective = self._effective()

    def report(self) -> FlagsReport:
        named = [(index, entry) for index, entry in enumerate(self.entries) if entry]
        items = tuple(self._item(number, index, entry)
                      for number, (index, entry) in enumerate(named, 1))
        issues = tuple(self._string_issues(items))
        given = {item.key for item in items if item.status != "lost"}
        every = [one for item in items for one in item.issues] + list(issues)
        return FlagsReport(
            self.variable, self.text, self.chip,
            works=not any(issue.severity == "error" for issue in every),
            gate_open=self._gate_open(), items=items, issues=issues,
            inert=tuple(self._inert(items)),
            defaults=tuple(
                FlagDefault(key.name, key.default, key.accepted, key.meaning,
                            key.documented)
                for key in keys_of(self.variable) if key.name not in given),
            suggestion="", canonical=self._canonical(),
            legend=tuple((name, READERS[name]) for name in sorted(
                {view.reader for item in items for view in item.readers})))

    def _owner_reading(self, key: Key) -> tuple[int, str] | None:
        return self.readings[key.owner].get(key.name)

    def _effective(self) -> dict[str, str]:
        """What acts for every key, by its owner."""
        found = {}
        for key in keys_of(self.variable):
            reading = self._owner_reading(key)
            found[key.name] = checks.in_effect(
                key, key.owner, reading[1] if reading else None)[0]
        return found

    def _gate_open(self) -> bool:
        return self.variable == FLAGS and self.effective[GATE] == "true"

    def _behind_gate(self, key: Key) -> bool:
        return (self.variable == FLAGS and key.name != GATE
                and not self._gate_open())

    def _item(self, number: int, index: int, entry: str) -> FlagItem:
        written, _, value = entry.partition("=")
        key, wrong = checks.identify(written, self.variable)
        issues = checks.entry_issues(entry)
        if key is None or key.variable != self.variable:
            issues.append(wrong or checks.error("unknown_key", "no such key"))
            return FlagItem(number, entry, key.name if key else "", value, "", "lost",
                            "", "", "", False, (), tuple(issues))
        views = self._views(key, index)
        read = views[0].outcome == "reads"
        if wrong and wrong.code == "unknown_key":
            issues.append(wrong)
        elif wrong:
            issues.append(self._spelling(key, views, wrong))
        if not wrong or wrong.code != "unknown_key":
            issues += checks.form_issues(entry, key)
        if read:
            raw = views[0].value or ""
            issues += checks.value_issues(key, raw, self.chip)
        issues += self._reader_issues(key, index, views, issues)
        acts = self.effective[key.name] if read else ""
        why_inert = self._needs(key) if read else []
        return FlagItem(
            number, entry, key.name, value, acts,
            "lost" if not read else
            "inert" if why_inert or self._behind_gate(key) else "acts",
            key.meaning, key.default, key.owner, key.documented, views,
            tuple(issues + why_inert))

    def _views(self, key: Key, index: int) -> tuple[ReaderView, ...]:
        views = []
        for reader in key.readers:
            reading = self.readings[reader].get(key.name)
            if reading and reading[0] == index:
                views.append(ReaderView(reader, "reads", reading[1]))
            else:
                views.append(ReaderView(
                    reader, "overridden" if reading else "loses", None))
        return tuple(views)

    def _spelling(self, key: Key, views: tuple[ReaderView, ...],
                  wrong: FlagIssue) -> FlagIssue:
        if all(view.outcome != "loses" for view in views if view.reader != "P4"):
            return checks.note(wrong.code, f"canonical spelling: {key.name}; "
                               f"{key.owner} forgives this one")
        return wrong

    def _reader_issues(self, key: Key, index: int, views: tuple[ReaderView, ...],
                       known: list[FlagIssue]) -> list[FlagIssue]:
        """Duplicates, and readers that would act differently on one string."""
        found = []
        if views[0].outcome == "overridden":
            taken = (self._owner_reading(key) or (0, ""))[0]
            entry = self.entries[taken]
            same = entry.partition("=")[2] == self.entries[index].partition("=")[2]
            rule = "first" if key.owner in ("P1", "P4", "P6") else "last"
            make = checks.warning if same else checks.error
            found.append(make("duplicate_key", f"{key.name} is given again; for "
                              f"{key.owner} the {rule} one wins"))
        elif views[0].outcome == "loses" and not any(
                issue.severity == "error" for issue in known):
            found.append(checks.error("not_read", f"{key.owner} does not read this "
                                      f"entry; {key.default} stays"))
        acting = {view.reader: checks.in_effect(
            key, view.reader, (self.readings[view.reader].get(key.name) or (0, None))[1]
        )[0] for view in views if view.reader != "P4"}
        odd = [name for name, value in acting.items()
               if value != acting[key.owner]]
        told = any(issue.code == "readers_disagree" for issue in known)
        if odd and views[0].outcome != "overridden" and not told:
            found.append(checks.error(
                "readers_disagree", f"{key.owner} takes {acting[key.owner]} and "
                f"{odd[0]} takes {acting[odd[0]]}"))
        return found

    def _needs(self, key: Key) -> list[FlagIssue]:
        """Why an entry that is read has no effect."""
        other, value = key.needs
        if key.needs_any and not any(self._owner_reading(KEYS[name])
                                     for name in key.needs_any):
            return [checks.error("needs", f"{key.name} has no effect without "
                                 f"{' or '.join(key.needs_any)}")]
        if other == GATE or not other or self.effective[other] == value:
            return []
        return [checks.error("needs", f"{key.name} has no effect without "
                             f"{other}={value}")]

    def _string_issues(self, items: tuple[FlagItem, ...]) -> list[FlagIssue]:
        found = []
        size = len(f"{self.variable}={self.text}".encode("utf-8", "surrogatepass"))
        if "\0" in self.text:
            found.append(checks.error("nul", "a NUL character cannot stand in an "
                                      "environment variable"))
        if size > MAX_BYTES:
            found.append(checks.error("too_long", f"{size} bytes do not fit into one "
                                      f"environment variable ({MAX_BYTES} at most)"))
        if not items:
            found.append(checks.note("empty", "nothing is set: every default stays"))
        if self.variable == FLAGS:
            found += self._gate_issues(items) + self._pass_conflicts()
        elif items:
            found.append(checks.note(
                "gate_elsewhere", f"{DFX_FLAGS} switches nothing on: its keys act only "
                f"where {FLAGS} holds {GATE}=true"))
            found += [checks.note("needs_elsewhere", f"{item.key} acts only where "
                                  f"{FLAGS} holds {'='.join(_elsewhere(item.key))}")
                      for item in items
                      if item.status != "lost" and _elsewhere(item.key)[0]]
        return found

    def _gate_issues(self, items: tuple[FlagItem, ...]) -> list[FlagIssue]:
        others = [item for item in items if item.key and item.key != GATE]
        if self._gate_open():
            found = [checks.note("latched", "the fusion keys are read once per process:"
                                 " one combination needs a process of its own"),
                     checks.note("level", "AutoFuse belongs to level O3 (at O1 only "
                                 "with AutoFusePass:on) and skips a graph that is "
                                 "marked as a single operator")]
            if self.chip == "910b":
                found.append(checks.note("bfloat16", "on 910B no bfloat16 computation "
                                         "is fused; such operators keep their own "
                                         "kernels"))
            return found
        if not others:
            return []
        make = checks.error
        reading = self._owner_reading(KEYS[GATE])
        if reading and reading[1] == "false":
            make = checks.warning
        return [make("gate_closed", f"{GATE}=true is missing: AutoFuse stays off and "
                     "nothing else in the string has an effect", GATE + "=true")]

    def _pass_conflicts(self) -> list[FlagIssue]:
        on = self._names(ENABLE_PASS)
        off = self._names(DISABLE_PASS)
        found = []
        for name in off:
            if name in on:
                found.append(checks.error("enabled_and_disabled", f"{name} is both "
                                          "enabled and disabled: it stays off"))
            else:
                found.append(checks.error(
                    "disables_nothing", f"{name} is off by default; {DISABLE_PASS} "
                    f"only cancels a name of {ENABLE_PASS}, here it does nothing"))
        return found

    def _names(self, key: str) -> list[str]:
        return [name for name in self.effective[key].split(",")
                if name and self._owner_reading(KEYS[key])]

    def _inert(self, items: tuple[FlagItem, ...]) -> list[str]:
        found = []
        if self.variable == FLAGS and not self._gate_open():
            named = sorted({item.key for item in items
                            if item.key and item.key != GATE and item.status != "lost"})
            found += [f"{name}: inert, the gate is closed" for name in named]
        for item in items:
            found += [f"{item.key}: inert, {issue.message}" for issue in item.issues
                      if issue.code == "needs"]
            if item.status == "lost":
                found.append(f"entry {item.position}: lost")
        return found

    def _canonical(self) -> str:
        parts = []
        for key in keys_of(self.variable):
            reading = self._owner_reading(key)
            if reading is None:
                continue
            value, _ = checks.in_effect(key, key.owner, reading[1])
            if value and "\0" not in value:
                parts.append(f"{key.name}={value}")
        return ";".join(parts)


def _elsewhere(name: str) -> tuple[str, str]:
    return KEYS[name].needs_elsewhere


def _suggestion(report: FlagsReport) -> str:
    """Return the string with every repair that is obvious, if it then works."""
    text = report.text
    if len(text) > 4000:
        return ""
    text = re.sub(r"^\s*(export\s+)?AUTOFUSE_(DFX_)?FLAGS\s*=", "", text).strip()
    text = text.strip("\"'").translate(_HALF_WIDTH)
    text = re.sub(r"[\s,;]+(?=--)", ";", text)
    values: dict[str, str] = {}
    for entry in [one for one in text.split(";") if one.strip()]:
        written, equals, value = entry.partition("=")
        key, _ = checks.identify(written, report.variable)
        if key is None or key.variable != report.variable:
            return ""
        if not equals:
            return ""
        values[key.name] = _mend(key, value, report.chip)
    if report.variable == FLAGS and values.get(GATE) != "true":
        values[GATE] = "true"
    text = ";".join(f"{key.name}={values[key.name]}"
                    for key in keys_of(report.variable) if key.name in values)
    if text == report.text or not _Parser(text, report.variable,
                                          report.chip).report().works:
        return ""
    return text


def _mend(key: Key, value: str, chip: str) -> str:
    value = value.strip().strip("\"'").strip().rstrip("=")
    if key.kind in ("passes", "blacklist"):
        names = [_mend_name(key, name, chip) for name in value.split(",")]
        return ",".join(dict.fromkeys(name for name in names if name))
    for issue in checks.value_issues(key, value, chip):
        if issue.nearest and key.kind in ("bool", "choice"):
            return issue.nearest
    return value


def _mend_name(key: Key, name: str, chip: str) -> str:
    name = name.strip()
    for issue in checks.value_issues(key, name, chip):
        if issue.code in ("unknown_pass", "ge_name") and issue.nearest:
            return issue.nearest
    return name
