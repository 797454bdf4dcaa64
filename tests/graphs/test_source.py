from __future__ import annotations

import pytest

import graphs
from graphs.errors import GraphError
from graphs.source import load_subgraph, resolve

GOOD = '''"""Twice x.

Given: x
Expected: y
"""
from graphs.subgraph import Input
INPUTS = (Input("x", (2,), "float32"),)
def build(tf, x):
    return {"y": x + x}
'''


def test_a_shipped_name_is_found_without_running_it():
    source = resolve("softmax")
    assert (source.kind, source.name) == ("shipped", "softmax")
    assert source.doc.startswith("softmax over the last axis")


def test_a_file_is_found_without_running_it(tmp_path):
    path = tmp_path / "my graph (1).py"
    path.write_text(GOOD + "raise SystemExit(9)\n", encoding="utf-8")
    source = resolve(str(path))
    assert (source.kind, source.name) == ("file", "my_graph_1")
    assert source.doc.startswith("Twice x.")


def test_a_file_is_loaded_where_it_is_asked_for(tmp_path):
    path = tmp_path / "twice.py"
    path.write_text(GOOD, encoding="utf-8")
    subgraph = load_subgraph(resolve(str(path)))
    assert subgraph.name == "twice"
    assert subgraph.inputs[0].name == "x"


@pytest.mark.parametrize(("text", "said"), [
    ("def build(:\n", ":1: not Python"),
    ("x = 1\n\ndef build(tf)\n    pass\n", ":3: not Python"),
    ("x = 1\n", "no function 'build'"),
    ("\0def build(tf): pass\n", "f.py"),
    ("def build(tf): pass\nx = (" + "(" * 3000, "f.py"),
], ids=["first-line", "third-line", "no-build", "null-byte", "deep"])
def test_a_file_that_is_no_graph_file_is_refused_in_one_line(tmp_path, text, said):
    path = tmp_path / "f.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(GraphError) as caught:
        resolve(str(path))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_byte_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "f.py"
    path.write_bytes(b"def build(tf):\n    return '\xff\xfe'\n")
    with pytest.raises(GraphError, match=r"f\.py"):
        resolve(str(path))


def test_an_edited_file_is_read_anew_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "f.py"
    for name in ("a", "b"):
        path.write_text(GOOD.replace('"x"', f'"{name}"'), encoding="utf-8")
        assert load_subgraph(resolve(str(path))).inputs[0].name == name
    assert [item.name for item in tmp_path.iterdir()] == ["f.py"]


def test_a_file_may_hold_dataclasses(tmp_path):
    path = tmp_path / "f.py"
    path.write_text("from __future__ import annotations\n"
                    "from dataclasses import dataclass\n"
                    "@dataclass\nclass Held:\n    size: int = 3\n" + GOOD.replace(
                        '"""Twice', '__doc__ = """Twice'), encoding="utf-8")
    assert load_subgraph(resolve(str(path))).summary == "Twice x."


def test_a_file_that_fails_on_import_names_the_line(tmp_path):
    path = tmp_path / "f.py"
    path.write_text(GOOD + "\n1 / 0\n", encoding="utf-8")
    with pytest.raises(GraphError) as caught:
        load_subgraph(resolve(str(path)))
    assert f"{path}:11: importing it raised ZeroDivisionError" in str(caught.value)


def test_a_misspelt_name_gets_the_nearest_and_the_known():
    with pytest.raises(GraphError) as caught:
        resolve("elementwise_chian")
    assert caught.value.known == graphs.names()
    assert "Did you mean 'elementwise_chain'?" in str(caught.value)


@pytest.mark.parametrize(("text", "said"), [
    ("missing.pb", "no such file"), ("a/b", "no such file"), ("", "no subgraph"),
    ("a\0b", "no subgraph"), ("x" * 5000, "no subgraph")],
    ids=["file", "path", "empty", "null", "long"])
def test_what_is_nowhere_is_said_to_be_nowhere(text, said):
    with pytest.raises(GraphError, match=said):
        resolve(text)


def test_files_and_folders_are_told_apart_by_what_they_are(tmp_path):
    (tmp_path / "g.pb").write_bytes(b"")
    (tmp_path / "g.pbtxt").write_text("")
    (tmp_path / "g.txt").write_text("")
    saved = tmp_path / "a model"
    saved.mkdir()
    with pytest.raises(GraphError, match="without saved_model"):
        resolve(str(saved))
    (saved / "saved_model.pb").write_bytes(b"")
    assert resolve(str(tmp_path / "g.pb")).kind == "graph_def"
    assert resolve(str(tmp_path / "g.pbtxt")).kind == "graph_def"
    assert resolve(str(saved)).kind == "saved_model"
    assert resolve(str(saved)).name == "a_model"
    with pytest.raises(GraphError, match="give '"):
        resolve(str(saved / "saved_model.pb"))
    with pytest.raises(GraphError, match=r"found a \.txt file"):
        resolve(str(tmp_path / "g.txt"))
