"""What a rule compares: the newest windows, the time right before them, their segments, and their models."""

import math
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from data import CANDIDATES, CLICKS, FIRST_DAY, candidates, clicks
from stores import history

import streammetrics as sm

NEWEST = FIRST_DAY + timedelta(days=9)
SCORES = sm.predictions(y_score="score", by="day")


def days(first, last=0, frame=None):
    """Clicks from so many days before the newest on, up to so many days before it."""
    ends = (NEWEST - timedelta(days=n) for n in (first, last))
    return (clicks() if frame is None else frame).filter(pl.col("day").is_between(*ends))


def checked(store, *rules, **options):
    return sm.check(store, rules, **options).frame.rows(named=True)


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
    past = {"over": f"{over}d", "by": by, "confidence": confidence}, {"against": f"{against}d"}
    expected = {}
    for metric in ("log_loss", "recall", "ks", "rows"):
        rule = sm.Rule(f"{metric} >= 0", **past[0])
        expected[rule] = current.finalize([metric], confidence=level).frame
        sides = sm.compare(before, current, metrics=[metric], confidence=level, independent=True).frame
        rule = sm.Rule(f"{metric} >= -9", **past[0], **past[1])
        expected[rule] = sides.rename({"difference": "value", "a": "reference"})
    for measure in ("psi", "js", "ks", "wasserstein", "psi2"):
        bins = {"bins": 2} if measure == "psi2" else {}
        text = f"{measure[:-1]}(of='y_score', bins=2)" if bins else f"{measure}(of='y_score')"
        moved = sm.drift(before, current, of="y_score", confidence=level, **bins).frame
        expected[sm.Rule(f"{text} <= 9", **past[0], **past[1])] = moved.filter(measure=measure.removesuffix("2"))
    found = sm.check(shared, [*expected]).frame.partition_by("rule", as_dict=True)
    for rule, frame in expected.items():
        rows = found[str(rule),].rows(named=True)
        assert [row["windows"][-10:] for row in rows] == [str(NEWEST)] * frame.height
        for row, wanted in zip(rows, frame.iter_rows(named=True), strict=True):
            for name in {"value", "lower", "upper", "ci_lower", "ci_upper", "reference"} & {*frame.columns}:
                assert row[name] == (wanted[name] and pytest.approx(wanted[name], rel=1e-9, abs=1e-12)), (rule, name)
            if by:
                assert row["where"].startswith(f"country {wanted['country']}")
            assert (row["reference"] is None) == ("reference" not in frame.columns)


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
        assert {row["where"]: (row["verdict"], row["note"]) for row in found} == {
            "c DE": ("holds", None if thing == "rows" else "on these rows"),
            "c FR": ("undefined", f"undefined: {thing} only in the reference"),
            "c null": ("undefined", f"undefined: no {thing} in the reference"),
        }
    assert [row["where"] for row in checked(store, sm.Rule("rows >= 1", by="c"))] == ["c DE", "c null"]


def test_every_key_of_a_segment_is_named(shared, two_models, tmp_path):
    found = checked(shared, sm.Rule("precision >= 0", by="country"))
    assert [row["where"] for row in found] == [
        f"country {c}, threshold {t}" for c in ("DE", "FR", "IN") for t in (0.3, 0.5)
    ]
    for rule in (sm.Rule("roc_auc >= 0.5"), sm.Rule("roc_auc >= -1", against="7d")):
        assert sorted(row["where"] for row in checked(two_models, rule)) == ["model new", "model old"]
    found = checked(two_models, sm.Rule("psi(of='y_score') <= 0.2", against="7d", by="country"))
    assert sorted(row["where"] for row in found) == [
        f"country {c}, model {m}" for c in ("DE", "FR") for m in ("new", "old")
    ]
    found = checked(shared, sm.Rule("rows >= 1", over="2d", by="day"))
    assert [row["where"] for row in found] == [f"day {NEWEST - timedelta(days=1)}", f"day {NEWEST}"]
    for name in ("of", "{}", "{country", "{0}"):
        odd = sm.predictions(y_score="score", by=["day", name])
        odd = history(tmp_path / name, odd, clicks()[:500].rename({"country": name}))
        found = checked(odd, sm.Rule("rows >= 1", over="9d", by=name))
        assert [row["where"] for row in found] == [f"{name} {c}" for c in ("DE", "FR", "IN")]


