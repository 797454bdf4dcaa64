from __future__ import annotations

import json
import os
import time
import zipfile

import numpy as np
import pytest

from ge_harness.errors import UsageError
from ge_harness.experiment.pack import MANIFEST, About, pack
from ge_harness.experiment.redact import Redactor
from ge_harness.records import serialize

MEGABYTE = 1 << 20
LIMIT = 4 * MEGABYTE


def _run(root, name="run"):
    run = root / "jane" / name
    job = run / "jobs" / "000-ge-whole"
    graphs = job / "dumps" / "graphs" / "pid_7_deviceid_0"
    graphs.mkdir(parents=True)
    (run / "inputs").mkdir()
    (run / "run.json").write_text(json.dumps({"folder": str(run), "api_key": "abcdef"}))
    (run / "report.html").write_text("<html></html>")
    (job / "outcome.json").write_text('{"kind": "success"}')
    (job / "log.txt").write_text(f"at {run}/x and /home/jane/y\npassword=hunter22\n")
    (graphs / "ge_proto_00000001_graph_1_Build.txt").write_text('name: "g"\n')
    (job / "graph.pb").write_bytes(b"\x0a\x0e/home/jane/lib\x00\x01")
    cache = job / "dumps" / "cache"
    cache.mkdir()
    (cache / "te_abs.o").write_bytes(b"\x7fELF")
    (cache / "more.tar.gz").write_bytes(b"\x1f\x8b")
    np.save(str(run / "inputs" / "x.npy"), np.arange(4.0))
    (job / "inputs").mkdir()
    os.link(str(run / "inputs" / "x.npy"), str(job / "inputs" / "x.npy"))
    return run


def _read(path):
    with zipfile.ZipFile(str(path)) as archive:
        assert archive.testzip() is None
        return {info.filename: archive.read(info) for info in archive.infolist()}


def test_a_run_is_packed_without_secrets_and_home_paths(tmp_path):
    run = _run(tmp_path)
    report = pack([run], tmp_path / "out.zip", LIMIT,
                  about=About(home=str(tmp_path / "jane")))
    content = _read(tmp_path / "out.zip")
    whole = b"".join(content.values())
    for secret in (b"hunter22", b"abcdef", b"/home/jane", str(tmp_path).encode()):
        assert secret not in whole, secret
    log = content["run/jobs/000-ge-whole/log.txt"]
    assert log == b"at run/x and ~/y\npassword=[removed]\n"
    assert content["run/jobs/000-ge-whole/graph.pb"] == (
        b"\x0a\x0e" + b"~" * len("/home/jane") + b"/lib\x00\x01")
    assert json.loads(content["run/run.json"].decode()) == {
        "folder": "run", "api_key": "[removed]"}
    assert report.removed == 6
    assert report.size_bytes == (tmp_path / "out.zip").stat().st_size


def test_what_is_left_out_is_listed_with_the_reason(tmp_path):
    run = _run(tmp_path)
    (run / "away").symlink_to("/etc/hostname")
    (run / "nowhere").symlink_to(run / "gone")
    os.mkfifo(str(run / "pipe"))
    report = pack([run], tmp_path / "out.zip", LIMIT)
    why = {one.path: one.why for one in report.left_out}
    assert why == {
        "run/away": "a link out of the folder",
        "run/nowhere": "a link that leads nowhere",
        "run/pipe": "not a plain file",
        "run/jobs/000-ge-whole/inputs/x.npy": "the same file as run/inputs/x.npy",
        "run/jobs/000-ge-whole/dumps/cache/te_abs.o":
            "a binary; hashes of kernels are in outcome.json",
        "run/jobs/000-ge-whole/dumps/cache/more.tar.gz":
            "an archive, which cannot be looked into for secrets"}
    content = _read(tmp_path / "out.zip")
    listed = serialize.loads("pack", content[MANIFEST].decode("utf-8"), MANIFEST)
    assert {one["path"] for one in listed["left_out"]} == set(why)
    assert {one["path"] for one in listed["files"]} == set(content) - {MANIFEST}


