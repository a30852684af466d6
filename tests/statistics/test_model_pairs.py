"""Two models on the same rows: which cells pairs keep, and the intervals that are computed from them."""

from functools import partial
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from data import CANDIDATES, candidates
from influences import score_of
from polars.testing import assert_frame_equal
from scipy.stats import binomtest, norm, rankdata, t
from sklearn.metrics import average_precision_score, f1_score, matthews_corrcoef, precision_score, roc_auc_score

import streammetrics as sm
from streammetrics.statistics import PairedLosses, PairedScores

MODELS = {"y_true": "y", "y_score": {"a": "a", "b": "b"}}
Z = norm.ppf(0.975)


def scores(rows, share=0.3, correlation=0.8, seed=0, more=0.2):
    """Rows of which the share of positives, and how alike the models are and how good, decide the error."""
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < share
    common = np.sqrt(correlation) * rng.normal(size=rows)
    noise = np.sqrt(1 - correlation)
    one, other = (d * y + common + noise * rng.normal(size=rows) for d in (1.0, 1.0 + more))
    return pl.DataFrame({"y": y} | {m: 1 / (1 + np.exp(1 - x)) for m, x in (("a", one), ("b", other))})


BINARY = partial(sm.binary, **MODELS)


def compared(frame, metric, make=BINARY, **options):
    found = make(**options).update(frame).finalize([metric]).compare("a", "b", metrics=[metric]).frame
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


# Cells and pairs


def cells_by_hand(one, other, y, capacity, domain):
    """The cells of the plane of two scores, at the smallest shift that fits."""
    line = sm.ScoreHistogram(domain=domain).lattice

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
@pytest.mark.parametrize("capacity", [100, 16, 10_000])
def test_cells_are_those_found_by_hand(domain, capacity):
    rng = np.random.default_rng(2)
    frame = scores(700, seed=1)
    if domain == "real":
        frame = frame.with_columns(a=(pl.col("a") - 0.5) * 1e3, b=pl.col("b").log())
    odd = pl.Series(rng.choice([0.0, 1.0, 0.5, 0.25], 700))
    frame = frame.with_columns(pl.when(pl.Series(rng.random(700) < 0.1)).then(odd).otherwise("a").alias("a"))
    frame = frame.with_columns(pl.when(pl.Series(rng.random(700) < 0.1)).then(0.0).otherwise("b").alias("b"))
    acc = sm.Accumulator(PairedScores([("a", "b")], capacity, domain), **MODELS)
    for part in frame.iter_slices(97):
        acc.update(part)
    table = acc.state.tables["paired_scores"]
    found = {(shift, bin): [neg, pos] for shift, bin, neg, pos in table.select("shift", "bin", "neg", "pos").rows()}
    assert found == cells_by_hand(frame["a"], frame["b"], frame["y"], capacity, domain)


def test_cells_get_coarser_without_a_gap():
    """The number of cells falls with the shift, and a part never has more than the whole."""
    shifts = []
    for capacity in (2_000, 500, 100, 20):
        acc = sm.Accumulator(PairedScores([("a", "b")], capacity), **MODELS).update(scores(2_000))
        table = acc.state.tables["paired_scores"]
        shifts.append(int(table["shift"].max()))
        assert table.height <= capacity
        assert table.select(pl.sum("neg") + pl.sum("pos")).item() == 2_000
    assert all(one < other for one, other in pairwise(shifts))


def test_rows_count_that_both_models_have_predicted():
    """Pairs are those of the rows without nulls, and each side is the counts of its model."""
    rows = candidates()
    options = {"y_true": "clicked", "by": "country", "nulls": "drop", "thresholds": (0.2, 0.5)}
    acc, both = (
        sm.binary(y_score={"a": "old", "b": "partial"}, **options).update(part)
        for part in (rows, rows.drop_nulls("partial"))
    )
    for name in ("paired_outcomes", "paired_scores", "paired_losses"):
        assert acc.state.tables[name].equals(both.state.tables[name])
    for place, model in enumerate("ab"):
        groups = both.state.groups.filter(model=model).select("group", "country")
        counts = both.state.tables["confusion_counts"].join(groups, on="group").sort("country", "threshold")
        pairs = both.state.tables["paired_outcomes"].join(both.state.groups, on="group").sort("country", "threshold")
        for cell in ("tp", "fp", "fn", "tn"):
            own = [c for c in pairs.columns if "_" in c and c.split("_")[place] == cell]
            assert pairs.select(pl.sum_horizontal(own)).to_series().to_list() == counts[cell].to_list()


