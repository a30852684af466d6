"""Helpers that several test files share."""

import numpy as np
import polars as pl

import streammetrics as sm


def histogram(score, label, capacity=16, domain="probability", atoms=(), weight=None):
    """An accumulator that keeps a score histogram alone."""
    batch = {"y": np.asarray(label), "p": np.asarray(score, dtype=np.float64)}
    batch |= {} if weight is None else {"w": weight}
    roles = {"y_true": "y", "y_score": "p", "sample_weight": None if weight is None else "w"}
    return sm.Accumulator(sm.statistics.ScoreHistogram(capacity, domain, atoms), **roles).update(batch)


def bins_of(acc):
    """The table of the score histogram."""
    return acc.state.tables["score_histogram"]


def shards(frame, rng, count):
    """Split rows at random places; some parts may be empty."""
    ends = np.sort(rng.integers(0, frame.height + 1, count - 1)).tolist()
    return [frame[a:b] for a, b in zip([0, *ends], [*ends, frame.height], strict=True)]


def shuffled(frame, rng):
    return frame[rng.permutation(frame.height)]


def merged_as_a_tree(parts, rng):
    """Merge two random accumulators at a time until one is left."""
    left = list(parts)
    while len(left) > 1:
        one, other = (left.pop(rng.integers(len(left))) for _ in range(2))
        left.append(one + other)
    return left[0]


def use_small_chunks(monkeypatch, rows=300):
    """Make a few hundred rows go all the ways that millions go: buffers, blocks, tables that fill up, merges."""
    for constant in ("state.content.BLOCK", "state.content.BUFFER", "state.tables.PENDING", "blocks.LOOSE"):
        monkeypatch.setattr(f"streammetrics.statistics.{constant}", rows // 2)


def confusion_cells(actual, predicted, weight=None, group=0):
    """The sparse table of a confusion matrix, its rows in no order."""
    rows = pl.DataFrame({"actual": actual, "predicted": predicted}).with_columns(
        group=pl.Series(np.broadcast_to(group, len(actual)), dtype=pl.UInt32),
        count=pl.lit(1, pl.Int64) if weight is None else pl.Series(weight, dtype=pl.Float64),
    )
    cells = rows.group_by("group", "actual", "predicted").agg(pl.sum("count"))
    return cells.sample(fraction=1, shuffle=True, seed=0)


def stacked(tables):
    """Tables of one group each, as groups of one table."""
    return pl.concat([table.with_columns(group=pl.lit(i, pl.UInt32)) for i, table in enumerate(tables)])


def estimates_by_group(metric, table):
    """Value, lower and upper bound in each group of a digest, of a metric that carries its own bounds."""
    table = table.with_columns(weighted=pl.lit(table.schema["weight"].is_float()))
    lower, upper = metric.bounds_expressions()
    found = table.group_by("group", maintain_order=True).agg(value=metric.expression(), lower=lower, upper=upper)
    return found.drop("group").rows()
