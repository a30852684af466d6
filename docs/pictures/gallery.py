"""Draw the pictures of docs/gallery.md: ``python docs/pictures/gallery.py``. A test draws them again.

The predictions are those of scikit-learn's models for the data that it ships, by cross-validation. Only the chart over
time shows the demo's predictions, since none of these data have dates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl
from sklearn import datasets
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import streammetrics as sm
from streammetrics.demo import write_predictions
from streammetrics.show import charts

FOLDER = Path(__file__).with_name("gallery")
MARKS = re.compile(r"^figure ((?:text|\[).*)", re.MULTILINE)
ROOT = re.compile(r"^ *:root \{(.*?)\}", re.DOTALL | re.MULTILINE)
VIEW = re.compile(r'viewBox="([^"]*)"')
LINEAR = make_pipeline(StandardScaler(), LogisticRegression(C=0.05, solver="newton-cholesky"))


@cache
def tumors() -> sm.Report:
    """Two models that predict which of 569 tumors are malignant."""
    x, benign = datasets.load_breast_cancer(return_X_y=True)
    rows = {"malignant": benign == 0}
    for name, model in (("logistic", LINEAR), ("naive Bayes", GaussianNB())):
        rows[name] = cross_val_predict(model, x, benign == 0, method="predict_proba")[:, 1].round(4)
    task = sm.binary(y_true="malignant", y_score={"logistic": "logistic", "naive Bayes": "naive Bayes"})
    return task.update(rows).finalize(confidence=0.95)


def replacement() -> sm.Verdicts:
    """Whether naive Bayes may replace the logistic regression."""
    may_lose = {"roc_auc": 0.04, "fpr": 0.05, "recall": 0.05, "accuracy": "2%"}
    return tumors().compare("logistic", "naive Bayes").check(not_worse=may_lose, better="log_loss")


@cache
def digits() -> sm.Report:
    """A model that reads 1,797 digits."""
    x, digit = datasets.load_digits(return_X_y=True)
    rows = {"digit": digit, "read": cross_val_predict(GaussianNB(), x, digit)}
    return sm.multiclass(y_true="digit", y_pred="read").update(rows).finalize(confidence=0.95)


@cache
def diabetes() -> sm.Report:
    """Two models that predict the progression of diabetes of 442 patients, by age."""
    x, y = datasets.load_diabetes(return_X_y=True, scaled=False)
    models = {
        "ridge": make_pipeline(StandardScaler(), Ridge()),
        "tree": DecisionTreeRegressor(max_depth=3, random_state=0),
    }
    rows = {name: cross_val_predict(model, x, y).round(2) for name, model in models.items()}
    age = np.array(["under 35", "35 to 44", "45 to 54", "55 and over"])[np.digitize(x[:, 0], [35, 45, 55])]
    task = sm.regression(y_true="y", y_pred={name: name for name in models}, by="age")
    return task.update({"y": y, "age": age} | rows).finalize(confidence=0.95)


@cache
@cache
def clicks() -> sm.Report:
    """The click predictions of the demo in two countries, by day."""
    task = sm.binary(y_true="clicked", y_score="p_click", by=["day", "country"])
    with TemporaryDirectory() as folder:
        rows = pl.scan_parquet(write_predictions(Path(folder), rows=600_000))
        return sm.evaluate(rows.filter(pl.col("country").is_in(["IN", "US"])), task, confidence=0.95)


def style() -> str:
    """The texts and the colors of HTML pages, light and dark."""
    page = (files("streammetrics.show.tables") / "page.css").read_text(encoding="utf-8")
    light, dark = (" ".join(re.findall(r"--[^;]*;", part)) for part in ROOT.findall(page)[:2])
    marks = " ".join(MARKS.findall(page)).replace("figure ", "")
    return f"<style>{marks} svg {{ {light} }} @media (prefers-color-scheme: dark) {{ svg {{ {dark} }} }}</style>"


def stamp(chart: dict[str, Any]) -> str:
    """A checksum of what is drawn, which depends neither on fonts nor on the last digits of numbers."""
    return f"<!-- {crc32(json.dumps(_rounded(charts.page_spec(chart)), sort_keys=True).encode()):08x} -->"


def _rounded(part: Any) -> Any:
    if isinstance(part, dict):
        return {key: _rounded(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_rounded(value) for value in part]
    return f"{part:.3g}" if isinstance(part, float) else part


def drawn(chart: dict[str, Any], name: str) -> str:
    """The chart on a panel, with its colors and its checksum."""
    root, _, marks = charts.as_svg(chart, name).partition(">")
    left, top, width, height = map(float, VIEW.search(root)[1].split())
    left, top, width, height = left - 12, top - 10, width + 24, height + 20
    root = VIEW.sub(f'viewBox="{left:g} {top:g} {width:g} {height:g}"', root)
    root = root.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"')
    panel = f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="6" fill="var(--panel)"/>'
    return f"{root}>\n{stamp(chart)}\n{style()}\n{panel}\n{marks}\n"


PICTURES: dict[str, Callable[[], dict[str, Any]]] = {
    "roc": lambda: charts.roc(tumors()),
    "pr": lambda: charts.pr(tumors()),
    "det": lambda: charts.det(tumors()),
    "gain": lambda: charts.gain(tumors()),
    "lift": lambda: charts.lift(tumors()),
    "thresholds": lambda: charts.thresholds(
        tumors(), ["precision", "recall", "f1", "cost(fp=1, fn=10)"], model="logistic"
    ),
    "scores": lambda: charts.scores(tumors(), model="logistic"),
    "calibration": lambda: charts.calibration(tumors(), model="logistic"),
    "quantile_calibration": lambda: charts.quantile_calibration(tumors(), model="logistic"),
    "rates": lambda: charts.rates(clicks(), "country"),
    "confusion": lambda: charts.confusion(digits()),
    "error_cdf": lambda: charts.error_cdf(diabetes().rollup()),
    "rec": lambda: charts.rec(diabetes().rollup()),
    "errors": lambda: charts.errors(diabetes().rollup()),
    "segments": lambda: charts.segments(diabetes(), "mae"),
    "over_time": lambda: charts.over_time(clicks(), "roc_auc"),
    "forest": lambda: charts.forest(tumors().compare("naive Bayes", "logistic")),
    "limits": lambda: charts.limits(replacement().frame),
}

if __name__ == "__main__":
    for name, make in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(drawn(make(), name), encoding="utf-8")
