"""Columns of the user, validated and cast to the type of their role."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, Final

import numpy as np
import polars as pl

from streammetrics import core
from streammetrics.base import few, near, reason
from streammetrics.core import NOTHING, Extent
from streammetrics.data.rows.codes import number
from streammetrics.data.rows.frames import CODED, group_column, has_values, limits, typed
from streammetrics.data.rows.labels import (
    SOME_LABELS,
    equals,
    instead_of_third,
    is_missing,
    null_instead_of,
    number_instead_of,
    resembles,
)
from streammetrics.data.rows.roles import INTEGERS, SINGLE, Roles
from streammetrics.data.rows.row_by_row import differs_in_parts, looks_at_other_rows
from streammetrics.data.rows.series import EXACT, as_series
from streammetrics.errors import Argument, ColumnError, DataError, Parts, StreamMetricsError

FLAGS = ((0, 0), (0, 1), (1, 1), NOTHING)  # extents of labels that are 0 or 1
AT_ONCE = 32_768  # rows whose probabilities are summed in the cache
TOLERANCE = 1e-4  # tolerance for the sum of the probabilities of a row
RARE = 0.01  # maximum share of rows with scores outside [0, 1] that counts as errors in the data
MOST_EQUAL = 10**12  # largest number of equal rows that a row stands for
HEAVIEST = 1e280  # largest weight of a row: sums are finite, however many rows there are
ULPS = 4  # units in the last place below 1 by which scores can be outside [0, 1]; they are clipped
SLIGHT = 0.01  # by which scores are outside [0, 1] because of rounding in a narrower type, or in a sum
MOST_NAMES = 5  # maximum number of columns in a message
# both, since with only the positive label all others are negative
NAME_LABELS: Final[Parts] = (
    *("Pass ", Argument("positive"), " to set the positive label, and "),
    *(Argument("negative"), " to reject any third label"),
)
MORE_LABELS = "For more than two labels, use the multiclass task, and for numbers, the regression task"
DROP = "Fix these rows, or drop them with a filter"
STATES = "row_counts"  # a column of all saved states and histories
OF_STATES = "Read saved states with Accumulator.load or streammetrics show, and histories with MetricStore."
OF_NULLS = (pl.String(), pl.Float64(), pl.Datetime(), pl.Boolean())  # types of columns without any value, to try


def require_columns(names: Sequence[str], present: Sequence[str]) -> None:
    """Reject data with missing columns, and name all of them.

    >>> require_columns(["fraud", "score"], ["is_fraud", "score_v1", "day"])
    Traceback (most recent call last):
    streammetrics.errors.ColumnError: Columns 'fraud', 'score' not found. Did you mean 'is_fraud', 'score_v1'? \
Available columns: 'is_fraud', 'score_v1', 'day'.
    >>> require_columns(["region"], ["customer_region", "day"])
    Traceback (most recent call last):
    streammetrics.errors.ColumnError: Column 'region' not found. Did you mean 'customer_region'? \
