"""Label coverage: how many scores of each day have labels, including expired scores."""

from __future__ import annotations

import polars as pl

from streammetrics.joining.waiting import CORRECTION, COUNTS, DAY, EXPIRED, LABEL, SCORE, Waiting, counted


def coverage(waiting: Waiting) -> pl.DataFrame:
    """Return one row per day, with the columns that `Joiner.coverage` lists."""
    table = waiting.table.find()
    if table is None:
        return _shown(pl.DataFrame(schema={DAY: pl.Date, **dict.fromkeys((*COUNTS, EXPIRED), pl.Int64)}))
    with waiting.table.reading():
        scores, labels = waiting.rows(table, SCORE), waiting.rows(table, LABEL, CORRECTION)
        alone = labels.join(scores, on=waiting.key, how="anti")
        now = counted(scores, labels, alone, waiting.key).with_columns(pl.lit(0, pl.Int64).alias(EXPIRED))
        past = waiting.rows(table, EXPIRED).select(pl.col("_of").alias(DAY), *COUNTS).collect()
        gone = past.with_columns((pl.col(COUNTS[0]) - pl.col(COUNTS[1])).alias(EXPIRED))
        return _shown(pl.concat([gone, now], how="vertical_relaxed").group_by(DAY).sum())


def _shown(counts: pl.DataFrame) -> pl.DataFrame:
    scores, labeled, alone = (pl.col(name) for name in COUNTS)
    return counts.sort(DAY).select(
        day=DAY,
        scores=scores,
        labeled=labeled,
        coverage=pl.when(scores > 0).then(labeled / scores),
        waiting=scores - labeled - pl.col(EXPIRED),
        expired=EXPIRED,
        labels_without_score=alone,
    )
