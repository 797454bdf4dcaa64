"""What AUTOFUSE_FLAGS and AUTOFUSE_DFX_FLAGS mean to the code that reads them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FlagIssue:
    """One thing to know of an entry or of the whole string.

    Attributes:
        severity: "error" (the string would not do what it says), "warning" (it does,
            and a reader is likely to expect something else) or "note".
        code: stable name of the kind of issue, e.g. "unknown_key".
        message: one sentence.
        nearest: the name that was probably meant, "" where none is close.
    """

    severity: str
    code: str
    message: str
    nearest: str = ""


@dataclass(frozen=True)
class ReaderView:
    """What one reader makes of one entry.

    Attributes:
        reader: "P1" to "P7".
        outcome: "reads" (takes this value), "overridden" (another entry with the same
            key wins) or "loses" (the entry does not reach it).
        value: what it takes, None unless `outcome` is "reads".
    """

    reader: str
    outcome: str
    value: str | None


@dataclass(frozen=True)
class FlagItem:
    """One entry of the string, between two semicolons.

    Attributes:
        position: 1-based place among the entries that are not empty.
        text: the entry as given.
        key: the key this entry means or comes nearest to, "" where it means none.
        value: what stands behind the first "=".
        effective: the value that acts, "" where nothing of it does.
        status: "acts", "inert" (read, but without effect) or "lost" (not read).
        meaning: what the key does.
        default: the value without it.
        owner: the reader that owns the key.
        documented: whether the vendor's documentation names the key.
        readers: the view of every reader of the key.
        issues: what to know of the entry.
    """

    position: int
    text: str
    key: str
    value: str
    effective: str
    status: str
    meaning: str
    default: str
    owner: str
    documented: bool
    readers: tuple[ReaderView, ...]
    issues: tuple[FlagIssue, ...]


@dataclass(frozen=True)
class FlagDefault:
    """A key that the string does not set.

    Attributes:
        key: the key with its dashes.
        default: the value that acts.
        accepted: what it may be set to.
        meaning: what it does.
        documented: whether the vendor's documentation names it.
    """

    key: str
    default: str
    accepted: str
    meaning: str
    documented: bool


@dataclass(frozen=True)
class FlagsReport:
    """A parsed, checked and explained AUTOFUSE_FLAGS or AUTOFUSE_DFX_FLAGS string.

    Attributes:
        variable: "AUTOFUSE_FLAGS" or "AUTOFUSE_DFX_FLAGS".
        text: the string as given.
        chip: "910b", "950" or "" where none was named.
        works: it does what it says: no issue is an error.
        gate_open: the string itself opens AutoFuse (never with AUTOFUSE_DFX_FLAGS).
        items: its entries, in order.
        issues: what to know of the string as a whole.
        inert: sentences saying what has no effect and why.
        defaults: the keys it does not set.
        suggestion: the string that was probably meant, "" where nothing was mended.
        canonical: the string that means to its readers what `text` means to them.
        legend: (reader, what it is) of every reader that occurs.
    """

    variable: str
    text: str
    chip: str
    works: bool
    gate_open: bool
    items: tuple[FlagItem, ...]
    issues: tuple[FlagIssue, ...]
    inert: tuple[str, ...]
    defaults: tuple[FlagDefault, ...]
    suggestion: str
    canonical: str
    legend: tuple[tuple[str, str], ...] = ()
