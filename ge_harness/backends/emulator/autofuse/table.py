"""Operators that AutoFuse lowers: kind, flag, and the AscIR each becomes.

A recipe is a list of AscIR operations; operands are inputs ("x0"), earlier results
("t0") and literals ("#1.0", "@value" for an attribute). Its last result is the
operator's.

Source: reference: autofuse_fusion_rules.md section 2; numerics_model.md section 5
(compositions).
"""

from __future__ import annotations

from typing import Mapping

POINTWISE, RESHAPE, REDUCE, CONCAT = "pointwise", "reshape", "reduce", "concat"
SLICE, SPLIT, GATHER, TRANSPOSE, CUBE = "slice", "split", "gather", "transpose", "cube"

_DIRECT = {
    "Abs": "Abs", "BitwiseAnd": "BitwiseAnd", "Erf": "Erf", "Exp": "Exp",
    "IsNan": "Isnan", "IsFinite": "IsFinite", "LogicalNot": "LogicalNot", "Neg": "Neg",
    "Reciprocal": "Reciprocal", "Relu": "Relu", "Rsqrt": "Rsqrt", "Sigmoid": "Sigmoid",
    "Sign": "Sign", "Sqrt": "Sqrt", "Acos": "Acos", "Asin": "Asin", "Tanh": "Tanh",
    "Gelu": "Gelu",
}
_DIRECT_TWO = {
    "Add": "Add", "AddV2": "Add", "Div": "Div", "Equal": "Eq", "GreaterEqual": "Ge",
    "Greater": "Gt", "Less": "Lt", "LessEqual": "Le", "NotEqual": "Ne",
    "LogicalAnd": "LogicalAnd", "LogicalOr": "LogicalOr", "Maximum": "Maximum",
    "Minimum": "Minimum", "Mul": "Mul", "Pow": "Pow", "RealDiv": "TrueDiv",
    "Sub": "Sub", "FloorDiv": "FloorDiv", "BiasAdd": "Add",
}
_COMPOSED = {
    "SelectV2": ("Where x0 x1 x2",), "Select": ("Where x0 x1 x2",),
    "ClipByValue": ("Minimum x0 x2", "Maximum t0 x1"),
    "Square": ("Mul x0 x0",),
    "SquaredDifference": ("Sub x0 x1", "Mul t0 t0"),
    "Muls": ("Mul x0 @value",), "Adds": ("Add x0 @value",),
    "Cast": ("Cast x0",), "BroadcastTo": ("Broadcast x0",),
    "Tile": ("Broadcast x0",),
    "ZerosLike": ("Broadcast #0.0",),
    "SigmoidGrad": ("Sub #1.0 x0", "Mul x0 t0", "Mul t1 x1"),
    "TanhGrad": ("Mul x0 x0", "Sub #1.0 t0", "Mul x1 t1"),
    "RsqrtGrad": ("Mul x0 x0", "Mul x0 t0", "Mul x1 t1", "Mul t2 #-0.5"),
    "ReluGrad": ("Maximum x1 #0.0", "Minimum t0 #1.1754943508222875e-38",
                 "Mul t1 #274877906944.0", "Mul t2 #17592186044416.0",
                 "Mul t3 #17592186044416.0", "Mul x0 t4"),
    "DivNoNan": ("Div x0 x1", "Eq x1 #0.0", "Where t1 #0.0 t0"),
    "Log": ("Ln x0",),
    "Log1p": ("Add x0 #1.0", "Add t0 #-1.0", "TrueDiv x0 t1", "Ln t0", "Mul t3 t2",
              "Eq t0 #1.0", "Where t5 x0 t4", "Eq t0 #inf", "Where t7 t2 t6"),
    "LeakyRelu": ("LeakyRelu x0 @alpha",),
    "Elu": ("Minimum x0 #0.0", "Exp t0", "Sub t1 #1.0", "Maximum x0 #0.0", "Add t2 t3"),
}
ATTR_SCALARS = {"Muls": ("value",), "Adds": ("value",), "LeakyRelu": ("alpha",)}
_REDUCTIONS = {"ReduceSum": "Sum", "ReduceMean": "Mean", "ReduceMax": "Max",
               "ReduceMin": "Min", "ReduceProd": "Prod"}
