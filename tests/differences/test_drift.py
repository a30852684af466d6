"""Drift: tables of two accumulators or windows side by side, against the rows themselves."""

from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.spatial.distance import jensenshannon
from scipy.stats import ks_2samp, wasserstein_distance
from shares import psi_by_hand, shares_by_hand

import streammetrics as sm
from streammetrics.present.drift import drift_table
from streammetrics.present.terminal import as_text
from streammetrics.reading import distributions
from streammetrics.reading.distributions import paired, side_by_side

ROUNDING = 1e-12
KEYS = ("of", "measure")
INTERVALS = ("ci_lower", "ci_upper")


class Margins(sm.Histogram):
    """A statistic of one's own that says what its distribution is of."""

    name = "margins"

    def distributions(self, table):
        return {"margin": (self.lattice, table)}


def scores(values, **options):
    return sm.predictions(y_score="p", **options).update({"p": values})


def value(found, measure, **keys):
    """The one row of a measure."""
    return found.frame.filter(
        pl.col("measure") == measure, *(pl.col(k).eq_missing(pl.lit(v)) for k, v in keys.items())
    ).row(0, named=True)


def rows(count, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-rng.normal(shift - 1, 1.5, count)))
    return pl.DataFrame(
        {
            "p": p,
            "q": rng.random(count),
            "y": rng.random(count) < p,
            "w": rng.integers(1, 4, count),
            "g": pl.Series(["x", "y", None]).gather(rng.integers(0, 3, count)),
            "u": rng.integers(0, 300, count),
        }
    )


def test_against_scipy_and_by_hand():
    a, b = rows(3_000, 0), rows(2_000, 1, shift=0.5)
    found = sm.drift(scores(a["p"]), scores(b["p"]))
    assert found.frame.columns == ["of", "measure", "value", "lower", "upper", "note"]
    assert found.frame["of"].to_list() == ["y_score"] * 4
    assert found.frame.select(pl.all_horizontal(pl.col("value") == pl.col("lower", "upper"))).to_series().all()
    assert value(found, "ks")["value"] == pytest.approx(ks_2samp(a["p"], b["p"]).statistic)
    assert value(found, "wasserstein")["value"] == pytest.approx(wasserstein_distance(a["p"], b["p"]))
    edges = np.quantile(a["p"], np.arange(1, 10) / 10, method="inverted_cdf")
    one, other = (np.bincount(np.searchsorted(edges, x["p"]), minlength=10) / x.height for x in (a, b))
    assert value(found, "psi")["value"] == pytest.approx(((other - one) * np.log(other / one)).sum())


@pytest.mark.thorough
@given(
    seed=st.integers(0, 2**32),
    capacities=st.tuples(st.sampled_from([8, 16, 100]), st.sampled_from([8, 50, 4_000])),
    atoms=st.tuples(*[st.sampled_from([(), (0.3,)])] * 2),
    weighted=st.booleans(),
)
@settings(max_examples=20)
def test_bounds_hold_whatever_the_resolution(seed, capacities, atoms, weighted):
    """Histograms of different shifts, atoms and weights, against the rows."""
    rng = np.random.default_rng(seed)
    sides, accs = [], []
    for capacity, own in zip(capacities, atoms, strict=True):
        n = int(rng.integers(1, 400))
        p = rng.choice([rng.beta(*rng.uniform(0.3, 5, 2), n), 10.0 ** -rng.uniform(0, 200, n)])
        p = np.where(rng.random(n) < rng.choice([0, 0.3]), rng.choice([0.0, 0.3, 1.0], n), p)
        weight = rng.integers(1, 4, n) if weighted else np.ones(n, dtype=int)
        acc = sm.Accumulator(
            sm.Histogram(max(capacity, 80) if own else capacity, "probability", own),
            y_score="p",
            sample_weight="w" if weighted else None,
        )
        sides.append(np.repeat(p, weight))
        accs.append(acc.update({"p": p, "w": weight}))
    found, kept = sm.drift(*accs), [distributions.distributions(acc.state)["y_score"] for acc in accs]
    for measure, truth in (("ks", ks_2samp(*sides).statistic), ("wasserstein", wasserstein_distance(*sides))):
        row = value(found, measure)
        assert 0 <= row["lower"] <= truth + ROUNDING
        assert truth - ROUNDING <= row["upper"] <= 1 + ROUNDING * (measure != "ks")
        assert row["lower"] <= row["value"] <= row["upper"]
    bins = next(side_by_side(dict(zip(("reference", "current"), kept, strict=True)), paired(*kept)))
    places = [np.searchsorted(bins["high"].to_numpy(), side) for side in sides]  # bins of both sides, by edges alone
    assert all((bins["low"].to_numpy()[place] <= side).all() for place, side in zip(places, sides, strict=True))
    shares = shares_by_hand(*(place.tolist() for place in places), bins=10)
    for measure, truth in (("psi", psi_by_hand(*shares)), ("js", jensenshannon(*shares, base=2) ** 2)):
        row = value(found, measure)
        assert row["lower"] == row["value"] == row["upper"] == pytest.approx(truth, rel=1e-9, abs=1e-12)


