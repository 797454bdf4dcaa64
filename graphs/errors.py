"""The one exception of this package."""

from __future__ import annotations


class GraphError(Exception):
    """A subgraph that cannot be found, read, built or cut out as asked.

    Attributes:
        subject: the subgraph, file, node or option that is at fault.
        known: names that would have been accepted, sorted, () where there are none.
    """

    def __init__(
        self, message: str, *, subject: str = "", known: tuple[str, ...] = ()
    ) -> None:
        self.subject = subject
        self.known = known
        super().__init__(message)


class GraphUnsupportedError(GraphError):
    """The stack has no op or kernel for this variant; a named skip, not a failure."""
