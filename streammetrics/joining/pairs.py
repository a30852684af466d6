"""Pairs of scores and labels as of a commit, and how later commits change them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from streammetrics.history.label_coverage import COMMIT, CORRECTION, KIND


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