def test_scores_that_the_reference_never_had():
    """The reference has only 0 and 1; half of the scores move from 1 to a half."""
    reference, current = scores([0.0] * 500 + [1.0] * 500), scores([0.0] * 500 + [0.5] * 500)
    found = sm.drift(reference, current)
    assert value(found, "psi")["value"] == pytest.approx(2 * (0.5 - 1e-4) * np.log(0.5 / 1e-4))
    assert value(found, "js")["value"] == pytest.approx(0.5)
    assert value(sm.drift(current, reference), "js")["value"] == pytest.approx(0.5)


def test_scores_with_labels_and_without_compare():
    a, b = rows(2_000, 4), rows(2_000, 5, shift=0.4)
    labelled = sm.binary(y_true="y", y_score="p").update(a)
    found = sm.drift(labelled, scores(b["p"]))
    assert_frame_equal(found.frame, sm.drift(scores(a["p"]), scores(b["p"])).frame)
    rate = found.metrics.frame.filter(metric="predicted_positive_rate").row(0, named=True)
    assert rate["difference"] == pytest.approx((b["p"] >= 0.5).mean() - (a["p"] >= 0.5).mean())


def test_labels_predictions_and_errors():
    a, b = rows(2_000, 6), rows(1_500, 7, shift=1)
    accs = [sm.binary(y_true="y", y_score="p").update(x) for x in (a, b)]
    found = sm.drift(*accs, of="y_true")
    change = abs(b["y"].mean() - a["y"].mean())
    assert value(found, "ks")["value"] == pytest.approx(change)
    assert value(found, "wasserstein")["value"] == pytest.approx(change)
    hard = [sm.binary(y_true="y", y_pred="z").update(x.with_columns(z=pl.col("p") > 0.5)) for x in (a, b)]
    assert_frame_equal(sm.drift(*hard).frame, found.frame)
    errors = [sm.regression(y_true="p", y_pred="q").update(x) for x in (a, b)]
    found = sm.drift(*errors)
    assert found.frame["of"].unique().to_list() == ["error"]
    truth = wasserstein_distance(a["q"] - a["p"], b["q"] - b["p"])
    assert value(found, "wasserstein")["value"] == pytest.approx(truth)
    targets = [sm.Accumulator(sm.Histogram(of="y_true"), task="regression", y_true="q").update(x) for x in (a, b)]
    assert value(sm.drift(*targets), "ks", of="y_true")["value"] == pytest.approx(ks_2samp(a["q"], b["q"]).statistic)


def test_groups_models_and_nulls():
    a, b = rows(2_000, 8), rows(2_000, 9, shift=0.2)
    columns = {"one": "p", "two": "q"}
    found = sm.drift(*(sm.predictions(y_score=columns, by="g").update(x) for x in (a, b)))
    assert found.frame.columns[:4] == ["g", "model", *KEYS]
    assert found.frame.height == 3 * 2 * 4
    for g in ("x", "y", None):
        for model, column in columns.items():
            sides = [x.filter(pl.col("g").eq_missing(g))[column] for x in (a, b)]
            assert value(found, "ks", g=g, model=model)["value"] == pytest.approx(ks_2samp(*sides).statistic)


