"""A history has one specification: models come and go, anything else is refused, and old windows are copied."""

from datetime import date
from unittest.mock import patch

import deltalake
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from steps import rival

import streammetrics as sm
from streammetrics.history import history as stores
from streammetrics.testing.laws import require_same

DAYS = [date(2026, 1, day) for day in range(1, 5)]
KEPT = (sm.ConfusionCounts((0.2, 0.5)), sm.ScoreHistogram(capacity=64), sm.CalibrationBins(5))


def acc(*statistics, **columns):
    return sm.Accumulator(*(statistics or KEPT), **{"y_true": "y", "y_score": "p", "by": ["day", "region"]} | columns)


def instead(statistic):
    """What is kept, with one statistic of other options."""
    return tuple(statistic if type(s) is type(statistic) else s for s in KEPT)


def models(*names, make=sm.binary, **options):
    return make(y_true="y", y_score={name: name for name in names}, by="day", capacity=64, **options)


def rows(day, seed=0, count=60):
    rng = np.random.default_rng([day.toordinal(), seed])
    p = rng.random(count)
    scores = {name: rng.random(count) for name in ("a", "b", "c", "q")}
    columns = {"day": [day] * count, "region": rng.choice(["EU", "US"], count), "p": p, "y": rng.random(count) < p}
    return pl.DataFrame(columns | scores | {"w": rng.random(count) + 0.1, "u": rng.integers(0, 9, count)})


FRAMES = [rows(day) for day in DAYS]


def history(uri, *accs):
    """A history of a day of each accumulator."""
    store = sm.MetricStore(uri)
    for number, (one, frame) in enumerate(zip(accs, FRAMES, strict=False)):
        assert store.append(one.empty().update(frame), batch_id=f"{number}")
    return store


# Models


@pytest.mark.parametrize("unpaired", [{}, {"unit": "u"}])
def test_models_come_and_go(unpaired, tmp_path):
    pair = {"pairs": False} | unpaired
    accs = [models("a", **pair), models("a", "b", **pair), models("c", "b", **pair)]
    store = history(tmp_path / "store", *accs)
    for _ in range(2):
        found = store.query(every="1d")
        assert {(d, m) for d, m in found.state.keys.select("day", "model").iter_rows()} == {
            *((DAYS[0], "a"), (DAYS[1], "a"), (DAYS[1], "b"), (DAYS[2], "b"), (DAYS[2], "c"))
        }
        assert store.windows()["rows"].to_list() == [60] * 3
        for name, days in (("a", slice(0, 2)), ("b", slice(1, 3)), ("c", slice(2, 3))):
            alone = models(name, **pair).update(pl.concat(FRAMES[days])).rollup().finalize(["roc_auc", "log_loss"])
            whole = store.query().finalize(["roc_auc", "log_loss"])
            assert whole.get("roc_auc", model=name).value == alone.get("roc_auc", model=name).value
            assert whole.get("log_loss", model=name).value == alone.get("log_loss", model=name).value
        store.compact()


def test_pairs_of_models_come_and_go(tmp_path):
    store = history(tmp_path / "store", models("a", "b"), models("c", "a"), models("b", pairs=False))

    def compared(acc, *names):
        return acc.finalize(["roc_auc"], confidence=0.95).compare(*names).frame

    first, second = store.query(until=DAYS[1]), store.query(DAYS[1], DAYS[2])
    assert compared(first, "b", "a").equals(compared(models("a", "b").update(FRAMES[0]).rollup(), "b", "a"))
    assert compared(second, "c", "a").equals(compared(models("a", "c").update(FRAMES[1]).rollup(), "c", "a"))
    assert compared(first, "b", "a")["ci_lower"].is_not_null().all()
    assert compared(store.query(), "b", "a")["ci_lower"].is_null().all()  # they have different rows


def test_pairs_in_the_opposite_order_are_refused(tmp_path):
    def paired(*names):
        statistic = sm.PairedOutcomes(0.5, pairs=[names])
        return sm.Accumulator(statistic, y_true="y", y_score={"a": "a", "b": "b"}, by="day")

    store = history(tmp_path / "store", paired("a", "b"))
    with pytest.raises(sm.MergeError, match=r"models \('a', 'b'\) are a pair in the opposite order"):
        store.append(paired("b", "a").update(FRAMES[1]), batch_id="2")