def test_which_pairs_are_kept():
    def kept(make, **options):
        return {s.name: s.pairs for s in make(y_true="y", **options).statistics if s.name.startswith("paired")}

    def binary(models, **options):
        return kept(sm.binary, y_score={m: m for m in models}, **options)

    classes = {m: {i: f"{m}{i}" for i in range(3)} for m in "ab"}
    two = {"a": "p", "b": "q"}
    assert [*binary("ab")] == [*binary("ab", unit="u")] == ["paired_outcomes", "paired_scores", "paired_losses"]
    assert len(binary("abcd")["paired_scores"]) == 6
    assert binary("cabde")["paired_scores"] == (("c", "a"), ("c", "b"), ("c", "d"), ("c", "e"))
    assert [*binary("ab", domain="real")] == ["paired_outcomes", "paired_scores"]
    assert [*binary("ab", sample_weight="w")] == ["paired_outcomes"]
    assert binary("ab", pairs=False) == binary("a") == kept(sm.regression, y_pred="p") == {}
    assert [*kept(sm.regression, y_pred=two)] == ["paired_errors"]
    assert [*kept(sm.multiclass, y_score=classes)] == ["paired_matches", "paired_class_losses"]
    assert [*kept(sm.multiclass, y_score=two, labels=[0, 1])] == ["paired_matches", "paired_class_losses"]
    assert [*kept(sm.multiclass, y_pred=two)] == ["paired_matches"]
    for none in (
        {"y_score": two},
        {"y_pred": "p"},
        {"y_pred": two, "pairs": False},
        {"y_pred": two, "sample_weight": "w"},
    ):
        assert kept(sm.multiclass, **none) == {}


def test_the_order_of_models_does_not_matter_to_cells_and_is_kept_by_reports():
    rows = candidates()
    turned = {"y_true": "clicked", "y_score": {"new": "new", "old": "old"}}
    one, other = sm.binary(**CANDIDATES).update(rows[:500]), sm.binary(**turned).update(rows[500:])
    whole = sm.binary(**CANDIDATES).update(rows)
    assert (one + other).to_bytes() == whole.to_bytes()
    there, back = (whole.finalize().compare(*names).frame for names in (("old", "new"), ("new", "old")))
    assert there["ci_lower"].count() == 19
    assert (there["ci_lower"] + back["ci_upper"]).abs().max() < 1e-12
    assert (there["ci_upper"] + back["ci_lower"]).abs().max() < 1e-12
    acc = sm.binary(by="country", **turned).update(rows)
    for made in (acc, acc.rollup(), sm.Accumulator.from_bytes(acc.to_bytes()), acc + acc.empty()):
        assert made.finalize(["accuracy"]).frame["model"].unique(maintain_order=True).to_list() == ["new", "old"]


@pytest.mark.parametrize("by", ["country", ()])
def test_workers_that_have_counted_one_block_each_add_up(by):
    """The counters of a pair know of no groups but those that came before its first model."""
    rows = candidates()
    acc = sm.binary(y_true="clicked", y_score={"m": "old", "z": "new", "k": pl.col("old").sqrt().alias("k")}, by=by)
    total = sm.merge(acc.empty().update(part) for part in (rows[:600], rows[600:900], rows[900:]))
    assert total.to_bytes() == acc.update(rows).to_bytes()


def test_states_without_pairs_have_no_intervals_and_are_not_merged_with_others():
    plain = sm.binary(pairs=False, **CANDIDATES).update(candidates())
    assert plain.finalize().compare("old", "new", metrics=["accuracy"]).frame["ci_lower"].to_list() == [None]
    assert (plain + sm.Accumulator.from_bytes(plain.to_bytes())).seen == 8_000


