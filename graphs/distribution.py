"""What the numbers fed to a subgraph look like; `inputs.draw` draws them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class Normal:
    """Normally distributed numbers.

    Attributes:
        mean: center.
        std: standard deviation, not negative.
    """

    mean: float = 0.0
    std: float = 1.0


@dataclass(frozen=True)
class Uniform:
    """Uniformly distributed numbers from `low` up to, but not including, `high`."""

    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True)
class LogUniform:
    """Numbers whose logarithm is uniform: every magnitude is as likely.

    Attributes:
        low: smallest, above zero.
        high: largest.
    """

    low: float = 1e-3
    high: float = 1e3


@dataclass(frozen=True)
class Integers:
    """Whole numbers from `low` up to, but not including, `high`."""

    low: int = 0
    high: int = 8


@dataclass(frozen=True)
class Booleans:
    """False and true, as 0 and 1.

    Attributes:
        share: the share of true.
    """

    share: float = 0.5


@dataclass(frozen=True)
class Values:
    """Exactly these numbers in row-major order, from the start again where more fit.

    Attributes:
        numbers: at least one, whatever the seed.
    """

    numbers: tuple[float, ...]


Distribution = Union[Normal, Uniform, LogUniform, Integers, Booleans, Values]
KINDS = (Normal, Uniform, LogUniform, Integers, Booleans, Values)


STANDARD = Normal()


def default_for(dtype: str) -> Distribution:
    """Return the distribution of a port that declares none (a foreign GraphDef's).

    Args:
        dtype: NumPy's name, or "bfloat16".
    """
    if dtype == "bool":
        return Booleans()
    return Integers() if "int" in dtype else Normal()
