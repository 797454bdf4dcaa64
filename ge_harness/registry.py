"""Tables of things with a name that are imported on first use.

Listing a registry imports nothing, so `ge_harness list` answers without TensorFlow and
without numpy.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Mapping

from ge_harness.errors import InternalError, UnavailableError, UnknownNameError


@dataclass(frozen=True)
class Entry:
    """Where a registered thing is and what one line says of it.

    Attributes:
        target: "module:attribute", or "" for a name that is planned and not built yet.
        help: one line for lists.
        needs: distribution the thing needs, "" for none (shown, never imported).
    """

    target: str
    help: str = ""
    needs: str = ""


class Registry:
    """A table from name to "module:attribute", resolved on first use."""

    def __init__(self, kind: str, entries: Mapping[str, Entry]) -> None:
        self.kind = kind
        self._entries = dict(entries)

    def names(self) -> tuple[str, ...]:
        """Return every name, in the order of the table."""
        return tuple(self._entries)

    def entry(self, name: str) -> Entry:
        """Return the entry called `name`.

        Raises:
            UnknownNameError: no entry has that name.
        """
        try:
            return self._entries[name]
        except KeyError:
            raise UnknownNameError(self.kind, name, self._entries) from None

    def load(self, name: str) -> Any:
        """Import and return the thing called `name`.

        Raises:
            UnknownNameError: no entry has that name.
            UnavailableError: the entry is planned and not built yet.
            InternalError: the table names an attribute that its module lacks.
        """
        entry = self.entry(name)
        if not entry.target:
            raise UnavailableError(
                f"{self.kind} {name!r} is not built yet in this version of ge_harness")
        module_name, _, attribute = entry.target.partition(":")
        module = importlib.import_module(module_name)
        if not attribute:
            return module
        try:
            return getattr(module, attribute)
        except AttributeError as error:
            raise InternalError(f"{module_name} has no {attribute}") from error
