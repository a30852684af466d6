"""Which scores and labels belong together as of a commit, and what later commits change about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from streammetrics.joining.waiting import COMMIT, CORRECTION, KIND


def pairs(scores: pl.LazyFrame, labels: pl.LazyFrame, key: Sequence[str], upto: int) -> pl.LazyFrame:
    """The scores that have a label as of a commit, with it.

    Of several scores with one key the first counts. So does the first label, unless it was corrected: then the last
    correction does.
    """
    scores, labels = (rows.filter(pl.col(COMMIT) <= upto) for rows in (scores, labels))
    rank = pl.when(pl.col(KIND) == CORRECTION).then(pl.col(COMMIT)).otherwise(-pl.col(COMMIT))
    first = scores.sort(COMMIT).unique(key, keep="first")
    valid = labels.sort(rank).unique(key, keep="last").drop(KIND, COMMIT)
    return first.join(valid, on=key, how="inner")


@dataclass(frozen=True)
class Change:
    """What some commits change.

    Args:
        new: pairs that were none before.
        corrected: pairs whose label was another one before.
        waiting: number of labels of the last commit that have no score.
        duplicates: number of labels of the last commit that do not count, since there is one.
        since: the commit before.
        upto: the last commit.
    """

    new: pl.DataFrame
    corrected: pl.DataFrame
    waiting: int
    duplicates: int
    since: int
    upto: int

    @classmethod
    def between(
        cls, scores: pl.DataFrame, labels: pl.DataFrame, key: Sequence[str], truth: Sequence[str], since: int, upto: int
    ) -> Change:
        """The change from one commit to another, of keys whose scores and labels are all given.

        Args:
            scores: rows of the log.
            labels: rows of the log, corrections among them; no columns but their own.
            key: columns that both have.
            truth: columns that labels have besides.
            since: the commit before.
            upto: the last commit.
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
