"""Statistics of one's own: sums of what each row gives."""

import inspect
import pickle

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from strategies import use_small_chunks

import streammetrics as sm
from streammetrics.statistics import STATISTICS
from streammetrics.statistics.row_sums import ROLES, TAKEN
from streammetrics.testing import check


class ForecastIntervals(sm.RowSums):
    """How often intervals hold the truth, and how wide they are."""

    inputs = ("y_true", "lower", "upper")

    def of_rows(self, y_true, lower, upper):
        return {"forecasts": 1, "covered": (lower <= y_true) & (y_true <= upper), "width_sum": upper - lower}


@sm.metric(range=(0, 1), better="high")
def share_covered(covered, forecasts):
    """Share of the forecasts whose interval holds the truth."""
    return covered / forecasts


@sm.metric(range=(0, float("inf")), better="low")
def width_of_intervals(width_sum, forecasts):
    """Mean width of the intervals."""
    return width_sum / forecasts


def rows(n=500, seed=0):
    rng = np.random.default_rng(seed)
    low = rng.normal(size=n)
    return pl.DataFrame(
        {
            "y": rng.normal(size=n),
            "low": low,
            "high": low + rng.exponential(size=n),
            "w": rng.integers(0, 4, n) / 2,
            "g": rng.choice(["a", "b", "c"], n),
            "u": rng.integers(0, 40, n),
        }
    )


def made(**options):
    return sm.Accumulator(ForecastIntervals(), y_true="y", lower="low", upper=pl.col("high"), **options)


def covered(data):
    return (data["low"] <= data["y"]) & (data["y"] <= data["high"])


def test_the_metrics_are_those_of_the_rows():
    data = rows()
    report = made().update(data).finalize()
    assert report["share_covered"].value == covered(data).mean()
    assert report["width_of_intervals"].value == pytest.approx((data["high"] - data["low"]).mean(), rel=1e-12)


def test_weights_count_as_many_rows():
    data = rows()
    report = made(sample_weight="w").update(data).finalize()
    assert report["share_covered"].value == pytest.approx(np.average(covered(data), weights=data["w"]), rel=1e-12)


def test_groups_have_what_their_rows_alone_have():
    data = rows()
    report = made(by="g").update(data).finalize()
    for (g,), part in data.group_by("g"):
        assert report.get("share_covered", g=g).value == covered(part).mean()
    assert made(by="g").update(data).rollup().finalize()["share_covered"].value == covered(data).mean()


def intervals(count, rng):
    """Rows for the kit, whose intervals have a lower and an upper end."""
    lower = rng.gamma(2, 2, count)
    columns = {"y_true": rng.gamma(3, 2, count), "lower": lower, "upper": lower + rng.gamma(2, 2, count)}
    columns |= {"weight": rng.integers(0, 3, count), "unit": rng.integers(0, 40, count)}
    return pl.DataFrame(columns | {"part": rng.choice(["x", "y"], count), "half": rng.integers(0, 2, count)})


@pytest.mark.thorough
def test_the_laws(monkeypatch):
    use_small_chunks(monkeypatch, rows=60)
    check(ForecastIntervals(), rows=intervals)
    check(share_covered, rows=intervals, improve=lambda rows: rows.with_columns(lower="y_true", upper="y_true"))
    check(width_of_intervals, rows=intervals, improve=lambda rows: rows.with_columns(upper="lower"))


def test_units_give_intervals():
    report = made(unit="u").update(rows()).finalize(confidence=0.9)
    for metric in ("share_covered", "width_of_intervals"):
        found = report[metric]
        assert found.ci_lower < found.value < found.ci_upper


def test_it_is_pickled_with_its_columns():
    acc = made(by="g").update(rows())
    assert_frame_equal(pickle.loads(pickle.dumps(acc)).update(rows()).finalize().frame, (acc + acc).finalize().frame)


