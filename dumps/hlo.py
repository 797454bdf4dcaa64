"""XLA's HLO text: one module a file, and the per-pass files of a dump folder.

`read` turns the text of a module into graphs; `read_passes` puts the per-pass files of
a folder in order and says which pass changed the program. A file alone does not mean
that its pass did anything: TensorFlow 1.15 writes one after every pass, the others
still too many, so the text is compared with that of the file before it.

Source: reference/xla_cpu.md section 5 (names, order, what the files hold), and the text
printer of openxla/xla, xla/hlo/ir/hlo_module.cc and hlo_instruction.cc.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping

from dumps.errors import DumpError
from dumps.records import DumpGraph, DumpNode, Edge, NodeDetail, TensorDesc, WarningLog
from dumps.source import load

_LONGEST_FILE_BYTES = 1 << 30
_SHOWN = 60

# Data types of HLO and NumPy's name for them.
# Source: openxla/xla, xla/xla_data.proto, PrimitiveType.
DTYPES = {
    "pred": "bool", "s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
    "c64": "complex64", "c128": "complex128",
}

_COMPUTATION = re.compile(
    r"(?P<entry>ENTRY )?%?(?P<name>[^\s(){}=,]+)(?: \(.*\) -> .*)? \{\s*(?:$|,)")
_INSTRUCTION = re.compile(r"\s+(?P<root>ROOT )?%?(?P<name>[^\s(){}=,]+) = ")
_ARRAY_TYPE = re.compile(
    r"(?<![a-z0-9])(?P<dtype>[a-z][a-z0-9]*)\[(?P<shape>[^\]]*)\]")
_OPCODE = re.compile(r"\s*(?P<opcode>[a-z][a-z0-9\-]*)\(")
_OPERAND = re.compile(r"%([^\s(){}=,]+)")
_CALLED = re.compile(
    r"(?:calls|to_apply|body|condition|branch_computations|called_computations|select|"
    r"scatter)=\{?((?:%[^\s(){}=,]+(?:, )?)+)")
# Quoted strings may hold braces; one level of nesting is enough for XLA's metadata.
_METADATA = re.compile(
    r',? metadata=\{(?:[^{}"]|"(?:[^"\\]|\\.)*"|\{[^{}]*\})*\}')
_NAME = re.compile(r"%[^\s(){}=,]+")


@dataclass(frozen=True)
class HloInstruction:
    """One instruction.

    Attributes:
        name: unique in its module, without the "%".
        opcode: as XLA spells it ("multiply", "get-tuple-element").
        dtypes: NumPy's names of the results, one an array (HLO's where NumPy has none).
        shapes: axis lengths of the results; None for a bound or unknown length.
        type_text: the result type as printed, layout included.
        operands: names of the operands, in order.
        called: names of the computations it calls.
        attributes: what follows the operands, metadata left out.
        line: 1-based line in the file.
        root: its value is the computation's.
    """

    name: str
    opcode: str
    dtypes: tuple[str, ...]
    shapes: tuple[tuple[int | None, ...], ...]
    type_text: str
    operands: tuple[str, ...]
    called: tuple[str, ...]
    attributes: str
    line: int
    root: bool = False


@dataclass(frozen=True)
class HloComputation:
    """A computation: the entry, a fused body, a reducer.

    Attributes:
        name: without the "%".
        entry: execution begins here.
        instructions: in the order of the text.
        line: 1-based line of its header.
    """

    name: str
    entry: bool
    instructions: tuple[HloInstruction, ...]
    line: int


@dataclass(frozen=True)
class HloModule:
    """A module.

    Attributes:
        name: as its first line says.
        path: the file.
        computations: in the order of the text; the entry is usually the last.
        scheduled: the order of instructions is the order of execution.
        log: damage that lost something.
    """

    name: str
    path: str
    computations: tuple[HloComputation, ...]
    scheduled: bool = False
    log: WarningLog = field(
        default_factory=lambda: WarningLog(""), compare=False, repr=False)


def looks_like(name: str, head: str) -> bool:
    """Say whether a file is HLO text, by the first characters of its content."""
    return head.lstrip("\ufeff").startswith("HloModule ") and not name.endswith(".pb")


def read_text(path: Path) -> str:
    """Return a text file, gzip or not; bytes that are not UTF-8 are replaced.

    Raises:
        DumpError: unreadable, empty, larger than a gibibyte, or not HLO text.
    """
    path = Path(path)
    text = load(path, _LONGEST_FILE_BYTES).decode("utf-8", "replace")
    if not looks_like(path.name, text[:64]):
        found = "an empty file" if not text.strip() else repr(text[:_SHOWN])
        raise DumpError(path, 1, found, "'HloModule <name>'")
    return text


def read(path: Path) -> DumpGraph:
    """Read one module as graphs: the entry computation, the others as its subgraphs.

    Raises:
        DumpError: nothing that could be read.
    """
    return to_graph(read_module(Path(path)))


def read_module(path: Path) -> HloModule:
    """Read one module.

    Returns:
        The module; what damage has lost is counted in its log.

    Raises:
        DumpError: nothing that could be read.
    """
    return parse_module(read_text(path), path)


def parse_module(text: str, path: object) -> HloModule:
    """Parse the text of a module; `path` is for messages only."""
    return _Parser(path).parse(text)


class _Parser:
    """Line by line; an instruction is one line in every version."""

    def __init__(self, path: object) -> None:
        self.path = path
        self.log = WarningLog(path)
        self.done: list[HloComputation] = []
        self.open: tuple[str, bool, int] | None = None
        self.instructions: list[HloInstruction] = []

    def parse(self, text: str) -> HloModule:
        lines = text.split("\n")
        header = lines[0]
        name = re.split(r"[\s,]", header[len("HloModule "):].lstrip(), maxsplit=1)[0]
        for number, line in enumerate(lines[1:], 2):
            if self.log.is_hopeless:
                rest = lines[number - 1:]
                self.log.give_up(number, sum(1 for _ in filter(_INSTRUCTION.match,
                                                               rest)))
                break
            self._line(line.rstrip("\r"), number)
        if self.open is not None:
            self.log.add(len(lines), "file ends inside computation "
                         f"{self.open[0][:_SHOWN]!r}; what follows is lost")
            self._close()
        if not self.done:
            self.log.add(len(lines), "no computation in this module")
        return HloModule(name, str(self.path), tuple(self.done),
                         "is_scheduled=true" in header, self.log)

    def _line(self, line: str, number: int) -> None:
        if self.open is None:
            self._outside(line, number)
        elif line.startswith("}"):
            self._close()
        elif line.strip():
            self._inside(line, number)

    def _outside(self, line: str, number: int) -> None:
        if line.startswith("HloModule "):
            self.log.add(number, "a second module begins in the same file; its "
                         "computations are listed with the first one's")
            return
        match = _COMPUTATION.match(line) if line.rstrip().endswith("{") else None
        if match is not None:
            self.open = (match["name"], match["entry"] is not None, number)
        elif " = " in line and _INSTRUCTION.match(line):
            self.log.lose(number, 1, "it stands outside of every computation")

    def _inside(self, line: str, number: int) -> None:
        match = _INSTRUCTION.match(line)
        parsed = None if match is None else _parse_instruction(line, match, number)
        if parsed is not None:
            self.instructions.append(parsed)
            return
        if line.rstrip().endswith("{") and _COMPUTATION.match(line):
            self.log.add(number, f"computation {self._open_name()[:_SHOWN]!r} has no "
                         "end")
            self._close()
            self._outside(line, number)
            return
        self.log.lose(number, 1, f"not an instruction: {line.strip()[:_SHOWN]!r}")

    def _open_name(self) -> str:
        return "" if self.open is None else self.open[0]

    def _close(self) -> None:
        if self.open is not None:
            name, entry, line = self.open
            self.done.append(
                HloComputation(name, entry, tuple(self.instructions), line))
        self.open = None
        self.instructions = []


def _parse_instruction(
    line: str, head: re.Match[str], number: int
) -> HloInstruction | None:
    start = head.end()
    after_type = _type_end(line, start)
    opcode = _OPCODE.match(line, after_type) if after_type else None
    if opcode is None:
        return None
    end = _closing(line, opcode.end() - 1)
    if end < 0:
        return None
    type_text = line[start:after_type]
    arrays = _ARRAY_TYPE.findall(type_text)
    attributes = _METADATA.sub("", line[end + 1:]).lstrip(", ").rstrip()
    called = [name for group in _CALLED.findall(attributes)
              for name in _OPERAND.findall(group)]
    literal = opcode["opcode"] in ("constant", "parameter", "iota")
    operands = () if literal else tuple(_OPERAND.findall(line, opcode.end(), end))
    return HloInstruction(
        head["name"], opcode["opcode"],
        tuple(DTYPES.get(dtype, dtype) for dtype, _ in arrays),
        tuple(_shape(shape) for _, shape in arrays),
        type_text, operands, tuple(called), attributes, number,
        head["root"] is not None)


def _type_end(line: str, start: int) -> int:
    """Return the end of the type that begins at `start`, 0 where there is none."""
    if line[start:start + 1] == "(":
        end = _closing(line, start)
        return end + 1 if end >= 0 else 0
    match = _ARRAY_TYPE.match(line, start)
    if match is None:
        return 0
    end = match.end()
    if line[end:end + 1] == "{":
        close = line.find("}", end)
        return close + 1 if close >= 0 else 0
    return end


def _closing(line: str, start: int) -> int:
    """Return the place of the bracket that closes the one at `start`, or -1."""
    depth = 0
    quoted = False
    place = start
    for match in re.finditer(r'[()"\\]', line[start:]):
        if start + match.start() < place:
            continue
        character = match[0]
        place = start + match.start()
        if character == "\\":
            place += 2
        elif character == '"':
            quoted = not quoted
        elif not quoted:
            depth += 1 if character == "(" else -1
            if depth == 0:
                return place
    return -1


def _shape(text: str) -> tuple[int | None, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return tuple(int(part) if part.isdigit() and len(part) < 19 else None
                 for part in parts)


def program_text(text: str) -> str:
    """Return what of a module's text is the program.

    Left out: the module's name, whether it is scheduled, source metadata and the tables
    of source files that TensorFlow 2.21 prints before the computations.
    """
    header, _, rest = text.partition("\n")
    body = _METADATA.sub("", rest).replace("\r", "")
    start = re.search(r"^(?:ENTRY )?%?[^\s(){}=,]+ \(.*\{\s*$", body, re.MULTILINE)
    layout = re.search(r"entry_computation_layout=.*", header)
    kept = body[start.start():] if start else body
    return (layout[0] if layout else "") + "\n" + kept.strip()


def same_program(first: str, second: str) -> bool:
    """Say whether two texts of `program_text` differ in names of values only."""
    return first == second or _renamed(first) == _renamed(second)


def _renamed(text: str) -> str:
    numbers: dict[str, str] = {}
    return _NAME.sub(
        lambda match: numbers.setdefault(match[0], f"%{len(numbers)}"), text)


def to_graph(module: HloModule) -> DumpGraph:
    """Return a module in the form that every graph reader gives back."""
    ordered = sorted(module.computations, key=lambda each: not each.entry)
    graphs = [_graph(each, module) for each in ordered]
    if not graphs:
        return DumpGraph(module.name, module.path, "hlo", log=module.log)
    main = graphs[0]
    return DumpGraph(
        module.name, module.path, "hlo", main.nodes, graphs[1:], inputs=main.inputs,
        outputs=main.outputs, line=main.line, log=module.log,
        attributes={"entry": ordered[0].name, "is_scheduled": module.scheduled})


def _graph(computation: HloComputation, module: HloModule) -> DumpGraph:
    known = {each.name: each for each in computation.instructions}
    nodes = [DumpNode(each.name, each.opcode,
                      tuple(Edge(name, 0) for name in each.operands),
                      line=each.line, detail=_DetailOf(each, known))
             for each in computation.instructions]
    return DumpGraph(
        computation.name, module.path, "hlo", nodes,
        inputs=[each.name for each in computation.instructions
                if each.opcode == "parameter"],
        outputs=[Edge(each.name, 0) for each in computation.instructions if each.root],
        line=computation.line, log=module.log)


class _DetailOf:
    """Descriptors of an instruction, made when they are asked for."""

    __slots__ = ("instruction", "known")

    def __init__(self, instruction: HloInstruction,
                 known: Mapping[str, HloInstruction]) -> None:
        self.instruction = instruction
        self.known = known

    def __call__(self) -> NodeDetail:
        own = self.instruction
        inputs = [_descs(self.known[name])[:1] or (TensorDesc(),)
                  if name in self.known else (TensorDesc(),) for name in own.operands]
        attributes: dict[str, Any] = {"type": own.type_text}
        if own.attributes:
            attributes["attributes"] = own.attributes
        return NodeDetail(attributes, tuple(each[0] for each in inputs), _descs(own),
                          own.called)


def _descs(instruction: HloInstruction) -> tuple[TensorDesc, ...]:
    return tuple(
        TensorDesc(dtype, shape=tuple(-1 if n is None else n for n in shape),
                   line=instruction.line)
        for dtype, shape in zip(instruction.dtypes, instruction.shapes))