@pytest.mark.parametrize(
    "options",
    [{"alarm": "1 per year"}, {}, {"by": "country"}, {"against": "5d"}, {"against": "5d", "drift": True}],
    ids=str,
)
def test_a_rule_of_one_model_is_about_its_rows_only(options, two_models, tmp_path):
    rows = candidates().with_columns(clicks()[: len(candidates())]["day"])
    alone = history(tmp_path, sm.binary(y_true="clicked", y_score="new", by=["day", "country"]), rows)
    fields = {name: value for name, value in options.items() if name != "drift"}
    require = (
        "psi(of='y_score') <= 9"
        if "drift" in options
        else "roc_auc >= -1"
        if "against" in options
        else "roc_auc >= 0.4"
    )
    wanted, found = (
        checked(alone, sm.Rule(require, **fields)),
        checked(two_models, sm.Rule(require, model="new", **fields)),
    )
    assert {row.pop("rule") for row in found} == {str(sm.Rule(require, model="new", **fields))}
    assert found == [{name: row[name] for name in row if name != "rule"} for row in wanted]


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


def test_rules_of_predictions_without_labels(tmp_path):
    gaps = clicks().with_columns(score=pl.when(pl.int_range(pl.len()) % 10 > 0).then("score"))
    store, newest = history(tmp_path, SCORES, gaps), days(2, 0, gaps)["score"]
    metrics = ("dropped_rate", "predicted_positive_rate", "mean")
    found = checked(store, *(sm.Rule(f"{metric} <= 1", over="3d") for metric in metrics))
    expected = [newest.is_null().mean(), (newest.drop_nulls() >= 0.5).mean(), newest.mean()]
    assert [row["value"] for row in found] == pytest.approx(expected)


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

UNTIL = {
    "2026-01-08": 7,
    date(2026, 1, 8): 7,
    datetime(2026, 1, 8): 7,
    "2026-01-08T00:00:01": 8,
    datetime(2026, 1, 8, 12): 8,
    "2026-01-01T12:00": 1,
}


def test_until_leaves_out_what_comes_later(shared):
    for until, last in UNTIL.items():
        found, three = checked(shared, sm.Rule("rows >= 1"), sm.Rule("rows >= 1", over="3d"), until=until)
        assert found["windows"] == f"2026-01-{last:02}"
        assert [found["value"], three["value"]] == [
            days(10 - last, 10 - last).height,
            days(12 - last, 10 - last).height,
        ]


@pytest.fixture(scope="module")
def hourly(tmp_path_factory):
    """One row an hour over a change of clocks, from midnight in UTC on, by time zone and unit."""
    hours, stores = pl.Series([datetime(2026, 3, 28) + timedelta(hours=h) for h in range(72)]), {}
    for zone, unit in ((None, "ms"), ("UTC", "us"), ("Europe/Berlin", "us"), ("America/New_York", "ns")):
        times = hours.cast(pl.Datetime(unit))
        times = times.dt.replace_time_zone("UTC").dt.convert_time_zone(zone) if zone else times
        task = sm.predictions(y_score="score", by="time")
        stores[zone] = history(tmp_path_factory.mktemp("hours"), task, pl.DataFrame({"time": times, "score": 0.5}))
    return stores


