"""Sums of bounded values are decimals: states add up to the same bytes in any order, and read format 1."""

from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import streammetrics as sm
from streammetrics.rows.exact_sums import DECIMAL
from streammetrics.state.saved import from_arrow
from streammetrics.state.tables import in_order
from streammetrics.testing.same import require_same_metrics

SIZE = 240
rng = np.random.default_rng(0)
DATA = pl.DataFrame(
    {
        "y": rng.random(SIZE) < 0.4,
        "z": rng.random(SIZE) < 0.5,
        "k": rng.choice(["a", "b", "c"], SIZE),
        "p": np.where(rng.random(SIZE) < 0.1, rng.integers(0, 2, SIZE), rng.random(SIZE) ** 3),
        "q": rng.random(SIZE),
        "g": rng.integers(0, 5, SIZE),
        "u": rng.integers(0, 30, SIZE),
        "w": rng.random(SIZE),
    }
).with_columns(pb=(1 - pl.col("p")) * pl.col("q"), pc=(1 - pl.col("p")) * (1 - pl.col("q")))
SCORES = {"a": "p", "b": "pb", "c": "pc"}
TURNED = {"a": "pb", "b": "pc", "c": "p"}
TASKS = {
    "binary": lambda **by: sm.binary(y_true="y", y_score="p", capacity=16, **by),
    "models": lambda **by: sm.binary(y_true="y", y_score={"m": "p", "n": "q", "o": "pb"}, capacity=16, **by),
    "multiclass": lambda **by: sm.multiclass(y_true="k", y_score=SCORES, capacity=16, **by),
    "models of classes": lambda **by: sm.multiclass(y_true="k", y_score={"m": SCORES, "n": TURNED}, capacity=16, **by),
    "multilabel": lambda **by: sm.multilabel(y_true={"y": "y", "z": "z"}, y_score={"y": "p", "z": "q"}, **by),
    "units": lambda **by: sm.binary(y_true="y", y_score="p", unit="u", capacity=16, **by),
}
task = pytest.mark.parametrize("make", TASKS.values(), ids=TASKS)


def require_close(found, expected):
    """Require equal groups and counts, and sums that are equal up to the rounding of floats."""
    one, other = (in_order(acc.state) for acc in (found, expected))
    assert_frame_equal(one.groups, other.groups)
    for statistic in other.statistics:
        assert_frame_equal(one.table(statistic), other.table(statistic), rel_tol=1e-12, abs_tol=1e-17)
    require_same_metrics(found, expected)


def shards(make, random, **by):
    """States of rows in random order, divided at random; some are reduced to their tables."""
    rows, cuts = DATA[random.permutation(SIZE)], np.sort(random.integers(0, SIZE + 1, random.integers(1, 9)))
    parts = [make(**by).update(rows[int(a) : int(b)]) for a, b in zip([0, *cuts], [*cuts, SIZE], strict=True)]
    return [part.compact() if random.random() < 0.3 else part for part in parts]


def merged(states, random):
    """The states merged in a random tree, in random order."""
    states = list(states)
    while len(states) > 1:
        one = states.pop(int(random.integers(len(states))))
        place = int(random.integers(len(states)))
        states[place] = states[place] + one if random.random() < 0.5 else one + states[place]
    return states[0]


@pytest.mark.thorough
@task
@pytest.mark.parametrize("by", [{}, {"by": "g"}], ids=["whole", "by group"])
def test_any_sharding_order_and_tree_gives_the_same_bytes(make, by):
    expected = make(**by).update(DATA).to_bytes()
    for seed in range(20):
        random = np.random.default_rng(seed)
        assert merged(shards(make, random, **by), random).to_bytes() == expected
    for workers in (1, 2, 3):
        batches = [DATA[start : start + 17] for start in range(0, SIZE, 17)]
        assert sm.accumulate(batches, make(**by), workers=workers).to_bytes() == expected


@task
def test_saved_states_and_tables_put_together_give_these_bytes(make, tmp_path):
    states = shards(make, np.random.default_rng(2), by="g")
    expected = sm.merge(states).to_bytes()
    for number, state in enumerate(states):
        state.save(tmp_path / f"{number}.state")
    assert sm.Accumulator.load(tmp_path).to_bytes() == expected
    table = pa.concat_tables([state.to_arrow() for state in reversed(states)])
    assert sm.Accumulator.from_arrow(table).to_bytes() == expected


@task
def test_a_rollup_gives_the_bytes_of_any_order_of_groups(make):
    total = make(by=["g", "z"] if "z" not in make().roles.y_true else ["g", "k"]).update(DATA).compact()
    parts = [total.filter(pl.col("g") == g).rollup() for g in np.random.default_rng(3).permutation(5)]
    assert sm.merge(parts).to_bytes() == total.rollup().to_bytes() == total.rollup("g").rollup().to_bytes()


@task
def test_weighted_states_have_floats(make):
    for acc, kind in ((make(), DECIMAL), (make(sample_weight="w"), pl.Float64)):
        state = acc.update(DATA).state
        found = {state.tables[s.name].schema[c] for s in state.statistics for c in s.decimals}
        assert found <= {kind}
        assert found or "unit" in str(acc)


@task
def test_metrics_are_computed_from_floats(make):
    state = make(by="g").update(DATA).state
    for statistic in state.statistics:
        assert DECIMAL not in state.table(statistic).dtypes
        exact = state.tables[statistic.name]
        for column in statistic.decimals:
            nearest = [float(number) for number in exact[column]]
            assert state.table(statistic)[column].to_list() == pytest.approx(nearest, rel=3e-16)


def test_sums_of_many_rows_are_exact():
    """A million times the same state is a million times its sums: floats lose digits."""
    acc = TASKS["binary"]().update(DATA[:3]).compact()
    column = lambda acc, name: sum(map(Fraction, acc.state.tables["probability_loss"][name]))  # noqa: E731
    total = acc
    for _ in range(40):
        total = total + total
    assert column(total, "log_loss_sum") == column(acc, "log_loss_sum") * 2**40
    assert column(total + acc, "log_loss_sum") == column(acc, "log_loss_sum") * (2**40 + 1)


def test_pairs_of_models_share_at_most_all_rows():
    """Otherwise, merged sums of a hostile state could exceed 128 bits."""
    acc = TASKS["models"]().update(DATA)
    cell = pl.element().struct
    many = cell.with_fields(weight=cell.field("weight") * 10**15)
    frame = pl.DataFrame(acc.to_arrow()).with_columns(pl.col("paired_losses").list.eval(many))
    table = frame.to_arrow().replace_schema_metadata(acc.to_arrow().schema.metadata)
    with pytest.raises(sm.StateError, match="'paired_losses' contradicts the row counts in 2 groups"):
        from_arrow(table)


DAYS = DATA.with_columns(day=pl.date(2026, 1, 1) + pl.duration(days=pl.col("g")))
DAILY = sm.binary(y_true="y", y_score="p", by=["day", "z"], capacity=16)
FINER = sm.binary(y_true="y", y_score="p", by=["day", "z", "u"], capacity=16)
