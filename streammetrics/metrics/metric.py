"""The ``@metric`` decorator: a formula over columns of one statistic's table becomes a `Metric`."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Mapping
from functools import cache, cached_property, lru_cache
from importlib import import_module
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from polars import Expr

from streammetrics.base import did_you_mean, shown, without_nan
from streammetrics.errors import Argument, MetricError, Parts
from streammetrics.metrics.intervals.limits import Range
from streammetrics.metrics.intervals.method import Method, Without
from streammetrics.metrics.intervals.methods import SMOOTH
from streammetrics.metrics.intervals.proportions import CELLS


class Bounded(NamedTuple):
    """A value with explicit bounds, for formulas whose bounds cannot be derived from the table.

    >>> import polars as pl
    >>> found = Bounded(pl.lit(0.5), pl.lit(0.4), pl.lit(0.6))
    >>> pl.select(middle=found.value, lowest=found.lower).row(0)
    (0.5, 0.4)
    """

    value: Expr
    lower: Expr
    upper: Expr

    @property
    def bounds(self) -> tuple[Expr, Expr]:
        """Lower and upper bound."""
        return self.lower, self.upper


Formula: TypeAlias = Callable[..., Any]  # an expression, or Bounded ones
BoundsFormula: TypeAlias = Callable[..., tuple[Expr, Expr]]
Direction: TypeAlias = Literal["high", "low"] | None
Option: TypeAlias = float | int | str | bool | None

LARGEST = 2**63 - 1  # integer option
AVERAGES = ("macro", "micro", "weighted")


class Metric:
    """A number that can be computed from a statistic's table.

    The positional parameters of the formula are columns of the table, its keyword-only parameters are options. Called
    with numbers or arrays, a metric returns its value. Called with Polars expressions, it returns an expression. Called
    with options only, it returns the same metric with these options bound. Columns with a default can be omitted.

    >>> from streammetrics.metrics import fbeta, precision
    >>> precision(3, 1)
    0.75
    >>> precision([3, 0], [1, 0])
    [0.75, None]
    >>> fbeta(beta=2)
    fbeta(beta=2)
    """

    def __init__(
        self,
        formula: Formula,
        range: Range,
        better: Direction,
        aliases: tuple[str, ...],
        options: Mapping[str, Option] | None = None,
        average: str | None = None,
        interval: Method | None = None,
    ) -> None:
        self.formula = formula
        self.range = range
        self.better = better
        self.aliases = aliases
        self.interval: Method = interval or SMOOTH
        self.average = average
        self._bound = dict(options or {})
        self._bounds: BoundsFormula | None = None
        self._note: Formula | None = None
        self.__doc__ = formula.__doc__
        self.__name__: str = formula.__name__
        self.__module__ = formula.__module__
        self.__wrapped__ = formula

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the table columns that the formula reads."""
        return _parameters(self.formula)[0]

    @cached_property
    def options(self) -> dict[str, Option]:
        """All options with their values, including defaults.

        A trailing underscore in the formula distinguishes an option from a column of the same name.
        """
        return {name.rstrip("_"): default for name, default in _parameters(self.formula)[1].items()} | self._bound

    @cached_property
    def name(self) -> str:
        """Name of the metric in frames, on the command line, and in rule files."""
        bound = {k: v for k, v in self.options.items() if k in self._bound}
        if self.average is not None:
            bound["average"] = self.average
        options = ", ".join(f"{k}={int(v) if isinstance(v, float) and v.is_integer() else v}" for k, v in bound.items())
        return f"{self.__name__}({options})" if bound else self.__name__

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return (self.__doc__ or "").strip().split("\n")[0]

    @cached_property
    def aggregates(self) -> bool:
        """Whether the formula aggregates the rows of its table to one number."""
        probe = pl.DataFrame({c: [1.0, 1.0] for c in self.columns})
        return probe.select(self.expression()).height == 1

    def with_options(self, **options: Option) -> Metric:
        """Return the same metric with options bound.

        Every metric that is computed per label has the option ``average``: ``"macro"``, ``"weighted"`` or ``"micro"``.

        Raises:
            MetricError: If an option is unknown, or is a string instead of a number.

        >>> from streammetrics.metrics import fbeta
        >>> fbeta.with_options(beta=2)
        fbeta(beta=2)
        """
        average = self.average
        if "average" in options and "average" not in self.options:
            average = str(options.pop("average"))
            if average not in AVERAGES:
                raise MetricError(
                    Argument("average"), f" of {self.__name__} must be one of {', '.join(AVERAGES)}, got {average!r}."
                )
        for option, value in options.items():
            if option not in self.options:
                raise MetricError(f"Unknown option {option!r} of {self.__name__}. ", *self._instead(option, value))
            if isinstance(self.options[option], int | float) and not isinstance(value, int | float):
                raise MetricError(Argument(option), f" of {self.__name__} must be a number, got {shown(value)}.")
            if isinstance(value, int) and not -LARGEST <= value <= LARGEST:
                raise MetricError(
                    Argument(option), f" of {self.__name__} must be within ±{LARGEST:,}, got {shown(value)}."
                )
        return self._copy(self._bound | options, average)

    def _instead(self, option: str, value: Any) -> Parts:
        """What to write in place of an unknown option."""
        if option == "threshold" and {*self.columns} <= {*CELLS}:
            return ("Pass ", Argument(option, value), " separately.")
        return (f"Options: {', '.join(self.options) or 'none'}.",)

    def with_average(self, average: str | None) -> Metric:
        """Return the same metric averaged over labels, or for each label if None.

        >>> from streammetrics.metrics import f1
        >>> f1.with_average("macro")
        f1(average=macro)
        """
        return self._copy(self._bound, average)

    def _copy(self, options: Mapping[str, Option], average: str | None) -> Metric:
        copy = Metric(self.formula, self.range, self.better, self.aliases, options, average, self.interval)
        copy._bounds, copy._note, copy.__module__ = self._bounds, self._note, self.__module__
        return copy

    def readable(self, columns: Collection[str]) -> bool:
        """Return whether the metric can be computed from a table with these columns. Averages require ``label``.

        >>> from streammetrics.metrics import precision
        >>> precision.readable({"tp", "fp"}), precision.readable({"tp"})
        (True, False)
        """
        return set(self.columns) <= set(columns) and (self.average is None or "label" in columns)

    def expression(self) -> Expr:
        """Return the value as an expression over a table with Float64 columns.

        >>> from streammetrics.metrics import precision
        >>> pl.DataFrame({"tp": [3.0], "fp": [1.0]}).select(precision.expression()).item()
        0.75
        """
        return self._expressions[0]

    def bounds_expressions(self) -> tuple[Expr, Expr] | None:
        """Return the lower and upper bound as expressions, or None for a metric without explicit bounds."""
        return self._expressions[1]

    def note_expression(self) -> Expr | None:
        """Return the note as an expression over the stored table, or None for a metric without a note."""
        return self._expressions[2]

    @cached_property
    def _expressions(self) -> tuple[Expr, tuple[Expr, Expr] | None, Expr | None]:
        """The value, the bounds, and the note."""
        result = self._call(self._bounds or self.formula)
        bounds = None
        if not isinstance(result, Expr):
            lower, upper = result.bounds if isinstance(result, Bounded) else result
            bounds = without_nan(lower), without_nan(upper)
        return self._value(), bounds, None if self._note is None else self._call(self._note)

    def bounds(self, formula: BoundsFormula) -> BoundsFormula:
        """Decorator that sets the formula for (lower, upper), if bounds cannot be derived from the table.

        It can use further columns of the same table, such as ``shift``.
        """
        self._bounds = formula
        vars(self).pop("_expressions", None)
        return formula

    def note(self, formula: Formula) -> Formula:
        """Decorator that sets the formula for the note, a string or null, from columns of the same table."""
        self._note = formula
        vars(self).pop("_expressions", None)
        return formula

    def __call__(self, *columns: Any, **keywords: Any) -> Any:
        """Return a value for numbers or arrays, an expression for expressions, or the metric with options bound."""
        options = {k: v for k, v in keywords.items() if k in self.options or k not in self.columns}
        named = {k: v for k, v in keywords.items() if k not in options}
        bound = self.with_options(**options) if options else self
        if not columns and not named:
            return bound
        parameters = inspect.signature(self.formula).parameters.values()
        defaults = {p.name: p.default for p in parameters if p.kind is not p.KEYWORD_ONLY and p.default is not p.empty}
        values = defaults | dict(zip(self.columns, columns, strict=False)) | named
        if len(columns) > len(self.columns) or set(values) != set(self.columns):
            raise MetricError(f"{self.__name__} requires one value for each of its columns: {', '.join(self.columns)}.")
        ordered = [values[c] for c in self.columns]
        if any(isinstance(v, Expr) for v in ordered):
            return bound._value(*(v if isinstance(v, Expr) else pl.lit(float(v)) for v in ordered))
        return bound._compute(ordered)

    def _value(self, *columns: Expr) -> Expr:
        """The value. 0/0 is null, x/0 is infinite."""
        result: Expr | Bounded = self._call(self.formula, *columns)
        return without_nan(result.value if isinstance(result, Bounded) else result)

    def _compute(self, values: list[Any]) -> float | list[float | None] | None:
        arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(v, dtype=np.float64)) for v in values))
        table = pl.DataFrame(dict(zip(self.columns, arrays, strict=True)))
        result: list[float | None] = table.select(self.expression()).to_series().to_list()
        scalar = self.aggregates or all(np.ndim(v) == 0 for v in values)
        return result[0] if scalar else result

    def _call(self, formula: Callable[..., Any], *columns: Expr) -> Any:
        """A formula of some columns, or of those that it names."""
        names, defaults = _parameters(formula)
        options = {name: self.options[name.rstrip("_")] for name in defaults}
        try:
            return formula(*columns, **options) if columns else _over_columns(formula, names, tuple(options.items()))
        except (OverflowError, pl.exceptions.InvalidOperationError) as error:  # such as of a square
            raise MetricError(f"An option of {self.name} is too large.") from error

    def __repr__(self) -> str:
        return self.name

    def __deepcopy__(self, memo: dict[int, Any]) -> Metric:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Metric.declared, (self.__module__, self.__name__, self._bound, self.average)  # as functions are pickled

    @classmethod
    def declared(cls, module: str, name: str, options: Mapping[str, Option], average: str | None) -> Metric:
        """Return the metric of that name in a module, with options bound. Used to unpickle metrics."""
        metric: Metric = getattr(import_module(module), name)
        return metric._copy(options, average)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metric) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash((self.formula, self.average))  # without options, which only the signature lists

    @cached_property
    def _identity(self) -> tuple[Any, ...]:
        return self.formula, tuple(self.options.items()), self.average


