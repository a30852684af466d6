"""What comes of rules in the newest windows of a history."""

import math
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

import streammetrics as sm
from streammetrics.history.store import history_of

FIRST = date(2026, 1, 1)
DAYS = 40  # with the newest on 2026-02-09
NEWEST = FIRST + timedelta(days=DAYS - 1)
LIMITS = ("lower", "upper")


def rows():
    """Ten rows on the first day, eleven on the second, and so on; from day 30 on scores of FR are higher."""
    rng = np.random.default_rng(0)
    counts = np.arange(10, 10 + DAYS)
    number = np.repeat(np.arange(DAYS), counts)
    country = pl.Series(["DE", "FR"]).gather(rng.integers(0, 2, len(number)))
    p = rng.beta(2, 5, len(number))
    frame = pl.DataFrame({"number": number, "country": country, "p": p, "y": rng.random(len(number)) < p})
    moved = (pl.col("country") == "FR") & (pl.col("number") >= 30)
    return frame.with_columns(
        p=pl.when(moved).then(pl.col("p").sqrt()).otherwise("p"),
        q=1 - pl.col("p"),
        day=pl.lit(FIRST) + pl.duration(days="number"),
    ).drop("number")


ROWS = rows()


def history(directory, acc, frame=ROWS):
    store = sm.MetricStore(str(directory))
    assert store.append(acc.empty().update(frame), batch_id="all")
    return store


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    task = sm.binary(y_true="y", y_score="p", by=["day", "country"], thresholds=[0.3, 0.5])
    return history(tmp_path_factory.mktemp("history"), task)


def checked(store, *rules, **options):
    return sm.check(store, rules, **options).frame.rows(named=True)


def between(since, until, frame=ROWS):
    """Rows of the last days: those of `since` days before the newest, up to those of `until` days before it."""
    return frame.filter(pl.col("day").is_between(NEWEST - timedelta(days=since), NEWEST - timedelta(days=until)))


def evaluated(frame, by=()):
    return sm.binary(y_true="y", y_score="p", by=by, capacity=1_024).update(frame)


@pytest.mark.parametrize(
    ("over", "days"),
    [("1d", 1), ("7d", 7), ("1w", 7), ("28d", 28), ("1mo", 31), ("12h", 1), ("1d12h", 2), ("1y", DAYS)],
)
def test_the_windows_are_the_newest_ones(over, days, store):
    found = checked(store, sm.Rule("rows >= 1", over=over))[0]
    assert found["value"] == between(days - 1, 0).height
    first = NEWEST - timedelta(days=days - 1)
    assert found["windows"] == (f"{NEWEST}" if days == 1 else f"{first} to {NEWEST}")


@pytest.mark.parametrize(("over", "against"), [("1d", "7d"), ("7d", "28d"), ("7d", "10y")])
def test_the_reference_is_the_time_right_before(over, against, store):
    days, before = int(over[:-1]), {"10y": DAYS}.get(against) or int(against[:-1])
    reference, current = between(days - 1 + before, days), between(days - 1, 0)
    measures = ("psi", "js", "ks", "wasserstein")
    required = ["rows >= 0", *(f"{name}(of='y_score') <= 0.2" for name in measures)]
    rows, *moved = checked(store, *(sm.Rule(r, over=over, against=against) for r in required))
    assert rows["value"] == current.height - reference.height
    assert rows["windows"].endswith(str(NEWEST))
    measured = sm.drift(evaluated(reference), evaluated(current), of="y_score").frame
    for name, found in zip(measures, moved, strict=True):
        row = measured.row(by_predicate=pl.col("measure") == name, named=True)
        assert [found[c] for c in ("value", *LIMITS)] == [row[c] for c in ("value", *LIMITS)]


