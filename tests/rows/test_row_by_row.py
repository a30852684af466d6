"""Expressions that look at other rows are rejected: their values would depend on how rows are split into batches."""

from functools import partial
from threading import Lock

import polars as pl
import pytest

import streammetrics as sm

p, day = pl.col("p"), pl.col("day")
LOOKING = "'made'.*other rows"
ROWS = pl.DataFrame(
    {"y": [0, 1] * 8, "p": [i / 20 for i in range(16)], "day": [f"2026-01-{i:02}" for i in range(1, 17)]}
)
OTHERS = [
    *(p / p.max(), p.qcut(2), p.cum_count(), p.shift(), p.rank(), p.sort(), p.max().over("y"), pl.len(), p.first()),
    *(p.fill_null(strategy="mean"), p.forward_fill(), p.diff(), p.rolling_mean(2), p.reverse(), p.is_duplicated()),
    *(pl.when(p > p.mean()).then(1).otherwise(0), p.is_in(p.implode()), pl.int_range(pl.len()), p.rle_id(), p.unique()),
    *(pl.lit(1) - p.quantile(0.5), p.explode(), p.drop_nulls(), p.filter(p > 0), p.head(4), p.sample(fraction=1)),
    *(p.interpolate(), p.ewm_mean(alpha=0.5), pl.corr("p", "y"), p.arg_sort(), pl.sql_expr("MAX(p)"), p.sort_by("y")),
]
OWN = [
    *(
        p * 2,
        p.clip(0, 1),
        p.cut([0.5]).cast(pl.String),
        pl.when(p > 0.5).then(1).otherwise(0),
        p.round(1),
        p.fill_null(0),
    ),
    *(day.str.to_date(), day.str.to_date("%Y-%m-%d").dt.truncate("1mo"), day.str.slice(0, 7), pl.lit("all")),
    *(pl.max_horizontal("p", "y"), pl.struct("p", "y").struct.field("p"), p.replace({0.5: 1.0}), p.is_in([0.5, 0.1])),
    *(pl.concat_list("p", "y").list.sum(), pl.concat_list("p", "y").list.eval(pl.element().rank()).list.get(0)),
    *(p.map_elements(str, return_dtype=pl.String), p.map_batches(lambda column: column * 2)),
    *(pl.fold(pl.lit(0), lambda a, b: a + b, ["p", "y"]), pl.sql_expr("CASE WHEN p > 0.5 THEN 'a' ELSE 'b' END")),
]


@pytest.mark.parametrize("role", ["by", "y_true", "y_score", "sample_weight", "unit"])
@pytest.mark.parametrize("expression", OTHERS, ids=str)
def test_expressions_that_look_at_other_rows_are_rejected(role, expression):
    with pytest.raises(sm.errors.SpecificationError, match=LOOKING):
        sm.binary(**{"y_true": "y", "y_score": "p", role: expression.alias("made")})


@pytest.mark.parametrize("expression", OWN, ids=str)
def test_expressions_of_their_own_row_are_equal_in_all_batches(expression):
    task = partial(sm.binary, y_true="y", y_score="p", by=expression.alias("made"))
    parts = [task().update(ROWS.slice(start, rows)) for start, rows in ((0, 1), (1, 6), (7, 9))]
    found, expected = (acc.finalize(["rows", "roc_auc"]).frame for acc in (sm.merge(parts), task().update(ROWS)))
    assert found.equals(expected)


@pytest.mark.parametrize("function", [lambda c: c / c.max(), lambda c: c.sort(descending=True), lambda c: c.cum_sum()])
def test_functions_in_python_are_tried_on_parts_of_a_batch(function):
    acc = sm.binary(y_true="y", y_score=p.map_batches(function).clip(0, 1).alias("made"))
    with pytest.raises(sm.errors.SpecificationError, match=LOOKING):
        acc.update(ROWS)
    assert acc.finalize()["rows"].value == 0


def test_functions_that_cannot_be_pickled_are_tried_too():
    lock = Lock()
    own = pl.fold(pl.lit(0.0), lambda a, b: (lock, a + b / 2)[1], ["p", "p"]).alias("made")
    assert sm.binary(y_true="y", y_score=own).update(ROWS).seen == ROWS.height