def test_a_reference_of_fewer_columns_serves_all_groups(monkeypatch):
    monkeypatch.setattr(distributions, "CELLS", 1_000)
    a, b = rows(2_000, 10), rows(2_000, 11, shift=0.2).with_columns(h=pl.col("u") % 2)
    total, by_g = sm.predictions(y_score="p").update(a), sm.predictions(y_score="p", by="g").update(a)
    current = sm.predictions(y_score="p", by=["h", "g"]).update(b)
    one, other = sm.drift(total, current, confidence=0.9), sm.drift(by_g, current)
    assert one.frame.height == other.frame.height == 6 * 4
    for h, g in [(0, "x"), (1, "y"), (1, None)]:
        now = b.filter(pl.col("g").eq_missing(g), h=h)["p"]
        before = a.filter(pl.col("g").eq_missing(g))["p"]
        assert value(one, "ks", h=h, g=g)["value"] == pytest.approx(ks_2samp(a["p"], now).statistic)
        assert value(other, "ks", h=h, g=g)["value"] == pytest.approx(ks_2samp(before, now).statistic)
        mean = value_of_metric(one, "mean", h=h, g=g)
        assert mean["difference"] == pytest.approx(now.mean() - a["p"].mean())
        assert mean["ci_lower"] < mean["difference"] < mean["ci_upper"]
        assert value_of_metric(other, "mean", h=h, g=g)["a"] == pytest.approx(before.mean())
    assert one.metrics.frame.height == 6 * len(current.finalize().metrics)
    with pytest.raises(sm.ReportError, match="The reference has the group column 'h'"):
        sm.drift(current, by_g)


def value_of_metric(found, metric, **keys):
    frame = found.metrics.frame.filter(pl.col("metric") == metric)
    return frame.row(
        by_predicate=pl.all_horizontal(pl.col(k).eq_missing(pl.lit(v)) for k, v in keys.items()), named=True
    )


def test_labels_are_not_compared_with_a_task_without_them():
    rows = {"y": [1, 0, 1], "p": [0.1, 0.2, 0.3]}
    several = sm.multilabel(y_true={"a": "y"}, y_score={"a": "p"}).update(rows)
    with pytest.raises(sm.ReportError, match="The reference has the group column 'label', which the current side lack"):
        _ = sm.drift(several, sm.binary(y_true="y", y_score="p").update(rows)).frame


def test_a_group_without_known_labels_has_no_rows():
    a, b = (
        sm.Accumulator(sm.ConfusionCounts(), y_true="y", y_score="p", by="g", nulls="drop").update(
            {"y": [0, 1, unknown], "p": [0.1, 0.9, 0.5], "g": ["x", "x", "y"]}
        )
        for unknown in (None, 1)
    )
    assert value(sm.drift(a, b), "ks", of="y_true", g="y")["note"] == "undefined: no rows in the reference"


def test_groups_on_one_side_only_and_without_rows():
    make = sm.predictions(y_score="p", by="g")
    a = make.empty().update({"p": [0.1, 0.2], "g": ["x", "y"]})
    b = make.empty().update({"p": [0.1, 0.3, None], "g": ["x", "z", "w"]})
    found = sm.drift(a, b)
    assert value(found, "ks", g="x")["value"] == 0
    notes = {g: value(found, "ks", g=g)["note"] for g in "xyzw"}
    nothing = "undefined: no rows in the reference"
    assert notes == {"x": None, "y": "undefined: rows only in the reference", "z": nothing, "w": nothing}
    assert found.frame.filter(pl.col("g") != "x").select("value", "lower", "upper").null_count().row(0) == (12,) * 3
    for pair in ((a, make), (make, a), (make, make)):
        assert sm.drift(*pair).frame["value"].is_null().all()
    assert sm.drift(make, make).frame.schema == found.frame.schema | {"g": pl.Null}
    total = scores([0.1]).empty()
    assert sm.drift(total, scores([0.1])).frame["note"].unique().to_list() == [nothing]


def test_a_group_of_dropped_rows_has_no_labels():
    make = sm.binary(y_true="y", y_pred="d", by="g", nulls="drop")
    rows = {"y": [0, 1, 1, 0], "d": [0, 1, None, None], "g": ["x", "x", "w", "w"]}
    some, all_rows = make.empty().update(rows), make.empty().update(rows | {"d": [0, 1, 1, 0]})
    assert value(sm.drift(some, all_rows), "psi", g="w")["note"] == "undefined: no rows in the reference"
    assert value(sm.drift(all_rows, some), "psi", g="w")["note"] == "undefined: rows only in the reference"