def test_the_limit_is_kept_and_what_tells_most_goes_first(tmp_path):
    run = _run(tmp_path)
    noise = np.random.RandomState(0).bytes(2 * MEGABYTE)
    (run / "jobs" / "000-ge-whole" / "outputs").mkdir()
    for name in ("a", "b", "c"):
        (run / "jobs" / "000-ge-whole" / "outputs" / f"{name}.npy").write_bytes(noise)
    report = pack([run], tmp_path / "out.zip", 3 * MEGABYTE)
    assert report.size_bytes <= 3 * MEGABYTE
    names = [one.path for one in report.files]
    assert names[0] == "run/jobs/000-ge-whole/outcome.json"
    assert "run/jobs/000-ge-whole/outputs/a.npy" in names
    assert [one.path for one in report.left_out
            if one.why == "no room within the limit"] == [
                "run/jobs/000-ge-whole/outputs/b.npy",
                "run/jobs/000-ge-whole/outputs/c.npy"]


def test_many_small_files_keep_to_the_limit_too(tmp_path):
    run = _run(tmp_path)
    for number in range(600):
        (run / "jobs" / f"{number:0200d}.txt").write_text(str(number))
    report = pack([run], tmp_path / "out.zip", 300 << 10)
    assert (tmp_path / "out.zip").stat().st_size <= 300 << 10
    assert report.left_out


def test_a_long_log_keeps_its_beginning_and_its_end(tmp_path):
    run = _run(tmp_path)
    log = run / "jobs" / "000-ge-whole" / "log.txt"
    log.write_bytes(b"first\n" + b"x" * (3 * MEGABYTE) + b"\nlast\n")
    report = pack([run], tmp_path / "out.zip", LIMIT)
    text = _read(tmp_path / "out.zip")["run/jobs/000-ge-whole/log.txt"]
    assert text.startswith(b"first\n")
    assert text.endswith(b"\nlast\n")
    assert b"bytes left out" in text
    assert next(one for one in report.files if one.path.endswith("log.txt")).cut


def test_the_same_run_gives_the_same_bytes(tmp_path):
    run = _run(tmp_path)
    pack([run], tmp_path / "a.zip", LIMIT)
    pack([run], tmp_path / "b.zip", LIMIT)
    one, other = _read(tmp_path / "a.zip"), _read(tmp_path / "b.zip")
    for content in (one, other):
        del content[MANIFEST]
    assert one == other


def test_the_user_the_host_and_secrets_of_the_shell_are_in_no_content_and_no_name(
        tmp_path):
    run = _run(tmp_path, "jane-run")
    (run / "jobs" / "npu7.txt").write_text(
        "jane@npu7.lab, /data/jane., x=Zq9-not-known; janet stays, jane_tmp\n"
        + json.dumps("/data/caf\u00e9/x"))
    about = About("/data/caf\u00e9", ("jane",), ("npu7", "npu7.lab"),
                  ("Zq9-not-known",))
    pack([run], tmp_path / "out.zip", LIMIT, about=about)
    content = _read(tmp_path / "out.zip")
    assert content["[user]-run/jobs/[host].txt"] == (
        b"[user]@[host], /data/[user]., x=[removed]; janet stays, [user]_tmp\n\"~/x\"")
    listed = json.loads(content[MANIFEST].decode("utf-8"))
    assert {one["path"] for one in listed["files"]} == set(content) - {MANIFEST}
    whole = b"".join(content.values()) + "".join(content).encode("utf-8")
    assert b"npu7" not in whole


def test_an_account_that_names_nobody_leaves_graphs_readable():
    text = b"root graph, user op, ab"
    assert Redactor([], [("root", "[user]"), ("user", "[user]"), ("ab", "[user]")]
                    ).text(text) == (text, 0)


@pytest.mark.parametrize("part", [
    b"a-", b"eyJ-", b"token ", b'token="', b"A ", b"://a:", b"/home/", b"password",
    b"token={", b"token=1", b"--a-", b"\"", b"secret: "],
    ids=lambda part: part.decode())