Available columns: 'customer_region', 'day'.
    """
    if missing := [name for name in dict.fromkeys(names) if name not in present]:
        each = 2 if len(missing) == 1 else 1
        matches = dict.fromkeys(match for name in missing for match in near(name, present, each))
        suggestions = (" or " if len(missing) == 1 else ", ").join(map(repr, matches))
        advice = f" Did you mean {suggestions}?" if matches else f" {OF_STATES}" if STATES in present else ""
        noun = "Columns" if len(missing) > 1 else "Column"
        raise ColumnError(f"{noun} {few(missing)} not found.{advice} Available columns: {few(present) or 'none'}.")


def _without_values_as_null(column: pl.Series) -> pl.Series:
    """Text without any value as nulls, which can be labels or numbers: in CSV files, empty columns are text."""
    unknown = column.dtype == pl.String and len(column) > 0 and not has_values(column)
    return typed(column.to_frame(), {column.name: pl.Null()}).to_series() if unknown else column


class Reader:
    """Columns of one batch by role. ``faults`` collects the errors of rows; without it, the first of them is raised."""

    def __init__(self, frame: pl.DataFrame, roles: Roles, faults: list[DataError] | None = None) -> None:
        self.frame = frame
        self.roles = roles
        self.faults = faults
        self.declared: bool = True  # whether all labels so far are declared
        undeclared = roles.positive is not None and roles.negative is None
        self.others: frozenset[Any] | None = frozenset() if undeclared else None  # see `Batch`

    def column(self, name: str) -> pl.Series:
        """Return a column of the batch, or the result of its expression, with bytes as text."""
        column = self.unit(name)
        if column.dtype != pl.Binary:
            return column
        try:
            return column.cast(pl.String)
        except pl.exceptions.ComputeError:
            decoded = [None if value is None else value.decode(errors="replace") for value in column]
            text = pl.Series(name, decoded, pl.String)
            fix = f"Encode them as text, such as pl.col({name!r}).bin.encode('hex')"
            self._refuse(column, text.cast(pl.Binary) != column, "bytes that are not UTF-8 text", fix)
            return text

    def unit(self, name: str) -> pl.Series:
        """Return a column of the batch, or the result of its expression. Units can be any bytes."""
        expression = self.roles.expressions.get(name)
        if expression is None:
            column = self.frame.get_column(name)
            return as_series(name, column.to_list()) if column.dtype == pl.Object else column
        try:
            frame, values = self._computed(expression)
            if name in self.roles.undecided and differs_in_parts(expression, frame, values):
                raise looks_at_other_rows(f"The expression for column {name!r}")
        except StreamMetricsError:
            raise
        except (Exception, pl.exceptions.PanicException) as error:
            roots = [self.frame[name] for name in dict.fromkeys(expression.meta.root_names()) if name in self.frame]
            text = [column for column in roots if column.dtype == pl.String]
            first = "".join(f" Column {c.name!r} is text (first: {c.drop_nulls().first()!r})." for c in text)
            raise ColumnError(f"The expression for column {name!r} fails: {reason(error)}.{first}") from error
        if expression.meta.is_literal(allow_aliasing=True):
            return values.new_from_index(0, self.frame.height)
        if len(values) != self.frame.height:
            raise ColumnError(f"The expression for column {name!r} returns {len(values)} rows for {self.frame.height}.")
        return values

    def _computed(self, expression: pl.Expr) -> tuple[pl.DataFrame, pl.Series]:
        """The batch and the result of an expression, for which columns without any value can have another type."""
        try:
            return self.frame, self.frame.select(expression).to_series()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            roots = [name for name in expression.meta.root_names() if name in self.frame.columns]
            empty = [name for name in roots if not has_values(self.frame[name])]
            for dtype in OF_NULLS if empty else ():
                with suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException):
                    frame = typed(self.frame, dict.fromkeys(empty, dtype))
                    return frame, frame.select(expression).to_series()
            raise

    def flags(self, column: pl.Series) -> pl.Series:
        """A binary label column as Boolean."""
        name, original, dtype = column.name, column, column.dtype
        if dtype.is_float() and (total := column.sum()) != total:  # NaN propagates to the sum, which is cheap
            column = column.fill_nan(None)
        self._refuse_nulls(column, original)
        if self.roles.positive is None and dtype in INTEGERS and extent(column) in FLAGS:
            return column.cast(pl.Boolean)
        column = _without_values_as_null(column)
        if self.roles.positive is not None:
            return self._named_labels(column)
        if column.dtype == pl.Boolean:
            return column
        if column.dtype == pl.Null:
            return column.cast(pl.Boolean)
        self._refuse_text(column, labels=True)
        if not column.dtype.is_numeric():
            text = column.dtype == pl.String  # because of a value other than 0 and 1, if there is one
            examples = pl.concat([column.filter(~column.is_in(["0", "1"])), column]) if text else column
            first = f"{column.dtype} (first: {examples.drop_nulls().first()!r})"
            raise ColumnError(f"Column {name!r} must be Boolean or 0/1, got {first}. ", *self._advice_on(column), ".")
        positive = column == 1
        wrong = ~(positive | (column == 0))
        self._refuse(column, wrong, "labels other than 0 and 1", *self._flags_instead_of(column, wrong))
        return positive

    def _flags_instead_of(self, column: pl.Series, wrong: pl.Series) -> Parts:
        """The fix of labels other than 0 and 1: fractions are scores, few others are faulty rows."""
        if column.dtype.is_float() and 2 * int((column % 1 != 0).sum()) > len(column):
            fractions = "Most values are fractions, such as scores. "
            if column.name in self.roles.y_true:
                return (fractions, "Check that ", Argument("y_true"), " and ", Argument("y_score"), " are not swapped")
            return (fractions, "Pass scores as ", Argument("y_score"))
        if (column == 1).any() and int(wrong.sum()) < RARE * len(column):
            return (DROP,)
        return self._advice_on(column) if self.roles.kind == "binary" else ("Map the labels to 0 and 1",)

    def _advice_on(self, labels: pl.Series) -> Parts:
        more = self.roles.kind == "binary" and labels.drop_nulls().n_unique() > 2
        return (MORE_LABELS, ". ", *NAME_LABELS) if more else NAME_LABELS

    def _named_labels(self, column: pl.Series) -> pl.Series:
        positive, negative = self.roles.positive, self.roles.negative
        if column.dtype == pl.Null:
            return column.cast(pl.Boolean)
        if column.dtype in CODED:
            column = column.cast(pl.String)
        self._refuse_far_times(column)
        is_positive = equals(column, positive)
        if negative is None:
            self._refuse_resembling(column)
            if column.name in (self.roles.y_true or self.roles.y_pred.get(SINGLE, ())):
                self.others = self._others(column, is_positive)
        elif (wrong := ~(is_positive | equals(column, negative))).any():
            fix = instead_of_third(column.filter(wrong)[0], self.roles)
            self._refuse(column, wrong, f"labels other than {positive!r} and {negative!r}", *fix)
        return is_positive

    def _refuse_resembling(self, column: pl.Series) -> None:
        """Reject labels that are the positive one but for capital letters, which would count as negative."""
        if column.dtype != pl.String:
            return
        codes, first = number(column)
        labels, positive = column.gather(first), self.roles.positive
        similar = resembles(labels, positive)
        if similar.any():
            fault = f"labels that differ from {positive!r} only in spaces or capital letters"
            listed = few(labels.drop_nulls().unique().sort())
            fix = f"Labels: {listed}. Write them with the same spaces and capital letters"
            self._refuse(column, similar.gather(codes), fault, fix)

    def _others(self, column: pl.Series, is_positive: pl.Series) -> frozenset[Any] | None:
        """The labels of the targets, or some of them, if none is positive."""
        if is_positive.any():
            return None
        labels = column.drop_nulls().unique().sort()
        return frozenset(label for label in labels.head(SOME_LABELS) if not is_missing(label))

    def group(self, name: str) -> pl.Series:
        """A group column in a portable type, or as categories, of which only the groups become strings."""
        column = self.column(name)
        self._refuse_far_times(column)
        return column if column.dtype in CODED else group_column(column)

    def scores(self, column: pl.Series) -> pl.Series:
        """A score column as floats of its own type."""
        column, (low, high) = self._with_extent(column)
        tolerance = ULPS * float(np.finfo(column.head(0).to_numpy().dtype).eps)
        if self.roles.rounding is not None:
            column = self._multiples(column, Fraction(repr(self.roles.rounding)), tolerance)
            low, high = extent(column)
        if self.roles.probability and not (low >= 0 and high <= 1):
            wrong = ~column.is_between(-tolerance, 1 + tolerance)
            self._refuse(column, wrong, "scores outside [0, 1]", *self._probabilities_instead_of(column, wrong))
            column = column.clip(0, 1)
        return column

    def _multiples(self, column: pl.Series, step: Fraction, tolerance: float) -> pl.Series:
        """Scores as the nearest multiples of a step, so that those of different types and engines are equal."""
        scores = column.cast(pl.Float64).to_numpy()
        errors = tolerance * np.maximum(np.abs(scores), 1)
        with np.errstate(over="ignore", invalid="ignore"):
            multiples = np.rint(scores / float(step)) * step.numerator / step.denominator
            multiples = np.where(step > 2 * errors, multiples, scores)
            wrong = np.abs(multiples - scores) > errors
        fix = ("Round all scores to it, or omit ", Argument("rounding"))
        self._refuse(column, pl.Series(wrong), f"scores that are not multiples of {float(step):g}", *fix)
        return pl.Series(column.name, multiples).fill_nan(None)

    def _probabilities_instead_of(self, column: pl.Series, wrong: pl.Series) -> Parts:
        """The fix of scores outside [0, 1]: rounding errors are clipped, few others are faulty, more can be margins."""
        if column.filter(wrong).is_between(-SLIGHT, 1 + SLIGHT).all():
            return ("These are rounding errors. Clip them to [0, 1]",)
        margins, binary = Argument("domain", "real"), self.roles.kind == "binary"
        if int(wrong.sum()) >= RARE * len(column):
            fix = "Pass probabilities (percentages divided by 100)"
            return (fix, ", or ", margins, " for margins and other scores") if binary else (fix,)
        return (DROP, ". Pass ", margins, " only for margins and other scores") if binary else (DROP,)

    def targets(self, names: Sequence[str]) -> list[pl.Series]:
        """True or predicted values: one column, or one for each label of a multilabel task."""
        match self.roles.kind:
            case "regression":
                return [self.measured(name) for name in names]
            case "multiclass":
                return [self.classes(name) for name in names]
            case "multilabel":
                return [self.flags(column) for column in self.each(names)] if names else []
            case _:
                return [self.flags(self.column(name)) for name in names]

    def measured(self, name: str) -> pl.Series:
        """A column of finite numbers as Float64."""
        column, (low, high) = self._with_extent(self.column(name))
        if len(column) and (low == -np.inf or high == np.inf):
            advice = "Errors of infinite values are undefined. Drop these rows first"
            self._refuse(column, column.is_infinite(), "infinite values", advice)
        return column.cast(pl.Float64)

    def classes(self, name: str) -> pl.Series:
        """A column of class labels: as numbers of the declared labels, if any, else unchanged."""
        column = self.column(name)
        self._refuse_far_times(column)
        column = group_column(column, advice="Class labels must be plain values")
        self._refuse_nulls(column)
        return self._declared(column) if self.roles.labels else column

    def require_classes(self, predicted: pl.Series, actual: pl.Series) -> None:
        """Reject fractions as predicted classes if the true classes are integers."""
        if predicted.dtype.is_float() and actual.dtype.is_integer():
            fault = f"fractions, but the labels of {actual.name!r} are integers"
            self._refuse(predicted, predicted % 1 != 0, fault, "Round them, or use the regression task for numbers")

    def each(self, names: Sequence[str]) -> list[pl.Series]:
        """One column per label: the columns of these names, or the items of one list column."""
        labels = len(self.roles.labels)
        if len(names) != 1:
            return [self.column(name) for name in names]
        column = self.column(names[0])
        if not labels or (labels == 1 and not column.dtype.is_nested()):
            return [column]
        if column.dtype == pl.Null:
            column = column.cast(pl.List(pl.Null))
        if not isinstance(column.dtype, (pl.List, pl.Array)):
            raise ColumnError(f"Column {column.name!r} must be a list of {labels} values, got {column.dtype}.")
        if isinstance(column.dtype, pl.Array):
            column = column.arr.to_list()
        self._refuse_nulls(column)
        wrong = column.list.len() != labels
        self._refuse(column, wrong, f"lists whose length is not {labels}", "Pass one item per label")
        return [column.list.get(i).alias(column.name) for i in range(labels)]

    def probabilities(self, names: Sequence[str]) -> list[pl.Series]:
        """Columns of class probabilities as floats; those of a row must sum to 1."""
        add_up = self.roles.probability and self.roles.kind == "multiclass"
        if add_up and self.roles.renormalize:
            return self._renormalized(names)
        scores = [self.scores(column) for column in self.each(names)]
        if not add_up or not self.declared:  # probabilities without those of some labels do not sum to 1
            return scores
        totals = np.zeros(len(scores[0]))
        for rows in (slice(start, start + AT_ONCE) for start in range(0, len(totals), AT_ONCE)):
            for column in scores:
                totals[rows] += column[rows].to_numpy()
        total = pl.Series(self._sum_of(names), totals).fill_nan(None)
        tolerance = max(TOLERANCE, len(scores) * (self.roles.rounding or 0.0))
        if max(abs(end - 1) for end in extent(total)) > tolerance:
            wrong, fault = (total - 1).abs() > tolerance, "probabilities that do not sum to 1"
            renormalize = (", or pass ", Argument("renormalize", True)) if self.roles.rounding is None else ()
            self._refuse(total, wrong, fault, "Fix the probabilities", *renormalize)
        return scores

    def _renormalized(self, names: Sequence[str]) -> list[pl.Series]:
        """Columns of counts, votes, or probabilities, divided by their sum."""
        scores = [self.amounts(column, "scores") for column in self.each(names)]
        sums = core.row_sums([column.to_numpy() for column in scores])
        total = pl.Series(self._sum_of(names), sums).fill_nan(None)
        self._refuse(total, total <= 0, "probabilities that are all 0", "Drop these rows first")
        self._refuse(total, total.is_infinite(), "scores whose sum overflows", "Divide the scores first")
        return [column / total for column in scores]

    @staticmethod
    def _sum_of(names: Sequence[str]) -> str:
        more = f" + … ({len(names)} columns)" if len(names) > MOST_NAMES else ""
        return " + ".join(names[:MOST_NAMES]) + more

    def _declared(self, column: pl.Series) -> pl.Series:
        """The number of each row's label among the declared labels."""
        codes, first = number(column)
        places = {label: i for i, label in enumerate(self.roles.labels)}
        numbers = np.array([places.get(value, -1) for value in column.gather(first).to_list()], dtype=np.int64)
        numbered = pl.Series(column.name, numbers[codes])
        if (numbers >= 0).all():
            return numbered
        numbered = numbered.set(numbered < 0, None)
        if numbered.null_count() > column.null_count():
            self.declared = False
            self._refuse_undeclared(column, numbered.is_null() & column.is_not_null())
        return numbered

    def _refuse_undeclared(self, column: pl.Series, wrong: pl.Series) -> None:
        """Reject labels that are not declared, or only in another type."""
        value, labels = column.filter(wrong)[0], self.roles.labels
        same = next((label for label in labels if str(label) == str(value)), None)
        if same is not None:
            fix: Parts = (f"Declare labels in the type of the column: {value!r}, not {same!r}",)
        elif any(len(names) > 1 for names in self.roles.y_score.values()):  # which are mapped
            fix = ("Pass ", Argument("y_score"), " for every label, or drop these rows first")
        else:
            every_label = (Argument("labels"), " or ", Argument("order"), " with every label")
            fix = ("Pass ", *every_label, ", or drop these rows first")
        self._refuse(column, wrong, f"labels other than {few(labels)}", *fix)

    def amounts(self, column: pl.Series, what: str, most: float = np.inf) -> pl.Series:
        """A column as Float64, finite, nonnegative, and at most a limit."""
        column, (low, high) = self._with_extent(column)
        if len(column) and not (low >= 0 and high < np.inf):
            wrong = (column < 0) | column.is_infinite()
            self._refuse(column, wrong, f"negative or infinite {what}", "Fix the values, or drop these rows first")
        if high > most:
            wrong = (column > most) & column.is_finite()
            self._refuse(column, wrong, f"{what} above {most:g}", "Rescale the column")
        return column.cast(pl.Float64)

    def counts(self, column: pl.Series) -> pl.Series:
        """A column of numbers of equal rows as Int64."""
        amounts = self.amounts(column, "counts", MOST_EQUAL)
        self._refuse(column, amounts != amounts.floor(), "counts that are not whole numbers", "Pass numbers of rows")
        return amounts.cast(pl.Int64)

    def _with_extent(self, column: pl.Series) -> tuple[pl.Series, Extent]:
        """A column as floats without NaN, with its minimum and maximum."""
        original, column = column, self._as_floats(column)
        ends = extent(column)
        if ends[0] != ends[0]:
            column = column.fill_nan(None)
            ends = extent(column)
        self._refuse_nulls(column, original)
        if original is not column and original.dtype.is_integer() and max(-ends[0], ends[1]) >= EXACT:
            wrong = column.cast(pl.Int128, strict=False) != original.cast(pl.Int128, strict=False)
            advice = "Subtract an offset, or round them by casting the column to Float64"
            self._refuse(original, wrong, "integers that a 64-bit float cannot hold", advice)
        return column, ends

    def _as_floats(self, column: pl.Series) -> pl.Series:
        if column.dtype.is_float():
            return column
        column = _without_values_as_null(column)
        self._refuse_text(column)
        if not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
            raise ColumnError(f"Column {column.name!r} must be numeric, got {column.dtype}{_instead_of(column)}")
        return column.cast(pl.Float64)

    def _refuse_text(self, column: pl.Series, labels: bool = False) -> None:
        """Reject text among numbers, which makes a column of a file a column of strings. Labels can be mostly text."""
        if column.dtype != pl.String:
            return
        wrong = column.is_not_null() & column.cast(pl.Float64, strict=False).is_null()
        few = 2 * int(wrong.sum()) < len(column)
        if wrong.any() and (few or not labels):
            text = column.filter(wrong)[0]
            fix = null_instead_of(text) if few else number_instead_of(text, column.name)
            self._refuse(column, wrong, "text that is not a number", *fix)

    def _refuse_nulls(self, column: pl.Series, original: pl.Series | None = None) -> None:
        if self.roles.nulls == "raise" and column.null_count():
            reported = column if original is None else original
            fix = ("Fill the values, or pass ", Argument("nulls", "drop"))
            self._refuse(reported, column.is_null(), "null or NaN", *fix)

    def _refuse_far_times(self, column: pl.Series) -> None:
        """Reject dates and times outside the range of Python, and durations that do not fit microseconds."""
        ends = limits(column.dtype)
        if ends is not None:
            number = column.to_physical()  # the values themselves cannot be shown
            fault = f"values out of the range of {column.dtype.base_type()}"
            advice = "Years must be 1 to 9999, and durations must fit 64 bits in microseconds"
            self._refuse(number, ~number.is_between(*ends), fault, advice)

    def _refuse(self, column: pl.Series, wrong: pl.Series, fault: str, *advice: str | Argument) -> None:
        """Raise or collect an error if a row is invalid, with the number of rows, the first one, and the fix."""
        if not wrong.any():
            return
        row = int(wrong.fill_null(False).arg_max() or 0)
        error = DataError(
            column=column.name,
            fault=fault,
            count=int(wrong.sum()),
            height=len(column),
            row=row,
            value=column.slice(row, 1).to_list()[0],
            advice=advice,
        )
        if self.faults is None:
            raise error
        self.faults.append(error)


def _instead_of(column: pl.Series) -> str:
    """The end of a message on a column that is not numeric: its fix."""
    name, dtype = column.name, column.dtype
    match dtype:
        case pl.String():
            return f" (first: {next(iter(column.drop_nulls()), None)!r}). Pass a numeric column."
        case pl.List():
            return f". Pass one item of each list, such as pl.col({name!r}).list.get(1), or in SQL {name}[2]."
        case pl.Array():
            return f". Pass one column of the array, such as {name}[:, -1], or pl.col({name!r}).arr.get(-1)."
        case pl.Struct():
            return f". Pass one field, such as pl.col({name!r}).struct.field({dtype.fields[-1].name!r})."
    return "."


def extent(column: pl.Series) -> Extent:
    """Return minimum and maximum of numbers, NaN if one is NaN."""
    ends = NOTHING
    values = column.drop_nulls() if column.null_count() else column
    if values.dtype == pl.Float16:  # the core has no such floats
        values = values.cast(pl.Float32)
    for chunk in values.get_chunks() if values.n_chunks() > 1 else [values]:
        low, high = core.extent(chunk.to_numpy())
        if low != low:
            return low, high
        ends = min(ends[0], low), max(ends[1], high)
    return ends
