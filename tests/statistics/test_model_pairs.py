"""Two models on the same rows: which cells pairs keep, and the intervals that are computed from them."""

from functools import partial

import numpy as np
import polars as pl
import pytest
from data import CANDIDATES, candidates
from polars.testing import assert_frame_equal
from scipy.stats import binomtest, norm, t

import streammetrics as sm
from streammetrics.statistics import PairedScores

Z = norm.ppf(0.975)
MODELS = ("old", "new")
BINARY = partial(sm.binary, **CANDIDATES)
ROWS = candidates().with_columns(unit=pl.int_range(2_000) // 4)


def compared(frame, metric, make=BINARY, **options):
    found = make(**options).update(frame).finalize([metric]).compare("old", "new", metrics=[metric]).frame
    return found.row(0, named=True)


def limits(row):
    return row["ci_lower"], row["ci_upper"]


def standard_error(row):
    return (row["ci_upper"] - row["ci_lower"]) / 2 / Z


# Cells and pairs


def cells_by_hand(one, other, y, capacity, domain):
    """The cells of the plane of two scores, at the smallest shift that fits."""
    line = sm.statistics.ScoreHistogram(domain=domain).lattice

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


@pytest.mark.whole
@pytest.mark.parametrize("domain", ["probability", "real"])
def test_cells_are_those_found_by_hand(domain):
    rng, frame = np.random.default_rng(2), ROWS[:600]
    if domain == "real":
        frame = frame.with_columns(old=(pl.col("old") - 0.5) * 1e3, new=(pl.col("new") + 1e-9).log())
    often = [pl.Series(rng.random(600) < 0.1) for _ in range(2)]
    odd = pl.Series(rng.choice([0.0, 1.0, 0.5, 0.25], 600))
    frame = frame.with_columns(
        old=pl.when(often[0]).then(odd).otherwise("old"), new=pl.when(often[1]).then(0.0).otherwise("new")
    )
    for capacity in (16, 100, 10_000):
        acc = sm.Accumulator(PairedScores([("old", "new")], capacity, domain), **CANDIDATES)
        for part in frame.iter_slices(97):
            acc.update(part)
        table = acc.state.tables["paired_scores"]
        found = {(shift, bin): [neg, pos] for shift, bin, neg, pos in table.select("shift", "bin", "neg", "pos").rows()}
        assert found == cells_by_hand(frame["old"], frame["new"], frame["clicked"], capacity, domain)


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
    metrics = ["roc_auc", "accuracy", "log_loss", "f1", "mcc"]
    report = whole.finalize(metrics)
    there, back = (report.compare(*names, metrics=metrics).frame for names in (MODELS, MODELS[::-1]))
    assert there["ci_lower"].count() == 5
    assert (there["ci_lower"] + back["ci_upper"]).abs().max() < 1e-12
    assert (there["ci_upper"] + back["ci_lower"]).abs().max() < 1e-12
    acc = sm.binary(by="country", **turned).update(rows)
    for made in (acc, acc.rollup(), sm.Accumulator.from_bytes(acc.to_bytes()), acc + acc.empty()):
        assert made.finalize(["accuracy"]).frame["model"].unique(maintain_order=True).to_list() == ["new", "old"]


def test_states_without_pairs_have_no_intervals():
    plain = sm.binary(pairs=False, **CANDIDATES).update(ROWS)
    again = plain + sm.Accumulator.from_bytes(plain.to_bytes())
    assert again.seen == 8_000
    assert again.finalize().compare("old", "new", metrics=["accuracy"]).frame["ci_lower"].to_list() == [None]


# Intervals


def scores(rows, share, correlation, seed=3):
    """Rows of which the share of positives, and how alike the models are, decide the error of the difference."""
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < share
    common, noise = np.sqrt(correlation) * rng.normal(size=rows), np.sqrt(1 - correlation)
    one, other = (d * y + common + noise * rng.normal(size=rows) for d in (1.0, 1.2))
    return pl.DataFrame({"clicked": y} | {m: 1 / (1 + np.exp(1 - x)) for m, x in (("old", one), ("new", other))})


def test_nearly_equal_models_keep_their_digits():
    y = np.random.default_rng(0).normal(size=1_000) + 1e6
    one, tiny = y + 1.0, 1e-6 * np.random.default_rng(1).random(1_000).round(2)
    make = partial(sm.regression, y_true="y", y_pred={"old": "old", "new": "new"})
    row = compared({"y": y, "old": one, "new": one + tiny}, "bias", make)
    assert standard_error(row) == pytest.approx(((one + tiny) - one).std(ddof=1) / np.sqrt(1_000), rel=0.02)


@pytest.mark.whole
@pytest.mark.parametrize("positives", [8, 0, 150])
def test_few_positives_do_not_decide_between_models(positives):
    frame = scores(2_000, 0.3, 0.8).with_columns(clicked=pl.int_range(2_000) < positives)
    y, old, new = (frame[c].to_numpy().astype(float) for c in ("clicked", "old", "new"))
    loss = np.log(np.where(y == 1, old, 1 - old)) - np.log(np.where(y == 1, new, 1 - new))
    smooth, steep = ["brier_score", "brier_skill_score", "balanced_log_loss"], ["equal_error_rate", "ks", "best_f1"]
    names = ["log_loss", "average_precision", *smooth, *steep]
    found = BINARY().update(frame).finalize(names).compare("old", "new", metrics=names).frame
    rows = {row["metric"]: row for row in found.iter_rows(named=True)}
    if positives == 0:  # the losses of positives are unknown
        assert rows["log_loss"]["ci_lower"] is None
    else:
        squares = (loss - loss.mean()) ** 2
        parts = [squares[y == label].sum() for label in (0, 1)]
        degrees = sum(parts) ** 2 / (parts[0] ** 2 / (1_999 - positives) + parts[1] ** 2 / (positives - 1))
        step = t.ppf(0.975, degrees) * loss.std(ddof=1) / np.sqrt(2_000)
        width = rows["log_loss"]["ci_upper"] - rows["log_loss"]["ci_lower"]
        assert width > 2 * step if positives < 50 else width > 1.9 * step  # which is skewed
    for metric in smooth:
        assert (rows[metric]["ci_lower"] is None) == (positives < 20), metric
    assert (rows["equal_error_rate"]["ci_lower"] is None) == (positives < 100)
    assert rows["ks"]["ci_lower"] is rows["best_f1"]["ci_lower"] is None
    assert positives < 50 or rows["average_precision"]["ci_lower"] is not None


def of_counts(more, less, rows):
    """The limits of the difference of rows in some of which one model alone is right: first the new one."""
    right = {"old": [0] * more + [1] * (rows - more), "new": [1] * more + [0] * less + [1] * (rows - more - less)}
    return limits(compared({"clicked": [1] * rows} | right, "accuracy"))


def test_the_limits_of_a_proportion_are_those_of_the_rows_that_it_is_about():
    y, old, new = ROWS["clicked"].to_numpy(), *(ROWS[model].to_numpy() >= 0.5 for model in ("old", "new"))
    for metric, own, right in (
        ("accuracy", y | ~y, lambda x: x == y),
        ("recall", y, lambda x: x),
        ("fpr", ~y, lambda x: x),
    ):
        more, less = ((right(p)[own] & ~right(q)[own]).sum() for p, q in ((new, old), (old, new)))
        assert limits(compared(ROWS, metric)) == of_counts(more, less, own.sum())
    assert compared(ROWS, "prevalence")["ci_lower"] is None


def test_undefined_differences_have_no_interval_and_others_lie_in_theirs():
    rows = {"clicked": [1, 1] + [0] * 64, "old": [0.1] * 66, "new": [0.9] * 2 + [0.1] * 64}
    found = BINARY().update(rows).finalize().compare("old", "new", metrics=["precision", "mcc", "f1", "npv"]).frame
    ends = {metric: limits for metric, *limits in found.select("metric", "ci_lower", "ci_upper").rows()}
    assert ends["precision"] == ends["mcc"] == [None, None]
    assert ends["f1"] == [None, None]  # of 0 and 1, which do not vary
    assert ends["npv"][0] < 2 / 66 < ends["npv"][1]


def test_groups_and_rollups_have_the_intervals_of_their_rows_alone():
    names, frame = ["roc_auc", "accuracy", "log_loss"], ROWS[:500]
    report = BINARY(by="country", thresholds=(0.3, 0.5)).update(frame).finalize(names)
    found, total = (r.compare("old", "new", metrics=names).frame for r in (report, report.rollup()))
    of_groups = [(frame.filter(country="DE"), found.filter(country="DE").drop("country"))]
    for rows, own in [(frame, total), *of_groups]:
        alone = BINARY(thresholds=(0.3, 0.5), capacity=4096).update(rows).finalize(names)
        assert_frame_equal(own, alone.compare("old", "new", metrics=names).frame, abs_tol=1e-9)


def test_other_rows_and_weights_have_no_paired_interval():
    some = pl.int_range(2_000) > 5
    assert compared(ROWS, "accuracy", nulls="drop")["ci_lower"] is not None
    assert compared(ROWS.with_columns(new=pl.when(some).then("new")), "accuracy", nulls="drop")["ci_lower"] is None
    both = ROWS.with_columns(pl.when(some).then(m).alias(m) for m in ("old", "new"))
    assert compared(both, "accuracy", nulls="drop")["ci_lower"] is not None
    assert compared(ROWS.with_columns(w=pl.lit(2.0)), "accuracy", sample_weight="w")["ci_lower"] is None


def test_predicted_labels_have_intervals_too():
    frame = ROWS.with_columns((pl.col("old", "new") >= 0.5).name.suffix("_pred"))
    labels = partial(sm.binary, y_true="clicked", y_pred={m: f"{m}_pred" for m in ("old", "new")})
    assert limits(compared(frame, "f1", labels)) == limits(compared(frame, "f1"))


def test_better_needs_bound_and_interval():
    assert compared(ROWS, "roc_auc")["better"] == "new"
    assert compared(ROWS[:60], "roc_auc")["better"] is None
    coarse = compared(scores(5_000, 0.3, 0.8), "roc_auc", capacity=64)
    assert (coarse["better"], coarse["ci_lower"] > 0) == (None, True)


# Decisions that change


@pytest.mark.whole
@pytest.mark.parametrize("unit", [False, True])
def test_flip_rates_are_those_of_rows(unit):
    """Their intervals are those of a rate of errors: whether a decision is another one."""
    options = {"unit": "unit"} if unit else {}
    report = BINARY(by="country", thresholds=(0.3, 0.5), **options).update(ROWS).finalize()
    found = report.flip_rate("new", "old")
    assert found.columns == ["country", "threshold", "rows", "flips", "value", "ci_lower", "ci_upper"]
    for row in found.iter_rows(named=True):
        flip = (pl.col("old") >= row["threshold"]) != (pl.col("new") >= row["threshold"])
        own = ROWS.filter(country=row["country"]).with_columns(z=flip, zero=False)
        flips = own["z"].sum()
        assert (row["rows"], row["flips"], row["value"]) == (own.height, flips, flips / own.height)
        rate = sm.binary(y_true="zero", y_pred="z", **options).update(own).finalize(["error_rate"], confidence=0.95)
        expected = rate["error_rate"].ci_lower, rate["error_rate"].ci_upper
        assert limits(row) == pytest.approx(expected, rel=1e-9)
        if not unit:
            assert expected == pytest.approx(binomtest(int(flips), own.height).proportion_ci(0.95, "wilson"), rel=1e-9)
    total = report.rollup().flip_rate("old", "new", confidence=0.99)
    flips = found.group_by("threshold", maintain_order=True).agg(pl.sum("flips"))
    assert total["flips"].to_list() == flips["flips"].to_list()


def test_flip_rates_of_weights_have_no_interval():
    weighted = BINARY(sample_weight="old").update(ROWS).finalize().flip_rate("old", "new")
    flipped = (ROWS["old"] >= 0.5) != (ROWS["new"] >= 0.5)
    assert weighted["value"].item() == pytest.approx((ROWS["old"] * flipped).sum() / ROWS["old"].sum())
    assert weighted["ci_lower"].item() is None
