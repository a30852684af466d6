"""Which of the user's columns plays which role: names, and the expressions that make them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import polars as pl

from streammetrics.errors import SpecificationError

Column: TypeAlias = str | pl.Expr

SINGLE = ""  # the model of an accumulator that has just one
MODEL = "model"
RESERVED = frozenset({MODEL, "group", "threshold", "metric", "value", "lower", "upper", "note"})


@dataclass(frozen=True)
class Roles:
    """Which of the user's columns plays which role, and how its values are read.

    Scores and predictions are keyed by model. Two accumulators with equal roles read a batch alike; expressions are
    kept apart from the names that they make, so they take no part in that.
    """

    y_true: str | None = None
    y_pred: dict[str, str] = field(default_factory=dict)
    y_score: dict[str, str] = field(default_factory=dict)
    sample_weight: str | None = None
    by: tuple[str, ...] = ()
    positive: Any = None
    negative: Any = None
    nulls: Literal["raise", "drop"] = "raise"
    probability: bool = False
    expressions: dict[str, pl.Expr] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.nulls not in ("raise", "drop"):
            raise SpecificationError(f"nulls must be 'raise' or 'drop', not {self.nulls!r}.")
        if self.negative is not None and self.positive is None:
            raise SpecificationError("negative= names the other label of positive=; give both, or positive= alone.")
        if self.y_pred and self.y_score and set(self.y_pred) != set(self.y_score):
            raise SpecificationError("y_pred and y_score must name the same models.")
        if clash := RESERVED.intersection(self.by):
            raise SpecificationError(f"by= cannot use the name {min(clash)!r}, which reports use; give it an alias.")
        if len(set(self.by)) < len(self.by):
            raise SpecificationError(f"by= names a column twice: {', '.join(self.by)}.")

    @property
    def models(self) -> tuple[str, ...]:
        """The models that are evaluated side by side; one of an empty name where there is just one."""
        return tuple(self.y_score or self.y_pred) or (SINGLE,)

    @property
    def group_columns(self) -> tuple[str, ...]:
        """Columns that tell one group of a state from another."""
        return self.by if self.models == (SINGLE,) else (*self.by, MODEL)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every column in use, by its name."""
        single = [c for c in (self.y_true, self.sample_weight) if c is not None]
        return tuple(dict.fromkeys([*single, *self.y_pred.values(), *self.y_score.values(), *self.by]))

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """Columns that a batch must have for the columns in use to be made."""
        expressions = (self.expressions.get(n, pl.col(n)) for n in self.names)
        return tuple(dict.fromkeys(root for e in expressions for root in e.meta.root_names()))


class Names:
    """Gives every column a name, and keeps the expressions that make those which a batch does not have.

    >>> names = Names()
    >>> names.of("country"), names.of(pl.col("ts").dt.truncate("1d").alias("day"))
    ('country', 'day')
    >>> list(names.expressions)
    ['day']
    """

    def __init__(self) -> None:
        self.expressions: dict[str, pl.Expr] = {}
        self._plain: set[str] = set()

    def of(self, column: Column) -> str:
        """The name of a column.

        Raises:
            SpecificationError: for what is no column, and for two different columns of one name.
        """
        if isinstance(column, str):
            name, clash = column, column in self.expressions
            self._plain.add(name)
        elif isinstance(column, pl.Expr):
            name = self._output_name(column)
            other = self.expressions.setdefault(name, column)
            clash = name in self._plain or not other.meta.eq(column)
        else:
            raise SpecificationError(f"a column is a name or a Polars expression, not {column!r}.")
        if clash:
            raise SpecificationError(f"two different columns are named {name!r}; give the expression an .alias(…).")
        return name

    def by_model(self, columns: Column | Mapping[str, Column] | None) -> dict[str, str]:
        """Names of one column, or of one for each model."""
        if columns is None:
            return {}
        if not isinstance(columns, Mapping):
            return {SINGLE: self.of(columns)}
        if not columns or SINGLE in columns:
            raise SpecificationError("a mapping of models to columns needs at least one model, each with a name.")
        return {model: self.of(column) for model, column in columns.items()}

    @staticmethod
    def _output_name(expression: pl.Expr) -> str:
        try:
            return expression.meta.output_name()
        except pl.exceptions.PolarsError as error:
            message = f"the expression {expression} makes no single named column; add .alias(…)."
            raise SpecificationError(message) from error
