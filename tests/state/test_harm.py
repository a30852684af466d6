"""Files that mean harm, or that other programs have changed, are refused and never crash."""

import ast
import json
import math
import random
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from states import DATA, NAN, SIZE, TASKS, task, with_cell

import streammetrics as sm
from streammetrics.state import header as headers
from streammetrics.state import saved as saved_form
from streammetrics.state import storage
from streammetrics.state.header import KEY


@pytest.fixture
def classes():
    return TASKS["classes"]().update(DATA).to_arrow()


def load_or_refuse(content):
    """Loading either works or ends in a StateError."""
    try:
        return sm.Accumulator.from_bytes(content)
    except sm.StateError:
        return None


@task
def test_truncated_bytes_are_refused(make):
    content = make().update(DATA).to_bytes()
    for end in range(0, len(content) - 16, len(content) // 23):
        assert load_or_refuse(content[:end]) is None


@task
@pytest.mark.parametrize("name", ["state", "state.arrow"])
def test_truncated_files_are_refused(make, name, tmp_path):
    path = tmp_path / name
    make().update(DATA).save(path)
    content = path.read_bytes()
    for part in range(20):
        path.write_bytes(content[: len(content) * part // 20])
        with pytest.raises(sm.StateError, match=name):
            sm.Accumulator.load(path)


def broken(content, count):
    """Copies with a few bits flipped."""
    chance = random.Random(0)
    for _ in range(count):
        copy = bytearray(content)
        for _ in range(chance.randint(1, 4)):
            copy[chance.randrange(len(copy))] ^= 1 << chance.randrange(8)
        yield bytes(copy)


def finalized(loaded):
    if loaded is not None:
        return loaded.finalize(["roc_auc", "log_loss"]).frame
    return None


def finalized_classes(loaded):
    if loaded is not None:
        return loaded.finalize(["accuracy", "f1(average=macro)", "roc_auc(average=micro)", "roc_auc_ovo"]).frame
    return None


@pytest.mark.parametrize(
    "task", ["weighted", *(pytest.param(t, marks=pytest.mark.thorough) for t in ("ordered", "weighted regression"))]
)
def test_null_and_nan_cells_are_refused_or_saved_as_they_were_read(task):
    table = TASKS[task]().update(DATA[:40]).to_arrow()
    frame, read = pl.DataFrame(table), 0
    for name, kind in frame.schema.items():
        for field in kind.inner.fields if isinstance(kind, pl.List) else []:
            for value in [None, math.nan][: 1 + field.dtype.is_float()]:
                cell = pl.element().struct.with_fields(pl.lit(value, field.dtype).alias(field.name))
                forged = frame.with_columns(pl.col(name).list.eval(cell)).to_arrow().cast(table.schema)
                try:
                    loaded = sm.Accumulator.from_arrow(forged.replace_schema_metadata(table.schema.metadata))
                except sm.StateError:
                    continue
                read += 1
                assert sm.Accumulator.from_bytes(loaded.to_bytes()).to_bytes() == loaded.to_bytes()
                if value is not None:
                    assert repr(loaded.to_arrow().to_pylist()) == repr(forged.to_pylist())
    assert read


@pytest.mark.parametrize(("task", "read"), [("grouped", finalized), ("classes", finalized_classes)])
def test_flipped_bits_never_crash(task, read):
    for content in broken(TASKS[task]().update(DATA[:40]).to_bytes(), 300):
        read(load_or_refuse(content))


@pytest.mark.parametrize("name", ["state", "state.arrow"])
def test_flipped_bits_of_files_never_crash(name, tmp_path):
    path = tmp_path / name
    TASKS["grouped"]().update(DATA[:40]).save(path)
    for content in broken(path.read_bytes(), 150):
        path.write_bytes(content)
        try:
            loaded = sm.Accumulator.load(path)
        except sm.StateError:
            continue
        finalized(loaded)


def with_header(table, **changes):
    header = json.loads(table.schema.metadata[KEY]) | changes
    header = {k: v for k, v in header.items() if v != "gone"}
    return table.replace_schema_metadata({KEY: json.dumps(header).encode()})


def with_columns(table, **changes):
    columns = json.loads(table.schema.metadata[KEY])["columns"] | changes
    return with_header(table, columns=columns)


def with_options(table, name, **options):
    statistics = json.loads(table.schema.metadata[KEY])["statistics"]
    changed = [s | {"options": s["options"] | options} if s["name"] == name else s for s in statistics]
    return with_header(table, statistics=changed)


def with_type(table, statistic, kind):
    """A state whose sums of a statistic have another type."""
    cell = pl.element().struct.with_fields(pl.element().struct.field("^.*_sum$").cast(kind))
    changed = pl.DataFrame(table).with_columns(pl.col(statistic).list.eval(cell)).to_arrow()
    return changed.replace_schema_metadata(table.schema.metadata)


def with_column(table, name, value):
    position = table.column_names.index(name)
    return table.set_column(position, name, pa.array([value] * len(table), table.schema.field(name).type))


def weighted():
    """A state whose sums are floats."""
    return TASKS["weighted"]().update(DATA).to_arrow()


def without_first_statistic(table):
    statistics = json.loads(table.schema.metadata[KEY])["statistics"]
    return with_header(table, statistics=statistics[1:]).drop_columns("row_counts")


HARM = {
    "no metadata": (lambda t: t.replace_schema_metadata(None), "[Nn]ot a (streammetrics )?state"),
    "no json": (lambda t: t.replace_schema_metadata({KEY: b"{"}), "cannot be read"),
    "a list": (lambda t: t.replace_schema_metadata({KEY: b"[]"}), "has no format"),
    "other format": (lambda t: with_header(t, format=2, version="9.9"), "has format 2, written by streammetrics 9.9"),
    "no format": (lambda t: with_header(t, format="gone"), "has no format"),
    "odd format": (lambda t: with_header(t, format="1"), "has no format"),
    "no columns": (lambda t: with_header(t, columns="gone"), "'columns' is missing"),
    "no statistics": (lambda t: with_header(t, statistics={}), "'statistics' is missing"),
    "odd metrics": (lambda t: with_header(t, metrics=[1]), "'metrics' is not a list"),
    "odd by": (lambda t: with_columns(t, by="g"), "'columns' is invalid"),
    "extra role": (lambda t: with_columns(t, expressions={}), "'columns' is invalid"),
    "odd role": (lambda t: with_columns(t, y_true=3), "'columns' is invalid"),
    "odd scores": (lambda t: with_columns(t, y_score=["p"]), "'columns' is invalid"),
    "odd nulls": (lambda t: with_columns(t, nulls="eat"), "is invalid"),
    "nested label": (lambda t: with_columns(t, positive={"a": 1}), "'columns' is invalid"),
    "unknown statistic": (
        lambda t: with_header(t, statistics=[{"name": "os.system", "options": {}}]),
        "unknown statistic",
    ),
    "odd statistic": (lambda t: with_header(t, statistics=["rows"]), "unknown statistic"),
    "unknown option": (lambda t: with_options(t, "score_histogram", command="rm"), "is invalid"),
    "small capacity": (lambda t: with_options(t, "score_histogram", capacity=-1), "is invalid"),
    "text capacity": (lambda t: with_options(t, "score_histogram", capacity="9"), "is invalid"),
    "text bins": (lambda t: with_options(t, "calibration_bins", bins="9"), "is invalid"),
    "half bins": (lambda t: with_options(t, "calibration_bins", bins=9.5), "is invalid"),
    "text thresholds": (lambda t: with_options(t, "confusion_counts", thresholds=["x"]), "is invalid"),
    "other thresholds": (lambda t: with_options(t, "confusion_counts", thresholds=[0.1]), "invalid cells"),
    "missing column": (lambda t: t.drop_columns("row_counts"), "must have the columns"),
    "extra column": (lambda t: t.append_column("x", t.column("g")), "must have the columns"),
    "other type": (lambda t: t.set_column(1, "row_counts", t.column("g")), "is of type String"),
    "negative count": (lambda t: with_cell(t, "row_counts", rows=-1), "invalid cells"),
    "null count": (lambda t: with_cell(t, "confusion_counts", tp=None), "invalid cells"),
    "null sum": (lambda t: with_cell(t, "probability_loss", brier_sum=None), "invalid cells"),
    "NaN sum": (lambda _: with_cell(weighted(), "probability_loss", brier_sum=float("nan")), "invalid cells"),
    "infinite sum": (lambda _: with_cell(weighted(), "probability_loss", log_loss_sum=float("inf")), "invalid cells"),
    "a float": (lambda t: with_type(t, "probability_loss", pl.Float64()), "is of type"),
    "a sum of whole numbers": (lambda t: with_type(t, "probability_loss", pl.Int64()), "is of type"),
    "coarse decimals": (lambda t: with_type(t, "probability_loss", pl.Decimal(38, 6)), "is of type"),
    "third class": (lambda t: with_cell(t, "probability_loss", actual=2), "invalid cells"),
    "shift": (lambda t: with_cell(t, "score_histogram", shift=200), "invalid cells"),
    "bin below": (lambda t: with_cell(t, "score_histogram", bin=-5), "invalid cells"),
    "bin above": (lambda t: with_cell(t, "score_histogram", bin=2**63 - 1), "invalid cells"),
    "deep json": (lambda t: t.replace_schema_metadata({KEY: b"[" * 100_000}), "cannot be read"),
    "huge threshold": (lambda t: with_options(t, "confusion_counts", thresholds=[10**400]), "is invalid"),
    "half capacity": (
        lambda t: with_options(t, "score_histogram", capacity=99.5),
        "capacity= must be an integer, got 99.5",
    ),
    "endless capacity": (lambda t: with_options(t, "score_histogram", capacity=float("inf")), "is invalid"),
    "true bins": (
        lambda t: with_options(t, "calibration_bins", bins=True),
        "calibration bins must be an integer of at least 1, got True",
    ),
    "no scores": (lambda t: with_columns(t, y_score={}), "contradict"),
    "no labels": (lambda t: with_columns(t, y_true=[]), "contradict"),
    "scores of any size": (lambda t: with_columns(t, probability=False), "contradict"),
    "no row counts": (
        lambda t: without_first_statistic(t),
        "has no row_counts",
    ),
    "uncounted group": (lambda t: with_column(t, "row_counts", None), "groups without row counts"),
    "null cell": (lambda t: with_column(t, "row_counts", [None]), "invalid cells"),
    "nested group": (lambda t: t.set_column(0, "g", pa.array([[1]] * len(t))), "Group by plain values"),
    "bin number": (lambda t: with_cell(t, "calibration_bins", bin=10), "invalid cells"),
    "more rows than there are": (
        lambda t: with_cell(t, "confusion_counts", tp=10**6),
        "'confusion_counts' contradicts the row counts",
    ),
    "fewer rows than there are": (
        lambda t: with_cell(t, "score_histogram", neg=0),
        "'score_histogram' contradicts the row counts",
    ),
    "no cells": (lambda t: with_column(t, "score_histogram", []), "'score_histogram' contradicts the row counts"),
    "counts that wrap around": (
        lambda t: with_cell(t, "confusion_counts", tp=2**62, fp=2**62),
        "contradicts the row counts",
    ),
    "other losses": (
        lambda t: with_cell(t, "probability_loss", weight=700),
        "'probability_loss' contradicts the row counts",
    ),
    "more rows than can be": (lambda t: with_cell(t, "row_counts", rows=2**62), "invalid cells"),
    "more rows in total": (lambda t: with_cell(t, "row_counts", rows=2**53), "more than 9,007,199,254,740,992 rows"),
    "a score too high": (lambda t: with_cell(t, "calibration_bins", score_sum=1e9), "invalid cells"),
    "a score too low": (lambda t: with_cell(t, "calibration_bins", score_sum=-1.0), "invalid cells"),
    "more positives than rows": (lambda t: with_cell(t, "calibration_bins", pos=10**6), "invalid cells"),
    "a loss too high": (lambda t: with_cell(t, "probability_loss", log_loss_sum=1e9), "invalid cells"),
    "a negative loss": (lambda t: with_cell(t, "probability_loss", brier_sum=-1.0), "invalid cells"),
    "a null bin": (lambda t: with_cell(t, "score_histogram", bin=None), "invalid cells"),
    "a null shift": (lambda t: with_cell(t, "score_histogram", shift=None), "invalid cells"),
    "a null cell of a histogram": (lambda t: with_column(t, "score_histogram", [None]), "invalid cells"),
    "bins without end": (lambda t: with_options(t, "calibration_bins", bins=2**40), "must be at most 1,000,000"),
    "endless whole capacity": (lambda t: with_options(t, "score_histogram", capacity=2**70), "must be at most"),
}


@pytest.mark.parametrize(("harm", "message"), HARM.values(), ids=HARM.keys())
def test_harm_is_refused(table, harm, message):
    with pytest.raises(sm.StateError, match=message):
        sm.Accumulator.from_arrow(harm(table))


HARM_TO_CLASSES = {
    "number of a label": (
        lambda t: with_cell(t, "score_histogram", label=3),
        "'score_histogram' contains .* invalid cells",
    ),
    "no label": (lambda t: with_cell(t, "calibration_bins", label=None), "invalid cells"),
    "class": (lambda t: with_cell(t, "class_loss", actual=3), "'class_loss' contains .* invalid cells"),
    "rank": (lambda t: with_cell(t, "rank_counts", rank=4), "'rank_counts' contains .* invalid cells"),
    "rank below": (lambda t: with_cell(t, "rank_counts", rank=0), "invalid cells"),
    "class of a pair": (
        lambda t: with_cell(t, "pair_histograms", actual=3),
        "'pair_histograms' contains .* invalid cells",
    ),
    "score of a pair": (lambda t: with_cell(t, "pair_histograms", scored=2**32 - 1), "invalid cells"),
    "bin of a pair": (lambda t: with_cell(t, "pair_histograms", shift=64), "invalid cells"),
    "label": (
        lambda t: with_cell(t, "confusion_matrix", predicted="d"),
        "'confusion_matrix' contains .* invalid cells",
    ),
    "null label": (lambda t: with_cell(t, "confusion_matrix", actual=None), "invalid cells"),
    "count": (lambda t: with_cell(t, "confusion_matrix", count=-1), "invalid cells"),
    "labels of another type": (lambda t: with_columns(t, labels=[1, 2, 3]), "type String, but are declared as Int64"),
    "labels in two types": (
        lambda t: with_labels(t, actual=pl.String, predicted=pl.Int64, labels=["a", "b", "c"]),
        "'confusion_matrix' is of type",
    ),
    "labels in lists": (lambda t: with_labels(t, actual=pl.List(pl.String)), "'confusion_matrix' is of type"),
    "other labels": (lambda t: with_columns(t, labels=["a", "b", "d"]), "invalid cells"),
    "fewer labels": (lambda t: with_columns(t, labels=["a", "b"]), "3 columns for 2 labels"),
    "mixed labels": (lambda t: with_columns(t, labels=["a", 1, True]), "of one type"),
    "equal labels": (lambda t: with_columns(t, labels=["a", "a", "b"]), "is repeated"),
    "null among labels": (lambda t: with_columns(t, labels=["a", None, "b"]), "must not contain null or NaN"),
    "NaN among labels": (lambda t: with_columns(t, labels=[0.5, float("nan"), 1.0]), "must not contain null or NaN"),
    "nested labels": (lambda t: with_columns(t, labels=[["a"], ["b"], ["c"]]), "'columns' is invalid"),
    "text for labels": (lambda t: with_columns(t, labels="abc"), "'columns' is invalid"),
    "labels not declared": (lambda t: with_columns(t, labels=[]), "Map each label to a column"),
    "another task": (lambda t: with_columns(t, kind="multilabel"), "cannot be used in multilabel tasks"),
    "no task": (lambda t: with_columns(t, kind="several"), "task= must be one of"),
    "two truths": (lambda t: with_columns(t, y_true=["k", "l", "y"]), "y_true= has 3 columns"),
    "two predictions": (lambda t: with_columns(t, y_pred={"": ["k", "l"]}), "y_pred= has 2 columns"),
    "scores without columns": (lambda t: with_columns(t, y_score={"": []}), "y_score= has 0 columns"),
    "models without names": (lambda t: with_columns(t, y_score={"": ["p"], "m": ["q"]}), "model without a name"),
    "order of others": (lambda t: with_options(t, "confusion_matrix", order=["a", "b", "d"]), "orders the labels"),
    "mixed order": (lambda t: with_options(t, "confusion_matrix", order=["a", 1]), "of one type"),
    "fewer pairs": (lambda t: with_cell(t, "pair_histograms", count=0), "'pair_histograms' contradicts the row counts"),
    "more of a rank": (lambda t: with_cell(t, "rank_counts", count=10**6), "'rank_counts' contradicts the row counts"),
    "more of a label": (
        lambda t: with_cell(t, "confusion_matrix", count=10**6),
        "'confusion_matrix' contradicts the row counts",
    ),
    "a loss of a class": (lambda t: with_cell(t, "class_loss", brier_sum=1e6), "invalid cells"),
    "capacity of pairs": (lambda t: with_options(t, "pair_histograms", capacity=7), "capacity= must be at least"),
}


def with_labels(table, labels=None, **kinds):
    """The confusion matrix with labels of other types, as far as they can be cast."""
    frame = pl.DataFrame(pl.from_arrow(table))
    fields = [pl.element().struct.field(c) for c in ("actual", "predicted", "count")]
    cast = [
        pl.lit(None, kinds[c]).alias(c) if c in kinds else f
        for c, f in zip(("actual", "predicted", "count"), fields, strict=True)
    ]
    changed = frame.with_columns(pl.col("confusion_matrix").list.eval(pl.struct(cast))).to_arrow()
    return changed.replace_schema_metadata(table.schema.metadata)


@pytest.mark.parametrize(("harm", "message"), HARM_TO_CLASSES.values(), ids=HARM_TO_CLASSES.keys())
def test_harm_to_classes_is_refused(classes, harm, message):
    with pytest.raises(sm.StateError, match=message):
        sm.Accumulator.from_arrow(harm(classes))


@pytest.mark.parametrize(
    ("state", "statistic", "key"),
    [
        (lambda: TASKS["classes"]().update(DATA), "score_histogram", "label"),
        (lambda: TASKS["classes"]().update(DATA), "calibration_bins", "label"),
        (lambda: TASKS["classes"]().update(DATA), "pair_histograms", "scored"),
        (lambda: TASKS["several labels"]().update(DATA), "confusion_counts", "label"),
        (
            lambda: sm.binary(y_true="y", y_score="p", thresholds=[0.2, 0.6]).update(DATA),
            "confusion_counts",
            "threshold",
        ),
    ],
)
def test_cells_of_each_label_and_threshold_must_count_all_rows(state, statistic, key):
    table = state().to_arrow()
    cells = pl.col(statistic).list
    first = cells.eval(pl.element().filter(pl.element().struct.field(key) == pl.element().struct.field(key).min()))
    rest = cells.eval(pl.element().filter(pl.element().struct.field(key) != pl.element().struct.field(key).min()))
    for kept in (first, rest):
        forged = pl.DataFrame(table).with_columns(kept).to_arrow().cast(table.schema.remove_metadata())
        with pytest.raises(sm.StateError, match=f"'{statistic}' contradicts the row counts"):
            sm.Accumulator.from_arrow(forged.replace_schema_metadata(table.schema.metadata))


def test_label_sets_with_a_threshold_that_is_no_number():
    table = TASKS["several labels"]().update(DATA).to_arrow()
    for threshold in ("0.5", None, float("nan")):
        with pytest.raises(sm.StateError, match="threshold= must be a number"):
            sm.Accumulator.from_arrow(with_options(table, "label_sets", threshold=threshold))
    with pytest.raises(sm.StateError, match="Map each label to a column"):
        sm.Accumulator.from_arrow(with_columns(table, labels=[]))


def test_predicted_labels_may_not_be_missing():
    table = TASKS["days"]().update(DATA).to_arrow()
    with pytest.raises(sm.StateError, match="confusion_matrix requires y_pred=, or y_score="):
        sm.Accumulator.from_arrow(with_columns(table, y_pred={}))


def cell_harm(statistic, **values):
    return lambda t: with_cell(t, statistic, **values), "invalid cells"


def fold_harm(values):
    return lambda t: t.set_column(t.column_names.index("fold"), "fold", values(t)), "folds are not numbers from 0 to 19"


HARM_OF_ERRORS = {
    "families": (lambda t: with_options(t, "error_moments", families=["log"]), "is of type"),
    "unknown family": (lambda t: with_options(t, "error_moments", families=["logs"]), "Unknown family 'logs'"),
    "text families": (lambda t: with_options(t, "error_moments", families="log"), "is invalid"),
    "nested families": (lambda t: with_options(t, "error_moments", families=[["log"]]), "is invalid"),
    "low power": (lambda t: with_options(t, "error_moments", power=0.5), "at least 1"),
    "text power": (lambda t: with_options(t, "error_moments", power="2"), "is invalid"),
    "negative weight": cell_harm("error_moments", weight=-1.0),
    "NaN weight": cell_harm("error_moments", weight=NAN),
    "infinite weight": cell_harm("error_moments", weight=float("inf")),
    "null mean": cell_harm("error_moments", actual_mean=None),
    "negative moment": cell_harm("error_moments", actual_m2=-1.0),
    "min above max": cell_harm("error_moments", actual_min=1e9),
    "other weight": (lambda t: with_cell(t, "error_moments", weight=5e3), "contradicts the row counts"),
    "mean outside": cell_harm("error_moments", actual_mean=7.0),
    "a loss too high": cell_harm("error_moments", over_sum=1e9),
    "a square too high": cell_harm("error_moments", square_error_sum=1e9),
    "other counts": (
        lambda t: with_cell(t, "error_histogram", count=1.5),
        "'error_histogram' contradicts the row counts",
    ),
    "other centroids": (lambda t: with_cell(t, "tdigest", weight=1.5), "'tdigest' contradicts the row counts"),
    "huge compression": (lambda t: with_options(t, "tdigest", compression=2**40), "at most 1,000,000"),
    "NaN count": cell_harm("error_histogram", count=NAN),
    "negative count": cell_harm("error_histogram", count=-1.0),
    "bin off the lattice": cell_harm("error_histogram", bin=2**63 - 1),
    "bin of another shift": cell_harm("error_histogram", shift=60, bin=2**40),
    "shift": cell_harm("error_histogram", shift=64),
    "probability": (lambda t: with_options(t, "error_histogram", domain="probability"), "real domain"),
    "NaN atom": (lambda t: with_options(t, "error_histogram", atoms=[NAN]), "is invalid"),
    "of": (lambda t: with_options(t, "histogram", of="y_false"), "of= must be one of"),
    "of no column": (lambda t: with_options(t, "histogram", of="y_score"), "contradict"),
    "of another type": (lambda t: with_options(t, "histogram", of=["y_pred"]), "is invalid"),
    "of of a digest": (lambda t: with_options(t, "tdigest", of="error "), "of= must be one of"),
    "compression": (lambda t: with_options(t, "tdigest", compression=-1), "is invalid"),
    "half compression": (lambda t: with_options(t, "tdigest", compression=100.5), "is invalid"),
    "no weight": cell_harm("tdigest", weight=0.0),
    "NaN centroid weight": cell_harm("tdigest", weight=NAN),
    "mean below min": cell_harm("tdigest", mean=-1e9),
    "NaN mean": cell_harm("tdigest", mean=NAN),
    "NaN max": cell_harm("tdigest", max=NAN),
    "all NaN": cell_harm("tdigest", mean=NAN, min=NAN, max=NAN),
    "text fold": fold_harm(lambda t: pa.array(["one"] * len(t))),
    "null fold": fold_harm(lambda t: pa.array([None] * len(t), pa.int64())),
    "half fold": fold_harm(lambda t: pa.array([0.5] * len(t))),
    "negative fold": fold_harm(lambda t: pa.array([-1] * len(t))),
    "high fold": fold_harm(lambda t: pa.array([20] * len(t))),
    "number as unit": (lambda t: with_columns(t, unit=3), "'columns' is invalid"),
    "no unit": (lambda t: with_columns(t, unit=None), "must have the columns"),
    "other task": (lambda t: with_columns(t, kind="binary"), "contradict"),
    "no such task": (lambda t: with_columns(t, kind="forecast"), "task= must be one of"),
}


@pytest.fixture
def errors():
    statistics = sm.ErrorMoments(), sm.ErrorHistogram(16), sm.Histogram(16, of="y_pred"), sm.TDigest(50)
    acc = sm.Accumulator(*statistics, y_true="p", y_pred="q", sample_weight="w", by="g", unit="u")
    return acc.update(DATA).to_arrow()


@pytest.mark.parametrize(("harm", "message"), HARM_OF_ERRORS.values(), ids=HARM_OF_ERRORS.keys())
def test_harm_of_a_regression_is_refused(errors, harm, message):
    assert sm.Accumulator.from_arrow(errors).seen == SIZE
    with pytest.raises(sm.StateError, match=message):
        sm.Accumulator.from_arrow(harm(errors))


def test_flipped_bits_of_a_regression_never_crash():
    for content in broken(TASKS["units"]().update(DATA[:40]).to_bytes(), 200):
        loaded = load_or_refuse(content)
        if loaded is not None:
            loaded.finalize(["r2", "mad", "median_error"], confidence=0.9).frame  # noqa: B018


def test_an_ungrouped_state_has_a_row():
    with pytest.raises(sm.StateError, match="neither groups nor a row"):
        sm.Accumulator.from_arrow(TASKS["plain"]().to_arrow()[:0])


@pytest.mark.parametrize("model", ["c", None])
def test_a_model_that_is_not_specified_is_refused(model):
    table = TASKS["models"]().update(DATA).to_arrow()
    other = table.set_column(1, "model", pa.array([model] * len(table), pa.string()))
    with pytest.raises(sm.StateError, match="have a model"):
        sm.Accumulator.from_arrow(other)


@pytest.mark.parametrize("module", [headers, saved_form, storage], ids=lambda m: m.__name__)
def test_nothing_runs_code_of_a_file(module):
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    modules = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not {"pickle", "marshal", "importlib"} & modules
    assert not {"eval", "exec", "__import__"} & names


def test_sets_of_labels_keep_to_their_rows():
    table = TASKS["several labels"]().update(DATA).to_arrow()
    for harm in ({"exact_match": 10**6}, {"label_errors": 10**6}, {"label_decisions": 10**6}, {"jaccard_sum": 1e6}):
        with pytest.raises(sm.StateError, match=r"'label_sets' contains .* invalid cells"):
            sm.Accumulator.from_arrow(with_cell(table, "label_sets", **harm))
