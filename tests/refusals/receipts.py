"""Receipts that cannot be made, files that are none, and specifications that cannot be evaluated again."""

import json
from dataclasses import replace

import polars as pl
from data import CLICKS, clicks

import streammetrics as sm

ROWS = clicks()[:60].with_columns(id=pl.int_range(60))
TASK = sm.binary(by="country", fingerprint="id", **CLICKS)
ACC = TASK.empty().update(ROWS)
RECEIPT = ACC.receipt(["accuracy"], require=["rows >= 1"])
FIELDS = json.loads(str(RECEIPT))
MANY_LABELS = sm.multiclass(
    y_true="c", y_pred="c", labels=["x", *(f"label number {i}" for i in range(200))], fingerprint=True
)
LONG = MANY_LABELS.update(ROWS.with_columns(c=pl.lit("x"))).receipt()
NESTED = {"lists": ("[", "]"), "objects": ('{"a":', "}")}


def _file(text):
    """Load a file of this text."""

    def load(folder):
        (folder / "r.json").write_text(text)
        try:
            sm.Receipt.load(folder / "r.json")
        except sm.errors.StateError as error:
            raise sm.errors.StateError(str(error).replace(sm.__version__, "of the library")) from None

    return load


def _with(**fields):
    return _file(json.dumps(FIELDS | fields))


def _deep(field, depth, opened, closed):
    text = json.dumps(FIELDS | {field: FIELDS[field] | {"x": "deep"}})
    return _file(text.replace('"deep"', opened * depth + "1" + closed * depth))


def _verified(columns):
    changed = replace(RECEIPT, specification=RECEIPT.specification | {"columns": columns})
    return lambda: sm.verify(changed, ROWS)


OTHER_TYPES = {"rows": ([7], True), "specification": ([7], {}, {"columns": 7}, {"columns": {}, "statistics": [7]})} | {
    field: ([7],) for field in ("fingerprints", "digest", "confidence", "metrics", "verdicts")
}
NO_RECEIPTS = ["", "[]", "{}", "[" * 100_000]
NO_RECEIPTS += [f'{{"receipt": {x}}}' for x in ('"x"', "1", "true", "0", "-1", '99, "rows": 1', '1, "a": 2')]
REFUSALS = {
    "a receipt without fingerprints": (lambda: sm.binary(**CLICKS).update(ROWS).receipt(), "fingerprint="),
    "a receipt of too many metrics": (lambda: ACC.receipt([f"fbeta(beta={i})" for i in range(1, 120)]), "4,096 bytes"),
    "rows for a receipt without its specification": (lambda: sm.verify(LONG, ROWS), "state"),
    "a receipt of another format": (_with(receipt=2), "r.json", "2"),
    **{f"the text {text[:30]!r}": (_file(text), "r.json") for text in NO_RECEIPTS},
    "repeated names, of which other programs read another value": (
        _file(str(RECEIPT).replace('"rows": 60', '"rows": 59,\n"rows": 60')),
        "unique",
    ),
    **{
        f"a field {field} of {value!r}": (_with(**{field: value}), f"'{field}'")
        for field, values in OTHER_TYPES.items()
        for value in values
    },
    **{
        f"a field {field} of {depth} {name}": (_deep(field, depth, *brackets), "deeply")
        for field in ("specification", "metrics", "verdicts", "fingerprints")
        for name, brackets in NESTED.items()
        for depth in (20, 900)
    },
    "a specification with an invalid column": (_verified(RECEIPT.specification["columns"] | {"by": 7}), "'columns'"),
    "a specification without columns": (_verified(7), "'columns'"),
    "a row ID that is no tuple": (lambda: sm.statistics.RowFingerprint("id"), "columns="),
    "rows without the row ID": (lambda: TASK.empty().update(ROWS.drop("id")), "'id'"),
    "a row ID of lists": (lambda: TASK.empty().update(ROWS.with_columns(id=pl.lit([1]))), "'id'"),
}