# Intervals


@pytest.mark.parametrize("share", [0.1, 0.02, 0.5])
@pytest.mark.parametrize("correlation", [0.9, 0.6, 0.99])
@pytest.mark.parametrize("rows", [20_000, 2_000])
def test_the_error_of_a_difference_of_aucs_is_that_of_delong(rows, share, correlation):
    frame = scores(rows, share, correlation, seed=3)
    truth = paired_delong(*(frame[c].to_numpy() for c in "yab"))
    level = 0.05 if rows >= 20_000 else 0.2  # t and skewness, of 40 positives
    row, gini = compared(frame, "roc_auc"), compared(frame, "gini")
    assert standard_error(row) == pytest.approx(truth, rel=level)
    assert standard_error(gini) == pytest.approx(2 * standard_error(row), rel=0.01)
    one, other = (roc_auc_score(frame["y"], frame[m]) for m in "ab")
    assert row["difference"] == pytest.approx(other - one, abs=1e-5)


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


def skill(y, p):
    return 1 - ((p - y) ** 2).mean() / (y.mean() * (1 - y.mean()))


def mean_loss(y, p):
    return -np.log(np.where(y, p, 1 - p)).mean()


def decided(function):
    return lambda y, p: function(y, p >= 0.5)


def error(of_row, finish=np.mean):
    return lambda y, p: finish(of_row(y, p))


CLASSIFICATION = {
    "log_loss": mean_loss,
    "brier_score": lambda y, p: ((p - y) ** 2).mean(),
    "brier_skill_score": skill,
    "average_precision": average_precision_score,
    "precision": decided(precision_score),
    "f1": decided(f1_score),
    "mcc": decided(matthews_corrcoef),
}
REGRESSION = {
    "mae": error(lambda y, p: np.abs(p - y)),
    "bias": error(lambda y, p: p - y),
    "mse": error(lambda y, p: (p - y) ** 2),
    "rmse": error(lambda y, p: (p - y) ** 2, lambda x: np.sqrt(np.mean(x))),
    "mape": error(lambda y, p: np.abs((p - y) / y)),
}
quick = ("log_loss", "brier_score", "brier_skill_score")


@pytest.mark.whole
@pytest.mark.parametrize(
    "metric", [m if m in quick else pytest.param(m, marks=pytest.mark.thorough) for m in CLASSIFICATION]
)
def test_the_error_of_a_difference_is_that_of_the_jackknife(metric):
    frame = scores(500, 0.4, seed=9)
    y, a, b = (frame[c].to_numpy() for c in "yab")
    found = compared(frame, metric)
    expected = jackknife(CLASSIFICATION[metric], y, a, b)
    assert found["difference"] == pytest.approx(CLASSIFICATION[metric](y, b) - CLASSIFICATION[metric](y, a))
    assert standard_error(found) == pytest.approx(expected, rel=0.06)


@pytest.mark.whole
@pytest.mark.parametrize("metric", REGRESSION)
def test_differences_of_errors_have_the_error_of_the_jackknife(metric):
    rng = np.random.default_rng(0)
    y = rng.gamma(3, 2, 600) + 1
    common = rng.normal(size=600)
    a, b = (y + common + 0.5 * rng.normal(size=600) + shift for shift in (0.0, 0.2))
    make = partial(sm.regression, y_true="y", y_pred={"a": "a", "b": "b"})
    found = standard_error(compared({"y": y, "a": a, "b": b}, metric, make))
    assert found == pytest.approx(jackknife(REGRESSION[metric], y, a, b), rel=0.05)


def test_nearly_equal_models_keep_their_digits():
    y = np.random.default_rng(0).normal(size=1_000) + 1e6
    a, tiny = y + 1.0, 1e-6 * np.random.default_rng(1).random(1_000).round(2)
    make = partial(sm.regression, y_true="y", y_pred={"a": "a", "b": "b"})
    row = compared({"y": y, "a": a, "b": a + tiny}, "bias", make)
    assert standard_error(row) == pytest.approx(((a + tiny) - a).std(ddof=1) / np.sqrt(1_000), rel=0.02)