def test_numbers_are_those_of_the_same_rows(store):
    current = evaluated(between(6, 0), by="country").finalize(["roc_auc", "log_loss"])
    metrics = ("roc_auc", "log_loss")
    rows = checked(store, *(sm.Rule(f"{metric} >= 0", over="7d", by=("country",)) for metric in metrics))
    for metric, found in zip(metrics, (rows[:2], rows[2:]), strict=True):
        assert [row["where"] for row in found] == ["country DE", "country FR"]
        for row in found:
            expected = current.get(metric, country=row["where"][-2:])
            assert row["value"] == pytest.approx(expected.value, rel=1e-12)
            assert (row["lower"], row["upper"]) == pytest.approx((expected.lower, expected.upper), rel=1e-12)


def test_the_change_of_a_metric(store):
    rule = sm.Rule("log_loss <= 0.02", over="7d", against="28d", by=("country",))
    assert str(rule) == "change of log_loss <= 0.02 against 28d before"
    sides = [evaluated(between(*ends), by="country").finalize() for ends in ((34, 7), (6, 0))]
    for row in checked(store, rule):
        before, after = (side.get("log_loss", country=row["where"][-2:]).value for side in sides)
        assert row["value"] == pytest.approx(after - before, rel=1e-9)
        assert row["reference"] == pytest.approx(before, rel=1e-12)
        assert row["ci_lower"] < row["value"] < row["ci_upper"]
        ends = [row[side] <= 0.02 for side in ("value", "ci_lower", "ci_upper")]
        assert row["verdict"] == {3: "holds", 0: "breached"}.get(sum(ends), "open")


def test_a_limit_on_the_change_cannot_be_taken_for_one_on_the_value(store):
    value, change = (sm.check(store, sm.Rule("log_loss <= 0.5", over="7d", against=past)) for past in (None, "28d"))
    sides = [evaluated(between(*ends)).finalize()["log_loss"].value for ends in ((34, 7), (6, 0))]
    before, after = (f"{side:.2f}" for side in sides)
    assert str(change).endswith(f"holds: from {before} to {after}")
    assert str(value).endswith("breached")
    assert value.frame["reference"].item() is None


def test_ks_of_a_distribution_is_drift_and_without_one_the_metric(store):
    current = evaluated(between(6, 0))
    assert checked(store, sm.Rule("ks >= 0", over="7d"))[0]["value"] == current.finalize()["ks"].value
    changed, moved = checked(
        store, sm.Rule("ks <= 1", over="7d", against="28d"), sm.Rule("ks(of='y_score') <= 1", over="7d", against="28d")
    )
    before = evaluated(between(34, 7))
    assert changed["value"] == pytest.approx(current.finalize()["ks"].value - before.finalize()["ks"].value)
    assert changed["rule"].startswith("change of ks <= 1")
    distance = sm.drift(before, current, of="y_score").frame.filter(measure="ks")["value"].item()
    assert moved["value"] == distance
    assert changed["value"] != moved["value"]


def test_bins_of_psi(store):
    rules = [sm.Rule(f"psi(of='y_score', bins={bins}) <= 1", over="7d", against="28d") for bins in (2, 10)]
    found = [row["value"] for row in checked(store, *rules)]
    sides = evaluated(between(34, 7)), evaluated(between(6, 0))
    assert found == [
        sm.drift(*sides, of="y_score", bins=bins).frame.filter(measure="psi")["value"].item() for bins in (2, 10)
    ]


@pytest.fixture(scope="module")
def coarse(tmp_path_factory):
    """A history whose histograms hold eight bins, so that AUC lies in a wide interval."""
    return history(tmp_path_factory.mktemp("coarse"), sm.binary(y_true="y", y_score="p", by="day", capacity=8))


