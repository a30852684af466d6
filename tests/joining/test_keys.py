"""Keys of any type join exactly, or are refused."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import polars as pl
import pytest
from late_rows import FIRST, labels, made, scores

import streammetrics as sm

MORNING = datetime(2026, 1, 1, 9)


def add_scores(joiner, keys):
    size = len(keys)
    return joiner.add_scores({"id": keys, "p": [0.5] * size, "day": pl.Series([FIRST] * size, dtype=pl.Date)})


def add_labels(joiner, keys, **options):
    return joiner.add_labels({"id": keys, "clicked": [1] * len(keys)}, **options)


@pytest.mark.parametrize(
    "keys",
    [
        pl.Series(["1", "01", ""]),
        pl.Series([2**63 - 1, 0, 2**63 - 2], dtype=pl.UInt64),
        pl.Series([-(2**63), 2**53, 2**53 + 1]),
        pl.Series([0.1, 0.1 + 2**-55, -1e300]),
        pl.Series([Decimal("0.10"), Decimal("0.11"), Decimal("12345678901234567890.12")]),
        pl.Series([b"a", b"", b"\xff"]),
        pl.Series(["a", "b", "c"], dtype=pl.Categorical),
        pl.Series([date(1, 1, 1), FIRST, date(9999, 12, 31)]),
        pl.Series([MORNING, MORNING + timedelta(microseconds=1), datetime(9999, 12, 31)]),
        pl.Series([MORNING.replace(tzinfo=UTC), MORNING.replace(tzinfo=UTC) + timedelta(hours=1), None]).head(2),
        pl.Series([1_000, 2_000, 0]).cast(pl.Datetime("ns")),
        pl.Series([True, False]),
    ],
    ids=lambda keys: str(keys.dtype),
)
def test_keys_that_join(keys, tmp_path):
    joiner = made(tmp_path)
    add_scores(joiner, keys[:2])
    assert add_labels(joiner, keys[1:]) == sm.Joined(matched=1, waiting=len(keys) - 2)
    assert add_labels(joiner, keys).matched == 1
    assert joiner.store.query().seen == 2


FLOATS = [0.1, 0.2, 3.0]
OTHER_TYPES = [  # keys of scores, those of labels, and how many join
    (["1", "02"], [1, 2], 1),
    (pl.Series(FLOATS, dtype=pl.Float32), pl.Series(FLOATS), 3),
    (pl.Series(FLOATS), pl.Series(FLOATS, dtype=pl.Float32), 3),
]


@pytest.mark.parametrize(("first", "others", "matched"), OTHER_TYPES)
def test_keys_of_another_type_are_converted_exactly(first, others, matched, tmp_path):
    joiner = made(tmp_path)
    add_scores(joiner, first)
    assert add_labels(joiner, others) == sm.Joined(matched=matched, waiting=len(first) - matched)


def test_waiting_rows_have_one_key(tmp_path):
    joiner = made(tmp_path, key=["id", "shop"])
    joiner.add_scores({"id": [1], "shop": ["a"], "p": [0.5], "day": [FIRST]})
    with pytest.raises(sm.errors.SpecificationError, match="'id', 'shop'"):
        add_labels(made(tmp_path), [1])
    assert joiner.add_labels({"id": [1], "shop": ["a"], "clicked": [1]}).matched == joiner.store.query().seen == 1


def test_batches_without_rows(tmp_path):
    joiner = made(tmp_path)
    assert add_scores(joiner, []) == sm.Joined() == add_labels(joiner, [])
    add_scores(joiner, ["a"])
    assert add_labels(joiner, [], correct=True) == sm.Joined()
    assert add_labels(joiner, ["a"]).matched == 1


@pytest.mark.thorough
@pytest.mark.parametrize("values", [["a", "b"], [True, False], [1, 2]])
def test_segments_without_values_have_the_type_of_others(values, tmp_path):
    acc = sm.binary(y_true="clicked", y_score="p", by=["day", "segment"])
    joiner = made(tmp_path, acc)
    for number, segment in enumerate([pl.Series([None, None], dtype=pl.Float64), values, [None, None]]):
        ids = [2 * number, 2 * number + 1]
        joiner.add_scores(scores(ids) | {"segment": segment})
        if number:
            assert joiner.add_labels(labels(ids)).matched == 2
