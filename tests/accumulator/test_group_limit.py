"""Groups are no more than a user allows: past that an update or a merge is an error that changes nothing."""

import pickle
from datetime import date

import polars as pl
import pytest

import streammetrics as sm

MANY = "3 groups.*'g'"


def task(by=("g",), **options):
    return sm.binary(**{"y_true": "y", "y_score": "p", "by": by, "max_groups": 3} | options)


def batch(*groups, times=1):
    rows = len(groups) * times
    return pl.DataFrame({"y": [True] * rows, "p": [0.5] * rows, "g": list(groups) * times})


@pytest.fixture(params=[1, 4, 1_000], ids=["observed at once", "held shortly", "held"])
def _buffer(request, monkeypatch):
    monkeypatch.setattr("streammetrics.statistics.state.content.BUFFER", request.param)


@pytest.mark.usefixtures("_buffer")
@pytest.mark.parametrize(
    "groups", [list("abcd"), [1, 2, 3, 4], [date(2026, 1, d) for d in (1, 2, 3, 4)], ["a", "b", None, "d"]]
)
def test_one_group_too_many_changes_nothing(groups):
    acc, first, last = task(), groups[:3], groups[3]
    for group in [*first, *first]:
        acc.update(batch(group))
    for refused in (batch(last), batch(first[0], last), batch(first[0], last, times=50)):
        with pytest.raises(sm.errors.DataError, match=MANY):
            acc.update(refused)
        assert acc.seen == 6
        acc.compact()
    expected = task().update(batch(*first, *first))
    assert acc.to_bytes() == expected.to_bytes()
    assert acc.update(batch(*first, times=40)).seen == 126


@pytest.mark.usefixtures("_buffer")
def test_models_and_folds_of_units_do_not_count():
    acc = sm.binary(y_true="y", y_score={"one": "p", "other": "q"}, unit="u", by="g", max_groups=3)
    rows = batch("a", "b", "c", times=40).with_columns(pl.int_range(pl.len()).alias("u"), q=pl.lit(0.1))
    for _ in range(3):
        acc.update(rows)
    with pytest.raises(sm.errors.DataError, match=MANY):
        acc.update(rows.with_columns(g=pl.lit("d")))
    assert acc.seen == 720


@pytest.mark.usefixtures("_buffer")
def test_a_merge_of_too_many_groups_changes_nothing():
    one, other, alike = task().update(batch("a", "b")), task().update(batch("c", "d")), task().update(batch("b", "c"))
    for merged in (lambda: one + other, lambda: one.absorb(other), lambda: sm.merge([one, alike, other])):
        with pytest.raises(sm.errors.DataError, match=MANY):
            merged()
    assert (one.seen, other.seen) == (2, 2)
    assert (one + alike).seen == 4


def test_the_limit_goes_with_what_is_made_of_an_accumulator_but_is_not_saved(tmp_path):
    acc = task(by=("g", "h")).update(batch("a", "b").with_columns(h=pl.lit(1)))
    made = [acc.copy(), acc.empty(), acc.rollup("g"), acc.filter(pl.col("g") == "a"), pickle.loads(pickle.dumps(acc))]
    assert [m.max_groups for m in (*made, acc + acc)] == [3] * 6
    acc.save(tmp_path / "a.state")
    loaded = sm.Accumulator.load(tmp_path / "a.state")
    assert loaded.max_groups is None
    assert loaded.to_bytes() == acc.to_bytes() == task(by=("g", "h"), max_groups=7).absorb(acc).to_bytes()


def test_the_limit_can_be_changed():
    acc = task().update(batch("a", "b", "c"))
    acc.max_groups = None
    acc.update(batch("d"))
    acc.max_groups = 4
    assert acc.update(batch("d")).seen == 5
    with pytest.raises(sm.errors.DataError, match="more than 4 groups"):
        acc.update(batch("e"))

    assert sm.binary(y_true="y", y_score="p", max_groups=1).update(batch("a", "b")).seen == 2
    assert sm.binary(y_true="y", y_score="p").max_groups == 1_000_000


def test_groups_of_a_pass_that_another_accumulator_rejects_do_not_count():
    def batch(group):
        return {"y": [1, 0], "p": [0.5, 0.5], "g": [group] * 2}

    roomy, full = (sm.binary(y_true="y", y_score="p", by="g", max_groups=most) for most in (3, 2))
    for acc in (roomy, full):
        acc.update(batch("a")).update(batch("b"))
    with pytest.raises(sm.errors.DataError, match="more than 2 groups"):
        sm.accumulate([batch("c")], into={"roomy": roomy, "full": full}, workers=1)
    assert roomy.update(batch("d")).seen == 6
