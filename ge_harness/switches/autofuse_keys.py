"""The table of AUTOFUSE_FLAGS and AUTOFUSE_DFX_FLAGS: keys, pass names, readers.

Names and numbers only; what the readers do with a string is in `autofuse_readers`, and
what is right or wrong with one in `autofuse_flags`.

Source: reference: autofuse_flags.md sections 1, 4, 5, 6 and 8 (hicann/ge ffdcbc9f and
hicann/graph-autofusion 8d0b4fbc).
"""

from __future__ import annotations

from dataclasses import dataclass

FLAGS = "AUTOFUSE_FLAGS"
DFX_FLAGS = "AUTOFUSE_DFX_FLAGS"
CHIPS = ("910b", "950")

GATE = "--enable_autofuse"
ENABLE_PASS = "--autofuse_enable_pass"
DISABLE_PASS = "--autofuse_disable_pass"
BLACKLIST = "--autofuse_enhance_precision_blacklist"
SKIP_FILE = "--skip_node_names_cfg"
LIFTING = "--disable_lifting"

READERS = {
    "P1": "gate and graph slicing of GE; asked anew at every query",
    "P2": "fusion settings of GE; read once per process",
    "P3": "automatic tiling and PGO; read once per process",
    "P4": "precision blacklist of the PyTorch (Inductor) path only",
    "P5": "kernel compile adapter (Python); read at every kernel compile",
    "P6": "AscGraph dumps; read once per process",
    "P7": "kernel replacement and generated tiling source; at every kernel compile",
}


@dataclass(frozen=True)
class Key:
    """One key.

    Attributes:
        name: with its dashes, as written canonically.
        variable: `FLAGS` or `DFX_FLAGS`.
        kind: "bool", "passes", "blacklist", "int" (GE's fusion settings), "size",
            "tiling_int", "choice", "count", "path" or "text".
        readers: every reader of the key, its owner first.
        default: what acts without it.
        accepted: what it may be set to, in words.
        fallback: what acts when the value is refused.
        meaning: what it does.
        low: least value of a number.
        high: greatest value of a number, -1 for none.
        choices: the values of a choice.
        documented: whether the vendor's documentation names it.
        needs: (key, value) that must stand in the same string for it to act.
        needs_any: keys of the same string of which one must be given for it to act.
        needs_elsewhere: (key, value) that must stand in the other variable.
    """

    name: str
    variable: str
    kind: str
    readers: tuple[str, ...]
    default: str
    accepted: str
    fallback: str
    meaning: str
    low: int = 0
    high: int = -1
    choices: tuple[str, ...] = ()
    documented: bool = True
    needs: tuple[str, str] = ("", "")
    needs_any: tuple[str, ...] = ()
    needs_elsewhere: tuple[str, str] = ("", "")

    @property
    def owner(self) -> str:
        """The reader that decides."""
        return self.readers[0]


_BOOL = ("true", "false")
_TRADEOFF = ("--att_enable_multicore_ub_tradeoff", "true")
_DEBUG = ("--codegen_compile_debug", "true")
_PGO = ("--autofuse_enable_pgo", "true")

_FLAGS_KEYS = (
    Key(GATE, FLAGS, "bool", ("P1",), "off", "true", "off",
        "the gate of AutoFuse: with it open, elementwise and broadcast fusion is on",
        choices=_BOOL),
    Key(ENABLE_PASS, FLAGS, "passes", ("P2",), "none", "pass names, comma-separated",
        "unknown names are ignored", "switches further kinds of fusion on"),
    Key(DISABLE_PASS, FLAGS, "passes", ("P2",), "none", "pass names, comma-separated",
        "unknown names are ignored",
        "cancels names of --autofuse_enable_pass; alone it does nothing"),
    Key("--recomputation_threshold", FLAGS, "int", ("P2",), "1", "0 to 255", "1",
        "a value with more readers than this is stored instead of being recomputed in "
        "each reader", high=255),
    Key("--max_fusion_size", FLAGS, "size", ("P2",), "64", "0 to 2^64-1", "64",
        "greatest number of operations in one fused kernel; 0 leaves every operator "
        "unfused", high=2 ** 64 - 1),
    Key(BLACKLIST, FLAGS, "blacklist", ("P2", "P4"), "none",
        "AscIR type names, comma-separated, or all", "see docs/autofuse_flags.md",
        "keeps fused loops in low precision instead of computing them in float32"),
    Key("--experimental_enable_jit_executor_v2", FLAGS, "bool", ("P1",), "off", "true",
        "off", "graph slicing; needs the gate; latched when first asked",
        choices=_BOOL, needs=(GATE, "true")),
    Key("--autofuse_enable_pgo", FLAGS, "bool", ("P3", "P5"), "false", "true, false",
        "false", "measures tiling candidates on the device and takes the fastest",
        choices=_BOOL),
)

