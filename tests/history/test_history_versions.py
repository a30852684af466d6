"""A history that keeps something else from some day on: old windows answer as before, new ones as a fresh store."""

import pickle
import shutil
from datetime import date, datetime
from functools import cache
from unittest.mock import patch

import deltalake
import numpy as np
import polars as pl
import pytest
from steps import rival

import streammetrics as sm
from streammetrics.history import history as stores
from streammetrics.testing.same import require_same

DAYS = [date(2026, 1, day) for day in range(1, 5)]
CHANGE = DAYS[2]  # the first of a day on which both versions were appended
KEPT = (sm.ConfusionCounts(0.5), sm.ScoreHistogram(capacity=64), sm.CalibrationBins(5))
MODELS = {"a": "p", "b": "q"}


def acc(*statistics, **columns):
    return sm.Accumulator(*(statistics or KEPT), **{"y_true": "y", "y_score": "p", "by": "day"} | columns)


def instead(statistic):
    """What is kept, with one statistic of other options."""
    return tuple(statistic if type(s) is type(statistic) else s for s in KEPT)


CASES = {  # the old specification, the new one, and what they have in common
    "all": (
        lambda: acc(),
        lambda: acc(
            sm.ConfusionCounts((0.2, 0.5)), sm.ScoreHistogram(capacity=16), sm.ProbabilityLoss(), by=["region", "day"]
        ),
        lambda: acc(sm.ConfusionCounts(), sm.ScoreHistogram(capacity=16)),
    ),
    "segment": (lambda: acc(), lambda: acc(by=["region", "day"]), lambda: acc()),
    "threshold": (lambda: acc(), lambda: acc(*instead(sm.ConfusionCounts((0.2, 0.5)))), lambda: acc()),
    "other thresholds": (
        lambda: acc(*instead(sm.ConfusionCounts((0.2, 0.5)))),
        lambda: acc(*instead(sm.ConfusionCounts((0.5, 0.7)))),
        lambda: acc(),
    ),
    "statistic": (lambda: acc(), lambda: acc(*KEPT, sm.ProbabilityLoss()), lambda: acc()),
    "no statistic": (lambda: acc(), lambda: acc(*KEPT[:2]), lambda: acc(*KEPT[:2])),
    "capacity": (lambda: acc(), lambda: acc(*instead(sm.ScoreHistogram(capacity=16))), None),
    "bins": (lambda: acc(), lambda: acc(*instead(sm.CalibrationBins(10))), lambda: acc(*KEPT[:2])),
    "weights and units": (
        lambda: acc(sample_weight="w", unit="u"),
        lambda: acc(*KEPT, sm.ProbabilityLoss(), sample_weight="w", unit="u", by=["day", "region"]),
        lambda: acc(sample_weight="w", unit="u"),
    ),
    "labels": (
        lambda: acc(task="multilabel", y_true={"y": "y", "z": "z"}, y_score={"y": "p", "z": "q"}),
        lambda: acc(
            *instead(sm.ConfusionCounts((0.2, 0.5))),
            sm.ProbabilityLoss(),
            task="multilabel",
            y_true={"y": "y", "z": "z"},
            y_score={"y": "p", "z": "q"},
        ),
        lambda: acc(task="multilabel", y_true={"y": "y", "z": "z"}, y_score={"y": "p", "z": "q"}),
    ),
}
CASES["capacity"] = (*CASES["capacity"][:2], CASES["capacity"][1])
case = pytest.mark.parametrize("case", CASES)
METRICS = ("rows", "recall", "roc_auc", "ece", "log_loss")


def rows(day, seed=0, count=60):
    rng = np.random.default_rng([day.toordinal(), seed])
    p = rng.random(count)
    return pl.DataFrame(
        {
            "day": [day] * count,
            "region": rng.choice(["EU", "US"], count),
            "p": p,
            "q": rng.random(count),
            "y": rng.random(count) < p,
            "z": rng.random(count) < 0.5,
            "w": rng.random(count) + 0.1,
            "u": rng.integers(0, 9, count),
        }
    )


