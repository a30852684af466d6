"""What a rule compares: the newest windows, the time right before them, their segments, and their models."""

import math
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from data import CANDIDATES, CLICKS, FIRST_DAY, candidates, clicks
from stores import checked, history

import streammetrics as sm

NEWEST = FIRST_DAY + timedelta(days=9)
CUT = ("DE", "FR", "IN")
SCORES = sm.predictions(y_score="score", by="day")


def days(first, last=0, frame=None):
    """Clicks from so many days before the newest on, up to so many days before it."""
    ends = (NEWEST - timedelta(days=n) for n in (first, last))
    return (clicks() if frame is None else frame).filter(pl.col("day").is_between(*ends))


def test_the_windows_are_the_newest_ones(shared):
    lengths = {"1d": 1, "12h": 1, "1d12h": 2, "3d": 3, "1w": 7, "1mo": 10, "1y": 10, "99999999d": 10, "2030y": 10}
    rules = [sm.Rule("rows >= 1", over=over) for over in lengths]
    for found, length in zip(checked(shared, *rules), lengths.values(), strict=True):
        assert found["value"] == found["rows"] == days(length - 1).height
        first = NEWEST - timedelta(days=length - 1)
        assert found["windows"] == (f"{NEWEST}" if length == 1 else f"{first} to {NEWEST}")


@pytest.mark.parametrize(
    ("by", "over", "against", "confidence"), [(("country",), 2, 4, 0.8), ((), 3, 20, 0.95), (("country",), 1, 1, 0.99)]
)
def test_numbers_are_those_of_reports_comparisons_and_drift_of_the_same_rows(by, over, against, confidence, shared):
    """The reference is the time right before; each end of an interval has the confidence of the rule."""
    task, level = sm.binary(by=by, thresholds=[0.3, 0.5], **CLICKS), 2 * confidence - 1
    current, before = (task.empty().update(days(*ends)) for ends in ((over - 1,), (over - 1 + against, over)))
    now = {"over": f"{over}d", "by": by, "confidence": confidence}
    changed = now | {"against": f"{against}d"}
    moved = sm.compare(before, current, confidence=level, independent=True).frame
    moved = moved.rename({"difference": "value", "a": "reference"})
    expected = {}
    for metric in ("log_loss", "recall", "ks", "rows"):
        expected[sm.Rule(f"{metric} >= 0", **now)] = current.finalize([metric], confidence=level).frame
        expected[sm.Rule(f"{metric} >= -9", **changed)] = moved.filter(metric=metric)
    for measure, bins in (("psi", 20), ("js", 20), ("ks", 20), ("wasserstein", 20), ("psi", 2)):
        text = f"{measure}(of='y_score'{'' if bins == 20 else f', bins={bins}'})"
        options = {} if bins == 20 else {"bins": bins}
        frame = sm.drift(before, current, of="y_score", confidence=level, **options).frame
        expected[sm.Rule(f"{text} <= 9", **changed)] = frame.filter(measure=measure)
    found = sm.check(shared, [*expected]).frame.partition_by("rule", as_dict=True)
    for rule, frame in expected.items():
        rows = found[str(rule),].rows(named=True)
        assert [row["windows"][-10:] for row in rows] == [str(NEWEST)] * frame.height
        for row, wanted in zip(rows, frame.iter_rows(named=True), strict=True):
            for name in ("value", "lower", "upper", "ci_lower", "ci_upper", "reference"):
                value = wanted.get(name)
                assert row[name] == (value and pytest.approx(value, rel=1e-9, abs=1e-12)), (rule, name)
            if by:
                assert row["where"].startswith(f"country {wanted['country']}")


def test_a_limit_with_a_reference_is_on_the_change(shared):
    value, change = (sm.check(shared, sm.Rule("log_loss <= 0.3", against=past)) for past in (None, "3d"))
    assert (value.frame["verdict"].item(), change.frame["verdict"].item()) == ("breached", "holds")
    numbers = change.frame.select("reference", after=pl.col("reference") + pl.col("value")).row(0)
    assert "from {:.2f} to {:.2f}".format(*numbers) in str(change)