def test_several_labels():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 2, 3], 400)
    names = dict(zip("abc", ("pa", "pb", "pc"), strict=True))
    batch = {"k": rng.choice([*"abc"], 400), **dict(zip(names.values(), p.T, strict=True))}
    acc = sm.multiclass(y_true="k", y_score=names).update(batch)
    found = sm.drift(acc, sm.multiclass(y_true="k", y_score=names).update({k: v[:100] for k, v in batch.items()}))
    assert found.frame.columns[:3] == ["label", *KEYS]
    for label, column in names.items():
        truth = ks_2samp(batch[column], batch[column][:100]).statistic
        assert value(found, "ks", label=label, of="y_score")["value"] == pytest.approx(truth)
        change = abs((batch["k"] == label).mean() - (batch["k"][:100] == label).mean())
        assert value(found, "ks", label=label, of="y_true")["value"] == pytest.approx(change)


def test_metrics_change_as_compared():
    a, b = (rows(2_000, seed, shift) for seed, shift in ((12, 0), (13, 0.5)))
    options = {"metrics": ["rows", "roc_auc", "recall", "ece"]}
    accs = [sm.binary(y_true="y", y_score="p", **options).update(x) for x in (a, b)]
    found = sm.drift(*accs, confidence=0.95).metrics
    assert_frame_equal(found.frame, sm.compare(*accs, confidence=0.95, independent=True).frame)
    assert found.frame.filter(metric="roc_auc").select(INTERVALS).null_count().row(0) == (0, 0)


def test_what_cannot_be_compared_is_refused():
    a, b = scores([0.1]), scores([0.2])
    with pytest.raises(sm.SpecificationError, match="at least 2, got 1"):
        sm.drift(a, b, bins=1)
    with pytest.raises(sm.SpecificationError, match="confidence"):
        sm.drift(a, b, confidence=2)
    with pytest.raises(sm.ReportError, match=r"No distribution of 'error' on both sides. Available: y_score"):
        sm.drift(a, b, of="error")
    with pytest.raises(sm.ReportError, match="No distribution to compare"):
        sm.drift(*[sm.predictions(y_pred="z").update({"z": [1]})] * 2)
    with pytest.raises(sm.ReportError, match="Cannot compare values of the domain 'probability'"):
        sm.drift(a, scores([0.2], domain="real")).frame  # noqa: B018
    for name in ("of", "measure", "pair", "rows", "cells", "reference", "current", "current_rows", "reference_cells"):
        with pytest.raises(sm.ReportError, match=f"'{name}' has a name that drift uses"):
            sm.drift(*[sm.predictions(y_score="p", by=name).update({"p": [0.1], name: [1]})] * 2)
    one, other = (sm.predictions(y_score="p", by="g").update({"p": [0.1], "g": [g]}) for g in ("x", 1))
    with pytest.raises(sm.ColumnError, match="'g' has different types"):
        sm.drift(one, other).frame  # noqa: B018


def test_print_is_short():
    acc = sm.predictions(y_score="p", by="g").update({"p": np.linspace(0, 1, 100), "g": range(100)})
    lines = str(sm.drift(acc, acc)).splitlines()
    assert lines[0].split() == ["g", "of", "verdict", "psi", "js", "ks", "wasserstein"]
    assert len(lines) == 43
    assert lines[-1] == "… and 60 more rows"


def test_intervals_are_not_broken_at_the_end_of_a_line():
    rng = np.random.default_rng(0)
    by_region = {"p": rng.random(40_000), "region": ["north", "south"] * 20_000}
    one, other = (
        sm.predictions(y_score="p", by="region").update({**by_region, "p": p}) for p in rng.random((2, 40_000))
    )
    found = sm.drift(one, other, confidence=0.95)
    lines = as_text(drift_table(found.frame), width=100).splitlines()
    assert len(lines) == 6
    assert [line.count(" to ") for line in lines] == [0, 0, 0, 3, 0, 3]


# Windows