OLD = [rows(day) for day in DAYS[:3]]
NEW = [rows(day, seed=1) for day in DAYS[2:]]


def evolved(uri, old, new):
    """Three days of the old specification, and two of the new one; the third has rows of both."""
    store = sm.MetricStore(uri)
    for number, frame in enumerate(OLD):
        assert store.append(old().update(frame), batch_id=f"old {number}")
    for number, frame in enumerate(NEW):
        assert store.append(new().update(frame), batch_id=f"new {number}")
    return store


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """The history of a case, which is only read."""
    return cache(lambda case: evolved(tmp_path_factory.mktemp("history") / "store", *CASES[case][:2]))


def values(found):
    """The frame by its keys: value, bounds, and the note of a value that there is not."""
    report = found.finalize(["rows"])
    frame = report.showing([metric for metric in METRICS if metric in report]).frame
    keys = frame.columns[: frame.columns.index("metric") + 1]
    told = pl.when(pl.col("value").is_null()).then("note")
    return {
        tuple(zip(keys, row[: len(keys)], strict=True)): row[len(keys) :]
        for row in frame.select(*keys, "value", "lower", "upper", told).iter_rows()
    }


def require_values(found, expected):
    """The same values where something is expected, and null for a reason where nothing is."""
    found, expected = values(found), values(expected)
    assert found.keys() >= expected.keys()
    for key, (*numbers, note) in found.items():
        if expected.get(key, [None])[0] is None:
            assert numbers == [None] * 3
            assert "undefined: not available in windows up to" in note
        else:
            assert numbers == pytest.approx([*expected[key][:-1]], rel=1e-12), key


@case
def test_old_windows_answer_as_before_and_new_ones_as_a_fresh_store(case, history):
    (old, new, _), store = CASES[case], history(case)
    whole = old().update(pl.concat(OLD[:2]))
    require_values(store.query(until=CHANGE), whole.rollup())
    require_values(store.query(until=CHANGE, every="1d"), whole.rollup("day"))
    fresh = new().update(NEW[1])
    require_same(store.query(DAYS[3], by=fresh.roles.by), fresh)


@pytest.mark.thorough
@case
def test_windows_of_both_versions_answer_what_both_have(case, history):
    (_, new, common), store = CASES[case], history(case)
    require_values(store.query(), common().update(pl.concat([*OLD, *NEW])).rollup())
    require_values(store.query(CHANGE, DAYS[3]), common().update(pl.concat([OLD[2], NEW[0]])).rollup())
    daily, after = values(store.query(every="1d")), values(new().update(NEW[1]).rollup("day"))
    assert all(daily[key][0] is not None for key in after)


@pytest.mark.thorough
@case
def test_answers_over_versions_add_up_and_are_saved_whole(case, history, tmp_path):
    store = sm.MetricStore(shutil.copytree(history(case).uri, tmp_path / "store"))
    daily, whole = store.query(every="1d"), store.query()
    require_values(daily.rollup(), whole)
    require_values(whole, daily.rollup())
    before = daily.to_bytes(), whole.to_bytes()
    again = sm.Accumulator.from_bytes(before[0])
    assert again.to_bytes() == before[0]
    assert values(again) == values(daily)
    daily.save(tmp_path / "daily.state")
    assert values(sm.Accumulator.load(tmp_path / "daily.state")) == values(daily)
    assert pickle.loads(pickle.dumps(daily)).to_bytes() == before[0]
    store.append(CASES[case][0]().update(OLD[0]), batch_id="late")
    late = store.query(every="1d").to_bytes(), store.query().to_bytes()
    assert late != before
    store.compact()
    assert (store.query(every="1d").to_bytes(), store.query().to_bytes()) == late


