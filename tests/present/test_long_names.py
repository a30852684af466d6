"""Names and values of a megabyte: texts are cut, and data stays whole."""

import re

import polars as pl
import pytest

import streammetrics as sm
from streammetrics.text import LONGEST_SENTENCE, cut, few, shortened

SIZE = 1 << 17
LONG = "x" * SIZE
OTHERS = [LONG[: SIZE // 2] + letter + LONG[SIZE // 2 + 1 :] for letter in "yz"]  # which differ in the middle only


def batch(size=SIZE):
    values = [text[-size:] for text in (LONG, *OTHERS)]
    rows = 300
    return pl.DataFrame(
        {
            "y": [i % 2 for i in range(rows)],
            "p": [i % 7 / 7 for i in range(rows)],
            "q": [i % 5 / 5 for i in range(rows)],
            "g": [values[i % 3] for i in range(rows)],
            "k": [values[i % 2] for i in range(rows)],
            "z": [values[i // 2 % 2] for i in range(rows)],
        }
    )


def by_group():
    return sm.binary(y_true="y", y_score="p", by="g").update(batch()).finalize()


def of_models():
    return sm.binary(y_true="y", y_score={LONG: "p", OTHERS[0]: "q"}).update(batch()).finalize()


def of_classes():
    return sm.multiclass(y_true="k", y_pred="z").update(batch()).finalize()


def of_column():
    return sm.binary(y_true="y", y_score="p", by=LONG).update(batch().rename({"g": LONG})).finalize()


ERRORS = {
    "value": lambda: by_group().get("roc_auc", g="a"),
    "no value": lambda: by_group().get("roc_auc"),
    "wrong value": lambda: by_group().get("roc_auc", g=LONG + "z"),
    "metric": lambda: by_group().get(LONG),
    "requirement": lambda: by_group().check(f"{LONG} > 1"),
    "rule": lambda: sm.Rule(LONG),
    "column": lambda: sm.binary(y_true=LONG, y_score="p").update(batch()),
    "available columns": lambda: sm.binary(y_true="none", y_score="p").update(batch().rename({"g": LONG})),
    "bad column": lambda: sm.binary(y_true="y", y_score=LONG).update(batch().rename({"g": LONG})),
    "bad value": lambda: sm.binary(y_true="k", y_score="p", positive="a", negative="b").update(batch()),
    "label": lambda: sm.multiclass(y_true="k", y_pred="z", labels=[LONG, "a"]).update(batch()),
    "label of a report": lambda: of_classes().get("f1", label="a"),
    "model": lambda: of_models().compare("a", "b"),
    "option": lambda: sm.binary(y_true="y", y_score="p", domain=LONG),
    "group column": lambda: by_group().rollup(LONG),
    "merge": lambda: sm.binary(y_true="y", y_score="p") + sm.binary(y_true=LONG, y_score="p"),
    "state": lambda: sm.Accumulator.load(LONG),
    "file": lambda: sm.evaluate(LONG, sm.binary(y_true="y", y_score="p")),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_short(case):
    with pytest.raises(sm.StreamMetricsError) as error:
        ERRORS[case]()
    assert max(map(len, str(error.value).split("\n"))) <= LONGEST_SENTENCE


TEXTS = {
    "report": lambda: repr(by_group()),
    "verdicts": lambda: repr(by_group().check("roc_auc >= 0.9")),
    "verdicts of a column": lambda: repr(of_column().check("roc_auc >= 0.9")),
    "models": lambda: repr(of_models()),
    "comparison": lambda: repr(of_models().compare(LONG, OTHERS[0])),
    "gate": lambda: repr(of_models().compare(LONG, OTHERS[0]).check(not_worse={"roc_auc": 0.01})),
    "classes": lambda: repr(of_classes()),
    "drift": lambda: repr(sm.drift(by_group(), by_group())),
    "findings": lambda: " ".join(map(str, [*by_group().findings(), *of_models().findings(), *of_classes().findings()])),
    "notebook": lambda: by_group()._repr_html_(),
}


@pytest.mark.parametrize("case", TEXTS)
def test_texts_are_short(case):
    assert len(TEXTS[case]()) < 60_000


@pytest.mark.parametrize("report", [by_group, of_models, of_classes, of_column])
def test_pages_are_short(report, tmp_path):
    report().save_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert not re.search(f"[xyz]{{{LONGEST_SENTENCE + 1}}}", page)
    assert len(page) < 1_000_000


def test_data_stays_whole():
    report = by_group()
    assert set(report.frame["g"]) == {LONG, *OTHERS}
    assert set(report.check("roc_auc >= 0.9").frame["where"]) == {f"g {name}" for name in (LONG, *OTHERS)}


def test_texts_that_differ_in_the_middle_stay_apart():
    texts = shortened([LONG, *OTHERS, "short"], 40)
    assert len(set(texts)) == 4
    assert max(map(len, texts)) < 90
    assert texts[-1] == "short"
    assert cut("abc", 3) == "abc"
    assert len(few([LONG] * 9)) < 700
