"""Names of folders never bring two cases together."""

from __future__ import annotations

from ge_harness.experiments import store


def test_long_names_that_end_differently_stay_apart():
    stem = "attention-" + "4x8x64x64-" * 20
    names = {store.safe(stem + tag) for tag in ("shrink-1", "shrink-2", "")}
    assert len(names) == 3
    assert max(map(len, names)) <= 120


def test_a_short_name_is_kept():
    assert store.safe("softmax-bfloat16") == "softmax-bfloat16"
    assert store.safe("../..") == "part"


def test_files_of_one_name_and_files_that_changed_are_told_apart(tmp_path):
    paths = []
    for name in "ab":
        (tmp_path / name).mkdir()
        path = tmp_path / name / "graph.py"
        path.write_text(f"# {name}", encoding="utf-8")
        paths.append(path)
    keys = {store.source_key(str(path)) for path in paths}
    paths[0].write_text("# changed", encoding="utf-8")
    keys.add(store.source_key(str(paths[0])))
    assert len(keys) == 3
    assert store.source_key("softmax") == "softmax"