def test_an_added_segment_is_null_before_and_the_note_says_so(history):
    store = history("segment")
    frame = store.query(by="region").finalize(["rows"]).frame
    regions = pl.concat(NEW)["region"].value_counts().sort("region")
    assert frame["region"].to_list() == ["EU", "US", None]
    assert frame["value"].to_list() == [*regions["count"], 180]
    assert frame["note"].to_list() == [None, None, "windows up to 2026-01-03 do not have 'region'"]
    assert store.query(where=pl.col("region") == "EU").seen == regions["count"][0]
    assert store.query(where=pl.col("region").is_null()).seen == 180
    assert store.query(until=CHANGE, by="region").finalize(["rows"])["rows"].value == 120
    assert store.query(where=pl.col("day") == pl.col("day").max()).seen == 60


def test_a_model_has_no_rows_before_it_was_added(tmp_path):
    histogram = sm.ScoreHistogram(capacity=64)
    old, new = (lambda models=models: acc(histogram, y_score=models) for models in ({"a": "p"}, MODELS))
    store = evolved(tmp_path / "store", old, new)
    found = store.query(every="1d").finalize(["rows"])
    assert found.frame.filter(model="b", metric="rows")["day"].to_list() == DAYS[2:]
    assert store.windows()["rows"].to_list() == [60, 60, 120, 60]
    total = store.query().finalize(["rows"])
    assert (total.get("rows", model="a").value, total.get("rows", model="b").value) == (300, 120)
    expected = acc(histogram, y_score={"b": "q"}).update(pl.concat(NEW)).rollup().finalize()
    assert (
        total.get("log_loss" if "log_loss" in total else "roc_auc", model="b").value
        == expected.get("roc_auc", model="b").value
    )
    replaced = acc(histogram, y_score={"b": "q", "c": "p"})
    store.append(replaced.update(rows(date(2026, 1, 5))), batch_id="without a")
    assert set(store.query("2026-01-05").state.keys["model"]) == {"b", "c"}
    assert set(store.query().state.keys["model"]) == {*"abc"}


@pytest.mark.thorough
def test_pairs_of_models_are_compared_where_all_windows_have_them(tmp_path):
    make = lambda models: sm.binary(y_true="y", y_score=models, by="day", capacity=64)  # noqa: E731
    store = evolved(tmp_path / "store", lambda: make(MODELS), lambda: make(MODELS | {"c": "p"}))

    def compared(found):
        return found.finalize(["roc_auc"], confidence=0.95).compare("a", "b").frame

    before = compared(store.query(until=CHANGE))
    assert before.equals(compared(make(MODELS).update(pl.concat(OLD[:2])).rollup()))
    assert before["ci_lower"].is_not_null().all()
    assert compared(store.query())["ci_lower"].is_null().all()


def test_describe_tells_what_changed(tmp_path):
    store = evolved(
        tmp_path / "store", lambda: acc(), lambda: acc(*KEPT[:2], sm.ProbabilityLoss(), by=["day", "region"])
    )
    assert store.describe().rows() == [
        (1, DAYS[0], DAYS[2], 3, ""),
        (
            2,
            DAYS[2],
            DAYS[3],
            2,
            f"+ segment region, + statistic ProbabilityLoss(), - statistic {sm.CalibrationBins(5)!r}",
        ),
    ]
    store.append(acc().update(rows(DAYS[3])), batch_id="an old worker")
    assert store.describe()["windows"].to_list() == [4, 2]
    store.retain(DAYS[3])
    assert store.describe()["first"].to_list() == [DAYS[3]] * 2


REFUSED = {
    "task": (lambda: sm.Accumulator(sm.ErrorMoments(), y_true="y", y_pred="p", by="day"), "differ in kind"),
    "labels": (lambda: acc(y_true="z"), "differ in y_true"),
    "score": (lambda: acc(y_score="q"), "differ in y_score"),
    "several models": (lambda: acc(y_score=MODELS), "differ in y_score"),
    "weights": (lambda: acc(sample_weight="w"), "differ in sample_weight"),
    "unit": (lambda: acc(unit="u"), "differ in unit"),
    "nulls": (lambda: acc(nulls="drop"), "differ in nulls"),
    "positive": (lambda: acc(positive=True), "differ in positive"),
}


