"""Sums of bounded values are decimals: states add up to the same bytes in any order."""

import pyarrow as pa
import pytest
from data import CANDIDATES, DIGITS, TOPICS, VISITS, candidates, digits, topics, visits

import streammetrics as sm

TASKS = {
    "models": (sm.binary(by="country", **CANDIDATES), candidates()[:300]),
    "units": (sm.binary(y_true="bought", y_score="score", unit="visitor", by="shop"), visits()[:300]),
    "classes": (sm.multiclass(by="predicted", capacity=16, **DIGITS), digits()[:300]),
    "labels": (sm.multilabel(by="war", **TOPICS), topics()[:300]),
}


@pytest.mark.thorough
@pytest.mark.parametrize(("task", "rows"), TASKS.values(), ids=TASKS)
def test_states_merged_and_saved_and_put_together_and_rolled_up_have_the_same_bytes(task, rows, tmp_path, monkeypatch):
    """The laws hold this for any split; here it holds between the ways to merge."""
    monkeypatch.setattr("streammetrics.statistics.state.storage.FILES", 2)
    whole = task.empty().update(rows)
    states = [task.empty().update(part) for part in rows.iter_slices(70)]
    for number, state in enumerate(states):
        state.save(tmp_path / f"{number}.{'arrow' if number % 2 else 'state'}")
    together = sm.Accumulator.from_arrow(pa.concat_tables([state.to_arrow() for state in reversed(states)]))
    ways = [
        sm.merge(states),
        sum(states),
        sm.Accumulator.load(tmp_path),
        together,
        sm.accumulate(rows.iter_slices(70), task, workers=2),
    ]
    assert {acc.to_bytes() for acc in ways} == {whole.to_bytes()}
    assert sm.merge(state.rollup() for state in states[::-1]).to_bytes() == whole.rollup().to_bytes()
    with pytest.raises(TypeError):
        sum(states, 1)


def test_weighted_states_have_floats():
    state = sm.binary(**VISITS).update(visits()[:300]).state
    types = {state.tables[s.name].schema[column] for s in state.statistics for column in s.decimals}
    assert all(kind.is_float() for kind in types)
