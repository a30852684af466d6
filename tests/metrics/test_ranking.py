import numpy as np
import polars as pl
import pytest

import streammetrics as sm
from streammetrics.metrics import equal_error_rate, recall_at_fpr, roc_auc

RANKING = [m for m in sm.all_metrics() if set(m.columns) == {"neg", "pos"}]


def read(metric, label, score, weight=1.0):
    rows = pl.DataFrame({"bin": score, "neg": weight * ~label, "pos": weight * label})
    return rows.group_by("bin").agg(pl.sum("neg", "pos")).sort("bin").select(metric.expression()).item()


def test_a_perfect_ranking_has_an_equal_error_rate_of_0():
    label = np.append(np.zeros(45038, bool), np.ones(4962, bool))
    score = np.append(np.linspace(0.001, 0.1, 45038), np.linspace(0.9, 0.99, 4962))
    weight = np.random.default_rng(0).random(50_000)
    for weights in (1.0, weight):
        assert read(equal_error_rate, label, score, weights) == 0
        assert read(equal_error_rate, ~label, score, weights) == 1


@pytest.mark.parametrize("metric", RANKING, ids=str)
def test_groups_are_read_apart_and_empty_bins_do_nothing(metric):
    tables = {"a": ([4, 0, 1], [1, 2, 3]), "b": ([0, 2, 0, 2, 0], [0, 1, 0, 1, 0]), "c": ([1], [0])}
    rows = [(g, float(n), float(p)) for g, columns in tables.items() for n, p in zip(*columns, strict=True)]
    table = pl.DataFrame(rows, schema=["group", "neg", "pos"], orient="row")
    read = table.group_by("group", maintain_order=True).agg(value=metric.expression())
    assert read["value"].to_list() == [metric(*columns) for columns in tables.values()]
    assert metric(*tables["b"]) == metric([2, 2], [1, 1])


@pytest.mark.parametrize(
    ("neg", "pos", "note"),
    [
        ([1, 2], [0, 0], "no positives"),
        ([0, 0], [1, 2], "no negatives"),
        ([], [], "no positives"),
        ([0, 2], [2, 0], "below 0.5: chance, or labels swapped?"),
        ([2, 2], [2, 2], None),
        ([1, 0], [0, 1], None),
        ([2**40, 1], [1, 2**40], None),
    ],
)
def test_notes(neg, pos, note):
    table = pl.DataFrame({"neg": neg, "pos": pos}, schema={"neg": pl.Int64, "pos": pl.Int64})
    assert table.select(roc_auc.note_expression()).item() == note
    assert all(m.note_expression() is not None for m in RANKING)


def test_a_jump_at_the_level_itself_counts():
    assert recall_at_fpr([71, 0, 29], [1, 2, 1], fpr=0.29) == 0.75
    assert recall_at_fpr([71, 0, 29], [1, 2, 1], fpr=0.28) < 0.25