def windows(kind="date"):
    """Sixty days of scores that move up slowly, in two segments; one day is missing in one of them."""
    rng = np.random.default_rng(0)
    days = np.repeat(np.arange(60), 40)
    data = pl.DataFrame(
        {
            "p": np.clip(rng.normal(0.3 + days / 200, 0.1), 0, 1),
            "day": [date(2026, 1, 1) + timedelta(int(d)) for d in days],
            "g": pl.Series(["x", "y"]).gather(rng.integers(0, 2, len(days))),
            "u": rng.integers(0, 50, len(days)),
        }
    ).filter(~((pl.col("day") == date(2026, 2, 3)) & (pl.col("g") == "x")))
    casts = {"date": pl.Date(), "datetime": pl.Datetime("us")}
    if kind == "zoned":
        return data.with_columns(pl.col("day").cast(pl.Datetime("us")).dt.replace_time_zone("Europe/Berlin"))
    return data.with_columns(pl.col("day").cast(casts[kind]))


@pytest.mark.parametrize("kind", ["date", "datetime", "zoned"])
@pytest.mark.parametrize("by", [["day"], ["g", "day"]])
def test_a_fixed_reference(kind, by):
    data = windows(kind)
    acc = sm.predictions(y_score="p", by=by).update(data)
    found = sm.drift_over(acc, "day", reference=("2026-01-01", date(2026, 1, 15)))
    plain = data.with_columns(plain=pl.col("day").dt.date())
    first = plain.filter(pl.col("plain") < date(2026, 1, 15))
    keys = data.select(by).unique()
    assert found.frame.height == keys.height * 4
    for key in keys.sample(8, seed=1).iter_rows(named=True):
        same = [pl.col(k) == v for k, v in key.items()]
        rest = [pl.col(k) == v for k, v in key.items() if k != "day"]
        truth = wasserstein_distance(first.filter(*rest)["p"], plain.filter(*same)["p"])
        assert value(found, "wasserstein", **key)["value"] == pytest.approx(truth)


@pytest.mark.parametrize("kind", ["date", "datetime", "zoned"])
@pytest.mark.parametrize("by", [["day"], ["day", "g"]])
def test_a_rolling_reference(kind, by):
    data = windows(kind)
    acc = sm.predictions(y_score="p", by=by).update(data)
    found = sm.drift_over(acc, "day", reference="7d")
    undefined = found.frame.filter(pl.col("measure") == "ks", pl.col("value").is_null())
    without = [date(2026, 1, 1)] * len(by) + [date(2026, 2, 3)] * (len(by) - 1)  # a segment has rows before, none now
    assert undefined.select(pl.col("day").dt.date() if kind != "date" else "day")["day"].sort().to_list() == without
    plain = data.with_columns(plain=pl.col("day").dt.date())
    for day in (date(2026, 1, 2), date(2026, 1, 5), date(2026, 2, 10), date(2026, 3, 1)):
        own, before = pl.col("plain") == day, pl.col("plain").is_between(day - timedelta(7), day, closed="left")
        at = plain.filter(own)["day"][0]
        for g in ("x", "y") if "g" in by else (None,):
            same = [pl.col("g") == g] if g else []
            truth = ks_2samp(plain.filter(before, *same)["p"], plain.filter(own, *same)["p"]).statistic
            keys = {"g": g} if g else {}
            assert value(found, "ks", day=at, **keys)["value"] == pytest.approx(truth)
    later = value_of_metric(found, "mean", day=at, **keys)
    assert later["difference"] == pytest.approx(
        plain.filter(own, *same)["p"].mean() - plain.filter(before, *same)["p"].mean()
    )


def test_rolling_by_month_and_by_hour():
    starts = [datetime(2026, 3, 28, h) for h in range(0, 24, 6)] + [datetime(2026, 3, 29, h) for h in range(0, 24, 6)]
    data = pl.DataFrame({"p": np.linspace(0, 1, 8), "at": starts})
    acc = sm.predictions(y_score="p", by="at").update(data)
    found = sm.drift_over(acc, "at", reference="12h").frame.filter(measure="wasserstein")["value"].to_list()
    assert found[0] is None
    assert found[1:] == pytest.approx([1 / 7] + [1.5 / 7] * 6)
    months = sm.predictions(y_score="p", by="at").update(
        data.with_columns(at=pl.date(2026, pl.int_range(1, 9, eager=False), 1))
    )
    found = sm.drift_over(months, "at", reference="1mo").frame.filter(measure="wasserstein")["value"].to_list()
    assert found[1:] == pytest.approx([1 / 7] * 7)


