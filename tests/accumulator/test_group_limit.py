"""Groups are no more than a user allows: past that an update or a merge is an error that changes nothing."""

import pickle
from datetime import date

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import streammetrics as sm
from streammetrics.state import content

MANY = "gives more than 3 groups; 'g' has the most values"


OTHERS = "(other)"


def task(by=("g",), **options):
    return sm.binary(**{"y_true": "y", "y_score": "p", "by": by, "max_groups": 3} | options)


def batch(*groups, times=1):
    rows = len(groups) * times
    return pl.DataFrame({"y": [True] * rows, "p": [0.5] * rows, "g": list(groups) * times})


@pytest.fixture(params=[1, 4, 1_000], ids=["observed at once", "held shortly", "held"])
def _buffer(request, monkeypatch):
    monkeypatch.setattr(content, "BUFFER", request.param)


@pytest.mark.usefixtures("_buffer")
@pytest.mark.parametrize(
    "groups", [list("abcd"), [1, 2, 3, 4], [date(2026, 1, d) for d in (1, 2, 3, 4)], ["a", "b", None, "d"]]
)
def test_one_group_too_many_changes_nothing(groups):
    acc, first, last = task(), groups[:3], groups[3]
    for group in [*first, *first]:
        acc.update(batch(group))
    for refused in (batch(last), batch(first[0], last), batch(first[0], last, times=50)):
        with pytest.raises(sm.DataError, match=MANY):
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
    assert acc.seen == 720
    with pytest.raises(sm.DataError, match=MANY):
        acc.update(rows.with_columns(g=pl.lit("d")))
    assert acc.seen == 720


@pytest.mark.usefixtures("_buffer")
def test_a_merge_of_too_many_groups_changes_nothing():
    one, other, alike = task().update(batch("a", "b")), task().update(batch("c", "d")), task().update(batch("b", "c"))
    for merged in (lambda: one + other, lambda: one.absorb(other), lambda: sm.merge([one, alike, other])):
        with pytest.raises(sm.DataError, match=MANY):
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
    with pytest.raises(sm.DataError, match="more than 4 groups"):
        acc.update(batch("e"))
    for wrong in (0, -1, 2.5, "many", True):
        with pytest.raises(sm.SpecificationError, match="max_groups= must be an integer of at least 1, got "):
            task(max_groups=wrong)


def test_without_groups_there_is_no_limit():
    assert sm.binary(y_true="y", y_score="p", max_groups=1).update(batch("a", "b")).seen == 2
    assert sm.binary(y_true="y", y_score="p").max_groups == 1_000_000


@pytest.mark.parametrize("workers", [1, 3])
def test_a_pass_over_too_many_groups_ends(workers):
    acc, plain = task(), sm.binary(y_true="y", y_score="p")
    with pytest.raises(sm.DataError, match=MANY):
        sm.accumulate([batch(g) for g in "abcdefghij" * 5], into={"a": acc, "b": plain}, workers=workers)
    assert acc.seen == plain.seen
    assert acc.state.groups.height <= 3


@pytest.mark.thorough
@pytest.mark.usefixtures("_buffer")
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 5))])
def test_others_are_those_that_come_last_in_sort_order_however_rows_come(seed):
    rng = np.random.default_rng(seed)
    groups = rng.choice([*"abcdefgh", None], 80).tolist()
    one = task(overflow="other")
    for group in groups:
        one.update(batch(group))
    parts = [task(overflow="other").update(batch(*groups[i::3])) for i in range(3)]
    merged = parts[2] + parts[0] + parts[1]
    kept = [g if g in ("a", "b", "c") else OTHERS for g in groups]
    expected = task(max_groups=None).update(batch(*kept))
    for acc in (one, merged, task(overflow="other").update(batch(*groups)), merged + one.empty()):
        assert_frame_equal(acc.finalize().frame, expected.finalize().frame, rel_tol=1e-12)
    assert sm.Accumulator.from_bytes(one.to_bytes()).to_bytes() == one.to_bytes()
    assert dict(one.finalize(["rows"]).frame.select("g", "value").iter_rows()) == {
        name: kept.count(name) for name in ("a", "b", "c", OTHERS) if name in kept
    }


def test_others_of_several_columns_models_and_units():
    rows = batch(*"abcd", times=50).with_columns(h=pl.lit("x"), u=pl.int_range(200), q=pl.lit(0.1))
    acc = task(by=["g", "h"], y_score={"one": "p", "two": "q"}, unit="u", overflow="other").update(rows)
    found = acc.finalize(["rows"], confidence=0.9).frame
    assert found.select("g", "h", "model").unique().sort(pl.all()).rows() == [
        *((OTHERS, OTHERS, m) for m in ("one", "two")),
        *((g, "x", m) for g in "abc" for m in ("one", "two")),
    ]
    assert found["value"].to_list() == [50.0] * 8


def test_others_need_text_and_are_asked_for():
    acc = task(overflow="other")
    acc.update(batch(1, 2, 3))
    with pytest.raises(sm.DataError, match="requires String group columns, got Int64 for 'g'"):
        acc.update(batch(4))
    assert acc.seen == 3
    with pytest.raises(sm.SpecificationError, match="overflow= must be 'raise' or 'other', got 'drop'"):
        task(overflow="drop")


def test_others_of_saved_states_and_of_different_limits_stay_together(tmp_path):
    one, two = (task(max_groups=most, overflow="other") for most in (2, 3))
    one.update(batch(*"AABBBBCCCCCC"))
    two.update(batch(*"BB" + "C" * 20 + "DD"))
    expected = {"A": 2, "B": 6, OTHERS: 28}
    for name, acc in (("1", one), ("2", two)):
        acc.save(tmp_path / name)
    loaded = [sm.Accumulator.load(tmp_path / name) for name in "12"]
    plain = task(max_groups=None).update(batch(*"BB" + "C" * 20 + "DD"))
    for total in (
        one + two,
        two + one,
        loaded[1] + loaded[0],
        sm.Accumulator.load(tmp_path / "2", tmp_path / "1"),
        plain + loaded[0],
        pickle.loads(pickle.dumps(one)) + two,
    ):
        assert dict(total.finalize(["rows"]).frame.select("g", "value").iter_rows()) == expected
        again = sm.Accumulator.from_bytes(total.to_bytes()) + task(overflow="raise").update(batch(*"CD"))
        assert again.finalize().get("rows", g=OTHERS).value == 30
    broken = one.to_arrow().replace_schema_metadata(
        {b"streammetrics": one.to_arrow().schema.metadata[b"streammetrics"].replace(b'groups": 2', b'groups": 0')}
    )
    with pytest.raises(sm.StateError, match="'named_groups' is not a positive integer"):
        sm.Accumulator.from_arrow(broken)


def test_groups_of_a_pass_that_another_accumulator_rejects_do_not_count():
    def batch(group):
        return {"y": [1, 0], "p": [0.5, 0.5], "g": [group] * 2}

    roomy, full = (sm.binary(y_true="y", y_score="p", by="g", max_groups=most) for most in (3, 2))
    for acc in (roomy, full):
        acc.update(batch("a")).update(batch("b"))
    with pytest.raises(sm.DataError, match="more than 2 groups"):
        sm.accumulate([batch("c")], into={"roomy": roomy, "full": full}, workers=1)
    assert roomy.update(batch("d")).seen == 6