def test_segments_that_are_new_or_gone(tmp_path):
    frame = pl.DataFrame({"day": [FIRST_DAY] * 2 + [NEWEST] * 2, "c": ["DE", "FR", "DE", None], "score": [0.2] * 4})
    store = history(tmp_path, sm.predictions(y_score="score", by=["day", "c"]), frame)
    for require, thing in (("psi(of='y_score') <= 0.2", "rows"), ("mean <= 0.2", "value")):
        found = checked(store, sm.Rule(require, against="9d", by="c"))
        assert {row["where"]: (row["verdict"], *row["reasons"], row["note"]) for row in found} == {
            "c DE": ("holds", "bounds_only", None) if thing == "value" else ("open", None),
            "c FR": ("undefined", f"{thing} only in the reference"),
            "c null": ("undefined", f"no {thing} in the reference"),
        }
    assert [row["where"] for row in checked(store, sm.Rule("rows >= 1", by="c"))] == ["c DE", "c null"]


@pytest.mark.thorough
def test_every_key_of_a_segment_is_named(shared, two_models, tmp_path):
    newest, drift = str(NEWEST), sm.Rule("psi(of='y_score') <= 0.2", against="7d", by="country")
    names = ("of", "{}", "{country", "{0}")
    renamed = clicks()[:500].with_columns(pl.col("country").alias(name) for name in names)
    odd = history(tmp_path, sm.predictions(y_score="score", by=["day", *names]), renamed)
    models = ["model new", "model old"]
    for store, rule, expected in (
        (
            shared,
            sm.Rule("recall >= 0", by="country"),
            [f"country {c}, threshold {t}" for c in CUT for t in (0.3, 0.5)],
        ),
        (two_models, sm.Rule("roc_auc >= 0.5"), models),
        (two_models, sm.Rule("roc_auc >= -1", against="7d"), models),
        (two_models, drift, [f"country {c}, {m}" for c in CUT[:2] for m in models]),
        (shared, sm.Rule("rows >= 1", over="2d", by="day"), [f"day {newest[:-2]}09", f"day {newest}"]),
        *((odd, sm.Rule("rows >= 1", over="9d", by=name), [f"{name} {c}" for c in CUT]) for name in names),
    ):
        assert sorted(row["where"] for row in checked(store, rule)) == expected


@pytest.mark.thorough
def test_a_rule_of_one_model_is_about_its_rows_only(two_models, tmp_path):
    rows = candidates().with_columns(clicks()[: len(candidates())]["day"])
    alone = history(tmp_path, sm.binary(y_true="clicked", y_score="new", by=["day", "country"]), rows)
    cases = [
        ("roc_auc >= 0.4", {"alarm": "1 per year"}),
        ("roc_auc >= 0.4", {"by": "country"}),
        ("roc_auc >= -1", {"against": "5d"}),
        ("psi(of='y_score') <= 9", {"against": "5d"}),
    ]
    wanted = checked(alone, *(sm.Rule(require, **fields) for require, fields in cases))
    found = checked(two_models, *(sm.Rule(require, model="new", **fields) for require, fields in cases))
    for one, other in zip(found, wanted, strict=True):
        assert one == other | {"rule": one["rule"]}
        assert "model new" in one["rule"]


@pytest.mark.thorough
def test_a_model_without_rows_in_the_newest_windows_has_no_metrics(tmp_path):
    rows = candidates().with_columns(clicks()[: len(candidates())]["day"])
    store = history(tmp_path, sm.binary(by=["day", "country"], **CANDIDATES), days(9, 5, rows))
    later = sm.binary(y_true="clicked", y_score={"old": "old"}, by=["day", "country"])
    store.append(later.update(days(4, 0, rows)), batch_id="later")
    for require, verdict, fields in (
        ("rows >= 1", "breached", {}),
        ("roc_auc >= 0.4", "undefined", {"by": "country"}),
        ("roc_auc >= -1", "undefined", {"against": "7d"}),
        ("psi(of='y_score') <= 9", "undefined", {"against": "7d", "by": "country"}),
    ):
        new, old = (checked(store, sm.Rule(require, model=model, **fields)) for model in ("new", "old"))
        assert {row["verdict"] for row in new} == {verdict}
        assert "undefined" not in {row["verdict"] for row in old}


