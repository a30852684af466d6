"""Statistics of one's own: sums of what each row gives."""

import inspect
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from data import DELIVERIES, deliveries

import streammetrics as sm
from streammetrics.statistics import STATISTICS


class ForecastIntervals(sm.statistics.RowSums):
    """How often intervals hold the truth, and how wide they are."""

    inputs = ("y_true", "lower", "upper")

    def of_rows(self, y_true, lower, upper):
        return {"forecasts": 1, "contained": (lower <= y_true) & (y_true <= upper), "range_sum": upper - lower}


@sm.metric(range=(0, 1), better="high")
def share_contained(contained, forecasts):
    """Share of the forecasts whose interval holds the truth."""
    return contained / forecasts


ROWS = deliveries()[:500].with_columns(
    low=pl.col("forecast") * 0.9, high=pl.col("forecast") * 1.1, w=pl.col("naive") / 30, u=pl.int_range(500) // 5
)
CONTAINED = pl.col("minutes").is_between("low", "high")


def intervals(**options):
    return sm.Accumulator(ForecastIntervals(), y_true="minutes", lower="low", upper=pl.col("high"), **options)


def test_options_have_defaults_and_are_saved():
    @dataclass(frozen=True)
    class Tolerated(sm.statistics.RowSums):
        tolerance: float = 1.0
        inputs = ("y_true", "y_pred")

        def of_rows(self, y_true, y_pred):
            return {"tolerated": np.abs(y_true - y_pred) <= self.tolerance}

    acc = sm.Accumulator(Tolerated(0.5), **DELIVERIES).update(ROWS)
    again = sm.Accumulator.from_bytes(acc.to_bytes())
    assert again.statistics[1] == Tolerated(0.5) != Tolerated()
    close = ((ROWS["minutes"] - ROWS["forecast"]).abs() <= 0.5).sum()
    assert again.state.tables["tolerated"]["tolerated"].to_list() == [close]
    with pytest.raises(sm.errors.MergeError, match="tolerance"):
        acc.merge(sm.Accumulator(Tolerated(), **DELIVERIES))
    del STATISTICS["tolerated"]
    with pytest.raises(sm.errors.StateError, match="Tolerated"):
        sm.Accumulator.from_bytes(acc.to_bytes())


class Items(sm.statistics.RowSums):
    inputs = ("y_true",)

    def of_rows(self, y_true):
        return {"items": y_true.astype(np.int64)}


def test_a_batch_that_is_refused_changes_nothing_and_the_largest_integer_is_counted():
    acc = sm.Accumulator(Items(), y_true="y").update({"y": [1.0, 2.0**31 - 1]})
    with pytest.raises(sm.errors.DataError, match="'items'"):
        acc.update({"y": [0.0, 2.0**31]})
    assert sm.Accumulator.from_bytes(acc.to_bytes()).state.tables["items"]["items"].to_list() == [2**31]


def test_dropped_rows_leave_every_input():
    holes = ROWS.with_columns(low=pl.when(pl.int_range(500) > 0).then("low"))
    acc = intervals(nulls="drop").update(holes)
    assert acc.finalize()["share_contained"].value == ROWS[1:].select(CONTAINED.mean()).item()


def test_no_input_can_have_the_name_of_an_argument():
    known = dict(STATISTICS)
    for argument in inspect.signature(sm.Accumulator).parameters.values():
        if argument.kind is not argument.VAR_KEYWORD and argument.name not in ("y_true", "y_pred", "y_score"):
            with pytest.raises(sm.errors.SpecificationError, match=repr(argument.name)):
                type(
                    "Odd",
                    (sm.statistics.RowSums,),
                    {"inputs": (argument.name,), "of_rows": lambda self, **_: {"x1": 1}},
                )
    assert known == STATISTICS