@pytest.mark.parametrize("comparison", [">=", ">", "<=", "<"])
def test_verdicts_are_those_of_the_interval_widened_by_the_bounds(comparison, coarse):
    (found,) = checked(coarse, sm.Rule("roc_auc >= 0", over="28d"))
    lower = found["ci_lower"] - (found["value"] - found["lower"])
    upper = found["ci_upper"] + (found["upper"] - found["value"])
    assert min(found["value"] - found["lower"], found["value"] - found["ci_lower"]) > 0.01
    strict, high = len(comparison) == 1, comparison[0] == ">"
    below, inside, above = lower - 1e-3, (lower + upper) / 2, upper + 1e-3
    expected = {below: "holds" if high else "breached", inside: "open", above: "breached" if high else "holds"}
    # on a bound itself only the side that includes it is certain
    expected |= {lower: ("open" if strict else "holds") if high else ("breached" if strict else "open")}
    expected |= {upper: ("breached" if strict else "open") if high else ("open" if strict else "holds")}
    for verdict in ("holds", "breached", "open"):
        limits = [limit for limit in expected if expected[limit] == verdict]
        verdicts = sm.check(coarse, [sm.Rule(f"roc_auc {comparison} {limit!r}", over="28d") for limit in limits])
        assert verdicts.frame["verdict"].to_list() == [verdict] * len(limits)
        assert verdicts.hold == (verdict != "breached")


def test_all_rules_must_hold_everywhere(store):
    low, high = sm.Rule("rows >= 1"), sm.Rule("rows >= 1000")
    assert sm.check(store, [low]).hold
    assert not sm.check(store, [low, high]).hold
    sizes = between(0, 0).group_by("country").len().sort("len")
    assert sizes["len"].n_unique() == 2
    least = sizes["len"].to_list()[1]
    found = checked(store, sm.Rule(f"rows >= {least}", by=("country",)))
    assert {row["where"]: row["verdict"] for row in found} == {
        f"country {sizes['country'][0]}": "breached",
        f"country {sizes['country'][1]}": "holds",
    }


def test_what_has_no_value_is_undefined_and_does_not_hold(tmp_path):
    store = history(tmp_path, sm.binary(y_true="y", y_score="p", by="day"), between(1, 0).with_columns(y=True))
    verdicts = sm.check(store, [sm.Rule("roc_auc >= 0.5"), sm.Rule("roc_auc <= 0.5")])
    assert verdicts.frame["verdict"].to_list() == ["undefined"] * 2
    assert not verdicts.hold
    assert verdicts.frame["note"].to_list() == ["no negatives"] * 2
    assert str(verdicts).count("undefined: no negatives") == 2


def test_the_change_between_infinities_is_undefined(tmp_path):
    frame = pl.DataFrame({"day": [FIRST, FIRST + timedelta(days=1), FIRST + timedelta(days=2)], "p": [math.inf] * 3})
    store = history(tmp_path, sm.predictions(y_score="p", by="day", domain="real"), frame)
    assert checked(store, sm.Rule("median <= 1", against="1d"))[0]["verdict"] == "undefined"
    assert checked(store, sm.Rule("median <= 1"))[0]["verdict"] == "breached"
    assert checked(store, sm.Rule("median > 1"))[0]["verdict"] == "holds"


def test_periods_within_a_window_are_told(tmp_path):
    remark = "no window starts in this period"
    fix = "To include a window, set over to at least its length, and end the period where a window ends."
    months = pl.DataFrame({"month": [date(2026, m, 1) for m in (1, 2, 3)], "p": [0.5] * 3})
    store = history(tmp_path / "months", sm.predictions(y_score="p", by="month"), months)
    rules = [sm.Rule("rows >= 1"), sm.Rule("median <= 1"), sm.Rule("rows >= 1", over="1mo")]
    found = sm.check(store, rules, until="2026-04-01")
    assert found.frame["verdict"].to_list() == ["breached", "undefined", "holds"]
    assert found.frame["windows"].to_list() == [*["none from 2026-03-31 until 2026-04-01"] * 2, "2026-03-01"]
    said = " ".join(str(found).split())
    assert f"breached: {remark}, on" not in said
    assert f"breached: {remark}" in said
    assert f"undefined: no rows; {remark}" in said
    assert fix in said
    for given, until in ((rules[2:], "2026-04-01"), (rules[2:], "2026-06-01"), (rules, None), (rules, "2026-05-20")):
        assert remark not in str(sm.check(store, given, until=until))
    weeks = pl.DataFrame({"week": [date(2026, 5, d) for d in (4, 11, 18)], "p": [0.5] * 3})
    store = history(tmp_path / "weeks", sm.predictions(y_score="p", by="week"), weeks)
    weekly = sm.Rule("rows >= 1", over="1w")
    assert remark in " ".join(str(sm.check(store, weekly, until="2026-05-26")).split())
    for until in ("2026-05-25", "2026-06-01", "2026-06-03"):  # the last two after the pipeline has stopped
        assert remark not in str(sm.check(store, weekly, until=until))


