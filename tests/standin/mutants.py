"""The backend with one mistake each, for `test_whole_path.py`.

Each class is named through GE_HARNESS_TEST_BACKEND and makes its mistake in the worker,
by changing one function of the backend before it is used.
"""

from __future__ import annotations

import os
from pathlib import Path

from ge_harness.backends import ge as backend
from ge_harness.backends import ge_config, ge_evidence, ge_offload, ge_route

ADAPTER_VARIABLES = ("ASCEND_", "DUMP_", "JOB_ID", "RANK_", "AUTOFUSE_", "ENABLE_HF32")


class Mutant(backend.GeBackend):
    """The backend, with a change made in the worker before it compiles."""

    def change(self, request, job_dir):
        """Make the mistake."""

    def compile(self, request, job_dir):
        self.change(request, job_dir)
        return super().compile(request, job_dir)


class Unchanged(Mutant):
    """No mistake: shows that the way the mutants take is not what is noticed."""


class NoOffloadCheck(Mutant):
    """Takes the plugin for active and every run for offloaded."""

    def change(self, request, job_dir):
        ge_route.plugin_loaded = lambda: True
        ge_offload.OffloadProof.check = lambda self, what, metadata, expected: None


class ImportFirst(Mutant):
    """Imports the adapter before it sets the environment."""

    def environment(self, request, job_dir):
        return {name: value for name, value in super().environment(
            request, job_dir).items() if not name.startswith(ADAPTER_VARIABLES)}

    def change(self, request, job_dir):
        whole = backend.GeBackend.environment(self, request, Path(job_dir))
        original = backend.prepare_process

        def late(plan, folder):
            import tensorflow as tf

            ge_route.start_adapter(
                tf, plan.route, Path(job_dir) / "log.txt")
            os.environ.update(whole)
            tensorflow = backend.sys.modules.pop("tensorflow")
            original(plan, folder)
            backend.sys.modules["tensorflow"] = tensorflow

        backend.prepare_process = late
        start = ge_route.start_adapter
        done = []
        backend.ge_route.start_adapter = lambda *words: (
            None if done else (done.append(1), start(*words)))


def _session_config(change):
    """Have every session config changed after it was made and read back."""
    original = ge_config.session_config

    def changed(tf, plan, threads):
        config = original(tf, plan, threads)
        rewrite = config.graph_options.rewrite_options
        change(rewrite.custom_optimizers[0].parameter_map, config)
        return config

    ge_config.session_config = changed


class TextForBytes(Mutant):
    """Writes text into the arm that takes bytes."""

    def change(self, request, job_dir):
        def text(options, config):
            options["oo_level"].s = "O1"

        _session_config(text)


class WrongArm(Mutant):
    """Sends `deterministic` as a bool; the adapter reads it as 0, without a word."""

    def change(self, request, job_dir):
        def arm(options, config):
            options["deterministic"].b = True

        _session_config(arm)


class WrongKey(Mutant):
    """Sends `opt_level` for `oo_level`; the adapter ignores it, without a word."""

    def change(self, request, job_dir):
        def key(options, config):
            options["opt_level"].s = options["oo_level"].s
            del options["oo_level"]

        _session_config(key)


class UnsentLevel(Mutant):
    """Sends O0 as it is."""

    def change(self, request, job_dir):
        def level(options, config):
            options["oo_level"].s = b"O0"

        _session_config(level)


class MetaOptimizer(Mutant):
    """Leaves TensorFlow's own rewriting on."""

    def change(self, request, job_dir):
        def on(options, config):
            rewrite = config.graph_options.rewrite_options
            rewrite.disable_meta_optimizer = False
            rewrite.constant_folding = 1
            config.graph_options.optimizer_options.opt_level = 0

        _session_config(on)


class SharedFolder(Mutant):
    """Gives every job the same folders."""

    def environment(self, request, job_dir):
        shared = Path(job_dir).parent / "shared"
        for name in ("work", "graphs"):
            (shared / name).mkdir(parents=True, exist_ok=True)
        return {**super().environment(request, job_dir),
                "ASCEND_WORK_PATH": str(shared / "work"),
                "DUMP_GRAPH_PATH": str(shared / "graphs")}

    def change(self, request, job_dir):
        original = backend.prepare_process

        def trusting(plan, folder):
            kept = {name: os.environ[name]
                    for name in ("ASCEND_WORK_PATH", "DUMP_GRAPH_PATH")}
            os.environ.update(plan.environment)
            original(plan, folder)
            os.environ.update(kept)

        backend.prepare_process = trusting


class FlagsInBaseLine(Mutant):
    """Leaves AUTOFUSE_FLAGS set in the node-wise base line."""

    def environment(self, request, job_dir):
        return {**super().environment(request, job_dir),
                "AUTOFUSE_FLAGS": "--enable_autofuse=true"}

    def change(self, request, job_dir):
        original = backend.prepare_process

        def keeping(plan, folder):
            flags = os.environ["AUTOFUSE_FLAGS"]
            original(plan, folder)
            os.environ["AUTOFUSE_FLAGS"] = flags

        backend.prepare_process = keeping


class NpuInit(Mutant):
    """Imports the module that changes every session of the process."""

    def change(self, request, job_dir):
        original = ge_route.start_adapter

        def star(tf, route, log_path):
            original(tf, route, log_path)
            import npu_bridge.npu_init  # noqa: F401 - the mistake

        ge_route.start_adapter = star


class StatisticsAtTheEnd(Mutant):
    """Has the fusion statistics written when GE ends, after they are read."""

    def change(self, request, job_dir):
        def late(options, config):
            options["export_compile_stat"].i = 1

        _session_config(late)


class NoReadBack(Mutant):
    """Believes that GE holds what was sent."""

    def change(self, request, job_dir):
        ge_evidence.ge_readback.mismatches = lambda plan, blocks, source: ()