@pytest.mark.parametrize("positives", [50, 150])
def test_maxima_have_no_interval_and_steps_none_of_few_positives(positives):
    frame = scores(2_000, seed=3).with_columns(y=pl.int_range(2_000) < positives)
    frame = frame.with_columns(pl.col("a", "b") ** (1 - 0.7 * pl.col("y")))
    assert (compared(frame, "equal_error_rate")["ci_lower"] is None) == (positives < 100)
    for metric in ("ks", "best_f1"):
        assert compared(frame, metric)["ci_lower"] is None
    assert compared(frame, "average_precision")["ci_lower"] is not None


@pytest.mark.parametrize("positives", [8, 0, 2, 40])
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


def of_counts(more, less, rows):
    """Rows of which b alone decides so many rightly, and a alone so many, with the limits of the difference."""
    right = {"a": [0] * more + [1] * (rows - more), "b": [1] * more + [0] * less + [1] * (rows - more - less)}
    batch = {"y": [1] * rows} | right
    accuracy, recall = (compared(batch, metric) for metric in ("accuracy", "recall"))
    limits = accuracy["ci_lower"], accuracy["ci_upper"]
    assert limits == (recall["ci_lower"], recall["ci_upper"])
    return limits


@pytest.mark.parametrize(("more", "less", "rows"), [(80, 40, 1_000), (31, 3, 60), (200, 190, 500)])
def test_limits_of_proportions_are_those_of_the_score_of(more, less, rows):
    lower, upper = of_counts(more, less, rows)
    assert score_of(more, less, rows, lower) == pytest.approx(Z, rel=1e-4)
    assert score_of(more, less, rows, upper) == pytest.approx(-Z, rel=1e-4)


@pytest.mark.thorough
def test_few_discordant_rows_are_judged_by_the_exact_test():
    for discordant in (1, 5, 6, 12, 29):
        for more in range(discordant + 1):
            lower, upper = of_counts(more, discordant - more, 200)
            assert lower <= (2 * more - discordant) / 200 <= upper
            exact = binomtest(more, discordant).pvalue
            if exact >= 0.05:
                assert lower <= 0 <= upper
            elif exact < 0.01:
                assert (lower > 0) or (upper < 0)
    lower, upper = of_counts(0, 0, 200)
    assert -0.03 < lower < 0 < upper < 0.03


def test_proportions_of_the_same_rows():
    """Each is that of the rows it is about alone."""
    frame = scores(2_000, seed=10)
    y, a, b = frame["y"].to_numpy(), *(frame[c].to_numpy() >= 0.5 for c in "ab")
    for metric, own, right in (
        ("accuracy", y | ~y, lambda x: x == y),
        ("recall", y, lambda x: x),
        ("fpr", ~y, lambda x: x),
    ):
        more, less = ((right(p)[own] & ~right(q)[own]).sum() for p, q in ((b, a), (a, b)))
        row = compared(frame, metric)
        assert (row["ci_lower"], row["ci_upper"]) == of_counts(more, less, own.sum())
    assert compared(frame, "prevalence")["ci_lower"] is None


def test_undefined_differences_have_no_interval_and_others_lie_in_theirs():
    found = sm.binary(**MODELS).update({"y": [1, 1] + [0] * 64, "a": [0.1] * 66, "b": [0.9] * 2 + [0.1] * 64})
    frame = found.finalize().compare("a", "b", metrics=["precision", "mcc", "f1", "npv"]).frame
    limits = {metric: limits for metric, *limits in frame.select("metric", "ci_lower", "ci_upper").rows()}
    assert limits["precision"] == limits["mcc"] == [None, None]
    assert limits["f1"] == [None, None]  # of 0 and 1, which do not vary
    assert limits["npv"][0] < 2 / 66 < limits["npv"][1]


