"""Two models on the same rows: what pairs of models keep, and the intervals that are read off it."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal
from scipy.optimize import minimize_scalar
from scipy.stats import binomtest, rankdata, t
from sklearn.metrics import average_precision_score, f1_score, matthews_corrcoef, precision_score, roc_auc_score

import streammetrics as sm
from streammetrics.cli import main
from streammetrics.core.lattice import Lattice
from streammetrics.html import page
from streammetrics.intervals.distributions import normal_quantile
from streammetrics.intervals.jackknife import HIGH, LOW, TOTAL, jackknife_intervals
from streammetrics.intervals.paired_proportions import paired_proportion_limits
from streammetrics.rows.folds import fold
from streammetrics.state.tables import in_order

MODELS = {"y_true": "y", "y_score": {"a": "a", "b": "b"}}
Z = normal_quantile(0.975)


@pytest.mark.thorough
@pytest.mark.usefixtures("undrawn")
def test_models_are_listed_and_compared_in_the_order_in_which_they_were_given():
    rows = scores(400).rename({"a": "new", "b": "old"}).with_columns(c=pl.int_range(pl.len()) % 2)
    for names in (("old", "new"), ("new", "old")):
        acc = sm.binary(y_true="y", y_score={name: name for name in names}, by="c").update(rows)
        for made in (acc, acc.rollup(), sm.Accumulator.from_bytes(acc.to_bytes()), acc + acc.empty()):
            report = made.finalize(["accuracy", "roc_auc"])
            assert tuple(report.frame["model"].unique(maintain_order=True)) == names
            assert tuple(report.rollup().frame["model"].unique(maintain_order=True)) == names
        assert f"{names[1]} compared with {names[0]}" in page(report)
        assert tuple(sm.drift(acc, acc).frame["model"].unique(maintain_order=True)) == names
        assert tuple(acc.finalize(["accuracy"]).fairness(over="c")["model"].unique(maintain_order=True)) == names


def scores(rows, share=0.3, correlation=0.8, seed=0, more=0.2):
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < share
    common = np.sqrt(correlation) * rng.normal(size=rows)
    noise = np.sqrt(1 - correlation)
    one, other = (d * y + common + noise * rng.normal(size=rows) for d in (1.0, 1.0 + more))
    return pl.DataFrame({"y": y} | {m: 1 / (1 + np.exp(1 - x)) for m, x in (("a", one), ("b", other))})


def compared(frame, metric, **options):
    found = sm.binary(**MODELS, **options).update(frame).finalize().compare("a", "b", metrics=[metric]).frame
    return found.row(0, named=True)


def standard_error(row):
    return (row["ci_upper"] - row["ci_lower"]) / 2 / Z


def paired_delong(y, one, other):
    """The standard error of the difference of two AUCs, row by row (DeLong, DeLong & Clarke-Pearson 1988)."""
    positives, negatives = [], []
    for score in (one, other):
        pos, neg = score[y], score[~y]
        among = rankdata(np.concatenate([pos, neg]))
        positives.append((among[: len(pos)] - rankdata(pos)) / len(neg))
        negatives.append(1 - (among[len(pos) :] - rankdata(neg)) / len(pos))
    return np.sqrt(sum((x[1] - x[0]).var(ddof=1) / len(x[0]) for x in (positives, negatives)))


def jackknife(metric, y, one, other):
    """The standard error of the difference of a metric, by leaving out one row at a time."""
    rows = np.arange(len(y))
    left = np.array([metric(y[k], other[k]) - metric(y[k], one[k]) for k in (rows != i for i in rows)])
    return np.sqrt((len(y) - 1) * left.var())


# What is kept


def cells_by_hand(one, other, y, capacity, domain):
    """The cells of the plane of two scores, at the smallest shift that fits."""
    line = Lattice(domain)

    def prefix(value):
        key = int(line.keys(np.array([value]))[0]) >> 32
        return key if domain == "probability" else (key + 2**31) >> 1

    def woven(a, b):
        return int("".join(x + y for x, y in zip(f"{a:031b}", f"{b:031b}", strict=True)), 2)

    keys = [woven(prefix(a), prefix(b)) for a, b in zip(one, other, strict=True)]

    def cell(key, shift):
        """Around zero cells are split, each as wide as its distance to zero allows."""
        own = shift if key >> shift else max(key.bit_length() - 1, 0)
        return min(own, shift), key >> min(own, shift)

    shift = next(s for s in range(64) if len({cell(key, s) for key in keys}) <= capacity)
    table = {}
    for key, label in zip(keys, y, strict=True):
        table.setdefault(cell(key, shift), [0, 0])[int(label)] += 1
    return table


@pytest.mark.parametrize("domain", ["probability", "real"])
@pytest.mark.parametrize("capacity", [16, 100, 10_000])
def test_cells_are_those_found_by_hand(domain, capacity):
    frame = scores(700, seed=1)
    if domain == "real":
        frame = frame.with_columns(a=(pl.col("a") - 0.5) * 1e3, b=pl.col("b").log())
    rng = np.random.default_rng(2)
    odd = pl.Series(rng.choice([0.0, 1.0, 0.5, 0.25], 700))
    frame = frame.with_columns(pl.when(pl.Series(rng.random(700) < 0.1)).then(odd).otherwise("a").alias("a"))
    frame = frame.with_columns(pl.when(pl.Series(rng.random(700) < 0.1)).then(0.0).otherwise("b").alias("b"))
    acc = sm.Accumulator(sm.PairedScores([("a", "b")], capacity, domain), **MODELS)
    for part in frame.iter_slices(97):
        acc.update(part)
    table = acc.state.tables["paired_scores"]
    found = {(shift, bin): [neg, pos] for shift, bin, neg, pos in table.select("shift", "bin", "neg", "pos").rows()}
    assert found == cells_by_hand(frame["a"], frame["b"], frame["y"], capacity, domain)


def test_outcomes_are_those_of_rows_that_both_have_predicted():
    rng = np.random.default_rng(0)
    holes = [pl.when(pl.Series(rng.random(500) > 0.1)).then(m).alias(m) for m in "ab"]
    frame = scores(500).with_columns(*holes, g=pl.Series(rng.integers(0, 3, 500)))
    acc = sm.binary(by="g", nulls="drop", thresholds=(0.2, 0.5), **MODELS).update(frame)
    keys = acc.state.groups.filter(model="a")
    table = acc.state.tables["paired_outcomes"].join(keys, on="group")
    assert table.height == 6
    both = frame.drop_nulls()
    for row in table.iter_rows(named=True):
        own = both.filter(g=row["g"]).with_columns(pl.col("a", "b") >= row["threshold"])
        for cell, label, a, b in (("tp_tp", 1, 1, 1), ("tp_fn", 1, 1, 0), ("fp_tn", 0, 1, 0), ("tn_fp", 0, 0, 1)):
            assert row[cell] == own.filter(y=bool(label), a=bool(a), b=bool(b)).height


def test_both_sides_of_a_pair_are_the_counts_of_each_model():
    """Also for scores of 32 bits, to which thresholds are rounded."""
    frame = scores(400).with_columns(pl.col("a").round(1).cast(pl.Float32), pl.col("b").round(1))
    state = sm.binary(thresholds=(0.2, 0.7), **MODELS).update(frame).state
    pairs = state.tables["paired_outcomes"]
    for place, model in enumerate("ab"):
        counts = state.tables["confusion_counts"].join(state.groups.filter(model=model), on="group").sort("threshold")
        for cell in ("tp", "fp", "fn", "tn"):
            own = [c for c in pairs.columns if "_" in c and c.split("_")[place] == cell]
            assert pairs.select(pl.sum_horizontal(own)).to_series().to_list() == counts[cell].to_list()


def test_squared_differences_of_losses():
    frame = scores(300).with_columns(a=pl.Series([0.0, 1.0, *np.linspace(0.1, 0.9, 298)]))
    y, a, b = (frame[c].to_numpy().astype(float) for c in "yab")
    table = sm.binary(**MODELS).update(frame).state.tables["paired_losses"]
    log = [-np.log(np.where(y == 1, p, 1 - p)) for p in (np.clip(a, 1e-15, 1 - 1e-15), b)]
    brier = [(p - y) ** 2 for p in (a, b)]
    for label in (0, 1):
        row = table.row(by_predicate=pl.col("actual") == label, named=True)
        own = y == label
        assert row["weight"] == own.sum()
        for name, (one, other) in (("log_loss", log), ("brier", brier)):
            found = float(row[f"{name}_difference_square_sum"])
            assert found == pytest.approx(((other - one) ** 2)[own].sum(), rel=1e-12)


def test_which_pairs_are_kept():
    def kept(models, **options):
        acc = sm.binary(y_true="y", y_score={m: m for m in models}, **options)
        return {s.name: s.pairs for s in acc.statistics if s.name.startswith("paired")}

    assert [*kept("ab")] == ["paired_outcomes", "paired_scores", "paired_losses"]
    assert len(kept("abcd")["paired_scores"]) == 6
    assert kept("cabde")["paired_scores"] == (("c", "a"), ("c", "b"), ("c", "d"), ("c", "e"))
    assert kept("ab", pairs=False) == kept("a") == {}
    assert [*kept("ab", domain="real")] == ["paired_outcomes", "paired_scores"]
    assert [*kept("ab", unit="u")] == [*kept("ab")]
    assert [*kept("ab", sample_weight="w")] == ["paired_outcomes"]
    assert "paired_errors" not in {s.name for s in sm.regression(y_true="y", y_pred="p").statistics}


def test_the_order_of_models_does_not_matter():
    frame = scores(400)
    one = sm.binary(**MODELS).update(frame[:100])
    other = sm.binary(y_true="y", y_score={"b": "b", "a": "a"}).update(frame[100:])
    whole = sm.binary(**MODELS).update(frame)
    for name, table in (one + other).state.tables.items():
        assert_frame_equal(table, whole.state.tables[name], check_exact=True)
    there, back = (whole.finalize().compare(*names).frame for names in (("a", "b"), ("b", "a")))
    assert there["ci_lower"].count() == 19
    assert (there["ci_lower"] + back["ci_upper"]).abs().max() < 1e-12
    assert (there["ci_upper"] + back["ci_lower"]).abs().max() < 1e-12


@pytest.mark.parametrize("by", [(), "g"])
def test_workers_that_have_counted_one_block_each_add_up(by):
    """The counters of a pair know of no groups but those that came before its first model."""
    frame = scores(600).with_columns(c=pl.col("a").sqrt(), g=pl.int_range(600) % 4)
    acc = sm.binary(y_true="y", y_score={"m": "a", "z": "b", "k": "c"}, by=by)

    total = sm.merge(acc.empty().update(part) for part in (frame[:200], frame[200:300], frame[300:]))
    found, whole = (in_order(each.state) for each in (total, acc.update(frame)))
    for name, table in found.tables.items():
        assert_frame_equal(table, whole.tables[name], check_exact=True)


def test_a_refused_batch_changes_nothing():
    acc = sm.binary(**MODELS).update(scores(50))
    before = acc.to_bytes()
    with pytest.raises(sm.DataError, match="'b'"):
        acc.update(scores(50).with_columns(b=pl.lit(1.5)))
    assert acc.to_bytes() == before


def test_states_without_pairs_still_load_and_are_not_merged_with_others():
    frame = scores(200)
    plain = sm.Accumulator.from_bytes(sm.binary(pairs=False, **MODELS).update(frame).to_bytes())
    assert plain.finalize().compare("a", "b", metrics=["accuracy"]).frame["ci_lower"].to_list() == [None]
    assert (plain + sm.binary(pairs=False, **MODELS).update(frame)).seen == 800
    with pytest.raises(sm.MergeError, match="different statistics"):
        plain + sm.binary(**MODELS).update(frame)


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [
        ("paired_outcomes", "pair", 1),
        ("paired_outcomes", "tp_fn", -1),
        ("paired_scores", "bin", -5),
        ("paired_scores", "shift", 63),
        ("paired_losses", "brier_difference_square_sum", 1e9),
        ("paired_losses", "actual", 2),
    ],
)
def test_cells_that_cannot_be_are_refused(name, column, value):
    acc = sm.binary(**MODELS).update(scores(50))
    table = acc.state.tables[name]
    acc.state.tables[name] = table.with_columns(pl.lit(value).cast(table.schema[column]).alias(column))
    with pytest.raises(sm.StateError, match=name):
        sm.Accumulator.from_bytes(acc.to_bytes())


@pytest.mark.parametrize("pairs", [[("a", "a")], [("a", "b"), ("b", "a")], ["abc"], [("a", 1)], 5])
def test_what_are_no_pairs(pairs):
    with pytest.raises(sm.SpecificationError, match="pairs"):
        sm.PairedLosses(pairs)


def test_pairs_are_of_models_that_are_evaluated():
    with pytest.raises(sm.SpecificationError, match="the unknown model 'c'"):
        sm.Accumulator(sm.PairedScores([("a", "c")]), **MODELS)


# Intervals


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("correlation", [0.6, 0.9, 0.99])
@pytest.mark.parametrize("rows", [20_000, pytest.param(2_000, marks=pytest.mark.thorough)])
def test_the_error_of_a_difference_of_aucs_is_that_of_delong(rows, share, correlation):
    frame = scores(rows, share, correlation, seed=3)
    row = compared(frame, "roc_auc")
    truth = paired_delong(*(frame[c].to_numpy() for c in "yab"))
    level = 0.05 if rows >= 20_000 else 0.2  # t and skewness, of 40 positives
    assert standard_error(row) == pytest.approx(truth, rel=level)


@pytest.mark.thorough
@pytest.mark.parametrize("correlation", [0.6, 0.9, 0.99])
@pytest.mark.parametrize("kind", ["probability", "ranks", "margins"])
def test_so_it_is_of_many_rows(correlation, kind):
    frame = scores(200_000, 0.1, correlation, seed=4)
    truth = paired_delong(*(frame[c].to_numpy() for c in "yab"))
    if kind == "ranks":
        frame = frame.with_columns(pl.col("a", "b").rank() / 200_001)
    if kind == "margins":
        frame = frame.with_columns((pl.col(c) / (1 - pl.col(c))).log().alias(c) for c in "ab")
    row = compared(frame, "roc_auc", domain="real" if kind == "margins" else "probability")
    assert standard_error(row) == pytest.approx(truth, rel=0.02)


def test_exact_cells_give_the_exact_error():
    frame = scores(3_000, 0.3, 0.9, seed=5)
    row = compared(frame, "roc_auc")
    truth = paired_delong(*(frame[c].to_numpy() for c in "yab"))
    assert standard_error(row) == pytest.approx(truth, rel=0.03)  # t, and skewness
    one, other = (roc_auc_score(frame["y"], frame[m]) for m in "ab")
    assert row["difference"] == pytest.approx(other - one)
    gini = compared(frame, "gini")
    assert standard_error(gini) == pytest.approx(2 * standard_error(row), rel=0.01)


@pytest.mark.thorough
def test_the_error_of_a_difference_of_average_precisions_is_that_of_the_jackknife():
    frame = scores(600, 0.3, 0.8, seed=6)
    y, a, b = (frame[c].to_numpy() for c in "yab")
    row = compared(frame, "average_precision")
    assert standard_error(row) == pytest.approx(jackknife(average_precision_score, y, a, b), rel=0.06)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("metric", "function"), [("precision", precision_score), ("f1", f1_score), ("mcc", matthews_corrcoef)]
)
def test_the_error_of_a_difference_of_ratios_is_that_of_the_jackknife(metric, function):
    frame = scores(500, 0.4, 0.8, seed=7)
    y, a, b = (frame[c].to_numpy() for c in "yab")
    row = compared(frame, metric)
    assert standard_error(row) == pytest.approx(jackknife(function, y, a >= 0.5, b >= 0.5), rel=0.05)


def test_differences_of_mean_losses_have_the_error_of_a_mean():
    frame = scores(1_000, seed=8)
    y, a, b = (frame[c].to_numpy().astype(float) for c in "yab")
    log = [np.log(np.where(y == 1, p, 1 - p)) for p in (a, b)]
    brier = [(p - y) ** 2 for p in (a, b)]
    for metric, (one, other) in (("log_loss", log), ("brier_score", brier)):
        assert standard_error(compared(frame, metric)) == pytest.approx(
            (other - one).std(ddof=1) / np.sqrt(1_000), rel=0.04
        )


@pytest.mark.parametrize("positives", [50, 150])
def test_maxima_have_no_interval_and_steps_none_of_few_positives(positives):
    frame = scores(2_000, seed=3).with_columns(y=pl.int_range(2_000) < positives)
    frame = frame.with_columns(pl.col("a", "b") ** (1 - 0.7 * pl.col("y")))
    assert (compared(frame, "equal_error_rate")["ci_lower"] is None) == (positives < 100)
    for metric in ("ks", "best_f1"):
        assert compared(frame, metric)["ci_lower"] is None
    assert compared(frame, "average_precision")["ci_lower"] is not None


@pytest.mark.parametrize("positives", [0, 2, 8, 40])
def test_few_positives_do_not_decide_between_losses(positives):
    frame = scores(2_000, seed=3).with_columns(y=pl.int_range(2_000) < positives)
    y, a, b = (frame[c].to_numpy().astype(float) for c in "yab")
    loss = np.log(np.where(y == 1, a, 1 - a)) - np.log(np.where(y == 1, b, 1 - b))
    row = compared(frame, "log_loss")
    if positives == 0:  # the losses of positives are unknown
        assert row["ci_lower"] is None
    else:
        squares = (loss - loss.mean()) ** 2
        parts = [squares[y == label].sum() for label in (0, 1)]
        degrees = sum(parts) ** 2 / (parts[0] ** 2 / (1_999 - positives) + parts[1] ** 2 / (positives - 1))
        step = t.ppf(0.975, degrees) * loss.std(ddof=1) / np.sqrt(2_000)
        assert row["ci_upper"] - row["ci_lower"] > 2 * step  # which is skewed
    for metric in ("brier_score", "brier_skill_score", "balanced_log_loss"):
        assert (compared(frame, metric)["ci_lower"] is None) == (positives < 20)


def test_differences_of_skills_have_the_error_of_the_jackknife():
    frame = scores(500, seed=9)
    y, a, b = (frame[c].to_numpy().astype(float) for c in "yab")

    def skill(y, p):
        return 1 - ((p - y) ** 2).mean() / (y.mean() * (1 - y.mean()))

    assert standard_error(compared(frame, "brier_skill_score")) == pytest.approx(jackknife(skill, y, a, b), rel=0.05)


@pytest.mark.parametrize(
    ("metric", "of_row", "finish"),
    [
        ("mae", lambda y, p: np.abs(p - y), np.mean),
        ("bias", lambda y, p: p - y, np.mean),
        ("mse", lambda y, p: (p - y) ** 2, np.mean),
        ("rmse", lambda y, p: (p - y) ** 2, lambda x: np.sqrt(np.mean(x))),
        ("mape", lambda y, p: np.abs((p - y) / y), np.mean),
    ],
)
def test_differences_of_errors_have_the_error_of_the_jackknife(metric, of_row, finish):
    rng = np.random.default_rng(0)
    y = rng.gamma(3, 2, 600) + 1
    common = rng.normal(size=600)
    a, b = (y + common + 0.5 * rng.normal(size=600) + shift for shift in (0.0, 0.2))
    acc = sm.regression(y_true="y", y_pred={"a": "a", "b": "b"}).update({"y": y, "a": a, "b": b})
    row = acc.finalize().compare("a", "b", metrics=[metric]).frame.row(0, named=True)
    found = standard_error(row)
    assert found == pytest.approx(jackknife(lambda y, p: finish(of_row(y, p)), y, a, b), rel=0.05)


def test_nearly_equal_models_keep_their_digits():
    y = np.random.default_rng(0).normal(size=1_000) + 1e6
    a, tiny = y + 1.0, 1e-6 * np.random.default_rng(1).random(1_000).round(2)
    acc = sm.regression(y_true="y", y_pred={"a": "a", "b": "b"}).update({"y": y, "a": a, "b": a + tiny})
    row = acc.finalize().compare("a", "b", metrics=["bias"]).frame.row(0, named=True)
    exact = ((a + tiny) - a).std(ddof=1) / np.sqrt(1_000)
    assert standard_error(row) == pytest.approx(exact, rel=0.02)


def score_test(more, less, rows, difference):
    """The statistic of Tango (1998), with the nuisance parameter found by maximizing the likelihood."""

    def loss(q):
        agree = (rows - more - less) * np.log(1 - 2 * q - difference)
        return -(more * np.log(q + difference) + less * np.log(q) + agree)

    low, high = max(0, -difference), (1 - difference) / 2
    q = minimize_scalar(loss, bounds=(low + 1e-12, high - 1e-12), method="bounded", options={"xatol": 1e-13}).x
    return (more - less - rows * difference) / np.sqrt(rows * (2 * q + difference * (1 - difference)))


@pytest.mark.parametrize(("more", "less", "rows"), [(80, 40, 1_000), (31, 3, 60), (200, 190, 500)])
def test_limits_of_proportions_are_those_of_the_score_test(more, less, rows):
    lower, upper = paired_proportion_limits(*(np.array([float(n)]) for n in (more, less, rows)))
    assert score_test(more, less, rows, lower[0]) == pytest.approx(Z, rel=1e-4)
    assert score_test(more, less, rows, upper[0]) == pytest.approx(-Z, rel=1e-4)


@pytest.mark.thorough
def test_few_discordant_rows_are_judged_by_the_exact_test():
    for discordant in (1, 5, 6, 12, 29):
        for more in range(discordant + 1):
            counts = (np.array([float(n)]) for n in (more, discordant - more, 200))
            (lower,), (upper,) = paired_proportion_limits(*counts)
            assert lower <= (2 * more - discordant) / 200 <= upper
            exact = binomtest(more, discordant).pvalue
            if exact >= 0.05:
                assert lower <= 0 <= upper
            elif exact < 0.01:
                assert (lower > 0) or (upper < 0)
    (lower, upper) = (side[0] for side in paired_proportion_limits(*(np.array([x]) for x in (0.0, 0.0, 200.0))))
    assert -0.03 < lower < 0 < upper < 0.03
    assert np.isnan(paired_proportion_limits(*(np.zeros(1),) * 3)).all()


def test_proportions_of_the_same_rows():
    frame = scores(2_000, seed=10)
    y, a, b = frame["y"].to_numpy(), *(frame[c].to_numpy() >= 0.5 for c in "ab")
    for metric, own, right in (
        ("accuracy", np.ones(2_000, bool), lambda x: x == y),
        ("recall", y, lambda x: x),
        ("fpr", ~y, lambda x: x),
    ):
        more, less = ((right(p)[own] & ~right(q)[own]).sum() for p, q in ((b, a), (a, b)))
        lower, upper = paired_proportion_limits(*(np.array([float(n)]) for n in (more, less, own.sum())))
        row = compared(frame, metric)
        assert (row["ci_lower"], row["ci_upper"]) == (lower[0], upper[0])
    assert compared(frame, "prevalence")["ci_lower"] is None


def test_undefined_differences_have_no_interval_and_others_lie_in_theirs():
    found = sm.binary(**MODELS).update({"y": [1, 1] + [0] * 64, "a": [0.1] * 66, "b": [0.9] * 2 + [0.1] * 64})
    frame = found.finalize().compare("a", "b", metrics=["precision", "mcc", "f1", "npv"]).frame
    limits = {metric: limits for metric, *limits in frame.select("metric", "ci_lower", "ci_upper").rows()}
    assert limits["precision"] == limits["mcc"] == [None, None]
    assert limits["f1"] == [None, None]  # of 0 and 1, which do not vary
    assert limits["npv"][0] < 2 / 66 < limits["npv"][1]


@pytest.mark.thorough
def test_groups_thresholds_and_rollups():
    frame = pl.concat([scores(800, seed=s).with_columns(g=pl.lit(f"g{s}"), h=pl.lit(s % 2)) for s in range(3)])
    report = sm.binary(by=["g", "h"], thresholds=(0.3, 0.5), **MODELS).update(frame).finalize()
    whole = sm.binary(thresholds=(0.3, 0.5), capacity=4096, **MODELS).update(frame).finalize()
    found = report.compare("a", "b").frame
    for g in range(3):
        alone = sm.binary(thresholds=(0.3, 0.5), **MODELS).update(frame.filter(g=f"g{g}")).finalize()
        own = found.filter(g=f"g{g}").drop("g", "h")
        assert_frame_equal(own, alone.compare("a", "b").frame, abs_tol=1e-9)
    metrics = ["roc_auc", "accuracy", "log_loss", "f1"]
    one, other = (r.compare("a", "b", metrics=metrics).frame for r in (report.rollup(), whole))
    assert one.height == 6
    for side in ("ci_lower", "ci_upper"):
        assert one[side].to_list() == pytest.approx(other[side].to_list(), abs=1e-9)


def test_other_rows_have_no_paired_interval():
    frame = scores(300)
    holes = frame.with_columns(pl.when(pl.int_range(300) > 5).then("b").alias("b"))
    assert compared(holes, "accuracy", nulls="drop")["ci_lower"] is None
    assert compared(frame, "accuracy", nulls="drop")["ci_lower"] is not None
    both = frame.with_columns(pl.when(pl.int_range(300) > 5).then(m).alias(m) for m in "ab")
    assert compared(both, "accuracy", nulls="drop")["ci_lower"] is not None
    weighted = compared(frame.with_columns(w=pl.lit(2.0)), "accuracy", sample_weight="w")
    assert weighted["ci_lower"] is None
    assert weighted["note"].endswith("no confidence interval")


def test_units_are_paired_by_folds():
    frame = scores(2_000).with_columns(u=pl.int_range(2_000) // 4)
    together = sm.binary(unit="u", **MODELS).update(frame).finalize().compare("a", "b", metrics=["roc_auc"]).frame
    apart = [sm.binary(y_true="y", y_score=m, unit="u").update(frame) for m in "ab"]
    assert sm.compare(*apart, metrics=["roc_auc"]).frame.equals(together)
    assert together["ci_lower"].item() is not None


def test_predicted_labels_have_intervals_too():
    frame = scores(1_000).with_columns((pl.col("a", "b") >= 0.5).name.suffix("_pred"))
    labels = {m: f"{m}_pred" for m in "ab"}
    acc = sm.binary(y_true="y", y_pred=labels).update(frame)
    row = acc.finalize().compare("a", "b", metrics=["f1"]).frame.row(0, named=True)
    same = compared(frame, "f1")
    assert (row["ci_lower"], row["ci_upper"]) == (same["ci_lower"], same["ci_upper"])


@pytest.mark.thorough
@pytest.mark.usefixtures("undrawn")
def test_a_page_lists_the_differences_of_each_pair(tmp_path):
    frame = scores(500).with_columns(c=pl.col("a").sqrt(), g=pl.int_range(500) % 2)
    acc = sm.binary(y_true="y", y_score={m: m for m in "abc"}, by="g").update(frame)
    acc.finalize().save_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert [f"Differences of {b} from {a}" in page for a, b in ("ab", "ac", "bc")] == [True] * 3
    sm.binary(y_true="y", y_score={m: m for m in "abc"}, pairs=False).update(frame).finalize().save_html(
        tmp_path / "page.html"
    )
    assert "Differences of" not in (tmp_path / "page.html").read_text()


def test_better_needs_bound_and_interval():
    frame = scores(5_000, more=1.0)
    row = compared(frame, "roc_auc")
    assert (row["better"], row["note"]) == ("b", None)
    alike = compared(scores(200, more=0.0), "roc_auc")
    assert alike["better"] is None
    assert alike["note"].endswith("not significant")
    coarse = compared(scores(5_000, more=0.3), "roc_auc", capacity=64)
    assert (coarse["better"], coarse["ci_lower"] > 0) == (None, True)
    assert coarse["note"] == "b ahead, not significant with its bounds"


def test_models_of_one_accumulator_by_name(tmp_path):
    acc = sm.binary(**MODELS).update(scores(500))
    expected = acc.finalize().compare("a", "b", metrics=["roc_auc"]).frame
    assert sm.compare(acc, models=("a", "b"), metrics=["roc_auc"]).frame.equals(expected)
    assert sm.compare(acc.finalize(), models=("a", "b"), metrics=["roc_auc"]).frame.equals(expected)
    for wrong in ({}, {"b": acc, "models": ("a", "b")}):
        with pytest.raises(sm.SpecificationError, match="either b or models"):
            sm.compare(acc, **wrong)
    with pytest.raises(sm.SpecificationError, match="independent= does not apply to two models"):
        sm.compare(acc, models=("a", "b"), independent=True)
    acc.save(tmp_path / "both.state")
    run = CliRunner().invoke(
        main, ["compare", str(tmp_path / "both.state"), "--models", "a", "b", "--metric", "roc_auc", "--format", "json"]
    )
    assert run.exit_code == 0, run.output
    assert "ci_lower" in run.output
    run = CliRunner().invoke(main, ["compare", str(tmp_path / "both.state"), "--models", "a", "b", "--total"])
    assert "a is a" not in run.output  # which needs no words
    acc.save(tmp_path / "other.state")
    both = [str(tmp_path / name) for name in ("both.state", "other.state")]
    run = CliRunner().invoke(main, ["compare", *both, "--metric", "roc_auc", "--width", "400"])
    assert "other - both" in run.output
    run = CliRunner().invoke(main, ["compare", str(tmp_path / "both.state")])
    assert run.exit_code == 2
    assert "--models" in run.output


# Decisions that change


def test_flip_rates_are_those_of_rows():
    frame = scores(900).with_columns(g=pl.int_range(900) % 2)
    report = sm.binary(by="g", thresholds=(0.3, 0.5), **MODELS).update(frame).finalize()
    found = report.flip_rate("b", "a")
    assert found.columns == ["g", "threshold", "rows", "flips", "value", "ci_lower", "ci_upper"]
    for row in found.iter_rows(named=True):
        own = frame.filter(g=row["g"])
        flips = ((own["a"] >= row["threshold"]) != (own["b"] >= row["threshold"])).sum()
        assert (row["rows"], row["flips"], row["value"]) == (450, flips, flips / 450)
        wilson = binomtest(int(flips), 450).proportion_ci(0.95, "wilson")
        assert (row["ci_lower"], row["ci_upper"]) == pytest.approx(wilson, rel=1e-9)
    total = report.rollup().flip_rate("a", "b", confidence=0.99)
    flips = found.group_by("threshold", maintain_order=True).agg(pl.sum("flips"))
    assert total["flips"].to_list() == flips["flips"].to_list()


@pytest.mark.parametrize("by", [(), "g"])
def test_flip_rates_of_units_and_of_weights(by):
    frame = scores(2_000).with_columns(u=pl.int_range(2_000) // 5, g=pl.int_range(2_000) % 2, w=pl.col("a"))
    plain = sm.binary(by=by, **MODELS).update(frame).finalize().flip_rate("a", "b")
    units = sm.binary(by=by, unit="u", **MODELS).update(frame).finalize().flip_rate("a", "b")
    assert units.drop("ci_lower", "ci_upper").equals(plain.drop("ci_lower", "ci_upper"))
    for row in units.iter_rows(named=True):
        own = frame.filter(g=row["g"]) if by else frame
        flipped, folds = (own["a"] >= 0.5) != (own["b"] >= 0.5), fold(own["u"])
        without = pl.DataFrame({"value": [flipped.filter(folds != k).mean() for k in folds.unique()]})
        without = without.with_columns(**{TOTAL: pl.lit(flipped.mean()), LOW: 0.0, HIGH: 1.0})
        limits = jackknife_intervals(without, []).select("ci_lower", "ci_upper").row(0)
        assert (row["ci_lower"], row["ci_upper"]) == pytest.approx(limits, rel=1e-9)
    weighted = sm.binary(by=by, sample_weight="w", **MODELS).update(frame).finalize().flip_rate("a", "b")
    assert weighted["ci_lower"].null_count() == weighted.height
    if not by:
        flipped = (frame["a"] >= 0.5) != (frame["b"] >= 0.5)
        assert weighted["value"].item() == pytest.approx((frame["w"] * flipped).sum() / frame["w"].sum())


def test_flip_rates_that_are_not_kept():
    five = sm.binary(y_true="y", y_score={m: "a" if m != "e" else "b" for m in "abcde"}).update(scores(50)).finalize()
    assert five.flip_rate("a", "e")["rows"].item() == 50
    with pytest.raises(sm.MetricError, match="No statistics of the pair 'b' and 'e'"):
        five.flip_rate("b", "e")
    with pytest.raises(sm.ReportError, match="Unknown model 'z'"):
        five.flip_rate("a", "z")
    plain = sm.binary(pairs=False, **MODELS).update(scores(50)).finalize()
    with pytest.raises(sm.MetricError, match="PairedOutcomes"):
        plain.flip_rate("a", "b")


def test_cells_get_coarser_without_a_gap():
    """The number of cells falls with the shift, and a part never has more than the whole."""
    frame = scores(2_000)
    found = []
    for capacity in (2_000, 500, 100, 20):
        acc = sm.Accumulator(sm.PairedScores([("a", "b")], capacity), **MODELS).update(frame)
        table = acc.state.tables["paired_scores"]
        found.append((int(table["shift"].max()), table.height))
        assert table.height <= capacity
        assert table.select(pl.sum("neg") + pl.sum("pos")).item() == 2_000
    assert all(one[0] < other[0] for one, other in pairwise(found))


# Several classes


def probabilities(rows, seed=0):
    """Three classes, of which model b sees a bit more than model a."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    seen = rng.normal(size=(rows, 3))
    columns = {"y": y}
    for model, skill in (("a", 1.0), ("b", 1.2)):
        odds = np.exp(skill * (y[:, None] == np.arange(3)) + seen + 0.5 * rng.normal(size=(rows, 3)))
        columns |= {f"{model}{i}": p for i, p in enumerate((odds / odds.sum(axis=1, keepdims=True)).T)}
    return pl.DataFrame(columns)