def test_a_challenger_joins_a_history_of_one_model_with_its_pairs(tmp_path):
    store = history(tmp_path / "store", models("a"), models("a", "b"), models("a"))
    expected = models("a", "b").update(FRAMES[1]).rollup().finalize(["roc_auc"], confidence=0.95)
    for _ in range(2):
        found = store.query(DAYS[1], DAYS[2]).finalize(["roc_auc"], confidence=0.95)
        assert found.compare("a", "b").frame.equals(expected.compare("a", "b").frame)
        assert store.query().finalize(["rows"]).get("rows", model="a").value == 180
        store.compact()


@pytest.mark.thorough
@pytest.mark.parametrize("moment", ["models", "rows"])
def test_two_writers_that_add_models_at_once(moment, tmp_path):
    store = history(tmp_path / "store", models("a", "b"))
    theirs, ours = models("c", "b").update(FRAMES[1]), models("a", "c").update(FRAMES[2])
    step = {"models": (deltalake.table.TableAlterer, "set_table_properties"), "rows": (stores, "write")}[moment]
    with rival(lambda: store.append(theirs, batch_id="theirs"), step):
        assert store.append(ours, batch_id="ours")
    for _ in range(2):
        assert store.windows()["rows"].to_list() == [60] * 3
        counts = dict(store.query().finalize(["rows"]).frame.select("model", "value").iter_rows())
        assert counts == {"a": 120, "b": 120, "c": 120}
        store.compact()
    assert not store.append(ours, batch_id="ours")


def test_a_crash_after_a_model_was_added_changes_no_answer(tmp_path):
    store = history(tmp_path / "store", models("a", "b"))
    before = store.query().finalize().frame.drop("note", strict=False)
    with patch("streammetrics.history.history.write", lambda *_, **__: 1 / 0), pytest.raises(ZeroDivisionError):
        store.append(models("a", "c").update(FRAMES[1]), batch_id="2")
    after = store.query().finalize().frame.filter(pl.col("model") != "c").select(before.columns)
    assert after.equals(before)
    assert repr(store.query()).endswith(": 60 rows")
    assert store.append(models("a", "c").update(FRAMES[1]), batch_id="2")
    assert store.windows()["rows"].to_list() == [60, 60]


# Anything else

REFUSED = {
    "task": (lambda: sm.Accumulator(sm.ErrorMoments(), y_true="y", y_pred="p", by=["day", "region"]), "differ in"),
    "labels": (lambda: acc(y_true="z"), "differ in y_true: 'y' and 'z'"),
    "score": (lambda: acc(y_score="q"), "differ in y_score"),
    "several models": (lambda: acc(y_score={"a": "p"}), "differ in y_score"),
    "weights": (lambda: acc(sample_weight="w"), "differ in sample_weight"),
    "unit": (lambda: acc(unit="u"), "differ in unit"),
    "nulls": (lambda: acc(nulls="drop"), "differ in nulls"),
    "segment": (lambda: acc(by=["day"]), "grouped by 'day', 'region', and the second is grouped by 'day'"),
    "other segment": (lambda: acc(by=["day", "region", "u"]), "the second is grouped by 'day', 'region', 'u'"),
    "statistic": (lambda: acc(*KEPT, sm.ProbabilityLoss()), r"statistics: \[\] and \[ProbabilityLoss\(\)\]"),
    "threshold": (lambda: acc(*instead(sm.ConfusionCounts(0.5))), "different statistics: .*0.2.* and .*0.5"),
    "capacity": (lambda: acc(*instead(sm.ScoreHistogram(capacity=16))), "different statistics: .*64.* and .*16"),
}


