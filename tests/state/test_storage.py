"""Saved states: round trips, and states added up by other programs."""

import json

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from states import DATA, SIZE, state, task, with_cell

import streammetrics as sm


@task
@pytest.mark.parametrize("rows", [0, SIZE])
def test_round_trips(make, rows, tmp_path):
    acc = make.empty().update(DATA[:rows])
    frame = acc.finalize().frame
    for path in (tmp_path / "state", tmp_path / "state.arrow"):
        acc.save(path)
        loaded = sm.Accumulator.load(path)
        assert loaded.to_bytes() == acc.to_bytes()
    assert loaded.finalize().frame.equals(frame)
    assert sm.Accumulator.from_arrow(acc.to_arrow()).to_bytes() == acc.to_bytes()


def test_labels_that_are_equal_keep_their_types():
    for labels in ([0, 1], [False, True], [0.0, 1.0]):
        acc = sm.multiclass(y_true="y", y_pred="p", labels=labels)
        assert acc.state.tables["confusion_matrix"]["actual"].dtype == pl.Series(labels).dtype


def test_metadata_says_what_it_is():
    table = state("grouped").to_arrow()
    header = json.loads(table.schema.metadata[b"streammetrics"])
    assert header["format"] == 3
    assert header["version"] == sm.__version__
    assert header["columns"]["by"] == ["g"]
    assert [s["name"] for s in header["statistics"]] == table.column_names[1:]


def test_cells_summed_by_sql_are_brought_back_to_the_capacity(tmp_path):
    parts = [state("grouped", part) for part in (DATA[:20], DATA[20:])]
    for n, part in enumerate(parts):
        part.save(tmp_path / f"{n}.state")
    columns = {"row_counts": [], "confusion_counts": ["threshold"], "score_histogram": ["shift", "bin"]}
    columns |= {"probability_loss": ["actual"], "calibration_bins": ["bin"]}
    total = parts[0].to_arrow()
    sums = []
    for name, keys in columns.items():
        cell = total.schema.field(name).type.value_type
        fields = ", ".join(
            f"c.{f.name}" if f.name in keys else f"sum(c.{f.name})::{sql(f.type)} AS {f.name}" for f in cell
        )
        cells = f"SELECT g, unnest({name}) AS c FROM read_parquet('{tmp_path}/*.state')"
        struct = ", ".join(f"{f.name} := {f.name}" for f in cell)
        grouped = f"SELECT g, {fields} FROM ({cells}) GROUP BY g {''.join(f', c.{k}' for k in keys)}"
        sums.append(f"(SELECT g, list(struct_pack({struct})) AS {name} FROM ({grouped}) GROUP BY g)")
    joined = (
        sums[0]
        + " a0"
        + "".join(f" JOIN {s} a{n} ON a0.g IS NOT DISTINCT FROM a{n}.g" for n, s in enumerate(sums[1:], 1))
    )
    found = duckdb.sql(f"SELECT a0.g, {', '.join(columns)} FROM {joined}").to_arrow_table()
    loaded = sm.Accumulator.from_arrow(found.cast(total.schema))
    metrics = ["rows", "roc_auc", "precision", "log_loss", "ece"]
    expected = (parts[0] + parts[1]).finalize(metrics).frame
    assert_frame_equal(loaded.finalize(metrics).frame, expected, rel_tol=1e-12)


def sql(kind):
    return {"int64": "BIGINT", "decimal128(38, 18)": "DECIMAL(38, 18)"}[str(kind)]


@pytest.mark.parametrize("kind", [pl.Int16, pl.UInt8, pl.Int64])
def test_labels_may_come_back_in_another_width(kind):
    acc = sm.multiclass(y_true="l", y_pred="l").update(DATA)
    table = acc.to_arrow()
    frame = pl.DataFrame(pl.from_arrow(table))
    cast = pl.element().struct.with_fields(pl.field(c).cast(kind) for c in ("actual", "predicted"))
    narrow = frame.with_columns(pl.col("confusion_matrix").list.eval(cast)).to_arrow()
    loaded = sm.Accumulator.from_arrow(narrow.replace_schema_metadata(table.schema.metadata))
    assert loaded.to_bytes() == acc.to_bytes()
    assert loaded.update(DATA).to_bytes() == (acc + acc).to_bytes()


def test_a_group_column_may_come_back_in_another_width_or_as_a_dictionary():
    acc = state("grouped")
    table = acc.to_arrow()
    encoded = table.set_column(0, "g", table["g"].dictionary_encode())
    loaded = sm.Accumulator.from_arrow(encoded)
    assert loaded.to_bytes() == acc.to_bytes()
    assert (loaded + acc).finalize(["rows"]).frame["value"].sum() == 2 * SIZE


def test_options_of_numpy_are_saved_as_those_of_python():
    options = {"capacity": 64, "calibration_bins": 5, "positive": 1}
    ours, theirs = (
        sm.binary(y_true="y", y_score="p", **{k: number(v) for k, v in options.items()}) for number in (int, np.int64)
    )
    assert theirs.to_bytes() == ours.to_bytes()
    assert sm.Accumulator.from_bytes(theirs.to_bytes()).merge(ours).seen == 0


def test_a_merge_of_more_rows_than_can_be_counted_is_refused_and_changes_nothing():
    acc = sm.Accumulator(sm.statistics.RowCounts(), y_true="y").update({"y": [1, 0]})
    huge = sm.Accumulator.from_arrow(with_cell(acc.to_arrow(), "row_counts", rows=2**53 - 2))
    acc.absorb(huge)
    for refused in (lambda: acc.absorb(huge), lambda: acc + huge, lambda: sm.merge([huge, huge])):
        with pytest.raises(sm.errors.MergeError, match=r"more than 9,007,199,254,740,992 rows in total"):
            refused()
    assert acc.seen == 2**53


@pytest.mark.thorough
def test_states_of_any_numbers_agree_with_themselves():
    """What saved tables are checked against allows for the rounding of weights, of losses at the ends, and moments."""
    labels = sm.multiclass(y_true="y", y_score={0: (1 - pl.col("p")).alias("q"), 1: "p"})
    accs = [
        sm.binary(y_true="y", y_score="p", sample_weight="w", by="g").update(
            DATA.with_columns(w=weight * (1 + pl.int_range(SIZE) / 7))
        )
        for weight in (1e-300, 0.1, 1e270)
    ]
    accs += [
        task.empty().update({"y": [label] * 3, "p": [score] * 3})
        for task in (labels, sm.binary(y_true="y", y_score="p"))
        for label in (0, 1)
        for score in (0.0, 5e-324, 1 - 2**-53, 1.0)
    ]
    accs += [
        sm.regression(y_true=pl.col("p") + offset, y_pred=pl.col("q") + offset, by="g").update(DATA)
        for offset in (0.0, 1e12, -1e300)
    ]
    for acc in accs:
        twice = acc + acc
        assert sm.Accumulator.from_bytes(twice.to_bytes()).to_bytes() == twice.to_bytes()
