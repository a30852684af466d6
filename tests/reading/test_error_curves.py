"""The CDF and REC curves agree with the metrics at every edge, and hold between edges."""

import math

import numpy as np
import polars as pl
import pytest

from streammetrics.metrics.quantiles import cdf, within
from streammetrics.reading.curves import cdf_curve, rec_curve

ENDS = {
    "a": [(-3.0, -2.0, 2), (-0.5, -0.5, 1), (0.0, 0.0, 4), (0.5, 1.0, 3), (2.5, 4.0, 5)],
    "b": [(-math.inf, -math.inf, 1), (1.0, 1.5, 2), (math.inf, math.inf, 3)],
}
ROWS = [(group, *row) for group in ("b", "a") for row in ENDS[group]]
TABLE = pl.DataFrame(ROWS, schema=["group", "low", "high", "count"], orient="row")
CURVES = [(cdf_curve, cdf, "value"), (rec_curve, within, "tolerance")]


def at(metric, table, x):
    columns = dict(zip(metric.columns, ("low", "high", "count"), strict=True))
    table = table.select(**{name: pl.col(c).cast(pl.Float64) for name, c in columns.items()})
    bound = metric(x=x)
    lower, upper = bound.bounds_expressions()
    return table.select(value=bound.expression(), lower=lower, upper=upper).row(0)


@pytest.mark.parametrize(("curve", "metric", "edge"), CURVES)
def test_a_curve_is_its_metric_from_each_edge_to_the_next(curve, metric, edge):
    points = curve(TABLE)
    assert points.columns == ["group", edge, "share", "lower", "upper"]
    assert points["group"].unique(maintain_order=True).to_list() == ["b", "a"]
    for (group,), part in points.group_by("group"):
        table = TABLE.filter(pl.col("group") == group)
        edges = part[edge].to_list()
        assert edges == sorted(set(edges))
        assert part.row(-1)[2:] == (1, 1, 1)
        for x, after, row in zip(edges, [*edges[1:], math.inf], part.rows(), strict=True):
            assert row[2:] == at(metric, table, x)
            if x < after:
                assert row[2:] == at(metric, table, math.nextafter(after, -math.inf))
        assert at(metric, table, math.nextafter(edges[0], -math.inf)) == (0, 0, 0) or edges[0] == -math.inf


@pytest.mark.parametrize(("curve", "metric", "edge"), CURVES)
def test_every_edge_is_there_once(curve, metric, edge):
    ends = [x for low, high, _ in ENDS["a"] for x in (low, high)]
    expected = sorted({abs(x) for x in ends} if curve is rec_curve else set(ends))
    assert curve(TABLE.filter(pl.col("group") == "a"))[edge].to_list() == expected


@pytest.mark.parametrize(("curve", "metric", "edge"), CURVES)
def test_weights_empty_bins_and_no_rows(curve, metric, edge):
    random = np.random.default_rng(0)
    low = np.arange(-20, 20) / 2 + 0.1
    table = pl.DataFrame({"group": [0] * 40, "low": low, "high": low + 0.2, "count": random.random(40)})
    for _, x, *row in curve(table).rows():
        assert row == pytest.approx(at(metric, table, x), abs=1e-14)
    empty = table.with_columns(count=pl.when(pl.col("low") < 5).then("count").otherwise(0.0))
    assert curve(empty).equals(curve(table.filter(pl.col("low") < 5)))
    assert curve(table.clear()).is_empty()
    assert curve(table.clear()).schema == curve(table).schema


def test_a_bin_around_zero():
    table = pl.DataFrame({"group": [0], "low": [-1.0], "high": [2.0], "count": [1]})
    assert rec_curve(table).rows() == [(0, 0, 0.5, 0, 1), (0, 2, 1, 1, 1)]
