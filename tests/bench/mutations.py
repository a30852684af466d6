"""Small faults of a Python file: wrong comparisons, signs, constants, and conditions, and missing lines.

Annotations, docstrings, `__all__`, blocks for types alone, warnings, messages of errors, and texts with values stay.
"""

import ast
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, count
from typing import NamedTuple


def both_ways(*pairs: tuple[type, type]) -> dict[type, type]:
    return dict(pairs) | {b: a for a, b in pairs}


MODULE = "<module>"
COMPARISONS = both_ways(
    (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)
)
OPERATORS = both_ways((ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.And, ast.Or), (ast.BitAnd, ast.BitOr))
OPERATORS[ast.Pow] = ast.Mult
NEGATED_ALREADY = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
LEFT_OUT = (ast.Raise, ast.JoinedStr, ast.arguments)  # the defaults of arguments are visited apart
DROPPED = (ast.Expr, ast.Return, ast.Raise, ast.AugAssign, ast.Continue, ast.Break, ast.Delete, ast.Assert)
Replace = Callable[[ast.AST], object]


class Fault(NamedTuple):
    """A fault at one place of a parsed file, which `apply` changes."""

    name: str  # the function, and which of its faults
    function: str
    first: int  # lines of the statement, or of its head
    last: int
    line: int
    change: str
    at_import: bool
    apply: Callable[[], object]


class Place(NamedTuple):
    """Where a node stands."""

    function: str
    at_import: bool
    bound: set[str]  # names with a value
    end: ast.stmt | None  # last statement of the function
    statement: ast.stmt | None


def faults(tree: ast.Module) -> list[Fault]:
    """All faults of a file, in the order of its lines. The name of one depends on its own function alone."""
    numbers: dict[str, Iterator[int]] = {}
    place = Place(MODULE, True, set(), None, None)
    return [
        fault._replace(name=f"{fault.function}#{next(numbers.setdefault(fault.function, count()))}")
        for child, replace in children(tree)
        for fault in visit(child, replace, place)
    ]


def children(node: ast.AST) -> Iterator[tuple[ast.AST, Replace]]:
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        if isinstance(value, ast.AST):
            yield value, partial(setattr, node, field)
        elif isinstance(value, list):
            yield from (
                (part, partial(value.__setitem__, i)) for i, part in enumerate(value) if isinstance(part, ast.AST)
            )


def visit(node: ast.AST, replace: Replace, place: Place) -> Iterator[Fault]:
    """Faults of a node and of all below it."""
    if is_left_out(node):
        return
    if isinstance(node, ast.stmt):
        place = place._replace(statement=node)
        if is_droppable(node, place):
            yield fault(node, place, "dropped", partial(replace, ast.Pass()))
        place.bound.update(names_bound(node))
    yield from (fault(node, place, change, apply) for change, apply in changes(node, replace))
    inner = place
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        name = node.name if place.function == MODULE else f"{place.function}.{node.name}"
        inner = Place(name, place.at_import and isinstance(node, ast.ClassDef), set(), None, None)
    if isinstance(node, ast.FunctionDef):
        inner = inner._replace(
            bound={part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}, end=node.body[-1]
        )
        for default, replace_default in chain(
            children_of(node.args, "defaults"), children_of(node.args, "kw_defaults")
        ):
            yield from visit(default, replace_default, place)
    for child, replace_child in children(node):
        if not isinstance(node, LEFT_OUT):
            yield from visit(child, replace_child, inner if isinstance(child, ast.stmt) else place)


def children_of(node: ast.AST, field: str) -> Iterator[tuple[ast.AST, Replace]]:
    value = getattr(node, field)
    return ((part, partial(value.__setitem__, i)) for i, part in enumerate(value) if part is not None)


def is_left_out(node: ast.AST) -> bool:
    match node:
        case (
            ast.If(test=ast.Name("TYPE_CHECKING"))
            | ast.Expr(ast.Constant())
            | ast.AnnAssign(annotation=ast.Name("TypeAlias"))
        ):
            return True
        case ast.Assign(targets=[ast.Name("__all__")]):
            return True
        case ast.Call(func=ast.Attribute(ast.Name("warnings"), "warn")):
            return True
    return False


def names_bound(node: ast.stmt) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {
        part.id for target in targets if target is not None for part in ast.walk(target) if isinstance(part, ast.Name)
    }


def is_droppable(node: ast.stmt, place: Place) -> bool:
    """Whether what follows a statement still has a meaning without it."""
    match node:
        case ast.Assign(targets=[ast.Name(name)]):
            return name in place.bound
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return True
    return isinstance(node, ast.Expr | ast.AugAssign) or (isinstance(node, DROPPED) and node is not place.end)


def changes(node: ast.AST, replace: Replace) -> Iterator[tuple[str, Callable[[], object]]]:
    """What one node can be instead."""
    match node:
        case ast.Compare(ops=operators):
            for i, operator in enumerate(operators):
                other = COMPARISONS[type(operator)]
                yield f"{type(operator).__name__} → {other.__name__}", partial(operators.__setitem__, i, other())
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator) | ast.BoolOp(op=operator) if (
            type(operator) in OPERATORS
        ):
            other = OPERATORS[type(operator)]
            yield f"{type(operator).__name__} → {other.__name__}", partial(setattr, node, "op", other())
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert(), operand=operand):
            yield f"without {type(node.op).__name__}", partial(replace, operand)
        case ast.Constant(value=bool() | int() | float() as value):
            yield from (
                (f"{value} → {other}", partial(setattr, node, "value", other)) for other in other_numbers(value)
            )
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if can_be_negated(test):
            yield "negated", partial(setattr, node, "test", ast.UnaryOp(ast.Not(), test))
        case ast.comprehension(ifs=tests):
            for i, test in enumerate(tests):
                if can_be_negated(test):
                    yield "negated", partial(tests.__setitem__, i, ast.UnaryOp(ast.Not(), test))


def other_numbers(value: float) -> list[float]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    return [other for other in (value * 2, value + 1) if other != value]


def can_be_negated(test: ast.expr) -> bool:
    """Whether a condition is not negated by another fault."""
    match test:
        case ast.UnaryOp(op=ast.Not()) | ast.Constant():
            return False
        case ast.Compare(ops=[operator]):
            return not isinstance(operator, NEGATED_ALREADY)
    return True


def fault(node: ast.AST, place: Place, change: str, apply: Callable[[], object]) -> Fault:
    statement = place.statement
    assert statement is not None
    body = getattr(statement, "body", None)
    last = body[0].lineno - 1 if isinstance(body, list) else statement.end_lineno
    decorators = [part.lineno for part in getattr(statement, "decorator_list", [])]
    first = min([statement.lineno, *decorators])
    line = getattr(node, "lineno", first)
    return Fault("", place.function, first, max(last or first, first), line, change, place.at_import, apply)