@pytest.mark.parametrize(("make", "word"), REFUSED.values(), ids=REFUSED)
def test_what_means_something_else_is_refused(make, word, tmp_path):
    store = sm.MetricStore(tmp_path / "store")
    store.append(acc().update(rows(DAYS[0])), batch_id="1")
    version, told = deltalake.DeltaTable(store.uri).version(), store.describe()
    frame = rows(DAYS[1]).with_columns(pl.col("y").cast(pl.Float64)) if word.endswith("kind") else rows(DAYS[1])
    with pytest.raises(sm.MergeError, match=f"{word}: .* A history can only add segments"):
        store.append(make().update(frame), batch_id="2")
    assert deltalake.DeltaTable(store.uri).version() == version
    assert store.describe().equals(told)


def test_a_segment_of_all_versions_cannot_be_forgotten(tmp_path):
    store = sm.MetricStore(tmp_path / "store")
    store.append(acc(by=["day", "region"]).update(rows(DAYS[0])), batch_id="1")
    with pytest.raises(sm.MergeError, match="not grouped by 'region', a segment of the history"):
        store.append(acc().update(rows(DAYS[1])), batch_id="2")
    assert store.describe().height == 1


def test_new_columns_need_a_window_a_type_and_a_free_name(tmp_path):
    store = sm.MetricStore(tmp_path / "store")
    frame = rows(DAYS[0]).with_columns(none=None, Day=pl.col("region"), specification=pl.col("region"))
    store.append(acc().update(frame), batch_id="1")
    for by, error, word in (
        ("region", sm.MergeError, "not grouped by 'day'"),
        (["day", "none"], sm.ColumnError, "type of column 'none'"),
        (["day", "Day"], sm.SpecificationError, "the name 'Day'|the name 'day'"),
        (["day", "specification"], sm.SpecificationError, "the name 'specification'"),
    ):
        with pytest.raises(error, match=word):
            store.append(acc(by=by).update(frame), batch_id="2")
    assert store.describe().height == 1


def test_columns_keep_the_type_of_the_first_version(tmp_path):
    hours = pl.datetime_range(datetime(2026, 1, 1), datetime(2026, 1, 1, 18), "6h", time_zone="UTC", eager=True)
    frame = pl.DataFrame({"day": hours, "s": [1, 2, 3, 4], "y": [1] * 4, "r": ["a"] * 4})
    make = lambda *by: sm.Accumulator(y_true="y", by=["day", *by])  # noqa: E731
    store = sm.MetricStore(tmp_path / "store")
    store.append(make("s").update(frame), batch_id="1")
    moved = frame.with_columns(pl.col("day").dt.convert_time_zone("Asia/Kolkata"), pl.col("s").cast(pl.Float64))
    store.append(make("s", "r").update(moved), batch_id="2")
    assert store.windows()["rows"].to_list() == [2] * 4
    assert store.query(by=["day", "s"]).state.keys.schema == make("s").update(frame).state.keys.schema
    with pytest.raises(sm.ColumnError, match="'s'"):
        store.append(make("s", "r", "q").update(frame.with_columns(s=pl.lit("x"), q=pl.lit(1))), batch_id="3")
    assert store.describe().height == 2


def test_answers_that_lack_something_are_appended_to_no_store(history, tmp_path):
    store = history("statistic")
    with pytest.raises(sm.MergeError, match="were not counted for all"):
        sm.MetricStore(tmp_path / "other").append(store.query(by="day"), batch_id="1")


def test_rules_over_windows_that_lack_a_metric_are_undefined(history):
    store = history("statistic")
    rules = [
        sm.Rule(rule, over=over)
        for rule, over in (("log_loss <= 9", "1d"), ("log_loss <= 9", "4d"), ("ece <= 1", "4d"))
    ]
    found = sm.check(store, rules).frame
    assert found["verdict"].to_list() == ["holds", "undefined", "holds"]
    assert found["note"][1] == "undefined: not available in windows up to 2026-01-03"


