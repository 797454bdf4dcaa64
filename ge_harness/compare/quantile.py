"""Exact quantiles of numbers that are seen in several passes and never kept whole.

The numbers come as unsigned keys whose order is theirs (the bits of a float64 that is
not negative are such a key). A pass counts the keys by their leading digit, which
narrows each quantile to one digit; the next pass counts the digit after it among the
keys that begin so. As soon as what is left fits in memory it is kept and sorted
instead. Small inputs are kept from the start and need a single pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

DIGIT_BITS = 16
KEEP = 1 << 18
"""Keys that may be kept at once: 2 MiB."""

PERCENTS = (50, 99)


@dataclass
class _Search:
    """The keys that begin with `prefix`, `shift` bits of them still open."""

    prefix: int
    shift: int
    ranks: dict[int, int]
    kept: list[np.ndarray] | None = None
    kept_count: int = 0
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    digit_bits: int = 0


class ExactQuantiles:
    """Collects keys pass by pass until the percentiles are known exactly.

    The percentile p of n keys is the smallest key that at least p % of all n do not
    exceed: the one at rank ceil(p n / 100), counted from 1.
    """

    def __init__(self, key_bits: int, percents: tuple[int, ...] = PERCENTS
                 ) -> None:
        self._percents = percents
        self._keep = KEEP
        self._found: dict[int, int] = {}
        self._first = True
        self._count = 0
        start = _Search(0, key_bits, dict.fromkeys(percents, 0), kept=[])
        self._searches = [start]

    @property
    def open(self) -> bool:
        """Whether a further pass over all keys is needed."""
        return bool(self._searches)

    def add(self, keys: np.ndarray) -> None:
        """Take the next keys of the pass.

        Args:
            keys: [n] unsigned integers below 2**key_bits.
        """
        if self._first:
            self._count += keys.size
        for search in self._searches:
            mine = keys
            if not self._first:
                begins = keys >> keys.dtype.type(search.shift)
                mine = keys[begins == keys.dtype.type(search.prefix)]
            self._take(search, mine)

    def finish_pass(self) -> None:
        """Narrow every percentile by what this pass has counted."""
        if self._first:
            ranks = {p: max(1, -(-p * self._count // 100)) for p in self._percents}
            self._searches[0].ranks = ranks
            self._first = False
            if not self._count:
                self._searches = []
        narrower: list[_Search] = []
        for search in self._searches:
            if search.kept is not None:
                self._settle(search)
            else:
                narrower += self._narrow(search)
        self._searches = narrower

    def values(self) -> tuple[int, ...] | None:
        """Return the percentiles in the order asked for; None where there is no key."""
        if not self._count:
            return None
        return tuple(self._found[percent] for percent in self._percents)

    def _take(self, search: _Search, keys: np.ndarray) -> None:
        if search.kept is None:
            self._count_digits(search, keys)
            return
        search.kept.append(np.array(keys))
        search.kept_count += keys.size
        if search.kept_count > self._keep:
            kept, search.kept = search.kept, None
            for part in kept:
                self._count_digits(search, part)

    @staticmethod
    def _count_digits(search: _Search, keys: np.ndarray) -> None:
        if not search.digit_bits:
            search.digit_bits = min(DIGIT_BITS, search.shift)
            search.counts = np.zeros(1 << search.digit_bits, dtype=np.int64)
        kind = keys.dtype.type
        shift = kind(search.shift - search.digit_bits)
        digits = (keys >> shift) & kind((1 << search.digit_bits) - 1)
        search.counts += np.bincount(digits.astype(np.intp),
                                     minlength=search.counts.size)

    def _settle(self, search: _Search) -> None:
        kept = np.concatenate(search.kept) if search.kept else np.zeros(0, np.uint64)
        places = [rank - 1 for rank in search.ranks.values()]
        kept.partition(sorted(set(places)))
        for percent, rank in search.ranks.items():
            self._found[percent] = int(kept[rank - 1])

    def _narrow(self, search: _Search) -> list[_Search]:
        up_to = np.cumsum(search.counts)
        shift = search.shift - search.digit_bits
        by_digit: dict[int, _Search] = {}
        for percent, rank in search.ranks.items():
            digit = int(np.searchsorted(up_to, rank))
            prefix = (search.prefix << search.digit_bits) | digit
            if shift == 0:
                self._found[percent] = prefix
                continue
            inside = int(search.counts[digit])
            below = int(up_to[digit]) - inside
            kept: list[np.ndarray] | None = [] if inside <= self._keep else None
            part = by_digit.setdefault(digit, _Search(prefix, shift, {}, kept=kept))
            part.ranks[percent] = rank - below
        return list(by_digit.values())