def test_windows_that_are_null_are_left_out(tmp_path):
    store = history(tmp_path, SCORES, {"day": [FIRST_DAY, None], "score": [0.2, 0.3]})
    assert checked(store, sm.Rule("rows >= 1"))[0]["value"] == 1


def test_the_change_between_infinities_is_undefined(tmp_path):
    frame = {"day": [FIRST_DAY + timedelta(days=n) for n in range(3)], "score": [math.inf] * 3}
    store = history(tmp_path, sm.predictions(y_score="score", by="day", domain="real"), frame)
    rules = [sm.Rule("median <= 1", against="1d"), sm.Rule("median <= 1"), sm.Rule("median > 1")]
    assert [row["verdict"] for row in checked(store, *rules)] == ["undefined", "breached", "holds"]


def test_all_rules_of_a_check_read_the_same_version(tmp_path):
    store = history(tmp_path, SCORES, clicks()[:500])

    class Slow(sm.Rule):
        """During whose check another writer appends."""

        def __str__(self):
            store.append(SCORES.empty().update(clicks()[500:]), batch_id="meanwhile")
            return super().__str__()

    first, second = checked(store, Slow("rows >= 1", over="1w"), sm.Rule("rows >= 1", over="1w"))
    assert first["value"] == second["value"] < store.query("2026-01-04").seen


# Times


@pytest.mark.thorough
def test_until_leaves_out_what_comes_later(shared):
    for until, last in {
        "2026-01-08": 7,
        date(2026, 1, 8): 7,
        datetime(2026, 1, 8): 7,
        "2026-01-08T00:00:01": 8,
        datetime(2026, 1, 8, 12): 8,
        "2026-01-01T12:00": 1,
    }.items():
        one, three = checked(shared, sm.Rule("rows >= 1"), sm.Rule("rows >= 1", over="3d"), until=until)
        assert one["windows"] == f"2026-01-{last:02}"
        assert [one["value"], three["value"]] == [days(n - last, 10 - last).height for n in (10, 12)]


def hourly(folder, zone, unit):
    """One row an hour over a change of clocks, from midnight in UTC on."""
    times = pl.Series([datetime(2026, 3, 28) + timedelta(hours=h) for h in range(72)], dtype=pl.Datetime(unit))
    times = times.dt.replace_time_zone("UTC").dt.convert_time_zone(zone) if zone else times
    return history(folder, sm.predictions(y_score="score", by="time"), pl.DataFrame({"time": times, "score": 0.5}))


@pytest.mark.thorough
def test_windows_of_hours_are_counted_by_the_clock_of_their_zone(tmp_path):
    """The day that puts clocks forward has 23 hours."""
    lengths = [sm.Rule("rows >= 1", over=over) for over in ("1h", "24h", "1d", "1w")]
    untils = "2026-03-30", date(2026, 3, 30), datetime(2026, 3, 30)
    zones = (None, "ms", 24), ("Europe/Berlin", "us", 23), ("America/New_York", "ns", 24)
    for until, (zone, unit, hours) in zip(untils, zones, strict=True):
        store = hourly(tmp_path / f"{zone}", zone, unit)
        found = checked(store, *lengths)
        assert [row["value"] for row in found] == [1, 24, 24, 72]
        last = datetime(2026, 3, 30, 23, tzinfo=UTC).astimezone(ZoneInfo(zone or "UTC"))
        assert found[0]["windows"] == str(last if zone else last.replace(tzinfo=None))
        found = checked(store, *lengths[1:3], until=until)
        assert [row["value"] for row in found] == [24, hours]
        first, last = found[1]["windows"].split(" to ")
        assert (first[:19], last[:19]) == ("2026-03-29 00:00:00", "2026-03-29 23:00:00")
    in_berlin = sm.MetricStore(str(tmp_path / "Europe/Berlin"))
    for until in ("2026-03-29T00:00+00:00", datetime(2026, 3, 29, 9, tzinfo=ZoneInfo("Asia/Tokyo"))):
        assert checked(in_berlin, lengths[0], until=until)[0]["windows"] == "2026-03-29 00:00:00+01:00"


