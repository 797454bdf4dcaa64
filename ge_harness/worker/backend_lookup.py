"""Finds the backend of a request, in the parent and in the worker."""

from __future__ import annotations

import importlib
import os

from ge_harness.backends.base import Backend
from ge_harness.backends.table import BACKENDS
from ge_harness.errors import UnknownNameError

TEST_VARIABLE = "GE_HARNESS_TEST_BACKEND"


def load(name: str) -> Backend:
    """Return a new backend.

    Args:
        name: a name of the table. "package.module:Class" is taken only where the
            variable GE_HARNESS_TEST_BACKEND holds exactly that text, as tests set it:
            a request file alone can never name code to import.

    Raises:
        UnknownNameError: there is no such backend.
        UnavailableError: it is planned and not built yet.
    """
    if ":" in name and os.environ.get(TEST_VARIABLE) == name:
        module, _, attribute = name.partition(":")
        found: Backend = getattr(importlib.import_module(module), attribute)()
        return found
    backend: Backend = BACKENDS.load(name)()
    return backend


def needs_tensorflow(name: str) -> bool:
    """Return whether a backend gains from a process that has TensorFlow imported."""
    try:
        return bool(BACKENDS.entry(name).needs)
    except UnknownNameError:
        return ":" in name