_DFX_KEYS = (
    Key(LIFTING, DFX_FLAGS, "bool", ("P2",), "false", "true", "false",
        "keeps fused nodes that would be turned back into the original operators",
        choices=_BOOL),
    Key(SKIP_FILE, DFX_FLAGS, "path", ("P2",), "none", "a readable file",
        "nothing is skipped", "names operators and operator types left out of fusion"),
    Key("--subgraph_recover", DFX_FLAGS, "bool", ("P2",), "false", "true", "false",
        "writes the original subgraph of each fused region to ./subgraph_recover",
        choices=_BOOL, documented=False),
    Key("--autofuse_att_algorithm", DFX_FLAGS, "choice", ("P3",), "AxesReorder",
        "AxesReorder, HighPerf", "AxesReorder", "the solver of the tiling",
        choices=("AxesReorder", "HighPerf")),
    Key("--att_accuracy_level", DFX_FLAGS, "tiling_int", ("P3",), "1", "0, 1", "1",
        "1 tunes the core count after the first tiling, 0 takes the first", high=1),
    Key("--att_enable_multicore_ub_tradeoff", DFX_FLAGS, "bool", ("P3",), "false",
        "true, false", "false", "makes the two thresholds below count", choices=_BOOL),
    Key("--att_ub_threshold", DFX_FLAGS, "tiling_int", ("P3",), "20", "0 to 100", "20",
        "target occupancy of the unified buffer in percent", high=100,
        needs=_TRADEOFF),
    Key("--att_corenum_threshold", DFX_FLAGS, "tiling_int", ("P3",), "40", "0 to 100",
        "40", "target use of the cores in percent", high=100, needs=_TRADEOFF),
    Key("--att_enable_small_shape_strategy", DFX_FLAGS, "bool", ("P3",), "false",
        "true, false", "false", "another solver strategy for small shapes; its effect "
        "on tile sizes is not known", choices=_BOOL, documented=False),
    Key("--att_profiling", DFX_FLAGS, "bool", ("P3",), "false", "true, false", "false",
        "times the tiling solver itself", choices=_BOOL),
    Key("--autofuse_enable_tiling_cache", DFX_FLAGS, "bool", ("P3",), "false",
        "true, false", "true", "caches tilings; its effect on tile sizes is not known",
        choices=_BOOL, documented=False),
    Key("--force_schedule_result", DFX_FLAGS, "tiling_int", ("P3",), "-1", "0 to 100",
        "-1", "forces one schedule template", high=100, documented=False),
    Key("--force_tiling_case", DFX_FLAGS, "text", ("P3",), "none",
        "N, N_R or gX_Y[_R],...", "kernel generation fails",
        "forces a tiling case, also for one schedule group", documented=False),
    Key("--force_template_op_name", DFX_FLAGS, "text", ("P3",), "none", "a kernel name",
        "none", "limits the two force keys to one kernel", documented=False,
        needs_any=("--force_schedule_result", "--force_tiling_case")),
    Key("--autofuse_pgo_algo", DFX_FLAGS, "choice", ("P3", "P7"), "core_select",
        "core_select, pruning", "core_select", "how PGO searches",
        choices=("core_select", "pruning"), needs_elsewhere=_PGO),
    Key("--autofuse_pgo_step_max", DFX_FLAGS, "tiling_int", ("P3",), "16", "1 to 1024",
        "16", "step of the pruning search", low=1, high=1024,
        needs=("--autofuse_pgo_algo", "pruning"), needs_elsewhere=_PGO),
    Key("--autofuse_pgo_topn", DFX_FLAGS, "count", ("P5",), "5", "0 (all) or more",
        "5", "candidates that PGO measures", needs_elsewhere=_PGO),
    Key("--codegen_compile_debug", DFX_FLAGS, "bool", ("P5", "P6"), "false",
        "true, false", "false", "keeps generated sources and dumps AscGraph stages",
        choices=_BOOL),
    Key("--debug_dir", DFX_FLAGS, "path", ("P6",), "the working directory", "a folder",
        "the working directory", "root of autofuse_compile_debug/", needs=_DEBUG),
    Key("replace_kernel", DFX_FLAGS, "path", ("P7",), "none",
        "a folder (no link) that holds <graph>_op_kernel.cpp",
        "the kernel compile raises", "takes an edited kernel instead of the generated "
        "one", documented=False),
)