def test_without_rows(store):
    late = {"until": "2027-01-01"}
    rules = ["rows >= 1", "rows <= 1", "roc_auc >= 0.5"]
    found = checked(store, *map(sm.Rule, rules), **late)
    assert [row["verdict"] for row in found] == ["breached", "holds", "undefined"]
    assert {row["windows"] for row in found} == {"none from 2026-12-31 until 2027-01-01"}
    assert found[2]["note"] == "no rows"
    segments = sm.check(store, [sm.Rule("rows >= 1", by=("country",))], **late)
    assert segments.frame.select("where", "value", "verdict", "note").rows() == [("", None, "undefined", "no rows")]
    assert str(segments).splitlines()[-1].endswith("undefined: no rows")
    first = f"{FIRST + timedelta(days=1)}"
    for require in ("psi(of='y_score') <= 0.2", "log_loss <= 1"):
        found = checked(store, sm.Rule(require, against="28d"), until=first)
        assert [(row["verdict"], row["windows"]) for row in found] == [("undefined", f"{FIRST}")]
        assert "in the reference" in found[0]["note"]


def test_segments_that_are_new_or_gone(tmp_path):
    days = [FIRST + timedelta(days=d) for d in (0, 0, 1, 1)]
    frame = pl.DataFrame({"day": days, "country": ["DE", "FR", "DE", None], "p": [0.2, 0.3, 0.2, 0.4]})
    store = history(tmp_path, sm.predictions(y_score="p", by=["day", "country"]), frame)
    moved = checked(store, sm.Rule("psi(of='y_score') <= 0.2", against="1d", by=("country",)))
    changed = checked(store, sm.Rule("mean <= 0.2", against="1d", by=("country",)))
    verdicts = {"country DE": "holds", "country FR": "undefined", "country null": "undefined"}
    assert {row["where"]: row["verdict"] for row in moved} == verdicts
    assert {row["where"]: row["verdict"] for row in changed} == verdicts
    assert {row["where"]: row["note"] for row in moved} == {
        "country DE": None,
        "country FR": "undefined: rows only in the reference",
        "country null": "undefined: no rows in the reference",
    }
    assert {row["where"]: row["note"] for row in changed} == {
        "country DE": "on these rows",
        "country FR": "undefined: value only in the reference",
        "country null": "undefined: no value in the reference",
    }
    present = checked(store, sm.Rule("rows >= 1", by=("country",)))
    assert [row["where"] for row in present] == ["country DE", "country null"]


def test_kept_keys_and_models_are_named(store, tmp_path):
    found = checked(store, sm.Rule("precision >= 0", over="7d", by=("country",)))
    assert [row["where"] for row in found] == [
        f"country {c}, threshold {t}" for c in ("DE", "FR") for t in ("0.3", "0.5")
    ]
    two = history(tmp_path, sm.binary(y_true="y", y_score={"old": "p", "new": "q"}, by=["day", "country"]))
    for rule in (sm.Rule("roc_auc >= 0.5", over="7d"), sm.Rule("roc_auc >= -1", over="7d", against="7d")):
        assert sorted(row["where"] for row in checked(two, rule)) == ["model new", "model old"]
    found = checked(two, sm.Rule("psi(of='y_score') <= 0.2", over="7d", against="28d", by=("country",)))
    assert sorted(row["where"] for row in found) == [
        f"country {c}, model {m}" for c in ("DE", "FR") for m in ("new", "old")
    ]