@pytest.mark.thorough
def test_units_and_saved_states(tmp_path):
    acc = sm.predictions(y_score="p", by="day", unit="u").update(windows())
    acc.save(tmp_path / "state")
    options = {"reference": "14d", "confidence": 0.9}
    found = sm.drift_over(sm.Accumulator.load(tmp_path / "state"), "day", **options)
    plain = sm.drift_over(sm.predictions(y_score="p", by="day").update(windows()), "day", **options)
    limits = ["ci_lower", "ci_upper"]
    told = [*limits, "note"]
    assert_frame_equal(found.frame.drop(told), plain.frame.drop(told))
    assert found.frame.select(pl.col(limits).is_null().all()).row(0) == (True, True)  # rows are not independent
    assert plain.frame.select(pl.col(limits).is_not_null().any()).row(0) == (True, True)
    at = date(2026, 2, 20)
    one, other = (value_of_metric(x, "predicted_positive_rate", day=at) for x in (found, plain))
    assert one["difference"] == pytest.approx(other["difference"])
    assert one["ci_lower"] < one["difference"] < one["ci_upper"]
    assert one["ci_lower"] != other["ci_lower"]


def test_windows_that_are_null_or_few():
    rows = {"p": [0.1, 0.2, 0.9], "day": [date(2026, 1, 1), None, date(2026, 1, 2)]}
    acc = sm.predictions(y_score="p", by="day").update(rows)
    found = sm.drift_over(acc, "day", reference="3d").frame.filter(measure="ks")
    assert dict(found.select("day", "value").iter_rows()) == {date(2026, 1, 1): None, None: None, date(2026, 1, 2): 1.0}
    single = acc.filter(pl.col("day") == date(2026, 1, 1))
    assert sm.drift_over(single, "day", reference="3d").frame["value"].is_null().all()


@pytest.mark.parametrize(
    ("window", "reference", "message"),
    [
        ("g", "7d", "Column 'g' is not a Date or Datetime group column. Group columns: g, day"),
        ("week", "7d", "Column 'week' is not a Date or Datetime group column"),
        ("day", "7 days", "'7 days' as a duration"),
        ("day", "-7d", "'-7d' as a duration"),
        ("day", "0d", "reference='0d' is too short for window 'day'"),
        ("day", ("2026-01-01",), "a duration such as '28d' or a .start, end. pair"),
        ("day", ("yesterday", "2026-01-05"), "got 'yesterday'"),
        ("day", (20260101, 20260105), "got 20260101"),
        ("day", ("2026-01-01T00:00Z", "2026-01-05"), "without a time zone"),
    ],
)
def test_windows_that_cannot_be(window, reference, message):
    acc = sm.predictions(y_score="p", by=["g", "day"]).update(windows())
    with pytest.raises(sm.SpecificationError, match=message):
        sm.drift_over(acc, window, reference=reference)


def test_a_reference_without_windows():
    acc = sm.predictions(y_score="p", by=["g", "day"]).update(windows())
    with pytest.raises(sm.ReportError, match="No window of 'day' lies between 2025-01-01 and 2025-02-01"):
        sm.drift_over(acc, "day", reference=("2025-01-01", "2025-02-01"))


@pytest.mark.thorough
def test_psi_by_chance_is_as_documented():
    """The mean over pairs of samples of one distribution."""
    rng = np.random.default_rng(0)
    acc = sm.Accumulator(sm.Histogram(512, "probability"), y_score="p", by="g")
    one, other = (acc.empty().update({"p": rng.random(500 * n), "g": np.arange(500).repeat(n)}) for n in (800, 400))
    found = sm.drift(one, other).frame.filter(measure="psi")["value"]
    assert found.mean() == pytest.approx(9 * (1 / 800 + 1 / 400), rel=0.06)


def test_a_statistic_of_ones_own_says_what_its_distribution_is_of():
    one, other = np.arange(50.0), np.arange(20.0, 90.0)
    accs = [sm.Accumulator(Margins(), y_score="p").update({"p": p}) for p in (one, other)]
    found = sm.drift(*accs)
    assert found.of == ("margin",)
    assert value(found, "ks")["value"] == pytest.approx(ks_2samp(one, other).statistic)
