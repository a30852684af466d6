"""Intervals from the influence of a cell: of means, of score histograms and of sums with their squares."""

import math

import numpy as np
import polars as pl
import pytest
from influences import limits_of_rows
from polars.testing import assert_frame_equal
from scipy import stats

from streammetrics.intervals import influence as module
from streammetrics.intervals.auc import auc_intervals
from streammetrics.intervals.influence import counted, influence_intervals, sliced
from streammetrics.metrics import Metric
from streammetrics.metrics.losses import brier_skill_score, log_loss_skill
from streammetrics.metrics.ranking import average_precision, ks, partial_auc, pr_auc, roc_auc

Z = 1.959963984540054
LIMITS = ["ci_lower", "ci_upper"]
CLASSES = counted("neg", "pos")
EVERYWHERE = (-math.inf, math.inf)


def of_name(name, formula, range=EVERYWHERE):
    """A metric that no other test sees."""
    formula.__name__ = name
    return Metric(formula, range, None, ())


def intervals(table, metrics, products=CLASSES, **options):
    expressions = {m.name: m.expression() for m in metrics}
    table = table if "group" in table.columns else table.with_columns(group=pl.lit(0))
    read = lambda copies: copies.group_by("group", maintain_order=True).agg(**expressions)  # noqa: E731
    return influence_intervals(table, metrics, products, read, **options)


def limits(table, metric, products=CLASSES, **options):
    return intervals(table, [metric], products, **options).select(LIMITS).row(0)


def scores(seed, rows=2_000, shift=1.0, digits=1):
    """A histogram of rounded scores."""
    random = np.random.default_rng(seed)
    label = random.random(rows) < 0.3
    table = pl.DataFrame({"score": np.round(random.normal(label * shift), digits), "neg": ~label, "pos": label})
    return table.group_by("score").agg(pl.sum("neg", "pos").cast(pl.Int64)).sort("score")


def drawn(table, times, seed=0):
    """Tables of as many rows, drawn with replacement: cells of both classes, shape (times, bins) each."""
    cells = table.select("neg", "pos").to_numpy()
    found = np.random.default_rng(seed).multinomial(cells.sum(), cells.ravel() / cells.sum(), times)
    return np.moveaxis(found.reshape(times, *cells.shape), 2, 0)


def values_of(table, metric, times, seed=0):
    """The metric of drawn tables."""
    neg, pos = (pl.Series(cells.ravel()) for cells in drawn(table, times, seed))
    copies = pl.DataFrame({"copy": np.repeat(np.arange(times), table.height), "neg": neg, "pos": pos})
    found = copies.group_by("copy", maintain_order=True).agg(value=metric.expression())
    return found["value"].to_numpy()


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_of_a_mean_it_is_that_of_its_rows(confidence):
    values, counts = np.random.default_rng(0).gamma(2, size=40), np.arange(1, 41)
    table = pl.DataFrame({"value": values, "count": counts})
    mean = of_name("mean", lambda value, count: (value * count).sum() / count.sum())
    rows = np.repeat(values, counts)
    influences = (rows - rows.mean()) / np.sqrt(len(rows) * (len(rows) - 1))
    expected = limits_of_rows(rows.mean(), influences, len(rows) - 1, confidence)
    found = limits(table, mean, counted("count"), confidence=confidence)
    assert found == pytest.approx(expected, rel=1e-3)
    in_billionths = limits(table.with_columns(pl.col("value") * 1e-9), mean, counted("count"), confidence=confidence)
    assert [limit * 1e9 for limit in in_billionths] == pytest.approx(found, rel=1e-6)


