"""Receipts: verified by other orders, shards, and threads, and what they say of changed rows."""

import json
from dataclasses import replace

import polars as pl
import pytest
from commands import run
from data import visits

import streammetrics as sm

DATA = visits()[:300].select(
    y="bought",
    p="score",
    q=1 - pl.col("score") ** 2,
    w=pl.col("weight") + 0.1,
    g=pl.col("shop").replace({"web": "a", "app": "b"}),
    k=pl.col("visitor").mod(3).replace_strict({0: "x", 1: "y", 2: "z"}),
    id=pl.int_range(300),
)
BINARY = sm.binary(y_true="y", y_score="p", by="g", fingerprint="id")
TASKS = {
    "binary": lambda **options: sm.binary(y_true="y", y_score="p", by="g", **options),
    "weights": lambda **options: sm.binary(y_true="y", y_score="p", sample_weight="w", **options),
    "units": lambda **options: sm.binary(y_true="y", y_score="p", unit="id", **options),
    "models": lambda **options: sm.binary(y_true="y", y_score={"one": "p", "two": "q"}, by="g", **options),
    "classes": lambda **options: sm.multiclass(y_true="k", y_pred="g", **options),
    "regression": lambda **options: sm.regression(y_true="p", y_pred="q", by="g", **options),
    "predictions": lambda **options: sm.predictions(y_score="p", by="g", **options),
}
FIRST = {
    "rows": DATA.head(299),
    "truth": DATA.with_columns(y=pl.col("y") ^ (pl.col("id") == 7)),
    "row": DATA.with_columns(p=pl.when(pl.col("id") == 7).then(0.5).otherwise("p")),
    "groups": DATA.with_columns(g=pl.when(pl.col("id") == 7).then(pl.lit("c")).otherwise("g")),
    "digest": DATA.with_columns(g=pl.when(pl.col("g") == "a").then(pl.lit("b")).otherwise(pl.lit("a"))),
}


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())
def test_other_orders_shards_and_threads_are_identical(task, tmp_path):
    receipt = task(fingerprint="id").update(DATA).receipt()
    assert len(str(receipt).encode()) <= 4_096
    receipt.save(tmp_path / "r.json")
    assert sm.Receipt.load(tmp_path / "r.json") == receipt
    mixed = DATA.sample(fraction=1, shuffle=True, seed=2)
    for i, part in enumerate(mixed.iter_slices(170)):
        part.write_parquet(tmp_path / f"{i}.parquet")
    if "sha256" not in receipt.specification:
        found = sm.verify(tmp_path / "r.json", tmp_path / "*.parquet", workers=3)
        assert found.identical
        assert str(found).startswith("Identical: 300 rows")
    shards = [task(fingerprint="id").update(part) for part in mixed.iter_slices(130)]
    sm.merge(shards).save(tmp_path / "all.state")
    assert sm.verify(receipt, str(tmp_path / "all.state")).identical


@pytest.mark.whole
@pytest.mark.parametrize("first", FIRST)
def test_the_first_difference_names_the_cause(first):
    receipt = BINARY.empty().update(DATA).receipt(["accuracy"], require=["accuracy >= 0.3"])
    found = sm.verify(receipt, FIRST[first])
    assert not found.identical
    assert next(iter(found.different)) == first
    assert str(found).startswith(f"Different since {first!r}, ")


def test_another_specification_is_the_first_difference():
    receipt = BINARY.empty().update(DATA).receipt(["accuracy"])
    for options, text in (
        ({"thresholds": [0.4]}, "(statistics options thresholds), 0.5 in the receipt and 0.4 now"),
        ({"thresholds": [0.5 + 1e-11]}, "thresholds"),
        ({"capacity": 4_095}, "capacity"),
    ):
        found = sm.verify(receipt, sm.binary(y_true="y", y_score="p", by="g", fingerprint="id", **options).update(DATA))
        assert next(iter(found.different)) == "specification"
        assert text in str(found)


@pytest.mark.thorough
@pytest.mark.usefixtures("undrawn")
def test_a_page_shows_the_fingerprint(tmp_path):
    acc = TASKS["models"](fingerprint="id", metrics=["accuracy"]).update(DATA)
    acc.finalize().save_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(found["row"] in page for found in acc.receipt(["accuracy"]).fingerprints.values())


