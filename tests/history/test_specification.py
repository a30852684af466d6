"""A history has one specification: models come and go, and old windows are copied."""

from datetime import date

import deltalake
import polars as pl
import pytest
from data import candidates, clicks, visits
from polars.testing import assert_frame_equal
from steps import around, rival

import streammetrics as sm

DAYS = [date(2026, 1, day) for day in range(1, 5)]
KEPT = (
    sm.statistics.ConfusionCounts((0.2, 0.5)),
    sm.statistics.ScoreHistogram(capacity=64),
    sm.statistics.CalibrationBins(5),
)


def acc(*statistics, **columns):
    return sm.Accumulator(*(statistics or KEPT), **{"y_true": "y", "y_score": "p", "by": ["day", "region"]} | columns)


def models(*names, make=sm.binary, **options):
    return make(y_true="y", y_score={name: name for name in names}, by="day", capacity=64, **options)


def rows(day, seed=0):
    """Sixty clicks of a day, with scores of models, weights, and units."""
    part = slice(60 * (day.day + seed), 60 * (day.day + seed + 1))
    columns = {
        "p": clicks()["score"],
        "y": clicks()["clicked"],
        "region": clicks()["country"],
        "a": candidates()["old"],
    }
    columns |= {"b": candidates()["new"], "c": visits()["score"], "w": visits()["weight"], "u": visits()["visitor"] % 9}
    return pl.DataFrame({name: values[part] for name, values in columns.items()}).with_columns(day=pl.lit(day))


FRAMES = [rows(day) for day in DAYS]


def history(uri, *accs):
    """A history of a day of each accumulator."""
    store = sm.MetricStore(uri)
    for number, (one, frame) in enumerate(zip(accs, FRAMES, strict=False)):
        assert store.append(one.empty().update(frame), batch_id=f"{number}")
    return store


# Models


@pytest.mark.thorough
@pytest.mark.parametrize("unpaired", [{}, {"unit": "u"}])
def test_models_come_and_go(unpaired, tmp_path):
    pair = {"pairs": False} | unpaired
    accs = [models("a", **pair), models("a", "b", **pair), models("c", "b", **pair)]
    store = history(tmp_path / "store", *accs)
    for _ in range(2):
        days = store.query(every="1d").state.keys.group_by("model").agg(pl.col("day").unique().sort())
        assert dict(days.iter_rows()) == {"a": DAYS[:2], "b": DAYS[1:3], "c": DAYS[2:3]}
        assert store.windows()["rows"].to_list() == [60] * 3
        whole = store.query().finalize(["roc_auc", "log_loss"])
        for name, own in (("a", FRAMES[:2]), ("b", FRAMES[1:3]), ("c", FRAMES[2:3])):
            alone = models(name, **pair).update(pl.concat(own)).rollup().finalize(["roc_auc", "log_loss"])
            for metric in ("roc_auc", "log_loss"):
                assert whole.get(metric, model=name).value == alone.get(metric, model=name).value
        store.compact()


@pytest.mark.thorough
def test_pairs_of_models_come_and_go(tmp_path):
    """Also those of a challenger that joins a history of one model."""
    store = history(tmp_path / "store", models("a"), models("a", "b"), models("c", "a"), models("b", pairs=False))

    def compared(acc, *names):
        return acc.finalize(["roc_auc"], confidence=0.95).compare(*names).frame

    for _ in range(2):
        for day, other in ((1, "b"), (2, "c")):
            found = compared(store.query(DAYS[day], DAYS[day + 1]), other, "a")
            assert found.equals(compared(models("a", other).update(FRAMES[day]).rollup(), other, "a"))
            assert found["ci_lower"].is_not_null().all()
        assert compared(store.query(), "b", "a")["ci_lower"].is_null().all()  # they have different rows
        assert store.query().finalize(["rows"]).get("rows", model="a").value == 180
        store.compact()


@pytest.mark.thorough
@pytest.mark.parametrize("step", ["set_table_properties", "write_deltalake"])
def test_two_writers_that_add_models_at_once(step, tmp_path):
    store = history(tmp_path / "store", models("a", "b"))
    theirs, ours = models("c", "b").update(FRAMES[1]), models("a", "c").update(FRAMES[2])
    place = deltalake if step == "write_deltalake" else deltalake.table.TableAlterer
    with rival(lambda: store.append(theirs, batch_id="theirs"), (place, step)):
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
    with around([(deltalake, "write_deltalake")], lambda: 1 / 0), pytest.raises(ZeroDivisionError):
        store.append(models("a", "c").update(FRAMES[1]), batch_id="2")
    after = store.query().finalize().frame.filter(pl.col("model") != "c").select(before.columns)
    assert after.equals(before)
    assert repr(store.query()).endswith(": 60 rows")
    assert store.append(models("a", "c").update(FRAMES[1]), batch_id="2")
    assert store.windows()["rows"].to_list() == [60, 60]


def test_another_specification_changes_nothing(tmp_path):
    """What is refused stands in ``tests/refusals/specifications.py``."""
    store = history(tmp_path / "store", acc())
    version, before = deltalake.DeltaTable(store.uri).version(), store.query().to_bytes()
    with pytest.raises(sm.errors.MergeError):
        store.append(acc(sm.statistics.ConfusionCounts(0.5), *KEPT[1:]).update(FRAMES[1]), batch_id="other")
    assert (deltalake.DeltaTable(store.uri).version(), store.query().to_bytes()) == (version, before)
    assert store.append(acc().update(FRAMES[1]), batch_id="other")


# Copies

COPIES = {  # the old specification, the new one, and what is kept of old rows in the new one
    "segment": (acc(by="day"), acc(), lambda frame: frame.with_columns(region=pl.lit(None, pl.String))),
    "less of all": (acc(), acc(sm.statistics.ConfusionCounts(0.5), sm.statistics.ScoreHistogram(16), by="day"), None),
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