THREE = {"y_true": "y", "y_score": {m: {i: f"{m}{i}" for i in range(3)} for m in "ab"}}


def test_several_classes_by_hand():
    frame = probabilities(900)
    acc = sm.multiclass(**THREE)
    for part in frame.iter_slices(130):
        acc.update(part)
    y = frame["y"].to_numpy()
    p = {m: frame.select(f"{m}{i}" for i in range(3)).to_numpy() for m in "ab"}
    right = {m: p[m].argmax(axis=1) == y for m in "ab"}
    expected = [(right["a"] == one) & (right["b"] == other) for one, other in ((1, 1), (1, 0), (0, 1), (0, 0))]
    names = ["both_right", "one_right", "other_right", "none_right"]
    assert acc.state.tables["paired_matches"].select(names).row(0) == tuple(x.sum() for x in expected)
    report = acc.finalize()
    metrics = ["accuracy", "error_rate", "log_loss", "brier_score"]
    frames = (report.compare(*models, metrics=metrics).frame for models in (("a", "b"), ("b", "a")))
    there, back = ({row["metric"]: row for row in frame.to_dicts()} for frame in frames)
    losses = {m: -np.log(p[m][np.arange(len(y)), y]) for m in "ab"}
    briers = {m: ((p[m] - np.eye(3)[y]) ** 2).sum(axis=1) for m in "ab"}
    for metric, loss in (("log_loss", losses), ("brier_score", briers)):
        difference = loss["b"] - loss["a"]
        assert there[metric]["difference"] == pytest.approx(difference.mean())
        assert standard_error(there[metric]) == pytest.approx(difference.std() / np.sqrt(len(y)), rel=0.04)
    lower, upper = paired_proportion_limits(*(np.array([float(x.sum())]) for x in (expected[2], expected[1], y >= 0)))
    assert (there["accuracy"]["ci_lower"], there["accuracy"]["ci_upper"]) == pytest.approx((lower[0], upper[0]))
    for metric, row in there.items():
        other = (-back[metric]["ci_upper"], -back[metric]["ci_lower"])
        assert (row["ci_lower"], row["ci_upper"]) == pytest.approx(other, abs=1e-9)
    assert there["error_rate"]["ci_lower"] == pytest.approx(-there["accuracy"]["ci_upper"])


def test_which_pairs_of_several_classes_are_kept():
    def kept(**options):
        return [s.name for s in sm.multiclass(y_true="y", **options).statistics if s.name.startswith("paired")]

    assert kept(y_score=THREE["y_score"]) == ["paired_matches", "paired_class_losses"]
    assert kept(y_score={"a": "p", "b": "q"}, labels=[0, 1]) == ["paired_matches", "paired_class_losses"]
    assert kept(y_pred={"a": "p", "b": "q"}) == ["paired_matches"]
    assert (
        kept(y_score={"cat": "p", "dog": "q"})
        == kept(y_pred="p")
        == kept(y_pred={"a": "p", "b": "q"}, pairs=False)
        == []
    )
    assert kept(y_pred={"a": "p", "b": "q"}, sample_weight="w") == []