@pytest.mark.thorough
def test_a_rule_of_one_model_is_about_its_rows_only(store, tmp_path):
    two = history(tmp_path, sm.binary(y_true="y", y_score={"old": "q", "new": "p"}, by=["day", "country"]))
    for require, fields, text in (
        ("roc_auc >= 0.4", {"over": "7d"}, "roc_auc >= 0.4, model new"),
        ("roc_auc >= 0.4", {"over": "7d", "by": "country"}, "roc_auc >= 0.4, model new"),
        ("roc_auc >= 0.4", {"alarm": "1 per year"}, "roc_auc >= 0.4, model new, alarm 1 per year"),
        ("roc_auc >= -1", {"against": "7d"}, "change of roc_auc >= -1 against 7d before, model new"),
        ("psi(of='y_score') <= 9", {"against": "7d"}, "psi(of='y_score') <= 9 against 7d before, model new"),
    ):
        alone, found = checked(store, sm.Rule(require, **fields)), checked(two, sm.Rule(require, model="new", **fields))
        assert [row["rule"] for row in found] == [text] * len(alone)
        assert [row | {"rule": None} for row in found] == [row | {"rule": None} for row in alone]
    assert sm.check(two, sm.Rule("roc_auc >= 0.5", model="new", over="28d")).hold
    assert not sm.check(two, sm.Rule("roc_auc >= 0.5", over="28d")).hold
    with pytest.raises(sm.ReportError, match=r"^Unknown model 'best'. Models: 'old', 'new'.$"):
        sm.check(two, sm.Rule("rows >= 1", model="best"))
    with pytest.raises(sm.ReportError, match=r"^Unknown model 'new'. Models: none.$"):
        sm.check(store, sm.Rule("rows >= 1", model="new"))


@pytest.mark.thorough
def test_a_model_without_rows_in_the_newest_windows_has_no_metrics(tmp_path):
    columns = {"y_true": "y", "by": ["day", "country"]}
    store = history(tmp_path, sm.binary(y_score={"old": "q", "new": "p"}, **columns), between(DAYS, 5))
    store.append(sm.binary(y_score={"old": "q"}, **columns).update(between(4, 0)), batch_id="later")
    for require, verdict, fields in (
        ("rows >= 1", "breached", {}),
        ("roc_auc >= 0.4", "undefined", {"by": "country"}),
        ("roc_auc >= -1", "undefined", {"against": "7d"}),
        ("psi(of='y_score') <= 9", "undefined", {"against": "7d", "by": "country"}),
    ):
        assert {row["verdict"] for row in checked(store, sm.Rule(require, model="new", **fields))} == {verdict}
        assert "undefined" not in {row["verdict"] for row in checked(store, sm.Rule(require, model="old", **fields))}


def test_each_window_and_segments_with_names_that_drift_uses(store, tmp_path):
    found = checked(store, sm.Rule("rows >= 1", over="2d", by=("day",)))
    assert [row["where"] for row in found] == [f"day {NEWEST - timedelta(days=1)}", f"day {NEWEST}"]
    odd = history(tmp_path, sm.predictions(y_score="p", by=["day", "of"]), ROWS.rename({"country": "of"}))
    assert [row["where"] for row in checked(odd, sm.Rule("rows >= 1", by=("of",)))] == ["of DE", "of FR"]


@pytest.mark.parametrize("name", ["{}", "{country", "{0}"])
def test_segments_with_braces_in_their_names(name, tmp_path):
    odd = history(tmp_path, sm.predictions(y_score="p", by=["day", name]), ROWS.rename({"country": name}))
    found = checked(odd, sm.Rule("rows >= 1", by=(name,)))
    assert [row["where"] for row in found] == [f"{name} DE", f"{name} FR"]