def test_text_made_to_hang_a_filter_does_not(part):
    text = b"-----BEGIN " + part * (200000 // len(part))
    started = time.process_time()
    Redactor([("/data/jane", "~")], [("jane", "[user]")]).text(text)
    assert time.process_time() - started < 5.0


def test_hostile_names_are_packed_under_plain_ones(tmp_path):
    run = _run(tmp_path)
    with open(os.fsencode(str(run)) + b"/bad\xff.txt", "w"):  # noqa: PTH123
        pass
    (run / "a\nb\x1b[31m.txt").write_text("x")
    (run / "etc").symlink_to("/etc")
    (run / "self").symlink_to(run / "jobs")
    report = pack([run], tmp_path / "out.zip", LIMIT)
    names = set(_read(tmp_path / "out.zip"))
    assert {"run/bad\\udcff.txt", "run/a\\nb\\x1b[31m.txt"} <= names
    why = {one.path: one.why for one in report.left_out}
    assert why["run/etc"] == "a link out of the folder"
    assert why["run/self"] == "a link to a folder"


def test_an_archive_inside_the_run_does_not_hold_itself(tmp_path):
    run = _run(tmp_path)
    report = pack([run], run / "x.zip", LIMIT)
    assert not [one for one in (*report.files, *report.left_out) if "x.zip" in one.path]
    assert not list(run.glob(".*.part"))


def test_a_long_list_of_what_is_left_out_keeps_to_the_limit(tmp_path):
    run = _run(tmp_path)
    random = np.random.RandomState(0)
    for _ in range(3000):
        (run / "jobs" / f"{random.bytes(60).hex()}.gz").write_text("x")
    report = pack([run], tmp_path / "out.zip", 200 << 10)
    assert report.size_bytes <= 200 << 10
    listed = json.loads(_read(tmp_path / "out.zip")[MANIFEST].decode("utf-8"))
    assert listed["left_out"][-1]["path"].endswith(" more files")
    assert len(report.left_out) > 3000


def test_two_runs_of_one_name_stay_apart(tmp_path):
    first, second = _run(tmp_path / "1"), _run(tmp_path / "2")
    pack([first, second], tmp_path / "out.zip", LIMIT, extra=[("doctor.json", "{}\n")])
    names = set(_read(tmp_path / "out.zip"))
    assert {"run/run.json", "run-2/run.json", "doctor.json"} <= names


@pytest.mark.parametrize("case", ["no run", "exists", "no folder"])
def test_what_cannot_be_packed_is_a_usage_error(tmp_path, case):
    run = _run(tmp_path)
    target = tmp_path / "out.zip"
    if case == "no run":
        run = tmp_path
    elif case == "exists":
        target.write_text("mine")
    else:
        target = tmp_path / "none" / "out.zip"
    with pytest.raises(UsageError):
        pack([run], target, LIMIT)
    if case == "exists":
        assert target.read_text() == "mine"


@pytest.mark.parametrize(("text", "clean"), [
    (b"token: abcdefgh1", b"token: [removed]"),
    (b'"AUTH_TOKEN": "s3cr"', b'"AUTH_TOKEN": "[removed]"'),
    (b'["DB_PASSWORD", "x y z w"]', b'["DB_PASSWORD", "[removed]"]'),
    (b"AWS AKIAIOSFODNN7EXAMPLE.", b"AWS [removed]."),
    (b"Authorization: Bearer abc.def", b"Authorization: Bearer [removed]"),
    (b"https://joe:pw@host/x", b"https://[removed]@host/x"),
    (b"-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\n",
     b"[removed]\n"),
    (b"ghp_" + b"a" * 36, b"[removed]"),
    (b"cd /" + b"root/x; ls /Users/joe", b"cd ~/x; ls ~"),
    (b"password=12345678", b"password=[removed]"),
    (b"run --api-key hunter22 x", b"run --api-key [removed] x"),
    (b'token="' + b"k" * 9000 + b'"', b'token="[removed]"'),
], ids=lambda value: value.decode()[:24])
def test_secrets_are_known_by_their_form(text, clean):
    assert Redactor([]).text(text) == (clean, 2 if b"/root" in text else 1)


@pytest.mark.parametrize("text", [
    b'"token_count": 1234567', b"name: \"token_embedding\"", b"/data/" + b"root/x",
    b"secret", b"shape=[1, 2, 3]", b"tokens: 10000000", b"/rooted/x",
    b'"sha256":"19f9e4064603b3507e525eb5ba14cbc8feee16613f7e2d3c875253c77ab9aa95"',
], ids=lambda value: value.decode()[:24])
def test_what_is_no_secret_stays(text):
    assert Redactor([]).text(text) == (text, 0)
