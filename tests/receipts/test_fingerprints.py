"""Fingerprints of rows: every change of a row changes them, and nothing else does."""

import numpy as np
import polars as pl
import pytest

import streammetrics as sm
from streammetrics.state.fingerprints import digest, fingerprints, fingerprints_of_models

ROWS, CHANGES = 40, 10_000
CHANGED = {
    "label": lambda rows, i: rows.with_columns(y=pl.col("y") ^ (pl.col("at") == i)),
    "score": lambda rows, i: rows.with_columns(p=pl.when(pl.col("at") == i).then(pl.col("p") / 3).otherwise("p")),
    "last bit": lambda rows, i: rows.with_columns(
        p=pl.when(pl.col("at") == i).then(pl.col("p") * (1 + 2**-52)).otherwise("p")
    ),
    "ID": lambda rows, i: rows.with_columns(id=pl.col("id") + (pl.col("at") == i).cast(pl.Int64)),
    "missing": lambda rows, i: rows.filter(pl.col("at") != i),
    "doubled": lambda rows, i: pl.concat([rows, rows.filter(pl.col("at") == i)]),
    "other instead": lambda rows, i: rows.with_columns(
        pl.when(pl.col("at") == i).then(pl.col(c).first().over("sample")).otherwise(c).alias(c)
        for c in ("y", "p", "id")
    ),
    "scores swapped": lambda rows, i: rows.with_columns(
        p=pl.when(pl.col("at") == i)
        .then(pl.col("p").first().over("sample"))
        .when(pl.col("at") == 0)
        .then(pl.col("p").get(i).over("sample"))
        .otherwise("p")
    ),
}


def rows(samples, seed=0):
    rng, height = np.random.default_rng(seed), samples * ROWS
    sample, at = np.repeat(np.arange(samples), ROWS), np.tile(np.arange(ROWS), samples)
    columns = {"y": rng.random(height) < 0.5, "p": rng.random(height), "id": rng.integers(0, 10**6, height)}
    return pl.DataFrame({"sample": sample, "at": at, **columns})


def prints(data, **options):
    made = sm.Accumulator(
        sm.RowFingerprint(("id",)), y_true="y", y_score="p", by="sample", max_groups=None, **options
    ).update(data)
    return fingerprints(made.state).sort("sample")


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED.keys())
def test_ten_thousand_single_changes_are_seen(change):
    data = rows(CHANGES // len(CHANGED))
    assert (prints(change(data, 7))["row"] != prints(data)["row"]).all()


@pytest.mark.parametrize("change", ["score", "last bit", "scores swapped"])
def test_the_fingerprint_of_the_truth_does_not_include_scores(change):
    data = rows(20)
    assert prints(CHANGED[change](data, 7))["truth"].equals(prints(data)["truth"])


def test_equal_values_of_other_types_have_equal_fingerprints():
    data = rows(1).with_columns(p=pl.col("p").cast(pl.Float32))
    wider = data.with_columns(pl.col("p").cast(pl.Float64), pl.col("y").cast(pl.Int8), pl.col("id").cast(pl.Float64))
    assert prints(data).equals(prints(wider))


def test_labels_have_the_same_fingerprint_in_any_batches():
    data = pl.DataFrame({"y": ["a", "b", "c", "a"], "guess": ["b", "b", "c", "c"]})
    acc = sm.multiclass(y_true="y", y_pred="guess", fingerprint=True)
    alone = [acc.empty().update(data[i]) for i in (3, 1, 0, 2)]
    assert fingerprints_of_models(sm.merge(alone).state) == fingerprints_of_models(acc.update(data).state)


def test_models_of_the_same_rows_have_the_same_truth():
    data = rows(1).with_columns(q=1 - pl.col("p"))
    acc = sm.binary(y_true="y", y_score={"one": "p", "two": "q"}, fingerprint=True).update(data)
    one, two = fingerprints_of_models(acc.state).values()
    assert one["truth"] == two["truth"]
    assert one["row"] != two["row"]


def test_units_weights_and_zero_weights():
    data = rows(1).with_columns(w=pl.lit(1.0))
    options = {"y_true": "y", "y_score": "p", "fingerprint": True}

    def truth(data, **more):
        return fingerprints_of_models(sm.binary(**options, **more).update(data).state)[""]["truth"]

    moved = data.with_columns(id=pl.col("id") + 20 * 10**6)
    assert truth(data, unit="id") != truth(moved, unit="id")
    assert truth(data, sample_weight="w") != truth(data.with_columns(w=pl.lit(2.0)), sample_weight="w")
    some = data.with_columns(w=pl.when(pl.col("at") > 3).then(1.0).otherwise(0.0))
    assert truth(some, sample_weight="w") == truth(some.filter(pl.col("w") > 0), sample_weight="w")


def test_digests_do_not_depend_on_order_and_see_groups():
    data = rows(30).with_columns(g=(pl.col("sample") % 3).cast(pl.String))
    acc = sm.binary(y_true="y", y_score="p", by="g", capacity=64)
    whole = digest(acc.empty().update(data).state)
    parts = [acc.empty().update(part) for part in data.sample(fraction=1, shuffle=True, seed=1).iter_slices(77)]
    assert digest(sm.merge(parts).state) == whole
    assert digest(acc.empty().update(data.with_columns(g=pl.col("g") + "x")).state) != whole


def test_a_saved_fingerprint_is_loaded_and_wrong_columns_are_refused():
    acc = sm.binary(y_true="y", y_score="p", fingerprint="id").update(rows(2))
    again = sm.Accumulator.from_bytes(acc.to_bytes())
    assert again.update(rows(1)).to_bytes() == acc.update(rows(1)).to_bytes()
    with pytest.raises(sm.SpecificationError, match="row_id= must be a tuple of names"):
        sm.RowFingerprint("id")
    with pytest.raises(sm.ColumnError, match="'id' not found"):
        acc.empty().update(rows(1).drop("id"))
    with pytest.raises(sm.ColumnError, match="to be a unit or a row ID"):
        acc.empty().update(rows(1).with_columns(id=pl.lit([1])))