def test_a_period_in_which_no_window_starts_is_named(tmp_path):
    """As long as the next window is not overdue."""
    months, weeks = (
        history(tmp_path / f"{len(starts)}", SCORES, {"day": starts, "score": [0.5] * len(starts)})
        for starts in ([date(2026, m, 1) for m in (1, 2, 3)], [date(2026, 5, d) for d in (4, 11, 18, 25)])
    )
    rules = [sm.Rule("rows >= 1"), sm.Rule("median <= 1"), sm.Rule("rows >= 1", over="1mo")]
    found = checked(months, *rules, until="2026-04-01")
    assert [row["verdict"] for row in found] == ["breached", "undefined", "holds"]
    assert [row["windows"] for row in found] == [*["none from 2026-03-31 until 2026-04-01"] * 2, "2026-03-01"]
    assert ["no_window" in row["reasons"] for row in found] == [True, True, False]
    for store, over, untils in (
        (months, "1mo", {"2026-06-01": False, None: False, "2026-05-20": False}),
        (weeks, "1w", {"2026-06-02": True, "2026-06-01": False, "2026-06-10": False}),
    ):
        for until, is_named in untils.items():
            [row] = checked(store, sm.Rule("rows >= 1", over=over), until=until)
            assert ("no_window" in row["reasons"]) == is_named, until


def test_without_rows_counts_decide_and_metrics_are_undefined(shared):
    rules = [sm.Rule("rows >= 1"), sm.Rule("rows <= 1"), sm.Rule("roc_auc >= 0.5"), sm.Rule("rows >= 1", by="country")]
    found = checked(shared, *rules, until="2027-01-01")
    assert [row["verdict"] for row in found] == ["breached", "holds", "undefined", "undefined"]
    assert {row["windows"] for row in found} == {"none from 2026-12-31 until 2027-01-01"}
    assert [(row["where"], row["value"], row["note"]) for row in found[2:]] == [("", None, "no rows")] * 2
    for require in ("psi(of='y_score') <= 0.2", "log_loss <= 1", "rows >= -5"):
        (found,) = checked(shared, sm.Rule(require, against="28d"), until="2026-01-02")
        assert (found["verdict"], found["windows"]) == ("undefined", f"{FIRST_DAY}")
        assert "in the reference" in found["note"]


@pytest.mark.thorough
def test_before_the_first_window_nothing_is_breached(shared):
    """A minimum of rows is not missed by a history that has not begun."""
    rules = [sm.Rule("rows >= 1"), sm.Rule("rows >= 1", over="7d"), sm.Rule("rows >= 1", always=100)]
    for until in (FIRST_DAY, FIRST_DAY - timedelta(days=40)):
        for row in checked(shared, *rules, sm.Rule("rows >= 1", alarm="1 per year"), until=until):
            assert (row["verdict"], row["windows"], row["passes"]) == ("open", f"none until {until}", True)
        assert all(row["reasons"] == ["short_history"] for row in checked(shared, *rules, until=until))
    assert [row["verdict"] for row in checked(shared, *rules, until=FIRST_DAY + timedelta(days=1))] == ["holds"] * 3


@pytest.mark.parametrize("last", [date.max, datetime.max], ids=str)
def test_the_last_window_of_the_calendar_is_left_out_by_until(last, tmp_path):
    """Without it, the check is refused."""
    store = history(tmp_path, sm.Accumulator(y_true="y", by="w"), {"y": [1, 1], "w": [last.replace(year=2026), last]})
    assert sm.check(store, sm.Rule("rows >= 1"), until="2027-01-01").hold
