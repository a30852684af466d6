"""Everything that is shown, in two tables: pages, and texts of commands. Each is made once."""

import json
import re
import tempfile
from atexit import register
from functools import cache
from pathlib import Path
from shutil import rmtree

import polars as pl
from commands import run
from data import (
    CANDIDATES,
    CLICKS,
    DELIVERIES,
    DIGITS,
    TOPICS,
    VISITS,
    candidates,
    clicks,
    deliveries,
    digits,
    topics,
    visits,
)
from structure import outline_of_text

import streammetrics as sm

FOLDER = Path(tempfile.mkdtemp())
register(rmtree, FOLDER, ignore_errors=True)
RULES = """
[[rule]]
require = "roc_auc >= 0.85"
by = "country"
over = "2d"

[[rule]]
name = "enough"
require = "rows >= 100"
severity = "warn"
"""


@cache
def acc(name):
    """Accumulators of the shared data sets."""
    rows = candidates().with_columns(
        place=pl.int_range(pl.len()) % 25,
        day=pl.lit(clicks()["day"].min()) + pl.duration(weeks=pl.int_range(pl.len()) % 4),
    )
    none = clicks().clear()
    return {
        "two classes": lambda: sm.binary(by="country", **CLICKS).update(clicks()),
        "days": lambda: sm.binary(by=["country", "day"], **CLICKS).update(clicks()),
        "other days": lambda: sm.binary(by="country", **CLICKS).update(
            clicks()[:1_500].with_columns(pl.col("score") ** 1.2)
        ),
        "two models": lambda: sm.binary(by="country", **CANDIDATES).update(candidates()),
        "models of other rows": lambda: sm.binary(
            y_true="clicked", y_score={"old": "old", "partial": "partial"}, nulls="drop"
        ).update(candidates()),
        "models over time": lambda: sm.binary(by=["day", "place"], **CANDIDATES, metrics=["accuracy"]).update(
            rows.filter(pl.col("place") < 4)
        ),
        "many groups": lambda: sm.binary(by="place", y_true="clicked", y_score="new").update(rows),
        "classes": lambda: sm.multiclass(**DIGITS).update(digits()),
        "predicted labels": lambda: sm.multiclass(y_true="digit", y_pred="predicted").update(digits()),
        "labels": lambda: sm.multilabel(**TOPICS).update(topics()),
        "errors": lambda: sm.regression(
            by="route", **DELIVERIES | {"y_pred": {"forecast": "forecast", "naive": "naive"}}
        ).update(deliveries()),
        "weights and units": lambda: sm.binary(by="shop", **VISITS).update(visits()),
        "predictions": lambda: sm.predictions(y_score="partial", by="country", nulls="drop").update(candidates()),
        "no rows": lambda: sm.binary(by="country", **CLICKS).update(none),
        "one class": lambda: sm.binary(**CLICKS).update(clicks().filter(~pl.col("clicked"))[:50]),
    }[name]()


@cache
def report(name):
    return acc(name).finalize(confidence=0.95)


@cache
def history():
    """A history of ten days of clicks."""
    store = sm.MetricStore(FOLDER / "history", window="day")
    store.append(acc("days"), batch_id="all")
    (FOLDER / "rules.toml").write_text(RULES)
    return store


def compared():
    return sm.compare(acc("two models"), models=("old", "new"))


def of_sides(save):
    return lambda path: save(acc("two classes"), acc("other days")).save_html(path, names=("May", "June <2>"))


def gate(path):
    found = compared()
    found.save_html(path, check=found.check(not_worse={"roc_auc": 0.01, "recall": 0.001}))