def test_options_have_defaults_and_are_saved():
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Tolerated(sm.RowSums):
        tolerance: float = 1.0
        inputs = ("y_true", "y_pred")

        def of_rows(self, y_true, y_pred):
            return {"tolerated": np.abs(y_true - y_pred) <= self.tolerance}

    acc = sm.Accumulator(Tolerated(0.5), y_true="y", y_pred="low").update(rows())
    again = sm.Accumulator.from_bytes(acc.to_bytes())
    assert again.statistics[1] == Tolerated(0.5) != Tolerated()
    close = (rows()["y"] - rows()["low"]).abs() <= 0.5
    assert again.state.tables["tolerated"]["tolerated"].to_list() == [close.sum()]
    with pytest.raises(sm.MergeError, match="different statistics"):
        acc.merge(sm.Accumulator(Tolerated(), y_true="y", y_pred="low"))
    del STATISTICS["tolerated"]
    with pytest.raises(sm.StateError, match=r"custom statistic 'tolerated' \(.*Tolerated\)\. Import its module first"):
        sm.Accumulator.from_bytes(acc.to_bytes())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"inputs": ("by",), "of_rows": lambda self, by: {"x1": by}}, "cannot be named 'by'"),
        ({"inputs": ("y_true",), "of_rows": lambda self, y_true: {"tp": y_true}}, "already has a column 'tp'"),
        ({"name": "score_histogram", "of_rows": lambda self: {"x1": 1}}, "'score_histogram' is taken by"),
    ],
)
def test_names_that_are_taken_are_refused_when_the_class_is_defined(body, message):
    known = dict(STATISTICS)
    with pytest.raises(sm.SpecificationError, match=message):
        type("Odd", (sm.RowSums,), body)
    assert known == STATISTICS


def test_a_missing_or_unknown_input_is_told():
    with pytest.raises(sm.SpecificationError, match="ForecastIntervals requires lower= and upper="):
        sm.Accumulator(ForecastIntervals(), y_true="y")
    with pytest.raises(sm.SpecificationError, match="Unknown argument 'lowest'"):
        made(lowest="low")


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({"y": [1.0], "low": [0.0]}, "'high'"),
        ({"y": [1.0], "low": [None], "high": [1.0]}, "'low'"),
        ({"y": [1.0], "low": ["x"], "high": [1.0]}, "'low'"),
        ({"y": [1.0], "low": [-1.7e308], "high": [1.7e308]}, "'width_sum' that are not finite in 1 of 1 rows"),
    ],
)
def test_a_batch_that_is_refused_changes_nothing(batch, message):
    acc = made().update(rows())
    before = acc.to_bytes()
    with np.errstate(over="ignore"), pytest.raises(sm.StreamMetricsError, match=message):
        acc.update(batch)
    assert acc.to_bytes() == before
    assert acc.update(rows()).seen == 1000


class Logs(sm.RowSums):
    """Sums of logarithms, which small numbers have not."""

    inputs = ("y_true",)

    def of_rows(self, y_true):
        with np.errstate(divide="ignore"):
            return {"log_sum": np.log(y_true)} if len(y_true) < 3 else {"log_sum": y_true[:2]}


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0, 0.0], "'log_sum' that are not finite in 1 of 2 rows. Drop these rows first"),
        ([1.0, 2.0, 3.0], "logs must return one number per row"),
    ],
)
def test_rows_that_give_no_finite_number_each_are_refused(y, message):
    acc = sm.Accumulator(Logs(), y_true="y").update({"y": [1.0, 2.0]})
    with pytest.raises(sm.DataError, match=message):
        acc.update({"y": y})
    assert acc.state.tables["logs"]["log_sum"].to_list() == [np.log(2.0)]


class Items(sm.RowSums):
    """Counts of what is not always countable."""

    inputs = ("y_true",)

    def of_rows(self, y_true):
        return {"items": y_true.astype(np.int64)}


@pytest.mark.parametrize("wrong", [-1.0, 2.0**31, 2.0**62])
def test_integers_that_cannot_be_counted_are_refused(wrong):
    acc = sm.Accumulator(Items(), y_true="y").update({"y": [1.0, 2.0**31 - 1]})
    with pytest.raises(sm.DataError, match="returned integers below 0 or above 2,147,483,647 for 'items' in 1 of 2"):
        acc.update({"y": [0.0, wrong]})
    assert sm.Accumulator.from_bytes(acc.to_bytes()).state.tables["items"]["items"].to_list() == [2**31]


def test_dropped_rows_leave_every_input():
    data = rows(6).with_columns(low=pl.Series([None, *rows(6)["low"][1:]]))
    acc = made(nulls="drop").update(data)
    assert acc.finalize()["share_covered"].value == covered(rows(6)[1:]).mean()


def test_no_input_can_have_the_name_of_an_argument():
    arguments = inspect.signature(sm.Accumulator).parameters.values()
    assert {a.name for a in arguments if a.kind is not a.VAR_KEYWORD} == TAKEN | ROLES.keys()