def test_rules_of_predictions_without_labels(tmp_path):
    gaps = ROWS.with_columns(p=pl.when(pl.int_range(pl.len()) % 10 > 0).then("p"))
    store = history(tmp_path, sm.predictions(y_score="p", by="day"), gaps)
    days = between(6, 0, gaps)
    rules = [sm.Rule(f"{m} <= 1", over="7d") for m in ("dropped_rate", "predicted_positive_rate", "mean", "median")]
    expected = [days["p"].null_count() / len(days), (days["p"].drop_nulls() >= 0.5).mean(), days["p"].mean()]
    assert [row["value"] for row in checked(store, *rules)][:3] == pytest.approx(expected)
    with pytest.raises(sm.MetricError, match="roc_auc"):
        checked(store, sm.Rule("roc_auc >= 0.5"))


@pytest.mark.parametrize(
    ("until", "newest"),
    [
        ("2026-01-10", 9),
        (date(2026, 1, 10), 9),
        (datetime(2026, 1, 10), 9),
        ("2026-01-10T00:00:01", 10),
        (datetime(2026, 1, 10, 12), 10),
        ("2026-01-01T12:00", 1),
    ],
)
def test_until_leaves_out_what_comes_later(until, newest, store):
    found, week = checked(store, sm.Rule("rows >= 1"), sm.Rule("rows >= 1", over="7d"), until=until)
    assert found["windows"] == f"2026-01-{newest:02}"
    assert found["value"] == 10 + newest - 1
    assert week["value"] == sum(10 + day for day in range(newest) if day >= newest - 7)


def hourly(directory, zone, unit="us"):
    """One row an hour over a change of clocks, from midnight in UTC on."""
    hours = [datetime(2026, 3, 28) + timedelta(hours=h) for h in range(72)]
    times = pl.Series(hours, dtype=pl.Datetime(unit))
    if zone:
        times = times.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    return history(directory, sm.predictions(y_score="p", by="time"), pl.DataFrame({"time": times, "p": 0.5}))


@pytest.mark.parametrize(
    ("zone", "unit"), [(None, "ms"), (None, "us"), ("UTC", "us"), ("Europe/Berlin", "us"), ("America/New_York", "ns")]
)
def test_windows_of_hours(zone, unit, tmp_path):
    store = hourly(tmp_path, zone, unit)
    found = checked(store, *(sm.Rule("rows >= 1", over=over) for over in ("1h", "24h", "1d", "1w")))
    assert [row["value"] for row in found] == [1, 24, 24, 72]
    last = datetime(2026, 3, 30, 23, tzinfo=UTC).astimezone(ZoneInfo(zone or "UTC"))
    assert found[0]["windows"] == str(last if zone else last.replace(tzinfo=None))


@pytest.fixture(scope="module")
def days(tmp_path_factory):
    """Hourly histories without a time zone, and of one that puts clocks forward, by the hours of that day."""
    directory = tmp_path_factory.mktemp("days")
    return {day: hourly(directory / f"{day}", zone) for day, zone in ((24, None), (23, "Europe/Berlin"))}


@pytest.mark.parametrize("until", ["2026-03-30", date(2026, 3, 30), datetime(2026, 3, 30)])
def test_until_is_local_time(until, days):
    rules = sm.Rule("rows >= 1"), sm.Rule("rows >= 1", over="24h")
    for day, store in days.items():
        found = checked(store, *rules, until=until)
        assert [row["value"] for row in found] == [day, 24]
        assert found[0]["windows"].startswith("2026-03-29 00:00:00")
        assert " to 2026-03-29 23:00:00" in found[0]["windows"]