@pytest.mark.parametrize(("make", "word"), REFUSED.values(), ids=REFUSED)
def test_another_specification_is_refused(make, word, tmp_path):
    store = history(tmp_path / "store", acc())
    version, before = deltalake.DeltaTable(store.uri).version(), store.query().to_bytes()
    frame = FRAMES[1].with_columns(z="y").with_columns(pl.col("y").cast(pl.Float64) if word == "differ in" else "y")
    with pytest.raises(sm.MergeError, match=f"{word}.* A history has one specification. Append to a new history"):
        store.append(make().update(frame), batch_id="other")
    assert (deltalake.DeltaTable(store.uri).version(), store.query().to_bytes()) == (version, before)
    assert store.append(acc().update(FRAMES[1]), batch_id="other")


# Copies

COPIES = {  # the old specification, the new one, and what is kept of old rows in the new one
    "segment": (acc(by="day"), acc(), lambda frame: frame.with_columns(region=pl.lit(None, pl.String))),
    "fewer segments": (acc(), acc(by="day"), None),
    "fewer thresholds": (acc(), acc(*instead(sm.ConfusionCounts(0.5))), None),
    "capacity": (acc(), acc(*instead(sm.ScoreHistogram(capacity=16))), None),
    "fewer statistics": (acc(), acc(*KEPT[:2]), None),
    "weights and units": (acc(sample_weight="w", unit="u"), acc(KEPT[1], sample_weight="w", unit="u", by="day"), None),
    "pairs": (models("a", "b", pairs=False), models("a", "b"), None),
}


@pytest.mark.parametrize(("old", "new", "change"), COPIES.values(), ids=COPIES)
def test_what_both_have_is_copied(old, new, change, tmp_path):
    source = history(tmp_path / "old", old, old, old)
    target = sm.MetricStore(tmp_path / "new")
    assert target.append(new.empty().update(rows(DAYS[2], seed=1)), batch_id="first")
    assert source.copy_to(target)
    assert not source.copy_to(target)
    assert target.windows()["day"].to_list() == DAYS[:3]
    expected = new.empty().update((change or (lambda frame: frame))(pl.concat(FRAMES[:2]))).finalize()
    found = target.query(until=DAYS[2], by=new.roles.by).finalize()
    keys = [*new.roles.by, "metric"] if new.roles.models == ("",) else [*new.roles.by, "model", "metric"]
    one, other = (each.frame.drop("note", strict=False).sort(keys) for each in (found, expected))
    assert_frame_equal(one.select(*keys, "value", "lower", "upper"), other.select(*keys, "value", "lower", "upper"))
    assert target.query().seen == 180 * len(new.roles.models)


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        (acc(), acc(*KEPT, sm.ProbabilityLoss()), r"its windows do not have ProbabilityLoss\(\)"),
        (acc(), acc(*instead(sm.ConfusionCounts((0.5, 0.7)))), r"do not have ConfusionCounts\(thresholds=\(0.5, 0.7\)"),
        (acc(), acc(*instead(sm.ScoreHistogram(capacity=128))), "do not have ScoreHistogram.*128"),
        (acc(), acc(*instead(sm.CalibrationBins(10))), "do not have CalibrationBins"),
        (acc(), acc(sample_weight="w"), "differ in sample_weight"),
        (acc(), acc(by=["region", pl.col("day").alias("date")]), "no group column 'date', the window of the other"),
    ],
)
def test_what_old_windows_do_not_have_is_not_copied(old, new, word, tmp_path):
    source = history(tmp_path / "old", old)
    target = sm.MetricStore(tmp_path / "new")
    target.append(new.empty().update(FRAMES[3]), batch_id="first")
    with pytest.raises(sm.MergeError, match=word):
        source.copy_to(target)
    assert target.query().seen == 60


def test_columns_of_a_copy_have_the_types_of_the_new_history(tmp_path):
    source = history(tmp_path / "old", acc())
    target = sm.MetricStore(tmp_path / "new")
    target.append(acc().update(FRAMES[1].with_columns(region=pl.lit(1))), batch_id="first")
    with pytest.raises(sm.ColumnError, match="'region'"):
        source.copy_to(target)
    require_same(target.query(by="region"), acc().update(FRAMES[1].with_columns(region=pl.lit(1))).rollup("region"))