def test_changed_numbers_of_a_receipt_are_different():
    receipt = BINARY.empty().update(DATA).receipt(["accuracy"], require=["accuracy >= 0.1"])
    changed = json.loads(json.dumps(receipt.metrics))
    changed["accuracy"]["threshold 0.5"]["value"] += 0.01
    found = sm.verify(replace(receipt, metrics=changed, verdicts={"accuracy >= 0.1": {"breached": 2}}), DATA)
    assert [*found.different] == ["metrics", "verdicts"]
    assert str(found).startswith("Different since 'metrics' (accuracy threshold 0.5 value), 0.")
    more = receipt.specification | {"statistics": [*receipt.specification["statistics"], None]}
    for specification in (more, receipt.specification | {"order": None}):
        changed = replace(receipt, specification=specification)
        assert not sm.verify(changed, BINARY.empty().update(DATA)).identical


SMALL = pl.DataFrame({"y": DATA["p"], "q": DATA["p"] + 1e-6 * (DATA["q"] - 0.5), "w": DATA["w"], "id": DATA["id"]})


def test_small_numbers_are_compared_relatively():
    receipt = sm.regression(y_true="y", y_pred="q", fingerprint="id").update(SMALL).receipt(["mse", "bias"])
    for metric, number in (("mse", "value"), ("mse", "ci_upper"), ("bias", "value")):
        for factor, different in ((1 + 1e-11, []), (7, ["metrics"])):
            metrics = json.loads(json.dumps(receipt.metrics))
            metrics[metric][number] *= factor
            assert [*sm.verify(replace(receipt, metrics=metrics), SMALL).different] == different


def test_a_bias_of_almost_0_is_compared_with_the_size_of_its_errors():
    fitted = SMALL.with_columns(q=pl.col("q") - (pl.col("q") - pl.col("y")).mean())  # leaves rounding errors
    acc = sm.regression(y_true="y", y_pred="q", fingerprint="id", metrics=["bias"]).update(fitted)
    shards = sm.merge([acc.empty().update(part) for part in fitted.sort("q").iter_slices(50)])
    assert abs(acc.finalize()["bias"].value) < 1e-15
    assert sm.verify(acc.receipt(["bias"]), shards).identical


MOMENT = pl.datetime(2026, 3, 28 + pl.col("id") % 3, time_unit="us", time_zone="UTC")
TYPES = {
    "floats": (pl.col("id") % 3, (pl.col("id") % 3).cast(pl.Float64)),
    "decimals": (pl.col("id") % 3, (pl.col("id") % 3).cast(pl.Decimal(10, 2))),
    "scales": ((pl.col("id") % 3 / 2).cast(pl.Decimal(10, 1)), (pl.col("id") % 3 / 2).cast(pl.Decimal(20, 5))),
    "fractions": (pl.col("id") % 3 / 4, (pl.col("id") % 3 / 4).cast(pl.Decimal(10, 5))),
    "widths": (pl.col("id") % 3, (pl.col("id") % 3).cast(pl.UInt64)),
    "Booleans": (pl.col("id") % 2, pl.col("id") % 2 == 1),
    "zones": (MOMENT, MOMENT.dt.convert_time_zone("Europe/Berlin")),
    "units of times": (MOMENT, MOMENT.dt.cast_time_unit("ns")),
    "dates": (MOMENT.dt.date(), MOMENT.dt.date().cast(pl.Datetime("ms"))),
    "categories": (pl.col("g"), pl.col("g").cast(pl.Categorical)),
    "nulls": (pl.lit(None, pl.String), pl.lit(None, pl.Float64)),
}


@pytest.mark.parametrize(("types", "other"), [*TYPES.values()], ids=[*TYPES])
def test_groups_and_labels_of_equal_values_are_identical_in_all_types(types, other):
    options = {"fingerprint": "id", "metrics": ["accuracy", "precision"]}
    binary = sm.binary(y_true="y", y_score="p", by="c", nulls="drop", **options)
    receipt = binary.update(DATA.with_columns(c=types)).receipt(["accuracy"], require=["accuracy >= 0.3"])
    assert str(sm.verify(receipt, DATA.with_columns(c=other))).startswith("Identical")
    changed = DATA.with_columns(c=pl.when(pl.col("id") != 5).then(other).otherwise(other.shift(-1)))
    if types is not TYPES["nulls"][0]:
        assert not sm.verify(receipt, changed).identical
    if types is TYPES["widths"][0]:  # text and numbers are different groups
        assert [*sm.verify(receipt, DATA.with_columns(c=types.cast(pl.String))).different] == ["digest"]
    if types is not TYPES["nulls"][0] and types is not TYPES["dates"][0]:
        classes = sm.multiclass(y_true="c", y_pred="c", **options).update(DATA.with_columns(c=types))
        labels = classes.receipt(["precision"], require=["precision >= 0.1", "accuracy >= 0.5"])
        assert str(sm.verify(labels, DATA.with_columns(c=other))).startswith("Identical")