_registry: dict[str, list[Metric]] = {}
_options_of_aliases: dict[str, dict[str, Option]] = {}  # defaults that differ from those of the metric


def metric(
    *,
    range: Range,
    better: Direction = None,
    aliases: tuple[str, ...] = (),
    interval: Method | str | None = None,
) -> Callable[[Formula], Metric]:
    """Turn a formula over table columns into a `Metric`, registered by its name and aliases.

    The formula returns the value, or a `Bounded` if bounds cannot be derived from the table.

    Args:
        range: Smallest and largest possible value.
        better: Preferred direction: ``"high"``, ``"low"``, or None.
        aliases: Additional names. An alias with another default has it in parentheses, such as
            ``"top_k_accuracy_score(k=2)"``.
        interval: Reason why the metric has no confidence interval, such as ``"an extreme value"``. By default, metrics
            of counts and of sums over rows have an interval: that of a proportion, or one computed from the influence
            of each row.

    Raises:
        MetricError: If another metric has the same name over the same columns, or ``range`` or ``better`` is invalid.

    >>> @metric(range=(0, 1), better="high", aliases=("hits",))
    ... def share_of_hits(hit, miss):
    ...     return hit / (hit + miss)
    >>> share_of_hits(3, 1), share_of_hits(0, 0)
    (0.75, None)
    """

    if better not in ("high", "low", None):
        raise MetricError(Argument("better"), f" must be 'high', 'low', or None, got {better!r}.")
    if len(range) != 2 or not all(isinstance(end, int | float) for end in range) or not range[0] < range[1]:
        raise MetricError(
            Argument("range"), f" must be two numbers in ascending order, got {range!r}. Pass infinity for no end."
        )

    def declare(formula: Formula) -> Metric:
        method = Without(interval) if isinstance(interval, str) else interval
        options_of_aliases = dict(map(parse_metric, aliases))
        metric = Metric(formula, range, better, tuple(options_of_aliases), interval=method)
        for name in (metric.__name__, *metric.aliases):
            same_name = _registry.setdefault(name, [])
            if any(set(other.columns) == set(metric.columns) for other in same_name):
                columns = ", ".join(metric.columns)
                raise MetricError(f"Metric name {name!r} is already used for the columns ({columns}). Choose another.")
            same_name.append(metric)
        _options_of_aliases.update({alias: options for alias, options in options_of_aliases.items() if options})
        return metric

    return declare


