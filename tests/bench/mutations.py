"""Small faults of a Python file: other comparisons, signs, and numbers, fixed conditions, and missing lines.

Annotations, docstrings, errors and their messages, warnings, and texts with values stay.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from operator import setitem
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

PAIRS = [("Lt", "LtE"), ("Gt", "GtE"), ("Eq", "NotEq"), ("Is", "IsNot"), ("In", "NotIn")]
PAIRS += [("Add", "Sub"), ("Mult", "Div"), ("And", "Or"), ("BitAnd", "BitOr")]
OPPOSITE = dict(PAIRS) | {b: a for a, b in PAIRS} | {"Pow": "Mult"}


class Fault(NamedTuple):
    """A file with another node at one place."""

    path: Path
    name: str  # the file, the function, and which of its faults
    change: str
    line: int
    lines: range  # of the statement, or of the head of a block
    tree: ast.Module
    apply: Callable[[], None]

    def code(self) -> CodeType:
        """The code of the file with this fault, after which the tree of all its faults is of no more use."""
        self.apply()
        return compile(ast.fix_missing_locations(self.tree), str(self.path), "exec")


def faults(path: Path) -> Iterator[Fault]:
    """All faults of a file, whose names depend on their own functions alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    numbers: Counter[str] = Counter()
    for node, replace, function, lines in nodes(tree):
        for change, other in changes(node):
            name = f"{path.stem}{function}#{numbers[function]}"
            line = getattr(node, "lineno", lines.start)
            yield Fault(path, name, change, line, lines, tree, partial(replace, other))
            numbers[function] += 1


def nodes(
    parent: Any, function: str = "", lines: range = range(0)
) -> Iterator[tuple[ast.AST, Callable[[ast.AST], None], str, range]]:
    """All nodes below one but those that stay: what replaces each, its function, and the lines of its statement."""
    for field, value in ast.iter_fields(parent):
        if field in ("annotation", "returns"):
            continue
        fields, items = (value, enumerate(value)) if isinstance(value, list) else (vars(parent), [(field, value)])
        for key, node in items:
            if not isinstance(node, ast.AST) or stays(node):
                continue
            own = lines_of(node) if isinstance(node, ast.stmt) else lines
            yield node, partial(setitem, fields, key), function, own
            scope = f".{node.name}" if isinstance(node, ast.FunctionDef | ast.ClassDef) else ""
            yield from nodes(node, function + scope, own)


def lines_of(statement: Any) -> range:
    body = getattr(statement, "body", None)
    return range(statement.lineno, body[0].lineno if body else statement.end_lineno + 1)


def stays(node: ast.AST) -> bool:
    match node:
        case (
            ast.Raise()
            | ast.JoinedStr()
            | ast.If(test=ast.Name("TYPE_CHECKING"))
            | ast.Expr(ast.Constant() | ast.Call(func=ast.Attribute(ast.Name("warnings"))))
            | ast.AnnAssign(annotation=ast.Name("TypeAlias"))
            | ast.Assign(targets=[ast.Name("__all__")])
            | ast.keyword(arg="strict")
        ):
            return True
    return False


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What one node can be instead."""
    name = type(node).__name__
    if name in OPPOSITE:
        yield f"{name} → {OPPOSITE[name]}", getattr(ast, OPPOSITE[name])()
    match node:
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert(), operand=operand):
            yield f"without {type(node.op).__name__}", operand
        case ast.Constant(value=bool() as value):
            yield f"{value} → {not value}", ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            for other in {value + 1, value - 1 if isinstance(value, int) else value * 2} - {value}:
                yield f"{value} → {other}", ast.Constant(other)
        case ast.If(body=body, orelse=orelse):
            yield "always", ast.If(ast.Constant(True), body, orelse)
            yield "never", ast.If(ast.Constant(False), body, orelse)
        case ast.IfExp(body=body, orelse=orelse):
            yield "always", body
            yield "never", orelse
        case ast.Expr() | ast.AugAssign() | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "dropped", ast.Pass()