KEYS: dict[str, Key] = {key.name: key for key in _FLAGS_KEYS + _DFX_KEYS}


def keys_of(variable: str) -> tuple[Key, ...]:
    """Return the keys of `FLAGS` or `DFX_FLAGS`, in canonical order."""
    return _FLAGS_KEYS if variable == FLAGS else _DFX_KEYS


@dataclass(frozen=True)
class PassName:
    """A name of --autofuse_enable_pass.

    Attributes:
        name: the name.
        gates: GE operator types it lets into fusion.
        documented: where the documentation names it.
        on_910b: what it does on 910B, A2 and A3; begins with "no effect" where none.
        on_950: what it does on the 950 series.
    """

    name: str
    gates: str
    documented: str
    on_910b: str
    on_950: str


PASSES: dict[str, PassName] = {one.name: one for one in (
    PassName("reduce", "ReduceSum/Mean/Max/Min/Prod, BiasAddGrad, "
             "LayerNormBetaGammaBackpropV2, SquareSumV1, L2Loss", "user guide",
             "works", "works"),
    PassName("concat", "Concat*, Pack, the concat form of Tile; the FlattenConcat "
             "rewrite", "user guide", "up to 63 inputs", "up to 512 inputs"),
    PassName("slice", "Slice*, StridedSlice*", "consistency note",
             "works, also for Split; not where the last output dimension is 1",
             "works"),
    PassName("gather", "Gather, GatherV2", "consistency note", "last axis only",
             "any axis"),
    PassName("transpose", "Transpose, TransposeD", "consistency note",
             "listed permutations only", "rank up to 5"),
    PassName("split", "Split*, SplitV*", "example README",
             "no effect by itself: Split is gated by slice there", "works"),
    PassName("matmul", "MatMul*, BatchMatMul*", "not documented",
             "only the vector form of a product with one column", "works"),
    PassName("conv", "Conv2D, Conv2DV2", "not documented", "no effect", "works"),
)}

NEUTRAL_ASCIR = frozenset((
    "Data", "Load", "Scalar", "Store", "Output", "Broadcast", "Transpose", "Concat",
    "Gather", "Slice"))
"""Move-type nodes, which a blacklist neither needs nor counts."""

ASCIR = frozenset((
    "Abs", "Acos", "Add", "Asin", "BitwiseAnd", "Cast", "Div", "Eq", "Erf", "Exp",
    "FloorDiv", "Ge", "Gelu", "Gt", "IsFinite", "Isnan", "IsNan", "LeakyRelu", "Le",
    "Ln", "Log", "LogicalAnd", "LogicalNot", "LogicalOr", "Lt", "Max", "Maximum",
    "Mean", "Min", "Minimum", "Mul", "Ne", "Neg", "Pow", "Prod", "Reciprocal", "Relu",
    "Rsqrt", "Sigmoid", "Sign", "Sqrt", "Sub", "Sum", "Tanh", "TrueDiv",
    "Where")) | NEUTRAL_ASCIR
"""AscIR types that the public tables name; there may be more."""

GE_TO_ASCIR = {
    "RealDiv": "TrueDiv", "Select": "Where", "SelectV2": "Where", "Muls": "Mul",
    "AddV2": "Add", "AddN": "Add", "Adds": "Add", "ReduceSum": "Sum", "ReduceSumD":
    "Sum", "ReduceMean": "Mean", "ReduceMeanD": "Mean", "ReduceMax": "Max",
    "ReduceMaxD": "Max", "ReduceMin": "Min", "ReduceMinD": "Min", "ReduceProd": "Prod",
    "ReduceProdD": "Prod", "GreaterEqual": "Ge", "Greater": "Gt", "Less": "Lt",
    "LessEqual": "Le", "Equal": "Eq", "NotEqual": "Ne", "Square": "Mul",
    "SquaredDifference": "Sub", "BiasAdd": "Add",
}
"""GE operator types that people write where AscIR types are wanted."""