def all_metrics() -> list[Metric]:
    """Return all metrics in the order of declaration. If tasks share a name, only the first metric is included.

    >>> {"roc_auc", "kappa", "mae"} <= {metric.name for metric in all_metrics()}
    True
    """
    by_name: dict[str, Metric] = {}
    for metric in declared_metrics():
        by_name.setdefault(metric.__name__, metric)
    return list(by_name.values())


def declared_metrics() -> list[Metric]:
    """Return all declared metrics in the order of declaration, including those that share a name."""
    return list(dict.fromkeys(m for same_name in _registry.values() for m in same_name))


def metrics_of_name(metric: str | Metric) -> list[Metric]:
    """Return the metrics of a name such as ``"fbeta(beta=2)"``, with its options: several if tasks share the name."""
    if isinstance(metric, Metric):
        return [metric]
    if not isinstance(metric, str):
        raise MetricError(f"A metric must be a name or a Metric, got {metric!r}.")
    name, options = parse_metric(metric)
    named = _registry.get(name)
    if not named:
        raise MetricError(f"Unknown metric {name!r}.{_advice(name)}")
    options = _options_of_aliases.get(name, {}) | options
    taking = [m for m in named if options.keys() <= m.options.keys() | {"average"}]
    return [m.with_options(**options) for m in taking or named] if options else [*named]


