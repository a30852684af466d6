import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.special import expit, logit

import streammetrics as sm
from streammetrics.intervals.jackknife import jackknife_interval
from streammetrics.metrics.ratios import f1, recall
from streammetrics.rows.folds import fold

CELLS = ("tp", "fp", "fn", "tn")


def interval(left_out, value, **options):
    table = pl.DataFrame({"left_out": left_out, "value": value}, schema={"left_out": pl.Float64, "value": pl.Float64})
    return table.select(jackknife_interval(pl.col("left_out"), pl.col("value").first(), **options)).row(0)


def degrees_of(values):
    """Degrees of freedom by Johnson & Rust (1992), rounded down."""
    squares, k = (values - values.mean()) ** 2, len(values)
    return int(min(k - 1, (3.16 - 2.77 / np.sqrt(k)) * squares.sum() ** 2 / (squares**2).sum()))


@pytest.mark.parametrize("k", [5, 6, 19, 20])
@pytest.mark.parametrize("confidence", [0.8, 0.99])
def test_of_a_mean_it_is_student_s_interval_of_the_means_of_the_folds(k, confidence):
    means = np.random.default_rng(k).normal(3, 1, k)
    left_out = (means.sum() - means) / (k - 1)
    expected = stats.t.interval(confidence, degrees_of(means), means.mean(), stats.sem(means))
    assert interval(left_out, means.mean(), confidence=confidence) == pytest.approx(expected, rel=1e-10)


def test_few_folds_with_most_of_the_variance_give_few_degrees_of_freedom():
    values = np.full(20, 0.8)
    values[:2] = 0.75, 0.86
    left_out = (values.sum() - values) / 19
    assert degrees_of(values) == 4
    lower, upper = interval(left_out, values.mean())
    assert upper - lower == pytest.approx(2 * stats.t.ppf(0.975, 4) * stats.sem(values))


def test_limits_stay_in_range():
    values, value = np.array([0.97, 0.99, 0.95, 0.999, 0.98]), 0.98
    error = np.sqrt(4 / 5 * np.sum((values - values.mean()) ** 2))
    step = stats.t.ppf(0.975, 4) * error / (value * (1 - value))
    expected = [expit(logit(value) + s) for s in (-step, step)]
    assert interval(values, value, range=(0, 1)) == pytest.approx(expected, rel=1e-10)
    assert interval(values, value)[1] > 1


@pytest.mark.parametrize(
    "left_out",
    [
        [],
        [0.5],
        [0.5, 0.6, 0.4, 0.55],  # four folds
        [0.5, None, 0.6, 0.4, 0.55],
        [0.5, np.inf, 0.6, 0.4, 0.55],
        [0.5, np.nan, 0.6, 0.4, 0.55],
        [0.5] * 6,
        np.arange(21.0),  # more folds than there can be
    ],
    ids=str,
)
def test_where_there_is_no_interval(left_out):
    assert interval(left_out, 0.5) == (None, None)


def test_values_that_are_not_defined_have_no_interval():
    left_out = [0.1, 0.2, 0.4, 0.3, 0.2]
    assert interval(left_out, None) == (None, None)
    assert None not in interval(left_out, 0.2)


def rows_of_users(random, users, rows_each, effects=0.12):
    """Confusion counts by fold: users differ in how well they are predicted."""
    unit = np.repeat(random.permutation(10 * users)[:users], rows_each)
    skill = np.repeat(np.clip(random.normal(0.7, effects, users), 0, 1), rows_each)
    label, right = random.random(len(unit)) < 0.4, random.random(len(unit)) < skill
    cells = pl.DataFrame({"tp": label & right, "fp": ~label & ~right, "fn": label & ~right, "tn": ~label & right})
    folds = fold(pl.Series("fold", unit))
    return cells.with_columns(folds).group_by("fold").agg(pl.sum(*CELLS).cast(pl.Float64))


def leave_one_out(table, by):
    """The rows that are left without each fold of their group."""
    out = table.select(*by, left_out="fold").unique()
    both = table.join(out, on=by) if by else table.join(out, how="cross")
    return both.filter(pl.col("fold") != pl.col("left_out"))


def jackknifed(table, metrics, by=(), **options):
    """All steps from a table by fold to intervals."""
    values = {m.name: m.expression() for m in metrics}
    left_out = leave_one_out(table, by).group_by(*by, "left_out").agg(pl.sum(*CELLS)).select(*by, **values)
    whole = table.group_by(by).agg(pl.sum(*CELLS)).select(*by, *(e.alias(f"whole {m}") for m, e in values.items()))
    both = left_out.join(whole, on=by) if by else left_out.join(whole, how="cross")
    found = {m.name: jackknife_interval(pl.col(m.name), pl.col(f"whole {m}").first(), **options) for m in metrics}
    return both.group_by(by, maintain_order=True).agg(pl.struct(pair).alias(name) for name, pair in found.items())


def test_from_rows_to_intervals_by_group():
    random = np.random.default_rng(0)
    tables = [rows_of_users(random, users, 6) for users in (8, 60, 400)]
    together = pl.concat(t.with_columns(day=pl.lit(i)) for i, t in enumerate(tables))
    found = jackknifed(together, [f1, recall], by=["day"]).sort("day")
    for i, table in enumerate(tables):
        for metric in (f1, recall):
            values = [
                table.filter(pl.col("fold") != out).select(pl.sum(*CELLS)).select(metric.expression()).item()
                for out in table["fold"]
            ]
            whole = table.select(pl.sum(*CELLS)).select(metric.expression()).item()
            assert tuple(found[metric.name][i].values()) == pytest.approx(interval(values, whole), rel=1e-9)
    assert tables[0].height < 20


def test_the_difference_of_two_models_is_known_better_than_each():
    random = np.random.default_rng(1)
    hard = random.normal(0, 1, 20)  # what makes a fold hard is the same for both models
    one, other = 0.8 + 0.03 * hard, 0.78 + 0.03 * hard + random.normal(0, 0.002, 20)
    left_out = [(x.sum() - x) / 19 for x in (one, other)]
    table = pl.DataFrame({"one": left_out[0], "other": left_out[1]})
    difference = pl.col("one") - pl.col("other")
    paired = table.select(jackknife_interval(difference, difference.mean())).row(0)
    alone = table.select(jackknife_interval(pl.col("one"), pl.col("one").mean())).row(0)
    between = one - other
    expected = stats.t.interval(0.95, degrees_of(between), between.mean(), stats.sem(between))
    assert paired == pytest.approx(tuple(expected), rel=1e-9)
    assert paired[0] > 0
    assert paired[1] - paired[0] < (alone[1] - alone[0]) / 5


@pytest.mark.parametrize(("skill", "given"), [(0.0, 0), (1.5, 3)])
def test_maxima_of_random_scores_have_none(skill, given):
    """The maximum over thresholds is above 0 in every sample, so no interval around it contains 0."""
    random = np.random.default_rng(0)
    label = random.random(1_000) < 0.3
    rows = {"y": label, "p": expit(random.normal(skill * label)), "u": np.arange(1_000)}
    acc = sm.binary(y_true="y", y_score="p", unit="u").update(rows)
    found = acc.finalize(["ks", "best_youden_j", "best_mcc"], confidence=0.95).frame
    assert found["ci_lower"].count() == given
    assert given or found["note"].str.contains("the maximum could come from noise").all()