CLASSES = {
    "predictions": lambda **options: sm.multiclass(y_true="k", y_pred="g", **options),
    "declared labels": lambda **options: sm.multiclass(y_true="k", y_pred="g", labels=[*"abxyz"], **options),
    "multilabel": lambda **options: sm.multilabel(y_true={"a": "y", "b": "y"}, y_score={"a": "p", "b": "q"}, **options),
    "groups": lambda **options: sm.multiclass(y_true="k", y_pred="g", by="y", **options),
}


@pytest.mark.parametrize("task", CLASSES.values(), ids=CLASSES.keys())
def test_requirements_on_several_classes_are_verified_from_the_rows(task):
    acc = task(fingerprint="id").update(DATA)
    rules = ["precision >= 0.1", "accuracy >= 0.1", "f1(average=macro) >= 0.1"]
    receipt = acc.receipt(["accuracy"], require=rules)
    assert str(sm.verify(receipt, DATA)).startswith("Identical")
    for rule in rules:
        assert receipt.verdicts[rule] == dict(acc.finalize().check(rule).frame["verdict"].value_counts().rows())


def test_verdicts_have_the_confidence_and_the_exact_limit_of_the_receipt():
    acc = sm.binary(y_true="y", y_score="p", fingerprint="id").update(DATA)
    rule = f"accuracy >= {acc.finalize(confidence=0.98)['accuracy'].ci_lower - 1e-9!r}"
    verdicts = {level: acc.receipt(["rows"], confidence=level, require=[rule]).verdicts for level in (0.99, 0.999)}
    assert verdicts == {0.99: {rule: {"holds": 1}}, 0.999: {rule: {"open": 1}}}


IDS = {
    "length": ([b"a", b"x"], [b"b\0", b"x"]),
    "length of long text": ([b"12345678a", b"x"], [bytes([ord("1") ^ 9 ^ 10]) + b"2345678a\0", b"x"]),
    "text": (["a", "x"], ["b\0", "x"]),
    "empty text": (["", "x"], [None, "x"]),
    "nanoseconds": (pl.Series([1_000, 5]).cast(pl.Datetime("ns")), pl.Series([1_001, 5]).cast(pl.Datetime("ns"))),
    "before 1970": (pl.Series([-1, 5]).cast(pl.Datetime("ns")), pl.Series([-1_000, 5]).cast(pl.Datetime("ns"))),
    "times of day": (pl.Series([1_000, 5]).cast(pl.Time), pl.Series([1_999, 5]).cast(pl.Time)),
    "durations": (pl.Series([1, 5]).cast(pl.Duration("ns")), pl.Series([2, 5]).cast(pl.Duration("ns"))),
    "fractions": (pl.Series(["1.5", "2"]).cast(pl.Decimal(9, 1)), pl.Series(["1.4", "2"]).cast(pl.Decimal(9, 1))),
}


@pytest.mark.parametrize("role", ["fingerprint", "unit"])
@pytest.mark.parametrize(("ids", "others"), IDS.values(), ids=IDS.keys())
def test_row_ids_and_units_are_told_apart(role, ids, others):
    rows = pl.DataFrame({"y": [1, 0], "p": [0.9, 0.2]})
    options = {"fingerprint": "id"} if role == "fingerprint" else {"fingerprint": True, "unit": "id"}
    acc = sm.binary(y_true="y", y_score="p", metrics=["accuracy"], **options)
    ids, others = (pl.Series("id", values) for values in (ids, others))
    receipt = acc.update(rows.with_columns(ids)).receipt(["accuracy"])
    assert sm.verify(receipt, rows.with_columns(ids)[::-1]).identical
    assert next(iter(sm.verify(receipt, rows.with_columns(others)).different)) == "truth"


@pytest.mark.thorough
def test_row_ids_of_equal_values_are_equal_in_all_types():
    receipt = sm.binary(y_true="y", y_score="p", fingerprint="c").update(DATA.with_columns(c=MOMENT)).receipt(["rows"])
    for types in ("ns", "us", "ms"):
        assert sm.verify(receipt, DATA.with_columns(c=MOMENT.dt.cast_time_unit(types))).identical
    receipt = BINARY.empty().update(DATA).receipt(["rows"])
    for other in (pl.Decimal(20, 3), pl.Float64, pl.Int128):
        assert sm.verify(receipt, DATA.with_columns(pl.col("id").cast(other))).identical