def test_until_may_have_a_zone_of_its_own(days):
    store = days[23]
    for until in ("2026-03-29T00:00+00:00", datetime(2026, 3, 29, 9, tzinfo=ZoneInfo("Asia/Tokyo"))):
        assert checked(store, sm.Rule("rows >= 1", over="1h"), until=until)[0]["windows"] == "2026-03-29 00:00:00+01:00"
    with pytest.raises(sm.SpecificationError, match=r"'2026-03-29T00:00\+01:00' has a time zone, but the windows have"):
        checked(days[24], sm.Rule("rows >= 1"), until="2026-03-29T00:00+01:00")


@pytest.mark.parametrize("until", ["01/02/2026", "", "yesterday", 20260101, (2026, 1, 1)])
def test_until_must_be_a_time(until, store):
    with pytest.raises(sm.SpecificationError, match=r"as a time\. Pass a date, a datetime, or an ISO 8601"):
        checked(store, sm.Rule("rows >= 1"), until=until)


def test_windows_that_are_null_are_left_out(tmp_path):
    frame = pl.DataFrame({"day": [FIRST, None], "p": [0.2, 0.3]})
    store = history(tmp_path / "some", sm.predictions(y_score="p", by="day"), frame)
    assert checked(store, sm.Rule("rows >= 1"))[0]["value"] == 1
    none = history(tmp_path / "none", sm.predictions(y_score="p", by="day"), frame.tail(1))
    with pytest.raises(sm.StateError, match="has no windows"):
        checked(none, sm.Rule("rows >= 1"))


@pytest.mark.thorough
def test_lengths_beyond_the_calendar_reach_back_to_the_first_window(store):
    for length in ("99999999d", "2030y"):
        found = checked(store, sm.Rule("rows >= 1", over=length), sm.Rule("rows <= 1", against=length))
        assert [row["value"] for row in found] == [ROWS.height, between(0, 0).height * 2 - ROWS.height]


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        (sm.Rule("rok_auc >= 0.8"), sm.MetricError, "Did you mean 'roc_auc"),
        (sm.Rule("mae >= 0.8"), sm.MetricError, "mae"),
        (sm.Rule("rows >= 1", by=("region",)), sm.SpecificationError, "Unknown group column 'region'"),
        (sm.Rule("psi(of='error') <= 1", against="7d"), sm.ReportError, "No distribution of 'error' on both sides"),
        (sm.Rule("psi(of='y_score', bins=1) <= 1", against="7d"), sm.SpecificationError, "bins= must be an integer"),
    ],
)
def test_rules_that_the_history_cannot_answer(rule, error, message, store):
    with pytest.raises(error, match=message):
        sm.check(store, [rule])


def test_without_rules_or_history(store, tmp_path):
    with pytest.raises(sm.SpecificationError, match="No rules to check"):
        sm.check(store, [])
    with pytest.raises(sm.StateError, match="No history at"):
        sm.check(sm.MetricStore(str(tmp_path / "nowhere")), [sm.Rule("rows >= 1")])


def test_verdicts_print_as_a_table(store):
    rules = [sm.Rule("rows >= 1000", over="7d"), sm.Rule("psi(of='y_score') <= 0.2", over="7d", against="28d")]
    psi = checked(store, rules[1])[0]
    lines = str(sm.check(store, rules)).splitlines()
    assert lines[0].split() == ["rule", "windows", "value", "bound", "interval", "verdict"]
    size = between(6, 0).height
    assert lines[2].split() == [*"rows >= 1000 2026-02-03 to 2026-02-09".split(), f"{size}", "exact", "breached"]
    assert lines[3].startswith("psi(of='y_score') <= 0.2 against 28d before  2026-02-03 to 2026-02-09")
    shown, _, low, _, high, verdict = lines[3].split()[-6:]
    assert float(shown) == pytest.approx(psi["value"], abs=0.006)
    assert (float(low), float(high)) == pytest.approx((psi["ci_lower"], psi["ci_upper"]), abs=0.006)
    assert verdict == psi["verdict"]
    assert lines[4:] == ["Failing: 2 of 2"]
    with_segments = sm.check(store, [sm.Rule("rows >= 1", by=("country",))])
    assert repr(with_segments) == str(with_segments)
    assert str(with_segments).splitlines()[0].split() == ["rule", "windows", "country", "value", "bound", "verdict"]
    assert "  DE  " in str(with_segments).splitlines()[2]
    with_others = sm.check(store, [sm.Rule("rows >= 1", by=("country",)), sm.Rule("rows >= 1")])
    assert "  country DE  " in str(with_others).splitlines()[2]