def find_metric(metric: str | Metric, columns: Collection[str]) -> Metric:
    """Return the metric of that name that can be computed from a table with these columns."""
    named = metrics_of_name(metric)
    for candidate in named:
        if candidate.readable(columns):
            return candidate
    needed = " or ".join(f"({', '.join(m.columns)})" for m in named)
    raise MetricError(f"Metric {str(metric)!r} cannot be computed from ({', '.join(columns)}). It needs {needed}.")


def parse_metric(text: str) -> tuple[str, dict[str, Option]]:
    """Split ``"fbeta(beta=2)"`` into its name and options.

    >>> parse_metric("fbeta(beta=2)")
    ('fbeta', {'beta': 2})
    """
    if text.isidentifier():
        return text, {}
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        if isinstance(tree, ast.Name):
            return tree.id, {}
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and not tree.args:
            options = {
                k.arg: k.value.id if isinstance(k.value, ast.Name) else ast.literal_eval(k.value)
                for k in tree.keywords
                if k.arg is not None
            }
            if len(options) == len(tree.keywords):
                return tree.func.id, options
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two of deeply nested text
        pass
    name, call, _ = text.partition("(")
    example = f"{name}(of='y_score')" if call and name.isidentifier() and name not in _registry else "fbeta(beta=2)"
    advice = f"Write a name, or a name with options, such as {example}"
    if "," in text and "(" not in text:
        advice = "Pass each metric separately"
    if " @ " in text:  # as in tables
        advice = f"Write {text.partition(' @ ')[0]}, and pass its threshold or label separately"
    raise MetricError(f"Cannot read {text!r:.80} as a metric. {advice}.")


@cache
def _parameters(formula: Callable[..., Any]) -> tuple[tuple[str, ...], dict[str, Option]]:
    """The columns of a formula, and its options with their defaults."""
    parameters = inspect.signature(formula).parameters.values()
    options = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    return tuple(p.name for p in parameters if p.name not in options), options


@lru_cache(maxsize=4096)
def _over_columns(formula: Callable[..., Any], names: tuple[str, ...], options: tuple[tuple[str, Option], ...]) -> Any:
    """A formula over columns. It is evaluated once, so metrics that share a note share its expression."""
    return formula(*map(pl.col, names), **dict(options))


SIMILAR = 0.65  # minimum similarity of suggestions
SUFFIXES = {"_macro": "macro", "_micro": "micro", "_ovr_weighted": "weighted", "_weighted": "weighted", "_ovr": "macro"}


def _advice(name: str) -> str:
    """The replacement of a scikit-learn scorer, or similar names."""
    if (loss := name.removeprefix("neg_")) != name and loss in _registry:
        return f" scikit-learn scorers negate losses. Use {loss}."
    for suffix, average in SUFFIXES.items():
        if (plain := name.removesuffix(suffix)) != name and plain in _registry:
            return f" Use {plain}(average={average})."
    if (name := name.lower()) in ("psi", "js", "wasserstein"):
        return " It measures drift: use `streammetrics drift`, or a rule with `against` in `streammetrics store check`."
    return did_you_mean(name, _registry, most=3, cutoff=SIMILAR) or " `streammetrics metrics` lists all metrics."