@pytest.mark.parametrize(("first", "second"), [(5, 400), (30, 31), (3, 3)])
def test_two_classes_have_the_degrees_of_freedom_of_welch(first, second):
    random = np.random.default_rng(first)
    values = random.normal(0, 3, first), random.normal(1, 1, second)
    table = pl.DataFrame({"value": np.concatenate(values), "pos": [1] * first + [0] * second}).with_columns(
        neg=1 - pl.col("pos")
    )

    def gap(value, neg, pos):
        return (value * pos).sum() / pos.sum() - (value * neg).sum() / neg.sum()

    degrees = stats.ttest_ind(*values, equal_var=False).df
    middle = values[0].mean() - values[1].mean()
    influences = [
        side * (own - own.mean()) / np.sqrt(len(own) * (len(own) - 1))
        for side, own in zip((1, -1), values, strict=True)
    ]
    expected = limits_of_rows(middle, np.concatenate(influences), degrees)
    found = limits(table, of_name("gap", gap))
    assert found == pytest.approx(expected, abs=0.05 * (expected[1] - middle))


@pytest.mark.parametrize("digits", [0, 1, 9])
def test_of_the_auc_it_is_the_interval_of_delong(digits):
    table = scores(0, 400, digits=digits)
    assert limits(table, roc_auc) == pytest.approx(auc_intervals(table).select(LIMITS).row(0), abs=1e-4)


@pytest.mark.parametrize("metric", [average_precision, partial_auc], ids=str)
def test_it_is_as_wide_as_drawn_tables_spread(metric):
    table = scores(1)
    lower, upper = limits(table, metric)
    assert (upper - lower) / (2 * Z) == pytest.approx(values_of(table, metric, 4_000).std(), rel=0.06)


def test_slices_tell_what_all_scores_tell():
    table = scores(2, 600, digits=9).with_columns(group=pl.lit(0))
    cells = sliced(table, ["neg", "pos"])
    assert cells.height <= module.SLICES["neg"] + module.SLICES["pos"] + 2 * math.log2(600) < table.height
    assert cells.select(pl.sum("neg", "pos")).equals(table.select(pl.sum("neg", "pos")))
    for metric in (roc_auc, average_precision):
        lower, upper = limits(table, metric)
        assert limits(table, metric, cells=cells) == pytest.approx((lower, upper), abs=0.02 * (upper - lower))


@pytest.mark.thorough
@pytest.mark.parametrize("metric", [average_precision, pr_auc, partial_auc], ids=str)
@pytest.mark.parametrize("separation", [5, 6])
def test_slices_tell_where_almost_separate_classes_overlap(metric, separation):
    table = scores(separation, 2_000, separation, digits=9).with_columns(group=pl.lit(0))
    lower, upper = limits(table, metric)
    assert limits(table, metric, cells=sliced(table, ["neg", "pos"])) == pytest.approx(
        (lower, upper), abs=0.15 * (upper - lower)
    )


def test_slices_of_every_group_are_its_own():
    tables = [scores(seed, 40 * 10**seed, digits=3).with_columns(group=pl.lit(seed)) for seed in range(3)]
    together = sliced(pl.concat(tables), ["neg", "pos"])
    assert together.equals(pl.concat(sliced(table, ["neg", "pos"]) for table in tables))


def test_bins_of_a_slice_reach_from_the_lowest_to_the_highest():
    ends = [float(x) for x in range(1_000)]
    table = pl.DataFrame({"group": 0, "count": [1] * 1_000, "value_low": ends, "value_high": ends})
    found = sliced(table, ["count"])
    assert found["value_low"][0] == 0
    assert found["value_high"][-1] == 999
    assert (found["value_low"][1:] - found["value_high"][:-1] == 1).all()


