"""The import statements of the three packages keep to the layers."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Left imports nothing from the right; within a group only the same package.
LAYERS = (
    ("errors", "version"),
    ("records", "registry"),
    ("compare", "catalogue", "bisect.search", "report"),
    ("switches", "interpreter", "inspection"),
    ("toolkit",),
    ("pytest_plugin",),
    ("backends",),
    ("worker",),
    ("explain",),
    ("experiment",),
    ("bisect",),
    ("experiments",),
    ("cli",),
    ("__main__",),
)
RANK = {name: rank for rank, group in enumerate(LAYERS) for name in group}
FORBIDDEN = {
    "dumps": {"tensorflow", "google", "graphs", "ge_harness", "absl"},
    "graphs": {"dumps", "ge_harness", "absl"},
    "ge_harness": {"scripts", "tests"},
}
ONLY_IN = {
    "numba": ("ge_harness/compare",),
    "rich": ("ge_harness/cli",),
    "jinja2": ("ge_harness/report",),
    "matplotlib": ("ge_harness/report",),
    # graphs is handed TensorFlow, and reaches for its tools inside functions only.
    "tensorflow": ("ge_harness/backends", "ge_harness/worker", "graphs"),
    "npu_bridge": ("ge_harness/backends",),
    "npu_device": ("ge_harness/backends",),
}


def _sources():
    for package in ("ge_harness", "graphs", "dumps"):
        yield from sorted((ROOT / package).rglob("*.py"))


def _imports(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            for alias in node.names:
                yield f"{node.module}.{alias.name}"


def _group(module):
    parts = module.split(".")[1:]
    if not parts:
        return None
    for length in (2, 1):
        name = ".".join(parts[:length])
        if name in RANK:
            return name
    return None


def _edges():
    for path in _sources():
        relative = path.relative_to(ROOT)
        for name in sorted(set(_imports(path))):
            yield relative, name


def test_no_module_imports_to_its_right():
    upward = []
    for relative, name in _edges():
        module = ".".join(relative.with_suffix("").parts)
        own, other = _group(module), _group(name)
        if relative.parts[0] != "ge_harness" or not name.startswith("ge_harness."):
            continue
        if own is None or other is None or own == other:
            continue
        if RANK[other] >= RANK[own]:
            upward.append(f"{relative} imports {name}")
    assert upward == []


@pytest.mark.parametrize("package", sorted(FORBIDDEN))
def test_packages_leave_one_another_alone(package):
    found = [f"{relative} imports {name}" for relative, name in _edges()
             if relative.parts[0] == package
             and name.split(".")[0] in FORBIDDEN[package]]
    assert found == []


@pytest.mark.parametrize("library", sorted(ONLY_IN))
def test_optional_libraries_stay_where_they_belong(library):
    found = [f"{relative} imports {name}" for relative, name in _edges()
             if name.split(".")[0] == library
             and not str(relative.as_posix()).startswith(ONLY_IN[library])]
    assert found == []


def test_every_module_of_ge_harness_has_a_layer():
    names = {".".join(p.relative_to(ROOT).with_suffix("").parts) for p in _sources()
             if p.relative_to(ROOT).parts[0] == "ge_harness"
             and p.name != "__init__.py"}
    assert [name for name in sorted(names) if _group(name) is None] == []


def test_importing_the_three_packages_leaves_tensorflow_out():
    code = ("import sys, ge_harness, graphs, dumps, ge_harness.toolkit\n"
            "heavy = {'tensorflow', 'numba', 'matplotlib', 'rich', 'jinja2'}\n"
            "print(sorted(heavy & set(sys.modules)))")
    done = subprocess.run([sys.executable, "-c", code], cwd=str(ROOT), check=True,
                          stdout=subprocess.PIPE, text=True)
    assert done.stdout.strip() == "[]"
