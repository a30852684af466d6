"""Roles of the user's columns: names, and the expressions that create them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, time, timedelta
from functools import cached_property
from itertools import chain
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from streammetrics.base import FOREIGN, did_you_mean, few, whole
from streammetrics.data.rows.codes import as_written
from streammetrics.data.rows.folds import FEWEST_FOLDS, FOLDS, MOST_FOLDS
from streammetrics.data.rows.row_by_row import is_undecided, require_row_by_row
from streammetrics.errors import Argument, SpecificationError

Column: TypeAlias = str | pl.Expr
Columns: TypeAlias = Column | Mapping[Any, Any]
Kind: TypeAlias = Literal["binary", "multiclass", "multilabel", "regression"]

INTEGERS = (pl.Int64, pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
LABELS = (pl.String, pl.Boolean, pl.Float32, pl.Float64, *INTEGERS)  # types that labels can be declared in

SCALARS = (str, bool, int, float, date, time, timedelta)  # types that one label can be given in

SEVERAL = ("multiclass", "multilabel")  # kinds of tasks with a score for each label
SINGLE = ""  # the model name of an accumulator with a single model
MODEL = "model"
LABEL = "label"
FOLD = "fold"  # of units, stored as a group column
OPTIONAL = ("sample_weight", "count", "unit")  # roles of one column or none
RESERVED = frozenset(
    {
        MODEL,
        LABEL,
        FOLD,
        "group",
        "threshold",
        "metric",
        "value",
        "lower",
        "upper",
        "ci_lower",
        "ci_upper",
        "status",
        "note",
    }
)


@dataclass(frozen=True)
class Roles:
    """Roles of the user's columns, and how values are interpreted.

    Scores and predictions are keyed by model. In multiclass and multilabel tasks, they have one column per label, or
    one list column. ``inputs`` are additional columns, by the names that statistics use, and ``row_id`` those that a
    fingerprint of the rows includes. Two accumulators with equal
    roles read a batch in the same way. Expressions are stored separately from column names and are not compared.
    """

    kind: Kind = "binary"
    y_true: tuple[str, ...] = ()
    y_pred: dict[str, tuple[str, ...]] = field(default_factory=dict)
    y_score: dict[str, tuple[str, ...]] = field(default_factory=dict)
    labels: tuple[Any, ...] = ()
    sample_weight: str | None = None
    count: str | None = field(default=None, compare=False)  # of equal rows, which leave the same state as if repeated
    by: tuple[str, ...] = ()
    unit: str | None = None
    positive: Any = None
    negative: Any = None
    nulls: Literal["raise", "drop"] = "raise"
    probability: bool = False
    renormalize: bool = False
    rounding: float | None = None  # step of which scores are multiples
    inputs: dict[str, str] = field(default_factory=dict)
    row_id: tuple[str, ...] = ()
    folds: int = FOLDS
    expressions: dict[str, pl.Expr] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            near = did_you_mean(str(self.kind), get_args(Kind))
            raise SpecificationError(
                Argument("task"), f" must be one of {', '.join(get_args(Kind))}, got {self.kind!r}.{near}"
            )
        if self.nulls not in ("raise", "drop"):
            raise SpecificationError(Argument("nulls"), f" must be 'raise' or 'drop', got {self.nulls!r}.")
        for option in ("positive", "negative"):
            if getattr(self, option) is not None:
                object.__setattr__(self, option, _label(option, getattr(self, option)))
        if self.negative is not None and self.positive is None:
            raise SpecificationError(Argument("negative"), " requires ", Argument("positive"), ".")
        if self.negative is not None and self.negative == self.positive:
            raise SpecificationError(
                Argument("positive"),
                " and ",
                Argument("negative"),
                f" must be different labels, got {self.positive!r} twice.",
            )
        object.__setattr__(self, "folds", whole(Argument("folds"), self.folds, FEWEST_FOLDS, MOST_FOLDS))
        if self.folds != FOLDS and self.unit is None:
            raise SpecificationError(Argument("folds"), " requires ", Argument("unit"), ".")
        if self.y_pred and self.y_score and set(self.y_pred) != set(self.y_score):
            raise SpecificationError(Argument("y_pred"), " and ", Argument("y_score"), " must name the same models.")
        if self.renormalize and self.rounding is not None:
            raise SpecificationError(
                *(Argument("rounding"), " and ", Argument("renormalize"), " cannot be combined, because quotients of "),
                "rounded scores are not in the order of the scores before.",
            )
        if clash := RESERVED.intersection(self.by):
            raise SpecificationError(
                Argument("by"), f" cannot use the name {min(clash)!r}, which reports use. Give it an alias."
            )
        name, times = Counter(self.by).most_common(1)[0] if self.by else ("", 0)
        if times > 1:
            raise SpecificationError(
                Argument("by"), f" contains the column {name!r} {times:,} times. Pass the name of each column once."
            )
        if len(self.labels):
            object.__setattr__(self, "labels", plain_labels(self.labels))
        if self.labels and self.kind not in SEVERAL:
            raise SpecificationError(
                Argument("labels"), f" applies to multiclass and multilabel tasks, not to {self.kind} tasks."
            )
        if not self.labels and (self.kind == "multilabel" or (self.kind == "multiclass" and self.y_score)):
            raise SpecificationError(
                f"Map each label to a column in {self.kind} tasks, such as ",
                Argument("y_score", {"cat": "p_cat"}),
                ", or name one list column with ",
                Argument("labels"),
                " set.",
            )
        of_labels = {"multiclass": ("y_score",), "multilabel": ("y_true", "y_pred", "y_score")}.get(self.kind, ())
        truth = {SINGLE: self.y_true} if self.y_true else {}
        for role, models in (("y_true", truth), ("y_pred", self.y_pred), ("y_score", self.y_score)):
            if SINGLE in models and len(models) > 1:
                raise SpecificationError(Argument(role), " has a model without a name.")
            for names in models.values():
                if len(names) not in (1, len(self.labels) if role in of_labels else 1):
                    raise SpecificationError(
                        Argument(role), f" has {len(names)} columns for {len(self.labels)} labels."
                    )

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models; a single model has an empty name."""
        return tuple(self.y_score or self.y_pred) or (SINGLE,)

    @property
    def group_columns(self) -> tuple[str, ...]:
        """Columns that identify a group of a state."""
        model = () if self.models == (SINGLE,) else (MODEL,)
        return (*self.keys, *model)

    @property
    def keys(self) -> tuple[str, ...]:
        """Group columns of the rows of a batch: those of the user, and the fold of a unit."""
        return self.by if self.unit is None else (*self.by, FOLD)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all columns in use."""
        by_model = chain(*self.y_pred.values(), *self.y_score.values())
        single = [column for role in OPTIONAL if (column := getattr(self, role)) is not None]
        return tuple(dict.fromkeys([*self.y_true, *by_model, *self.inputs.values(), *single, *self.by, *self.row_id]))

    @property
    def targets(self) -> set[str]:
        """Columns of true and predicted values."""
        return {*self.y_true, *chain(*self.y_pred.values())}

    @property
    def numbers(self) -> set[str]:
        """Columns that are only read as numbers: scores, inputs, weights, and counts."""
        amounts = [column for column in (self.sample_weight, self.count) if column is not None]
        return {*chain(*self.y_score.values()), *self.inputs.values(), *amounts}

    @cached_property
    def undecided(self) -> frozenset[str]:
        """Names of expressions of which only values tell whether they look at other rows."""
        return frozenset(name for name, expression in self.expressions.items() if is_undecided(expression))

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """Columns of a batch that the columns in use are computed from."""
        return self.roots(self.names)

    @property
    def labeling(self) -> list[set[str]]:
        """Columns of a batch whose values are only names: each group column, unit, and row ID, and all class labels."""
        undeclared = self.kind == "multiclass" and not self.labels
        numbers = self.numbers if undeclared else self.numbers | self.targets
        renamed = {name for name, e in self.expressions.items() if e.meta.undo_aliases().meta.is_column()}
        computed = {name for name in self.names if name in self.expressions} - numbers - renamed
        used = {*self.roots(numbers | computed)}
        labels = [{name} for name in (*self.by, self.unit, *self.row_id) if name] + [self.targets] * undeclared
        sources = [{*self.roots(names - computed)} for names in labels]
        return [names for names in sources if names and not names & used]

    def within(self, columns: Sequence[str]) -> Roles:
        """The roles whose columns are some columns of a batch, or computed from them."""
        present = {name for name in self.names if {*self.roots([name])} <= {*columns}}
        absent: dict[str, Any] = {role: None for role in OPTIONAL if getattr(self, role) not in present}
        return replace(
            self,
            y_true=self.y_true if present.issuperset(self.y_true) else (),
            y_pred=self.y_pred if all(map(present.issuperset, self.y_pred.values())) else {},
            y_score=self.y_score if all(map(present.issuperset, self.y_score.values())) else {},
            folds=self.folds if self.unit in present else FOLDS,
            by=tuple(name for name in self.by if name in present),
            inputs={role: name for role, name in self.inputs.items() if name in present},
            **absent,
        )

    def roots(self, names: Iterable[str]) -> tuple[str, ...]:
        """Columns of a batch that some columns are computed from."""
        expressions = (self.expressions.get(n, pl.col(n)) for n in names)
        return tuple(dict.fromkeys(root for e in expressions for root in e.meta.root_names()))


def labeling(several: Sequence[Roles]) -> list[set[str]]:
    """Return the columns whose values are only names in all roles that use them, those of the same values together."""
    numbers = {n for roles in several for n in {*roles.sources}.difference(*roles.labeling)}
    return [names for roles in several for names in roles.labeling if not names & numbers]


class Names:
    """Assigns names to columns, and stores the expressions of computed columns.

    >>> names = Names()
    >>> names.add("country"), names.add(pl.col("ts").dt.truncate("1d").alias("day"))
    ('country', 'day')
    >>> list(names.expressions)
    ['day']
    """

    def __init__(self) -> None:
        self.expressions: dict[str, pl.Expr] = {}
        self._plain: set[str] = set()

    def add(self, column: Any) -> str:
        """Return the name of a column."""
        if isinstance(column, str):
            name, clash = column, column in self.expressions
            self._plain.add(name)
        elif isinstance(column, pl.Expr):
            try:
                name = column.meta.output_name()
            except pl.exceptions.PolarsError as error:
                message = f"The expression {column} does not return a single named column. Add .alias(…)."
                raise SpecificationError(message) from error
            require_row_by_row(f"The expression for column {name!r}", column)
            other = self.expressions.setdefault(name, column)
            clash = name in self._plain or not other.meta.eq(column)
        else:
            raise SpecificationError(f"A column must be a name or a Polars expression, got {_described(column)}.")
        if name in ("", "*") or "\0" in name or (name.startswith("^") and name.endswith("$")):
            raise SpecificationError(f"A column cannot be named {name!r}. Rename it, or give it an alias.")
        if clash:
            raise SpecificationError(f"Two different columns are named {name!r}. Give the expression an .alias(…).")
        return name

    def columns_by_model(self, columns: Any, labels: Sequence[Any] | None) -> dict[str, tuple[str, ...]]:
        """Return column names by model.

        With ``labels``, a mapping assigns a column to each label. A mapping of names that are not labels, to such
        mappings or to list columns, defines several models.
        """
        if columns is None:
            return {}
        if not isinstance(columns, Mapping) or (labels is not None and maps_labels(columns, labels)):
            return {SINGLE: self.columns_by_label(columns, labels)}
        if not columns or not all(isinstance(model, str) and model for model in columns):
            raise SpecificationError(
                "A mapping of models to columns must have at least one model, and each must have a name."
            )
        return {model: self.columns_by_label(column, labels) for model, column in columns.items()}

    def columns_by_label(self, columns: Any, labels: Sequence[Any] | None) -> tuple[str, ...]:
        """Return the name of one column, or one name per label, in the order of the labels."""
        if columns is None:
            return ()
        if not isinstance(columns, Mapping) or labels is None:
            return (self.add(columns),)
        if set(columns) != set(labels):
            raise SpecificationError(
                f"Columns are mapped for the labels {few(columns)}, but the labels are {few(labels)}."
            )
        return tuple(self.add(columns[label]) for label in labels)

    def targets(
        self, kind: Kind, y_true: Any, y_pred: Any, y_score: Any, labels: Sequence[Any] | None
    ) -> dict[str, Any]:
        """Return the columns of true and predicted values and of scores, and the labels with columns of their own."""
        of_labels = {"multiclass": [y_score], "multilabel": [y_true, y_pred, y_score]}.get(kind, [])
        declared = labels_of(labels, *of_labels)
        in_truth, in_score = (declared if kind in kinds else None for kinds in (("multilabel",), SEVERAL))
        return {
            "y_true": self.columns_by_label(y_true, in_truth),
            "y_pred": self.columns_by_model(y_pred, in_truth),
            "y_score": self.columns_by_model(y_score, in_score),
            "labels": declared,
        }


def _described(column: Any) -> str:
    """A short form of a value that is not a column, with the fix if it has several values."""
    listed = isinstance(column, list | tuple)
    if listed and all(isinstance(one, str | pl.Expr) for one in column):
        return f"{few(column)}. For several columns, map each label or model to one"
    if listed or hasattr(column, "__array__"):
        return f"values of type {type(column).__name__}. Pass the name of the column, and the rows to update"
    return repr(column)


def coarser(roles: Roles, columns: Iterable[Column], folds: int | None) -> tuple[Roles, dict[str, pl.Expr]]:
    """The same roles with fewer or coarser group columns or folds, and the expressions that compute these."""
    names = Names()
    by = tuple(names.add(column) for column in columns)
    expressions, before = names.expressions, roles.expressions
    for column in (root for name in by for root in expressions.get(name, pl.col(name)).meta.root_names()):
        if column not in roles.by:
            similar = did_you_mean(column, roles.by)
            columns_of_groups = ", ".join(roles.by) or "none"
            raise SpecificationError(f"Unknown group column {column!r}.{similar} Group columns: {columns_of_groups}.")
    of_batches = {n: e for n, e in expressions.items() if not set(before).intersection(e.meta.root_names())}
    others = {n: e for n, e in before.items() if n not in expressions}
    rolled = replace(roles, by=by, expressions=others | of_batches, folds=roles.folds if folds is None else folds)
    if roles.folds % rolled.folds:
        raise SpecificationError(
            Argument("folds"), f" must divide the {roles.folds} folds of the accumulator, got {folds}."
        )
    if rolled.folds < roles.folds:
        expressions = {**expressions, FOLD: pl.col(FOLD) // (roles.folds // rolled.folds)}
    return rolled, expressions


def labels_of(declared: Sequence[Any] | None, *columns: Any) -> tuple[Any, ...]:
    """Return the labels of a task: the declared ones, else the keys of a mapping of labels to columns.

    >>> labels_of(None, "y", {"cat": "p_cat", "dog": "p_dog"})
    ('cat', 'dog')
    """
    if declared is not None:
        return plain_labels(declared)
    for mapping in columns:
        while isinstance(mapping, Mapping) and mapping:
            if not _nested(mapping):
                return plain_labels(mapping)
            mapping = next(column for column in mapping.values() if isinstance(column, Mapping))
    return ()


def several(values: Any) -> tuple[Any, ...]:
    """Return one value, such as a string, or several values as a tuple.

    >>> several("country"), several(["day", "country"]), several(0.5)
    (('country',), ('day', 'country'), (0.5,))
    """
    if isinstance(values, Mapping):
        named = [(name, column) for name, column in values.items() if isinstance(column, str)]
        fix = f" To rename a column, pass pl.col({named[0][1]!r}).alias({named[0][0]!r})." if named else ""
        raise SpecificationError(f"Pass a list instead of the mapping {values!r:.80}.{fix}")
    if isinstance(values, np.ndarray):
        values = np.atleast_1d(values)
    return tuple(values) if isinstance(values, Iterable) and not isinstance(values, (str, bytes)) else (values,)


def plain_labels(labels: Iterable[Any], option: str = "labels") -> tuple[Any, ...]:
    """Return labels as values that can be saved.

    >>> plain_labels(pl.Series(["cat", "dog"]))
    ('cat', 'dog')
    """
    if not isinstance(labels, Iterable):
        raise SpecificationError(
            Argument(option), f" must be a list of all labels, such as ['a', 'b'], got {labels!r}."
        )
    listed = [labels] if isinstance(labels, str) else list(map(as_text, labels))
    try:
        series = pl.Series(listed)
    except (*FOREIGN, RuntimeError):  # such as of decimals that are too large
        series = pl.Series(listed, dtype=pl.Object)
    if isinstance(labels, str) or (listed and series.dtype not in LABELS):
        raise SpecificationError(
            Argument(option), f" must be two or more strings, numbers, or Booleans of one type, got {few(listed)}."
        )
    if series.null_count() or (series.dtype.is_float() and series.is_nan().any()):
        raise SpecificationError(Argument(option), f" must not contain null or NaN, got {few(listed)}.")
    if series.n_unique() < len(series):
        raise SpecificationError(f"Label {series.filter(series.is_duplicated())[0]!r} is repeated.")
    return tuple(as_written(series).to_list() if series.dtype == pl.Float32 else series.to_list())


def as_text(label: Any) -> Any:
    """Return a label of bytes as text, as the columns are read.

    >>> as_text(b"yes"), as_text(1)
    ('yes', 1)
    """
    try:
        return label.decode() if isinstance(label, bytes) else label
    except UnicodeDecodeError:
        raise SpecificationError(f"Labels must be text, got the bytes {label!r}, which are not UTF-8.") from None


def _label(option: str, value: Any) -> Any:
    """One label of a binary task, as a Python value."""
    label = as_text(value.item() if isinstance(value, np.generic) else value)
    if not isinstance(label, SCALARS) or label != label:
        raise SpecificationError(Argument(option), f" must be a string, number, Boolean, date, or time, got {value!r}.")
    return label


def maps_labels(columns: Any, labels: Sequence[Any] | None) -> bool:
    """Return whether columns are a mapping of labels rather than of models. Its keys are the labels by default.

    >>> maps_labels({"cat": "p_cat", "dog": "p_dog"}, None), maps_labels({"new": "p"}, ["cat", "dog"])
    (True, False)
    """
    if not isinstance(columns, Mapping) or _nested(columns):
        return False
    return not columns or bool(set(columns).intersection(labels_of(labels, columns)))


def _nested(columns: Mapping[Any, Any]) -> bool:
    return any(isinstance(column, Mapping) for column in columns.values())