_COMPOSED_REDUCE = {"L2Loss": ("Mul x0 x0", "Mul t0 #0.5", "Sum t1"),
                    "BiasAddGrad": ("Sum x0",)}
_SLICES = ("Slice", "StridedSlice")
_SPLITS = ("Split", "SplitV")
_GATHERS = ("Gather", "GatherV2")
_CONCATS = ("Concat", "ConcatV2", "Pack")
_CUBES = ("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
VIEWS = ("Reshape", "ExpandDims", "Squeeze")
MOVES = ("Data", "Load", "Scalar", "Store", "Output", "Broadcast", "Transpose",
         "Concat", "Gather", "Slice", "Split")
"""AscIR types that only move values; the precision blacklist passes over them."""

BROADCASTS = ("BroadcastTo", "Tile")
"""Operators whose one step is a Broadcast; a Tile only where it is one."""

RECIPES: dict[str, tuple[str, ...]] = {
    **{name: (f"{asc} x0",) for name, asc in _DIRECT.items()},
    **{name: (f"{asc} x0 x1",) for name, asc in _DIRECT_TWO.items()},
    **_COMPOSED,
    **{name: (f"{asc} x0",) for name, asc in _REDUCTIONS.items()},
    **_COMPOSED_REDUCE,
    **dict.fromkeys(_SLICES, ("Slice x0",)), **dict.fromkeys(_SPLITS, ("Split x0",)),
    **dict.fromkeys(_GATHERS, ("Gather x0 x1",)), "Transpose": ("Transpose x0",),
}
KINDS: Mapping[str, str] = {
    **dict.fromkeys((*_DIRECT, *_DIRECT_TWO, *_COMPOSED, "AddN"), POINTWISE),
    **dict.fromkeys(VIEWS, RESHAPE),
    **dict.fromkeys((*_REDUCTIONS, *_COMPOSED_REDUCE), REDUCE),
    **dict.fromkeys(_CONCATS, CONCAT), **dict.fromkeys(_SLICES, SLICE),
    **dict.fromkeys(_SPLITS, SPLIT), **dict.fromkeys(_GATHERS, GATHER),
    "Transpose": TRANSPOSE, **dict.fromkeys(_CUBES, CUBE),
}
FLAGS = {REDUCE: "reduce", CONCAT: "concat", SLICE: "slice", SPLIT: "split",
         GATHER: "gather", TRANSPOSE: "transpose", CUBE: "matmul"}
_DATA_INPUTS = {
    "ReduceSum": (0,), "ReduceMean": (0,), "ReduceMax": (0,), "ReduceMin": (0,),
    "ReduceProd": (0,), "Reshape": (0,), "ExpandDims": (0,), "Squeeze": (0,),
    "BroadcastTo": (0,), "Tile": (0,), "Slice": (0,), "StridedSlice": (0,),
    "Transpose": (0,), "Split": (1,), "SplitV": (0,), "GatherV2": (0, 1),
}


def data_inputs(kind: str, count: int) -> tuple[int, ...]:
    """Return which inputs are data; the others (axes, sizes) must be constant."""
    if kind == "ConcatV2":
        return tuple(range(count - 1))
    if kind == "Concat":
        return tuple(range(1, count))
    return _DATA_INPUTS.get(kind, tuple(range(count)))


def recipe(kind: str, count: int) -> tuple[str, ...]:
    """Return the recipe of an operator with `count` data inputs."""
    if kind == "AddN":
        steps = ["Add x0 x1"] + [f"Add t{i - 2} x{i}" for i in range(2, count)]
        return tuple(steps) if count > 1 else ()
    if kind in _CONCATS:
        return ("Concat " + " ".join(f"x{i}" for i in range(count)),)
    if kind in _CUBES:
        return ("MatMul " + " ".join(f"x{i}" for i in range(count)),)
    return RECIPES.get(kind, ())


def flag_of(kind: str, *, is_v1: bool) -> str:
    """Return the name of autofuse_enable_pass that a kind needs, "" for none."""
    if kind == SPLIT and is_v1:
        return "slice"
    return FLAGS.get(kind, "")