@pytest.mark.thorough
@pytest.mark.parametrize("theirs", ["same", "other"])
@pytest.mark.parametrize("moment", ["version", "rows"])
def test_two_writers_that_change_the_specification_at_once(theirs, moment, tmp_path):
    store = sm.MetricStore(tmp_path / "store")
    store.append(acc().update(OLD[0]), batch_id="1")
    ours, other = acc(by=["day", "region"]), acc(*KEPT, sm.ProbabilityLoss())
    rivals = (other if theirs == "other" else ours).empty().update(NEW[0])
    step = {"version": (deltalake.table.TableAlterer, "set_table_properties"), "rows": (stores, "write")}[moment]
    with rival(lambda: store.append(rivals, batch_id="theirs"), step):
        assert store.append(ours.update(NEW[1]), batch_id="ours")
    assert store.describe()["windows"].to_list() == ([1, 2] if theirs == "same" else [1, 1, 1])
    assert store.query().seen == 180
    assert not store.append(ours, batch_id="ours")
    store.compact()
    assert store.query().seen == 180


def test_a_version_without_rows_changes_no_answer(tmp_path):
    """As after a crash between the commit of a version and that of its rows."""
    store = sm.MetricStore(tmp_path / "store")
    store.append(acc().update(OLD[0]), batch_id="1")
    expected = acc().update(OLD[0]).rollup()
    with patch.object(stores, "write", lambda *_, **__: 1 / 0), pytest.raises(ZeroDivisionError):
        store.append(acc(*KEPT, sm.ProbabilityLoss(), by=["day", "region"]).update(OLD[1]), batch_id="2")
    assert store.describe()["windows"].to_list() == [1, 0]
    require_values(store.query(), expected)
    assert store.windows()["rows"].to_list() == [60]
    assert store.append(acc(by=["day", "region"]).update(OLD[1]), batch_id="2")
    store.compact()
    assert store.query(by="region").seen == 120


def test_what_is_missing_is_checked_when_it_is_loaded(history):
    table = history("statistic").query(every="1d").to_arrow()
    frame = pl.DataFrame(table)
    other = pl.lit([{"statistic": "other", "threshold": 0.5, "note": "x"}])
    for column, word in (
        (other, "names the unknown statistic 'other'"),
        (pl.lit([1]), "is of type"),
        (pl.col("not_counted").list.head(0), "contradicts the row counts"),
    ):
        wrong = (
            frame.with_columns(column.alias("not_counted")).to_arrow().replace_schema_metadata(table.schema.metadata)
        )
        with pytest.raises(sm.StateError, match=word):
            sm.Accumulator.from_arrow(wrong)
    with pytest.raises(sm.SpecificationError, match="the name 'not_counted'"):
        acc(by="not_counted")


def test_slices_are_not_searched_where_a_metric_is_missing(history):
    report = history("all").query(by="region").finalize(["log_loss"])
    with pytest.raises(sm.MetricError, match="Metric 'log_loss' is not available for all of these rows"):
        report.slices("log_loss", min_rows=10)


def test_an_accumulator_without_rows_makes_no_version(tmp_path):
    store = sm.MetricStore(tmp_path / "store")
    store.append(acc().update(OLD[0]), batch_id="1")
    assert not store.append(acc(by=["day", "region"]), batch_id="2")
    assert store.replace(acc(by=["day", "region"]), window=DAYS[0], batch_id="3")
    assert store.append(acc(by=["day", "region"]), source="s", upto=7)
    assert store.describe()["windows"].to_list() == [0]


def test_a_batch_that_another_writer_adds_before_its_version_is_known_comes_in_once(tmp_path):
    store = sm.MetricStore(tmp_path / "store")
    store.append(acc().update(OLD[0]), batch_id="1")
    theirs = acc().update(OLD[1])
    step = (deltalake.table.TableAlterer, "set_table_properties")
    with rival(lambda: store.append(theirs, source="s", upto=60), step):
        assert not store.append(acc(by=["day", "region"]).update(OLD[1]), source="s", upto=60)
    assert store.query().seen == 120
