"""Sums of bounded values are decimals: states add up to the same bytes in any order, and read format 1."""

import pickle
from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from formats import of_format_1
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


@task
@pytest.mark.parametrize("options", [{}, {"by": "g"}, {"sample_weight": "w"}], ids=str)
def test_states_of_format_1_load_add_up_and_are_saved_as_format_2(make, options):
    one, other = make(**options).update(DATA[:100]), make(**options).update(DATA[100:])
    old = sm.Accumulator.from_arrow(of_format_1(one.to_arrow()))
    require_close(old, one)
    assert old.to_arrow().schema.equals(one.to_arrow().schema, check_metadata=True)
    for total in (old + other, other + old, old.copy().update(DATA[100:])):
        require_close(total, one + other)
        assert sm.Accumulator.from_bytes(total.to_bytes()).to_bytes() == total.to_bytes()
    assert "sample_weight" in options or (old + other).to_bytes() == (other + old).to_bytes()


@task
def test_pickles_of_earlier_versions_have_floats(make):
    acc = make(by="g").update(DATA)
    restore, (roles, metrics, (statistics, groups, tables, *rest), named, limit) = acc.__reduce__()
    floats = {s.name: s.with_floats(tables[s.name]) for s in statistics}
    old = pickle.loads(pickle.dumps(restore(roles, metrics, (statistics, groups, floats, *rest), named, limit)))
    assert old.to_arrow().schema.equals(acc.to_arrow().schema)
    require_close(old + acc, acc + acc)


def test_sums_of_many_rows_are_exact():
    """A million times the same state is a million times its sums: floats lose digits."""
    acc = TASKS["binary"]().update(DATA[:3]).compact()
    column = lambda acc, name: sum(map(Fraction, acc.state.tables["probability_loss"][name]))  # noqa: E731
    total = acc
    for _ in range(40):
        total = total + total
    assert column(total, "log_loss_sum") == column(acc, "log_loss_sum") * 2**40
    assert column(total + acc, "log_loss_sum") == column(acc, "log_loss_sum") * (2**40 + 1)


def test_unknown_squares_stay_unknown():
    """States of earlier versions lack the squares of Jaccard indices."""
    acc = TASKS["multilabel"]().update(DATA)
    table = of_format_1(acc.to_arrow())
    frame = pl.DataFrame(table)
    cell = pl.element().struct.with_fields(jaccard_square_sum=pl.lit(float("nan")))
    old = frame.with_columns(pl.col("label_sets").list.eval(cell)).to_arrow()
    loaded = sm.Accumulator.from_arrow(old.replace_schema_metadata(table.schema.metadata))
    for some in (loaded, loaded + acc, acc + loaded, sm.Accumulator.from_bytes((acc + loaded).to_bytes())):
        (statistic,) = (s for s in some.statistics if s.name == "label_sets")
        assert some.state.tables["label_sets"]["jaccard_square_sum"].to_list() == [None]
        assert some.state.table(statistic)["jaccard_square_sum"].is_nan().all()
        found = some.finalize(["jaccard_samples", "subset_accuracy"], confidence=0.9).frame
        assert found["value"].is_not_null().all()
        assert found["ci_lower"].is_null().to_list() == [True, False]


def test_pairs_of_models_share_at_most_all_rows():
    """Otherwise, merged sums of a hostile state could exceed 128 bits."""
    acc = TASKS["models"]().update(DATA)
    cell = pl.element().struct
    many = cell.with_fields(weight=cell.field("weight") * 10**15)
    frame = pl.DataFrame(acc.to_arrow()).with_columns(pl.col("paired_losses").list.eval(many))
    table = frame.to_arrow().replace_schema_metadata(acc.to_arrow().schema.metadata)
    with pytest.raises(sm.StateError, match="'paired_losses' contradicts the row counts in 2 groups"):
        from_arrow(table)


def losses(store):
    """The type in which a history stores a loss."""
    return pl.scan_delta(store.uri).collect_schema()["probability_loss"].inner.to_schema()["log_loss_sum"]


DAYS = DATA.with_columns(day=pl.date(2026, 1, 1) + pl.duration(days=pl.col("g")))
DAILY = sm.binary(y_true="y", y_score="p", by=["day", "z"], capacity=16)
FINER = sm.binary(y_true="y", y_score="p", by=["day", "z", "u"], capacity=16)


def histories(folder):
    """A history of today, and one that an earlier version created."""
    pytest.importorskip("deltalake")
    yield sm.MetricStore(folder / "today"), DECIMAL
    with pytest.MonkeyPatch.context() as patch:
        to_arrow = sm.Accumulator.to_arrow
        patch.setattr(sm.Accumulator, "to_arrow", lambda acc: of_format_1(to_arrow(acc)))
        patch.setattr(sm.Accumulator, "to_bytes", lambda acc: ipc(acc.to_arrow()))
        sm.MetricStore(folder / "earlier").append(DAILY.empty().update(DAYS[:50]), batch_id="0")
    yield sm.MetricStore(folder / "earlier"), pl.Float64


def ipc(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::streammetrics.errors.StateWarning")
def test_histories_of_earlier_versions_keep_their_floats_and_go_on(tmp_path):
    for store, kind in histories(tmp_path):
        for number, start in enumerate(range(0, SIZE, 50)):
            store.append(DAILY.empty().update(DAYS[start : start + 50]), batch_id=f"{number}")
        store.append(FINER.empty().update(DAYS[:20]), batch_id="finer")
        assert losses(store) == kind
        expected = DAILY.rollup("day").update(DAYS).update(DAYS[:20])
        query = {"by": "day"}
        require_close(store.query(**query), expected)
        before = [store.query(**query).to_bytes() for query in ({}, query, {"every": "2d"})]
        store.compact()
        assert losses(store) == kind
        require_close(store.query(**query), expected)
        after = [store.query(**query).to_bytes() for query in ({}, query, {"every": "2d"})]
        assert (before == after) or kind == pl.Float64
