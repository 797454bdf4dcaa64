"""Records to JSON and back: the only JSON code of ge_harness.

Numbers stay numbers; NaN and infinities are the strings "nan", "inf", "-inf", and are
read back as such only where a caller asks. Keys are sorted, so the same record gives
the same bytes. Every document names its kind: `"schema": "ge_harness/<kind>/1"`.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import math
from pathlib import Path
from typing import Any, cast

from ge_harness.errors import UsageError
from ge_harness.records import comparison, job, run, switch, tensor

SCHEMA_VERSION = 1

# Fields that hold other records, enums, or need more than JSON's own types. Annotations
# are never evaluated (Python 3.7 cannot), so the nesting is said here once.
_NESTED: dict[type, dict[str, type]] = {
    tensor.Port: {"spec": tensor.TensorSpec},
    tensor.Case: {"inputs": tensor.Port, "outputs": tensor.Port},
    switch.SwitchValue: {"switch": switch.Switch},
    switch.SwitchSetting: {
        "off": switch.Switch, "on": switch.Switch, "values": switch.SwitchValue},
    switch.SwitchEffect: {"switch": switch.Switch},
    run.RunRequest: {
        "case": tensor.Case, "setting": switch.SwitchSetting, "mode": run.Mode},
    run.RunSuccess: {
        "request": run.RunRequest, "passes": switch.ActivePass,
        "effects": switch.SwitchEffect, "environment": run.Environment},
    run.RunFailure: {"request": run.RunRequest, "kind": run.FailureKind},
    job.BuiltCase: {"inputs": tensor.Port, "outputs": tensor.Port,
                    "environment": run.Environment},
    job.JobFailure: {"kind": run.FailureKind},
    comparison.ErrorStats: {
        "abs": comparison.ErrorSummary, "rel": comparison.ErrorSummary,
        "ulp": comparison.ErrorSummary, "nonfinite": comparison.KindCounts},
    comparison.TensorComparison: {
        "status": comparison.Status, "nonfinite": comparison.KindCounts,
        "ulp": comparison.UlpSummary, "abs": comparison.ErrorSummary,
        "rel": comparison.ErrorSummary, "worst": comparison.Element,
        "buckets": comparison.Bucket, "a_errors": comparison.ErrorStats,
        "b_errors": comparison.ErrorStats, "nearer": comparison.Nearer,
        "standards": comparison.StandardVerdict},
}


def schema(kind: str) -> str:
    """Return the schema string of a kind of document."""
    return f"ge_harness/{kind}/{SCHEMA_VERSION}"


def to_plain(value: Any) -> Any:
    """Return `value` as dicts, lists, strings, numbers, booleans and None.

    Records become dicts, tuples lists, enums their value, paths strings, NumPy scalars
    Python numbers, and numbers that JSON lacks the strings "nan", "inf" and "-inf".
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value.value if isinstance(value, enum.Enum) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else _spell(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name))
                for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(to_plain(item) for item in value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "item"):
        return to_plain(value.item())
    raise TypeError(f"cannot write {type(value).__name__} as JSON")


def dumps(kind: str, body: Any) -> str:
    """Return the JSON document of a record or dict, its schema first."""
    plain = to_plain(body)
    ordered = {"schema": schema(kind)}
    ordered.update(sorted(plain.items()))
    return json.dumps(ordered, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def loads(kind: str, text: str, path: object) -> dict[str, Any]:
    """Parse a document and check its kind.

    Args:
        kind: the kind expected.
        text: the document.
        path: where it came from, for messages.

    Raises:
        UsageError: not JSON, or a document of another kind or version.
    """
    try:
        data = json.loads(text)
    except ValueError as error:
        line = getattr(error, "lineno", 0)
        raise UsageError(
            f"{path}:{line}: not JSON: {getattr(error, 'msg', error)}") from error
    except RecursionError as error:
        raise UsageError(f"{path}: not JSON of ours: nested too deep") from error
    found = data.get("schema") if isinstance(data, dict) else None
    if found != schema(kind):
        raise UsageError(
            f"{path}: found schema {found!r}, expected {schema(kind)!r}; written by "
            "another version of ge_harness or not by it")
    del data["schema"]
    return dict(data)


def build(record: type, data: Any) -> Any:
    """Build a record from plain data.

    Fields that `data` lacks take the record's default; keys the record lacks are
    dropped, so a newer file of the same schema can be read.

    Raises:
        UsageError: a field without default is missing, or a value has no such enum.
    """
    if issubclass(record, enum.Enum):
        try:
            return record(data)
        except ValueError as error:
            raise UsageError(f"found {data!r} for {record.__name__}") from error
    if not isinstance(data, dict):
        raise UsageError(f"found {type(data).__name__} for {record.__name__}")
    nested = _NESTED.get(record, {})
    values = {}
    for field in dataclasses.fields(cast(Any, record)):
        if field.name not in data:
            continue
        values[field.name] = _build_value(nested.get(field.name), data[field.name])
    try:
        return record(**values)
    except TypeError as error:
        raise UsageError(f"cannot read {record.__name__}: {error}") from error


def _build_value(record: type | None, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_build_value(record, item) for item in value)
    if record is not None and value is not None:
        return build(record, value)
    return value


def _spell(value: float) -> str:
    if math.isnan(value):
        return "nan"
    return "inf" if value > 0 else "-inf"