def test_windows_of_hours_are_counted_by_the_clock_of_their_zone(hourly):
    for zone, store in hourly.items():
        found = checked(store, *(sm.Rule("rows >= 1", over=over) for over in ("1h", "24h", "1d", "1w")))
        assert [row["value"] for row in found] == [1, 24, 24, 72]
        last = datetime(2026, 3, 30, 23, tzinfo=UTC).astimezone(ZoneInfo(zone or "UTC"))
        assert found[0]["windows"] == str(last if zone else last.replace(tzinfo=None))
    rules = sm.Rule("rows >= 1"), sm.Rule("rows >= 1", over="24h")
    for zone, hours in ((None, 24), ("Europe/Berlin", 23)):  # of the day that puts clocks forward
        for until in ("2026-03-30", date(2026, 3, 30), datetime(2026, 3, 30)):
            found = checked(hourly[zone], *rules, until=until)
            assert [row["value"] for row in found] == [hours, 24]
            first, last = found[0]["windows"].split(" to ")
            assert (first[:19], last[:19]) == ("2026-03-29 00:00:00", "2026-03-29 23:00:00")
    for until in ("2026-03-29T00:00+00:00", datetime(2026, 3, 29, 9, tzinfo=ZoneInfo("Asia/Tokyo"))):
        found = checked(hourly["Europe/Berlin"], sm.Rule("rows >= 1", over="1h"), until=until)
        assert found[0]["windows"] == "2026-03-29 00:00:00+01:00"


def test_a_period_in_which_no_window_starts_is_named(tmp_path):
    remark = "no window starts in this period"
    months = {"day": [date(2026, m, 1) for m in (1, 2, 3)], "score": [0.5] * 3}
    months = history(tmp_path / "months", SCORES, months)
    rules = [sm.Rule("rows >= 1"), sm.Rule("median <= 1"), sm.Rule("rows >= 1", over="1mo")]
    found = sm.check(months, rules, until="2026-04-01")
    assert found.frame["verdict"].to_list() == ["breached", "undefined", "holds"]
    assert found.frame["windows"].to_list() == [*["none from 2026-03-31 until 2026-04-01"] * 2, "2026-03-01"]
    notes = found.frame["note"].to_list()
    assert [remark in notes[0], notes[1], remark in notes[2]] == [True, f"no rows; {remark}", False]
    weeks = {"day": [date(2026, 5, d) for d in (4, 11, 18)], "score": [0.5] * 3}
    weeks, weekly = history(tmp_path / "weeks", SCORES, weeks), [sm.Rule("rows >= 1", over="1w")]
    for store, given, until, known in (
        (months, rules[2:], "2026-06-01", False),
        (months, rules, None, False),
        (months, rules, "2026-05-20", False),
        (weeks, weekly, "2026-05-26", True),
        (weeks, weekly, "2026-05-25", False),
        (weeks, weekly, "2026-06-03", False),  # after the pipeline has stopped
    ):
        assert (remark in str(sm.check(store, given, until=until).frame["note"].to_list())) == known


def test_without_rows_counts_decide_and_metrics_are_undefined(shared):
    rules = [sm.Rule("rows >= 1"), sm.Rule("rows <= 1"), sm.Rule("roc_auc >= 0.5"), sm.Rule("rows >= 1", by="country")]
    found = checked(shared, *rules, until="2027-01-01")
    assert [row["verdict"] for row in found] == ["breached", "holds", "undefined", "undefined"]
    assert {row["windows"] for row in found} == {"none from 2026-12-31 until 2027-01-01"}
    assert [(row["where"], row["value"], row["note"]) for row in found[2:]] == [("", None, "no rows")] * 2
    for require in ("psi(of='y_score') <= 0.2", "log_loss <= 1"):
        (found,) = checked(shared, sm.Rule(require, against="28d"), until="2026-01-02")
        assert (found["verdict"], found["windows"]) == ("undefined", f"{FIRST_DAY}")
        assert "in the reference" in found["note"]


@pytest.mark.parametrize("last", [date.max, datetime.max], ids=str)
def test_the_last_window_of_the_calendar_is_left_out_by_until(last, tmp_path):
    store = history(tmp_path, sm.Accumulator(y_true="y", by="w"), {"y": [1, 1], "w": [last.replace(year=2026), last]})
    with pytest.raises(sm.SpecificationError, match="9999-12-31"):
        sm.check(store, sm.Rule("rows >= 1"))
    assert sm.check(store, sm.Rule("rows >= 1"), until="2027-01-01").hold
