"""What commits of waiting rows change: pairs of a score and its label. A pair is evaluated for the models it has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from streammetrics import Accumulator
from streammetrics.accumulator import empty_of
from streammetrics.data import LABEL, joint_types, read
from streammetrics.monitor.history.label_coverage import COMMIT, CORRECTION, KIND
from streammetrics.statistics import Paired, Statistic


def pairs(scores: pl.LazyFrame, labels: pl.LazyFrame, key: Sequence[str], upto: int) -> pl.LazyFrame:
    """Join scores with their labels as of a commit.

    If several scores have the same key, the first one counts. Of several labels, the last correction counts, or the
    first label if none was corrected.
    """
    scores, labels = (rows.filter(pl.col(COMMIT) <= upto) for rows in (scores, labels))
    rank = pl.when(pl.col(KIND) == CORRECTION).then(pl.col(COMMIT)).otherwise(-pl.col(COMMIT))
    first = scores.sort(COMMIT).unique(key, keep="first")
    valid = labels.sort(rank).unique(key, keep="last").drop(KIND, COMMIT)
    return first.join(valid, on=key, how="inner")


@dataclass(frozen=True)
class Change:
    """The change that the commits after ``since``, up to ``upto``, make."""

    new: pl.DataFrame  # pairs that did not exist before
    corrected: pl.DataFrame  # pairs whose label was different before
    waiting: int  # labels of the last commit that have no score
    duplicates: int  # labels of the last commit that are ignored, because their key already has a label
    since: int
    upto: int

    @classmethod
    def between(
        cls, scores: pl.DataFrame, labels: pl.DataFrame, key: Sequence[str], truth: Sequence[str], since: int, upto: int
    ) -> Change:
        """Return the change from one commit to another, from all scores and labels of the affected keys.

        ``truth`` are the columns of labels without the key.
        """
        before, after = (pairs(scores.lazy(), labels.lazy(), key, commit).collect() for commit in (since, upto))
        both = after.join(before.select(*key, *truth), on=key, suffix=" before")
        differs = pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name} before")) for name in truth)
        first = labels.sort(COMMIT).unique(key, keep="first")
        last = labels.filter(pl.col(COMMIT) == upto)
        later = last.filter(pl.col(KIND) != CORRECTION).join(first, on=[*key, COMMIT], how="anti")
        return cls(
            new=after.join(before, on=key, how="anti"),
            corrected=both.filter(differs).select(after.columns),
            waiting=last.join(scores, on=key, how="anti").height,
            duplicates=later.height,
            since=since,
            upto=upto,
        )


def split_by_models(rows: pl.LazyFrame, acc: Accumulator) -> Iterator[tuple[Accumulator, pl.LazyFrame]]:
    """Yield the rows that have the columns of some models, with an accumulator of these models.

    Waiting scores lack the columns of a model that was added after them.
    """
    roles = acc.roles
    if roles.nulls == "drop" or len(roles.models) == 1:
        yield acc.empty(), rows
        return
    complete = [
        pl.all_horizontal(
            roles.expressions.get(name, pl.col(name)).is_not_null()
            for name in (*roles.y_pred.get(model, ()), *roles.y_score.get(model, ()))
        ).alias(model)
        for model in roles.models
    ]
    for present in rows.select(complete).unique().sort(roles.models).collect().iter_rows(named=True):
        models = [model for model in roles.models if present[model]]
        same = pl.all_horizontal(
            is_complete if present[model] else ~is_complete
            for model, is_complete in zip(roles.models, complete, strict=True)
        )
        yield _with_models(acc, models or roles.models), rows.filter(same)


def require_one_type(rows: pl.DataFrame, acc: Accumulator) -> None:
    """Reject class labels and predictions of different types, also before the first rows match."""
    if acc.roles.kind == "multiclass" and not acc.roles.labels:
        columns = read(rows, acc.roles).columns.items()
        joint_types([pl.Schema({LABEL: s.dtype}) for field, s in columns if field.role in ("truth", "predicted")])


def _with_models(acc: Accumulator, models: Sequence[str]) -> Accumulator:
    """An empty accumulator of some models, and of the pairs of these models."""
    columns: dict[str, Any] = {
        role: {name: names for name, names in getattr(acc.roles, role).items() if name in models}
        for role in ("y_pred", "y_score")
    }
    statistics: list[Statistic] = []
    for statistic in acc.statistics:
        if not isinstance(statistic, Paired):
            statistics.append(statistic)
        elif pairs := tuple(pair for pair in statistic.pairs if {*pair} <= {*models}):
            statistics.append(replace(statistic, pairs=pairs))
    return empty_of(replace(acc.roles, **columns), statistics, acc)