HOLES = DATA.with_columns(p=pl.when(pl.col("id") % 7 != 3).then("p"), w=pl.when(pl.col("id") % 11 != 3).then("w"))
LOST = {
    "ID": HOLES.with_columns(id=pl.when(pl.col("id") == 3).then(-1).otherwise("id")),
    "label": HOLES.with_columns(y=pl.col("y") ^ (pl.col("id") == 3)),
    "weight": HOLES.with_columns(w=pl.when(pl.col("id") == 10).then(0.5).otherwise("w")),
    "score of a row without a weight": HOLES.with_columns(p=pl.when(pl.col("id") == 14).then(0.5).otherwise("p")),
}


@pytest.mark.parametrize("lost", LOST)
def test_dropped_rows_are_told_apart(lost):
    acc = sm.binary(y_true="y", y_score="p", sample_weight="w", by="g", nulls="drop", fingerprint="id")
    receipt = acc.empty().update(HOLES).receipt(["accuracy"])
    parts = [acc.empty().update(part) for part in HOLES.sample(fraction=1, shuffle=True, seed=1).iter_slices(77)]
    assert sm.verify(receipt, sm.merge(parts)).identical
    found = sm.verify(receipt, LOST[lost])
    assert next(iter(found.different)) == "row"
    assert "or other rows were dropped" in str(found)
    if lost == "ID":  # each model has its dropped rows, which are no part of its truth
        task = sm.binary(y_true="y", y_score={"one": "p", "two": "q"}, nulls="drop", fingerprint="id")
        before, after = (task.empty().update(rows).receipt(["accuracy"]).fingerprints for rows in (HOLES, LOST[lost]))
        kinds = [(model, kind) for model in ("one", "two") for kind in ("truth", "row")]
        assert [before[m][kind] == after[m][kind] for m, kind in kinds] == [True, False, False, False]


def test_a_long_specification_is_a_digest_of_it():
    labels = [*"abxyz", *(f"label number {i}" for i in range(200))]
    long = sm.multiclass(y_true="k", y_pred="g", labels=labels, fingerprint=True).update(DATA)
    assert [*long.receipt(["accuracy"]).specification] == ["sha256"]


def test_differences_have_no_control_characters(tmp_path):
    found = json.loads(str(BINARY.empty().update(DATA).receipt(["accuracy"])))
    hostile = "\x1b[2J\n::error::\ud800"
    (tmp_path / "r.json").write_text(json.dumps(found | {"digest": hostile, "version": hostile}))
    text = str(sm.verify(tmp_path / "r.json", DATA))
    assert text.isprintable()
    assert text.count(r"\x1b[2J\n::error::\ud800") == 2


def test_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    DATA.write_parquet("rows.parquet")
    DATA.tail(299).write_parquet("fewer.parquet")
    columns = ("--y-true", "y", "--y-score", "p", "--fingerprint", "id")
    run("evaluate", "rows.parquet", *columns, "--receipt", "r.json", "--save", "all.state")
    for rows in ("rows.parquet", "all.state"):
        assert run("verify", "r.json", rows).startswith("Identical: 300 rows")
    for fewer in (["fewer.parquet"], ["rows.parquet", "--where", "id > 0"]):
        assert run("verify", "r.json", *fewer, code=1).startswith("Different since 'rows'")
    assert "one saved state" in run("verify", "r.json", "all.state", "rows.parquet", code=2)
    assert "'all.state' is not a receipt" in run("verify", "all.state", "rows.parquet", code=2)
    assert "'r.json'" in run("verify", "rr.json", "rows.parquet", code=2)
    shown = json.loads(run("receipt", "all.state", "--metric", "accuracy", "--require", "accuracy>=0.1"))
    assert shown["verdicts"] == {"accuracy >= 0.1": {"holds": 1}}


def test_comparisons_know_whether_both_sides_saw_the_same_rows():
    def evaluated(data, score="p", **options):
        task = sm.binary(y_true="y", y_score=score, fingerprint="id", metrics=["roc_auc"], **options)
        return task.update(data)

    other = DATA.with_columns(id=pl.col("id") + 300 * (pl.col("g") == "a"))
    for by, where in (((), ""), ("g", " in 1 of 2 groups")):
        first, same, apart = (evaluated(*side, by=by) for side in ((DATA,), (DATA, "q"), (other, "q")))
        assert "same rows, but differences" in sm.compare(first, same).note
        independent = sm.compare(first, same, independent=True)
        assert "not independent" in independent.note
        assert independent.note in str(independent.check(not_worse="roc_auc"))
        assert f"not the same rows{where}." in sm.compare(first, apart).note
        assert sm.compare(first, apart, independent=True).note is None
    a, b = evaluated(DATA, by="g", unit="id"), evaluated(other, "q", by="g", unit="id")
    limits = dict(sm.compare(a, b).frame.select("g", "ci_lower").iter_rows())
    assert [limits[g] is None for g in "ab"] == [True, False]
