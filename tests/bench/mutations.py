"""Small faults of a Python file: wrong comparisons, signs, constants, and conditions, and missing lines.

Annotations, docstrings, `__all__`, blocks for types alone, warnings, messages of errors, and texts with values stay.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

MODULE = "<module>"
PAIRS = [("Lt", "LtE"), ("Gt", "GtE"), ("Eq", "NotEq"), ("Is", "IsNot"), ("In", "NotIn")]
PAIRS += [("Add", "Sub"), ("Mult", "Div"), ("And", "Or"), ("BitAnd", "BitOr")]
OPPOSITE = dict(PAIRS) | {b: a for a, b in PAIRS} | {"Pow": "Mult"}
Apply = Callable[[], object]
Replace = Callable[[ast.AST], object]


class Fault(NamedTuple):
    """A fault at one place of a parsed file, which `apply` changes."""

    name: str  # the function, and which of its faults
    first: int  # lines of the statement, or of its head
    last: int
    line: int
    change: str
    at_import: bool
    apply: Apply

    @property
    def function(self) -> str:
        return self.name.partition("#")[0]


class Scope(NamedTuple):
    """A function, a class, or the module."""

    name: str
    at_import: bool
    bound: set[str]  # names with a value
    end: ast.stmt | None  # last statement of a function


def faults(tree: ast.Module) -> list[Fault]:
    """All faults of a file, in the order of its lines. The name of one depends on its own function alone."""
    numbers: Counter[str] = Counter()
    result = []
    for fault in below(tree, Scope(MODULE, True, set(), None), None):
        result.append(fault._replace(name=f"{fault.name}#{numbers[fault.name]}"))
        numbers[fault.name] += 1
    return result


def below(node: ast.AST, scope: Scope, statement: ast.stmt | None) -> Iterator[Fault]:
    """Faults below a node."""
    inner = scope_of(node, scope)
    for child, replace in children(node):
        if not stays(child):
            yield from visit(child, replace, inner if isinstance(child, ast.stmt) else scope, statement)


def children(node: ast.AST) -> Iterator[tuple[ast.AST, Replace]]:
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.AST) and field not in ("annotation", "returns"):
            yield value, partial(setattr, node, field)
        for i, part in enumerate(value if isinstance(value, list) else ()):
            if isinstance(part, ast.AST):
                yield part, partial(value.__setitem__, i)


def stays(node: ast.AST) -> bool:
    match node:
        case (
            ast.If(test=ast.Name("TYPE_CHECKING"))
            | ast.Expr(ast.Constant())
            | ast.AnnAssign(annotation=ast.Name("TypeAlias"))
            | ast.Assign(targets=[ast.Name("__all__")])
            | ast.Call(func=ast.Attribute(ast.Name("warnings"), "warn"))
        ):
            return True
    return False


def scope_of(node: ast.AST, scope: Scope) -> Scope:
    if not isinstance(node, ast.FunctionDef | ast.ClassDef):
        return scope
    name = node.name if scope.name == MODULE else f"{scope.name}.{node.name}"
    if isinstance(node, ast.ClassDef):
        return Scope(name, scope.at_import, set(), None)
    return Scope(name, False, {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}, node.body[-1])


def visit(node: ast.AST, replace: Replace, scope: Scope, statement: ast.stmt | None) -> Iterator[Fault]:
    """Faults of a node and of all below it."""
    found = [*changes(node, replace)]
    if isinstance(node, ast.stmt):
        statement = node
        if is_droppable(node, scope):
            found.insert(0, ("dropped", partial(replace, ast.Pass())))
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None) or node]
        scope.bound.update(
            part.id
            for target in targets
            if not isinstance(target, ast.stmt)
            for part in ast.walk(target)
            if isinstance(part, ast.Name)
        )
    for change, apply in found:
        assert statement is not None
        body = getattr(statement, "body", None)
        last = body[0].lineno - 1 if isinstance(body, list) else statement.end_lineno
        first = min(part.lineno for part in (statement, *getattr(statement, "decorator_list", ())))
        line = getattr(node, "lineno", first)
        yield Fault(scope.name, first, max(last or first, first), line, change, scope.at_import, apply)
    if not isinstance(node, ast.Raise | ast.JoinedStr):
        yield from below(node, scope, statement)


def is_droppable(node: ast.stmt, scope: Scope) -> bool:
    """Whether what follows a statement still has a meaning without it."""
    match node:
        case ast.Assign(targets=[ast.Name(name)]):
            return name in scope.bound
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.Expr() | ast.AugAssign():
            return True
        case ast.Return() | ast.Raise() | ast.Continue() | ast.Break() | ast.Delete() | ast.Assert():
            return node is not scope.end
    return False


def changes(node: ast.AST, replace: Replace) -> Iterator[tuple[str, Apply]]:
    """What one node can be instead."""
    match node:
        case ast.Compare(ops=operators):
            for i, operator in enumerate(operators):
                yield opposite(operator, partial(operators.__setitem__, i))
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator) | ast.BoolOp(op=operator):
            if type(operator).__name__ in OPPOSITE:
                yield opposite(operator, partial(setattr, node, "op"))
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert(), operand=operand):
            yield f"without {type(node.op).__name__}", partial(replace, operand)
        case ast.Constant(value=bool() | int() | float() as value):
            for other in other_numbers(value):
                yield f"{value} → {other}", partial(setattr, node, "value", other)
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield from negated(test, partial(setattr, node, "test"))
        case ast.comprehension(ifs=tests):
            for i, test in enumerate(tests):
                yield from negated(test, partial(tests.__setitem__, i))


def opposite(operator: ast.AST, replace: Replace) -> tuple[str, Apply]:
    name = type(operator).__name__
    return f"{name} → {OPPOSITE[name]}", partial(replace, getattr(ast, OPPOSITE[name])())


def negated(test: ast.expr, replace: Replace) -> Iterator[tuple[str, Apply]]:
    """A negated condition, unless another fault negates it."""
    match test:
        case ast.UnaryOp(op=ast.Not()) | ast.Constant():
            return
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot() | ast.In() | ast.NotIn()]):
            return
    yield "negated", partial(replace, ast.UnaryOp(ast.Not(), test))


def other_numbers(value: float) -> list[float]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    return [other for other in (value * 2, value + 1) if other != value]
