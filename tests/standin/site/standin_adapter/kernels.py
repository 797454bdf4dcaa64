"""Kernel files: reference tf_adapter.md section 9, graph_dumps.md section 5.4."""

from __future__ import annotations

import hashlib
import json
import os
import shutil

from standin_adapter import graph, state

SOC = "AscendStandIn"


class Kernels:
    """What the op compiler of this process leaves behind."""

    def __init__(self):
        self._scratch = None
        self._emptied = False

    def compile(self, nodes, options, session):
        """Write the kernels of a graph into kernel_meta and into the op cache.

        Ready-made binaries are used unless jit_compile is true, and leave nothing.
        """
        if session.get("ge.jit_compile") != "1":
            return
        folders = [self._meta(options)]
        cache = self._cache(options)
        if cache:
            folders.append(cache)
        for node in graph.compute(nodes):
            for folder in folders:
                _write(folder, node, options)

    def finish(self):
        """Remove kernel_meta, as a normal end of GE does."""
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None

    def _meta(self, options):
        if self._scratch is None:
            root = (options.get("ge.debugDir")
                    or state.snapshot().get("ASCEND_WORK_PATH") or os.getcwd())
            self._scratch = os.path.join(
                root, "kernel_meta", f"kernel_meta_{os.getpid() * 7919}")
        folder = os.path.join(self._scratch, "kernel_meta")
        os.makedirs(folder, exist_ok=True)
        return folder

    def _cache(self, options):
        mode = options.get("ge.op_compiler_cache_mode") or "enable"
        root = (options.get("ge.op_compiler_cache_dir")
                or state.snapshot().get("ASCEND_CACHE_PATH"))
        if mode == "disable" or options.get("ge.opDebugLevel", "0") != "0":
            return ""
        if not root:
            state.journal("home_cache")
            return ""
        folder = os.path.join(root, "kernel_cache", SOC)
        if mode == "force" and not self._emptied:
            shutil.rmtree(folder, ignore_errors=True)
            self._emptied = True
        os.makedirs(folder, exist_ok=True)
        return folder


def _write(folder, node, options):
    shown = json.dumps([node.type, node.ports, options.get("ge.deterministic"),
                        options.get("ge.exec.precision_mode_v2")], sort_keys=True)
    request = hashlib.sha256(shown.encode("utf-8")).hexdigest()
    name = f"te_{node.type.lower()}_{request}_1"
    fused = node.type == "AscBackend"
    stem, suffix = ("lib" + name, ".so") if fused else (name, ".o")
    binary = b"\x7fELF stand-in, not a kernel\n" + shown.encode("utf-8")
    if state.snapshot().mode == "kernels_differ":
        binary += os.urandom(8)
    path = os.path.join(folder, name)
    if os.path.exists(path + ".json"):
        return
    with open(os.path.join(folder, stem + suffix), "wb") as out:
        out.write(binary)
    with open(path + ".json", "w") as out:
        json.dump({"binFileName": stem, "binFileSuffix": suffix, "blockDim": 1,
                   "coreType": "VectorCore", "kernelName": name + "__kernel0",
                   "magic": "RT_DEV_BINARY_MAGIC_ELF_AIVEC",
                   "sha256": hashlib.sha256(binary).hexdigest()}, out, indent=4)
