"""Fingerprints of rows: every change of a row changes them, and nothing else does."""

import polars as pl
import pytest
from data import CLICKS, VISITS, clicks, visits

import streammetrics as sm

SAMPLE, AT = pl.col("sample"), pl.col("at")
CHANGED = {
    "label": lambda at: {"clicked": pl.col("clicked") ^ at},
    "score": lambda at: {"score": pl.when(at).then(pl.col("score") / 3).otherwise("score")},
    "last bit": lambda at: {"score": pl.when(at).then(pl.col("score") * (1 + 2**-52)).otherwise("score")},
    "ID": lambda at: {"id": pl.col("id") + at.cast(pl.Int64)},
    "other instead": lambda at: {
        c: pl.when(at).then(pl.col(c).first().over("sample")).otherwise(c) for c in ("clicked", "score", "id")
    },
    "scores swapped": lambda at: {
        "score": pl.when(at)
        .then(pl.col("score").first().over("sample"))
        .when(AT == 0)
        .then(pl.col("score").get(7).over("sample"))
        .otherwise("score")
    },
}


def rows(samples):
    """The same 40 clicks of distinct scores, moved a bit in each sample."""
    one = clicks().unique("score", maintain_order=True)[:40].select("clicked", "score", at=pl.int_range(40))
    every = one.join(pl.DataFrame({"sample": range(samples)}), how="cross")
    return every.with_columns(pl.col("score") * (1 - SAMPLE / 9_999), id=AT * 10_007 + SAMPLE)


def prints(data):
    """The fingerprints of each sample."""
    made = sm.Accumulator(sm.statistics.RowFingerprint(("id",)), by="sample", max_groups=None, **CLICKS).update(data)
    table = made.state.tables["row_fingerprint"].join(made.state.groups, on="group")
    return table.sort("sample").select(truth=pl.struct("^truth_.*$"), row=pl.struct("^row_.*$"))


def fingerprints(data, task=sm.binary, **options):
    """The fingerprints of models in a receipt."""
    return task(**CLICKS | {"fingerprint": True} | options).update(data).receipt(["rows"]).fingerprints


@pytest.mark.whole
@pytest.mark.parametrize("change", [*CHANGED, "missing", "doubled"])
def test_thousands_of_single_changes_are_seen(change):
    data = rows(1_000)
    changed = {"missing": data.filter(AT != 7), "doubled": pl.concat([data, data.filter(AT == 7)])}.get(change)
    if changed is None:
        changed = data.with_columns(**CHANGED[change](AT == 7))
    before, after = prints(data), prints(changed)
    assert (after["row"] != before["row"]).all()
    of_scores_alone = change in ("score", "last bit", "scores swapped")
    assert (after["truth"] == before["truth"]).all() if of_scores_alone else (after["truth"] != before["truth"]).any()


def test_equal_values_of_other_types_have_equal_fingerprints():
    data = rows(1).with_columns(pl.col("score").cast(pl.Float32))
    types = {"score": pl.Float64, "clicked": pl.Int8, "id": pl.Float64}
    assert prints(data).equals(prints(data.cast(types)))


def test_labels_have_the_same_fingerprint_in_any_batches():
    data = pl.DataFrame({"y": ["a", "b", "c", "a"], "guess": ["b", "b", "c", "c"]})
    acc = sm.multiclass(y_true="y", y_pred="guess", fingerprint=True)
    alone = [acc.empty().update(data[i]) for i in (3, 1, 0, 2)]
    of_all = acc.update(data).receipt(["rows"])
    assert sm.merge(alone).receipt(["rows"]).fingerprints == of_all.fingerprints


def test_models_of_the_same_rows_have_the_same_truth():
    one, two = fingerprints(rows(1), y_score={"one": "score", "two": 1 - pl.col("score")}).values()
    assert one["truth"] == two["truth"]
    assert one["row"] != two["row"]


def test_units_and_weights_are_a_part_of_the_truth_and_rows_of_weight_0_are_not():
    data = visits()[:200]

    def truth(data, **options):
        return fingerprints(data, **{**VISITS, **options})[""]["truth"]

    assert truth(data) != truth(data.with_columns(pl.col("visitor") + 10_000))
    assert truth(data) != truth(data.with_columns(pl.col("weight") * 2))
    assert (data["weight"] == 0).any()
    assert truth(data) == truth(data.filter(pl.col("weight") > 0))


def test_digests_do_not_depend_on_order_and_see_groups():
    acc = sm.binary(by="country", capacity=64, fingerprint=True, **CLICKS)
    whole = acc.empty().update(clicks()[:500]).receipt(["rows"]).digest
    parts = clicks()[:500].sample(fraction=1, shuffle=True, seed=1).iter_slices(77)
    assert sm.merge([acc.empty().update(part) for part in parts]).receipt(["rows"]).digest == whole
    assert acc.empty().update(clicks()[:500].with_columns(pl.col("country") + "x")).receipt(["rows"]).digest != whole


def test_a_saved_fingerprint_is_loaded():
    acc = sm.binary(fingerprint="id", **CLICKS).update(rows(2))
    again = sm.Accumulator.from_bytes(acc.to_bytes())
    assert again.update(rows(1)).to_bytes() == acc.update(rows(1)).to_bytes()
