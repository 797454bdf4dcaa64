"""Stands in for _tf_adapter.so: registers GeOp with TensorFlow's own C++ registry.

The op is registered through TensorFlow's C interface, which both wheels export, so a
look at the registry needs no wrapper and sees what it would see with the real library.
"""

from __future__ import annotations

import ctypes
import os

_LOADED = []


def register():
    """Register GeOp once; it has no kernel and never runs."""
    if _LOADED:
        return
    _LOADED.append(True)
    folder = _python_folder()
    lib = ctypes.CDLL(os.path.join(folder, "_pywrap_tensorflow_internal.so"))
    lib.TF_NewOpDefinitionBuilder.restype = ctypes.c_void_p
    lib.TF_NewOpDefinitionBuilder.argtypes = [ctypes.c_char_p]
    lib.TF_NewStatus.restype = ctypes.c_void_p
    lib.TF_GetCode.argtypes = [ctypes.c_void_p]
    lib.TF_DeleteStatus.argtypes = [ctypes.c_void_p]
    lib.TF_RegisterOpDefinition.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    for adder in ("Input", "Output", "Attr"):
        getattr(lib, "TF_OpDefinitionBuilderAdd" + adder).argtypes = [
            ctypes.c_void_p, ctypes.c_char_p]
    builder = lib.TF_NewOpDefinitionBuilder(b"GeOp")
    lib.TF_OpDefinitionBuilderAddAttr(builder, b"Tin: list(type) >= 0")
    lib.TF_OpDefinitionBuilderAddAttr(builder, b"Tout: list(type) >= 0")
    lib.TF_OpDefinitionBuilderAddAttr(builder, b"function: func")
    lib.TF_OpDefinitionBuilderAddAttr(builder, b"data_format: string = ''")
    lib.TF_OpDefinitionBuilderAddInput(builder, b"inputs: Tin")
    lib.TF_OpDefinitionBuilderAddOutput(builder, b"outputs: Tout")
    lib.TF_OpDefinitionBuilderSetIsStateful.argtypes = [ctypes.c_void_p, ctypes.c_bool]
    lib.TF_OpDefinitionBuilderSetIsStateful(builder, True)
    status = lib.TF_NewStatus()
    lib.TF_RegisterOpDefinition(builder, status)
    code = lib.TF_GetCode(status)
    lib.TF_DeleteStatus(status)
    if code:
        raise RuntimeError(f"GeOp could not be registered: code {code}")


def _python_folder():
    from tensorflow.python import pywrap_tensorflow

    return os.path.dirname(pywrap_tensorflow.__file__)