def test_groups_and_rollups_have_the_intervals_of_their_rows_alone():
    names = ["roc_auc", "accuracy", "log_loss", "f1"]
    frame = pl.concat([scores(400, seed=s).with_columns(g=pl.lit(f"g{s}")) for s in range(2)])
    report = sm.binary(by="g", thresholds=(0.3, 0.5), **MODELS).update(frame).finalize(names)
    found, total = (r.compare("a", "b", metrics=names).frame for r in (report, report.rollup()))
    whole = sm.binary(thresholds=(0.3, 0.5), capacity=4096, **MODELS)
    for rows, own in [(frame, total), *((frame.filter(g=g), found.filter(g=g).drop("g")) for g in ("g0", "g1"))]:
        alone = whole.empty().update(rows).finalize(names).compare("a", "b", metrics=names).frame
        assert_frame_equal(own, alone, abs_tol=1e-9)


def test_other_rows_and_weights_have_no_paired_interval():
    frame = scores(300)
    some = pl.int_range(300) > 5
    assert compared(frame, "accuracy", nulls="drop")["ci_lower"] is not None
    assert compared(frame.with_columns(b=pl.when(some).then("b")), "accuracy", nulls="drop")["ci_lower"] is None
    both = frame.with_columns(pl.when(some).then(m).alias(m) for m in "ab")
    assert compared(both, "accuracy", nulls="drop")["ci_lower"] is not None
    assert compared(frame.with_columns(w=pl.lit(2.0)), "accuracy", sample_weight="w")["ci_lower"] is None


