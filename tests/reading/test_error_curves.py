"""The CDF and REC curves of coarse bins agree with the metrics at every edge, and hold between edges."""

import math

import numpy as np
import polars as pl
import pytest
from data import DELIVERIES, deliveries

import streammetrics as sm

FEW = pl.DataFrame({"minutes": [0.0] * 2, "forecast": [0.5, -0.5], "weight": 1.0, "route": "near"})
ROWS = deliveries()[:300].select("minutes", "forecast", "route", weight=pl.int_range(300) % 4 + 0.5)


@pytest.mark.parametrize("weight", ["weight", None])
def test_a_curve_is_its_metric_from_each_edge_to_the_next(weight):
    acc = sm.Accumulator(sm.statistics.ErrorHistogram(16), by="route", sample_weight=weight, **DELIVERIES)
    report = acc.update(pl.concat([ROWS, FEW], how="diagonal")).finalize()
    for curve, metric, edge in (("error_cdf", "error_cdf", "value"), ("rec", "within", "tolerance")):
        found = report.curve(curve)
        assert found.columns == ["route", edge, "share", "lower", "upper"]
        assert (found["lower"] < found["upper"]).any()
        for (route,), part in found.group_by("route"):
            edges = part[edge].to_list()
            assert edges == sorted({*edges})
            assert part.row(-1)[2:] == (1, 1, 1)
            finite = [x for x in edges[:: len(edges) // 4 or 1] if math.isfinite(x)]
            after = [math.nextafter(x, -math.inf) for x in edges[1:] if x in finite]
            places = [x for x in [*finite, *after] if metric == "error_cdf" or x >= 0]
            names = [f"{metric}(x={x!r})" for x in places]
            shares = report.showing(names)
            for x, name in zip(places, names, strict=True):
                at = shares.get(name, route=route)
                expected = part.filter(pl.col(edge) <= x).row(-1)[2:] if x >= edges[0] else (0, 0, 0)
                assert (at.value, at.lower, at.upper) == pytest.approx(expected, abs=1e-14), name
    errors = ROWS.filter(route="north").select(pl.col("forecast") - pl.col("minutes")).to_series().abs()
    weights = ROWS.filter(route="north")["weight"] if weight else np.ones(len(errors))
    for row in report.curve("rec").filter(route="north").rows(named=True):
        share = np.average(errors <= row["tolerance"], weights=weights)
        assert row["lower"] - 1e-12 <= share <= row["upper"] + 1e-12


@pytest.mark.parametrize("rows", [49, 98, 103])  # whose reciprocal times themselves is below 1
def test_all_rows_are_a_share_of_one(rows):
    errors = sm.evaluate(
        {"y": [0.0] * rows, "p": [0.1 * i for i in range(rows)]}, sm.regression(y_true="y", y_pred="p")
    )
    for curve in ("error_cdf", "rec"):
        assert errors.curve(curve).row(-1)[1:] == (1, 1, 1)
    ranked = {"y": [0] * rows + [1] * rows, "p": [0.1] * rows + [0.9 - i / 1_000 for i in range(rows)]}
    assert sm.evaluate(ranked, sm.binary(y_true="y", y_score="p"))["ks"].value == 1
    one, other = (sm.predictions(y_score="p").update({"p": [p + i / 1_000 for i in range(rows)]}) for p in (0.1, 0.5))
    assert sm.drift(one, other, of="y_score").frame.filter(measure="ks")["value"].item() == 1