@pytest.mark.parametrize(
    ("metric", "loss", "name"),
    [
        (log_loss_skill, lambda y, p: -np.log(np.where(y, p, 1 - p)), "log_loss"),
        (brier_skill_score, lambda y, p: (y - p) ** 2, "brier"),
    ],
    ids=["log loss", "brier"],
)
def test_sums_and_their_squares_stand_for_the_rows(metric, loss, name):
    """Skill depends on the losses and on how many rows have each label, and the two depend on each other."""
    random = np.random.default_rng(3)
    p = random.beta(1, 4, 2_000)
    y = random.random(len(p)) < p
    losses = loss(y, p)
    total, squares = f"{name}_sum", f"{name}_square_sum"
    rows = pl.DataFrame({"actual": y.astype(int), "weight": 1.0, total: losses, squares: losses**2})
    table = rows.group_by("actual").sum().sort("actual")
    products = {("weight", "weight"): "weight", ("weight", total): total, (total, total): squares}
    lower, upper = limits(table, metric, products)

    chosen = random.integers(0, len(p), (4_000, len(p)))
    share = y[chosen].mean(axis=1)
    constant = stats.bernoulli(share).entropy() if name == "log_loss" else share * (1 - share)
    spread = (losses[chosen].mean(axis=1) / constant).std()  # of 1 - skill
    assert (upper - lower) / (2 * Z) == pytest.approx(spread, rel=0.05)


def test_groups_are_read_apart_and_in_small_parts(monkeypatch):
    parts = [scores(seed, rows) for seed, rows in enumerate([400, 60, 900, 5_000])]
    table = pl.concat(p.with_columns(group=pl.lit(group)) for p, group in zip(parts, [7, 2, 9, 4], strict=True))
    metrics = [roc_auc, ks, average_precision]
    whole = intervals(table, metrics)
    assert whole["group"].to_list() == [group for group in [7, 2, 9, 4] for _ in metrics]
    assert whole["metric"].to_list() == [m.name for m in metrics] * 4
    alone = pl.concat(intervals(part, metrics) for part in parts)
    assert_frame_equal(alone.drop("group"), whole.drop("group"), rel_tol=1e-9)
    monkeypatch.setattr(module, "ROWS", 3_000)
    assert_frame_equal(intervals(table, metrics), whole, rel_tol=1e-9)


@pytest.mark.parametrize(
    "table",
    [
        {"neg": [48, 1], "pos": [0, 0]},
        {"neg": [0, 0], "pos": [0, 4]},
        {"neg": [48, 1], "pos": [0, 1]},  # one positive row
        {"neg": [0, 0], "pos": [0, 0]},
        {"neg": [9, 0], "pos": [0, 9]},  # an AUC of 1
        {"neg": [9], "pos": [9]},  # rows that do not vary
    ],
    ids=str,
)
def test_where_there_is_no_interval(table):
    assert limits(pl.DataFrame(table), roc_auc) == (None, None)


def test_classes_of_few_rows_have_no_interval():
    table = pl.DataFrame({"neg": [40, 20, 9], "pos": [1, 2, 4]})
    assert None not in limits(table, roc_auc, fewest=7)
    assert limits(table, roc_auc, fewest=8) == (None, None)


def test_rows_added_to_each_cell_are_no_rows_seen():
    """A value at the end of its range stays within the interval around that of the table with the rows added."""
    table = pl.DataFrame({"neg": [20, 0], "pos": [0, 20]})
    lower, upper = limits(table, roc_auc, added=0.5)
    assert 0.8 < lower < 1
    assert upper == 1
    filled = table.select(pl.all() + 0.5)
    assert lower == pytest.approx(limits(filled, roc_auc)[0], rel=1e-9)


def test_undefined_metrics_leave_the_others_alone():
    prevalence = of_name("prevalence", lambda neg, pos: pos.sum() / (pos + neg).sum(), (0, 1))
    table = pl.DataFrame({"neg": [50, 0], "pos": [0, 3]})
    nothing = of_name("nothing", lambda neg, pos: 0 * neg.sum() / (pos.sum() - pos.sum()))
    found = intervals(table, [nothing, prevalence])
    assert found["ci_lower"].is_null().to_list() == [True, False]


def test_no_groups_and_no_metrics():
    table = scores(0, 50).with_columns(group=pl.lit(0))
    names = ["group", "metric", *LIMITS]
    for found in (intervals(table.clear(), [roc_auc]), intervals(table, [])):
        assert found.columns[:4] == names
        assert found.is_empty()