def test_units_are_paired_by_folds():
    frame = scores(2_000).with_columns(u=pl.int_range(2_000) // 4)
    acc = sm.binary(unit="u", pairs=True, **MODELS).update(frame)
    together = acc.finalize(["roc_auc"]).compare("a", "b", metrics=["roc_auc"]).frame
    apart = [sm.binary(y_true="y", y_score=m, unit="u").update(frame) for m in "ab"]
    assert sm.compare(*apart, metrics=["roc_auc"]).frame.equals(together)
    assert together["ci_lower"].item() is not None


def test_predicted_labels_have_intervals_too():
    frame = scores(1_000).with_columns((pl.col("a", "b") >= 0.5).name.suffix("_pred"))
    labels = partial(sm.binary, y_true="y", y_pred={m: f"{m}_pred" for m in "ab"})
    row, same = compared(frame, "f1", labels), compared(frame, "f1")
    assert (row["ci_lower"], row["ci_upper"]) == (same["ci_lower"], same["ci_upper"])


def test_better_needs_bound_and_interval():
    assert compared(scores(5_000, more=1.0), "roc_auc")["better"] == "b"
    assert compared(scores(200, more=0.0), "roc_auc")["better"] is None
    coarse = compared(scores(5_000, more=0.3), "roc_auc", capacity=64)
    assert (coarse["better"], coarse["ci_lower"] > 0) == (None, True)


def test_models_of_one_accumulator_are_compared_by_name():
    acc = sm.binary(**CANDIDATES).update(candidates())
    expected = acc.finalize().compare("old", "new", metrics=["roc_auc"]).frame
    for both in (acc, acc.finalize()):
        assert sm.compare(both, models=("old", "new"), metrics=["roc_auc"]).frame.equals(expected)


def test_several_classes():
    rng = np.random.default_rng(0)
    y, seen = rng.integers(0, 3, 900), rng.normal(size=(900, 3))
    p = {}
    for model, gain in (("a", 1.0), ("b", 1.2)):
        odds = np.exp(gain * (y[:, None] == np.arange(3)) + seen + 0.5 * rng.normal(size=(900, 3)))
        p[model] = odds / odds.sum(axis=1, keepdims=True)
    rows = {"y": y} | {f"{m}{i}": p[m][:, i] for m in "ab" for i in range(3)}
    report = (
        sm.multiclass(y_true="y", y_score={m: {i: f"{m}{i}" for i in range(3)} for m in "ab"}).update(rows).finalize()
    )
    metrics = ["accuracy", "error_rate", "log_loss", "brier_score"]
    frames = (report.compare(*models, metrics=metrics).frame for models in (("a", "b"), ("b", "a")))
    there, back = ({row["metric"]: row for row in frame.to_dicts()} for frame in frames)
    losses = {m: -np.log(p[m][np.arange(len(y)), y]) for m in "ab"}
    briers = {m: ((p[m] - np.eye(3)[y]) ** 2).sum(axis=1) for m in "ab"}
    for metric, loss in (("log_loss", losses), ("brier_score", briers)):
        difference = loss["b"] - loss["a"]
        assert there[metric]["difference"] == pytest.approx(difference.mean())
        assert standard_error(there[metric]) == pytest.approx(difference.std() / np.sqrt(len(y)), rel=0.04)
    right = {m: p[m].argmax(axis=1) == y for m in "ab"}
    limits = of_counts((right["b"] & ~right["a"]).sum(), (right["a"] & ~right["b"]).sum(), len(y))
    assert (there["accuracy"]["ci_lower"], there["accuracy"]["ci_upper"]) == pytest.approx(limits)
    assert there["error_rate"]["ci_lower"] == pytest.approx(-limits[1])
    for metric, row in there.items():
        other = (-back[metric]["ci_upper"], -back[metric]["ci_lower"])
        assert (row["ci_lower"], row["ci_upper"]) == pytest.approx(other, abs=1e-9)


# Decisions that change


@pytest.mark.parametrize("unit", [False, True])
def test_flip_rates_are_those_of_rows(unit):
    """Their intervals are those of a rate of errors: whether a decision is another one."""
    frame = scores(900).with_columns(g=pl.int_range(900) % 2, u=pl.int_range(900) // 5, zero=False)
    options = {"unit": "u"} if unit else {}
    report = sm.binary(by="g", thresholds=(0.3, 0.5), **MODELS, **options).update(frame).finalize()
    found = report.flip_rate("b", "a")
    assert found.columns == ["g", "threshold", "rows", "flips", "value", "ci_lower", "ci_upper"]
    for row in found.iter_rows(named=True):
        own = frame.filter(g=row["g"]).with_columns(
            z=(pl.col("a") >= row["threshold"]) != (pl.col("b") >= row["threshold"])
        )
        flips = own["z"].sum()
        assert (row["rows"], row["flips"], row["value"]) == (450, flips, flips / 450)
        rate = sm.binary(y_true="zero", y_pred="z", **options).update(own).finalize(["error_rate"], confidence=0.95)
        expected = rate["error_rate"].ci_lower, rate["error_rate"].ci_upper
        assert (row["ci_lower"], row["ci_upper"]) == pytest.approx(expected, rel=1e-9)
        if not unit:
            assert expected == pytest.approx(binomtest(int(flips), 450).proportion_ci(0.95, "wilson"), rel=1e-9)
    total = report.rollup().flip_rate("a", "b", confidence=0.99)
    flips = found.group_by("threshold", maintain_order=True).agg(pl.sum("flips"))
    assert total["flips"].to_list() == flips["flips"].to_list()


def test_flip_rates_of_weights_have_no_interval():
    frame = scores(2_000).with_columns(w=pl.col("a"))
    weighted = sm.binary(sample_weight="w", **MODELS).update(frame).finalize().flip_rate("a", "b")
    flipped = (frame["a"] >= 0.5) != (frame["b"] >= 0.5)
    assert weighted["value"].item() == pytest.approx((frame["w"] * flipped).sum() / frame["w"].sum())
    assert weighted["ci_lower"].item() is None


@pytest.mark.parametrize("name", ["paired_outcomes", "paired_losses"])
def test_pairs_that_are_not_declared_are_not_valid(name):
    acc = sm.binary(**MODELS).update(scores(50))
    statistic = next(s for s in acc.statistics if s.name == name)
    table = statistic.with_floats(acc.state.tables[name])
    wrong = {"pair": 1, "tp_fn": -1} if name == "paired_outcomes" else {"brier_difference_square_sum": 1e9, "actual": 2}
    assert table.select(statistic.valid()).to_series().all()
    for column, value in wrong.items():
        changed = table.with_columns(pl.lit(value).cast(table.schema[column]).alias(column))
        assert not changed.select(statistic.valid()).to_series().any()
    assert not PairedLosses([("a", "b")]).views()