def test_of_many_rows_those_that_do_not_hold_are_printed(tmp_path):
    frame = pl.DataFrame({"day": [FIRST] * 100, "user": range(100), "p": 0.5})
    frame = pl.concat([frame, *([frame.tail(95)] * 2)])
    store = history(tmp_path, sm.predictions(y_score="p", by=["day", "user"]), frame)
    few = str(sm.check(store, [sm.Rule("rows >= 2", by=("user",))])).splitlines()
    assert all(line.endswith("breached") for line in few[2:7])
    assert few[7:] == ["… and 95 more that hold", "Failing: 5 of 100"]
    many = str(sm.check(store, [sm.Rule("rows <= 2", by=("user",))])).splitlines()
    assert many[2 + 40 :] == ["… and 55 more that do not hold", "… and 5 more that hold", "Failing: 95 of 100"]


def test_the_frame_has_the_same_columns_whatever_came(store):
    rules = [sm.Rule("rows >= 1", by=("country",)), sm.Rule("psi(of='y_score') <= 1", against="7d")]
    schemas = {
        tuple(sm.check(store, [rule], until=until).frame.schema.items())
        for rule in rules
        for until in (None, "2027-01-01")
    }
    assert len(schemas) == 1
    assert [name for name, _ in schemas.pop()] == [
        *("rule", "name", "severity", "windows", "where", "rows", "value", "lower", "upper", "ci_lower", "ci_upper"),
        *("reference", "verdict", "passes", "since", "e_value", "note", "description", "rows_needed", "days_needed"),
        *("coverage", "limit", "comparison"),
    ]


def test_what_is_no_store_or_rule_is_refused(store):
    rule = sm.Rule("rows >= 1")
    assert sm.check(store, rule).frame.equals(sm.check(store, [rule]).frame)
    for rules in (5, "rows >= 1", ["rows >= 1"], [rule, None]):
        with pytest.raises(sm.SpecificationError, match="rules= must be of type Rule, got"):
            sm.check(store, rules)
    with pytest.raises(sm.SpecificationError, match="store= must be a MetricStore, got str"):
        sm.check(str(store.uri), rule)


def test_all_rules_of_a_check_read_the_same_version(tmp_path):
    store = sm.MetricStore(tmp_path)
    acc = sm.Accumulator(y_true="y", by="day")
    for number in range(2):
        store.append(acc.empty().update({"y": [1], "day": [date(2026, 1, 1)]}), batch_id=f"{number}")
        if number == 0:
            windows = history_of(store).open().windows()
    assert windows.ask(None, "2026-01-02", (), None).seen == 1
    assert store.query().seen == 2


@pytest.mark.parametrize("last", [date.max, datetime.max], ids=str)
def test_the_last_window_of_the_calendar_is_left_out_by_until(last, tmp_path):
    store = sm.MetricStore(tmp_path / "store")
    windows = [last.replace(year=2026), last]
    store.append(sm.Accumulator(y_true="y", by="w").update({"y": [1, 1], "w": windows}), batch_id="1")
    with pytest.raises(sm.SpecificationError, match="No time comes after the newest window, 9999-12-31"):
        sm.check(store, sm.Rule("rows >= 1"))
    assert sm.check(store, sm.Rule("rows >= 1"), until="2027-01-01").hold
