"""Models in a state: the groups of one model, and the tables of pairs of models on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import SUM_ROUNDING, text
from streammetrics.data import MODEL
from streammetrics.errors import ReportError
from streammetrics.statistics import GROUP, PAIR, Paired, RowCounts, State, Statistic

if TYPE_CHECKING:
    from streammetrics.report import Report

SIDES = ("a", "b")


def of_model(report: Report, name: str) -> Report:
    """Return the report of one model."""
    require_models(report.state, name)
    groups = report._with_states(lambda state: state.select(state.keys.filter(pl.col(MODEL) == name)))
    return groups._with_states(lambda state: state.without(MODEL))


def pairs_of(state: State, a: str, b: str) -> State:
    """The tables of paired statistics for two models, whose groups are merged."""
    of_both = state.select(state.keys.filter(pl.col(MODEL).is_in([a, b])))
    paired = tuple(s for s in of_both.statistics if isinstance(s, Paired))
    return replace(of_both, statistics=paired).without(MODEL)


def require_models(state: State, *names: str) -> None:
    """Reject models that a state does not have."""
    models = state.keys[MODEL].unique(maintain_order=True).to_list() if MODEL in state.by else []
    for name in names:
        require_model(name, models)


def require_model(name: str, models: Sequence[str]) -> None:
    """Reject an unknown model."""
    if name not in models:
        raise ReportError(f"Unknown model {name!r}. Models: {text.few(models) or 'none'}.")


@dataclass(frozen=True)
class SameRows:
    """States of two models, and of pairs of models. Groups have the same numbers in all three."""

    a: State
    b: State
    pairs: State
    names: tuple[str, str]

    @classmethod
    def of(cls, a: State, b: State, pairs: State, names: tuple[str, str]) -> SameRows:
        """Two models and their pairs, with the groups of the pairs."""
        return cls(a.select(pairs.keys), b.select(pairs.keys), pairs, names)

    def table(self, kind: type[Paired]) -> pl.DataFrame:
        """The table of a statistic of the two models, for groups in which both predicted the same rows.

        Empty if it is not stored, or consists of weights, which do not give the number of rows.
        """
        for statistic in self.pairs.statistics:
            if isinstance(statistic, kind):
                table = statistic.between(self.pairs.table(statistic), *self.names)
                if table is not None and not statistic.is_weighted(table):
                    return self._of_same_rows(table, statistic)
        return pl.DataFrame()

    def _of_same_rows(self, table: pl.DataFrame, statistic: Paired) -> pl.DataFrame:
        total = pl.sum_horizontal(statistic.counts).sum().alias("rows")
        per = (key for key in statistic.checks.per if key != PAIR)
        rows = table.group_by(GROUP, *per).agg(total).group_by(GROUP).agg(pl.max("rows"))
        for state in (self.a, self.b):
            rows = rows.join(state.tables[RowCounts.name], on=[GROUP, "rows"], how="semi")
        return table.join(rows, on=GROUP, how="semi", maintain_order="left")

    @cached_property
    def same(self) -> pl.Series:
        """Whether both models predicted the same rows, by group: null if no table of the pair counts them."""
        for statistic in self.pairs.statistics:
            pairs = statistic.pairs if isinstance(statistic, Paired) else ()
            numbers = [i for i, pair in enumerate(pairs) if {*pair} == {*self.names}]
            if numbers:
                table = self.pairs.tables[statistic.name].filter(pl.col(PAIR).is_in(numbers))
                weighted = statistic.is_weighted(table)
                shared = _sizes(self.pairs, statistic, table)
                one, other = ((_sizes_of_model(state, weighted) - shared).abs() for state in (self.a, self.b))
                rounding = shared * (SUM_ROUNDING if weighted else 0.0)
                return (one <= rounding) & (other <= rounding)
        is_one_model = len({*self.names}) == 1
        return pl.Series([is_one_model or None] * self.a.groups.height, dtype=pl.Boolean)

    def totals(self, statistic: str, keys: pl.DataFrame, total: pl.Expr, squares: str) -> pl.DataFrame:
        """A sum of each model, and the sum of its squares, for groups and keys of a statistic."""
        totals = keys
        for side, state in zip(SIDES, (self.a, self.b), strict=True):
            stored = next(s for s in state.statistics if s.name == statistic)
            sums = state.table(stored).select(
                *keys.columns, total.alias(f"total_{side}"), pl.col(squares).alias(f"squares_{side}")
            )
            totals = totals.join(sums, on=keys.columns, how="left", maintain_order="left")
        return totals


def _sizes(state: State, statistic: Statistic, table: pl.DataFrame) -> pl.Series:
    """The number of rows of each group in a table, or their weight."""
    sizes = statistic.checks.rows_of_groups(table, 1)
    return state.groups.join(sizes, on=GROUP, how="left", maintain_order="left")["most"].fill_null(0.0)


def _sizes_of_model(state: State, weighted: bool) -> pl.Series:
    """The number of rows of each group of a model, or their weight; null if it was not counted."""
    if weighted:
        counted = (s for s in state.statistics if s.checks.rows and not s.checks.some)
        sizes = (_sizes(state, s, state.tables[s.name]) for s in counted)
        return next(sizes, pl.Series([None] * state.groups.height, dtype=pl.Float64))
    rows = state.tables[RowCounts.name].select(GROUP, pl.col("rows").cast(pl.Float64))
    return state.groups.join(rows, on=GROUP, how="left", maintain_order="left")["rows"].fill_null(0.0)