PAGES = {  # writes a page
    "two classes": lambda path: report("two classes").save_html(path, fairness="country", source="clicks <2026>"),
    **{
        name: (lambda path, name=name: report(name).save_html(path))
        for name in (
            *("classes", "errors", "weights and units", "no rows", "labels", "two models", "models of other rows"),
            *("models over time", "many groups", "predicted labels", "predictions", "one class"),
        )
    },
    "comparison": of_sides(lambda a, b: sm.compare(a, b, independent=True)),
    "drift": of_sides(sm.drift),
    "gate": gate,
    "history": lambda path: history().save_html(path, rules=sm.read_rules(FOLDER / "rules.toml")),
    "drift over days": lambda path: sm.drift_over(acc("days").rollup("day"), "day", reference="3d").save_html(path),
}
QUICK = ("two classes", "classes", "no rows", "comparison", "drift")  # in the base suite


@cache
def page(name):
    path = FOLDER / f"{name}.html"
    PAGES[name](path)
    return path.read_text(encoding="utf-8")


@cache
def state(name):
    """The file of a state."""
    path = FOLDER / f"{name}.state"
    acc(name).save(path)
    return path


FORMS = ("markdown", "json", "csv", "github")
REQUIRE = ["--require", "roc_auc >= 0.81", "--require", "ece <= 0.01"]
TEXTS = {  # a command, the formats that it has, and its exit code
    "show groups": (lambda: ["show", state("two classes"), "--confidence", "0.95"], FORMS, 0),
    "show many groups": (lambda: ["show", state("many groups")], ("markdown",), 0),
    "show models": (lambda: ["show", state("two models"), "--total"], ("markdown",), 0),
    "show labels": (lambda: ["show", state("labels")], ("markdown",), 0),
    "show errors": (lambda: ["show", state("errors"), "--confidence", "0.9"], FORMS, 0),
    "check": (lambda: ["check", state("two classes"), *REQUIRE], (*FORMS, "junit"), 1),
    "compare": (lambda: ["compare", state("two classes"), state("other days"), "--independent"], ("markdown",), 0),
    "compare models": (
        lambda: ["compare", state("two models"), "--models", "old", "new", "--metric", "roc_auc", "--metric", "ece"],
        FORMS[:3],
        0,
    ),
    "drift": (lambda: ["drift", state("two classes"), state("other days")], ("markdown",), 0),
    "findings": (lambda: ["findings", state("two classes")], FORMS, 0),
    "store check": (
        lambda: history() and ["store", "check", FOLDER / "history", FOLDER / "rules.toml"],
        (*FORMS, "junit"),
        1,
    ),
    "store report": (
        lambda: history() and ["store", "report", FOLDER / "history", "--by", "country"],
        ("markdown",),
        0,
    ),
}


def outline_of(form, text):
    """What a machine reads: the keys of JSON, the columns of tables, and the tags of XML."""
    if form == "json":
        rows = json.loads(text)
        return f"{len(rows)} rows: {', '.join(dict.fromkeys(key for row in rows for key in row))}\n"
    if form == "csv":
        return f"{len(text.splitlines()) - 1} rows: {text.partition(chr(10))[0]}\n"
    if form == "junit":
        return "".join(f"{text.count(f'<{tag}')} {tag}\n" for tag in ("testsuite ", "testcase", "failure", "skipped"))
    if form == "markdown":
        heads = re.findall(r"^(\|.*\|\n(?:\|(?: :?-+:? \|)+\n))", text, re.MULTILINE)
        rows = [line for line in text.splitlines() if line.startswith("|")]
        return "".join(heads) + f"{len(rows) - 2 * len(heads)} rows\n"
    told = [
        line.partition("::")[2].partition(" ")[0].partition("::")[0] for line in text.splitlines() if line[:2] == "::"
    ]
    return "".join(f"{told.count(level)} {level}\n" for level in ("error", "warning", "notice")) + outline_of_text(text)


@cache
def printed(command, *options):
    call, _, code = TEXTS[command]
    return run(*call(), *options, code=code)


def text(command):
    """The outlines of a command at every width, and in every format."""
    tables = {f"width {w}": outline_of_text(printed(command, "--width", str(w))) for w in (60, 120)}
    return tables | {form: outline_of(form, printed(command, "--format", form)) for form in TEXTS[command][1]}
