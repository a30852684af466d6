"""The page of a comparison, or of a drift: both sides by name, with the numbers of their frames."""

import re

import numpy as np
import polars as pl
import pytest
from commands import run

import streammetrics as sm
from streammetrics.html import comparison_page, page
from streammetrics.html.comparison import differences, size
from streammetrics.html.models import compared_models
from streammetrics.html.numbers import numbers
from streammetrics.text.markup import markup, minus

pytest.importorskip("vl_convert", reason="vl-convert is not installed")

rng = np.random.default_rng(8)
START = rng.bit_generator.state


pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(autouse=True)
def _same_rows_whatever_ran_before():
    rng.bit_generator.state = START


def scored(rows=1_000, shift=0.0, **options):
    p = rng.beta(2 + shift, 5, rows)
    frame = {"y": rng.random(rows) < p, "p": p, "q": p[::-1], "g": np.arange(rows) % 3}
    return sm.binary(**{"y_true": "y", "y_score": "p"} | options).update(frame)


def headings(text):
    return re.findall('<h2 id="([a-z]+)"', text)


def cells(text, first):
    """The texts of the row of a table that begins with a header."""
    row = re.search(rf'<tr><th scope="row">{re.escape(first)}</th>(.*?)</tr>', text)
    return re.findall(r"<td[^>]*>(.*?)</td>", row.group(1))


def test_the_page_names_both_sides_and_the_better_one():
    a, b = scored(by="g"), scored(shift=1, by="g")
    found = sm.compare(a, b, confidence=0.95, independent=True)
    text = comparison_page(found, ("January", "May <2>"))
    assert headings(text) == ["findings", "differences", "groups", "curves", "calibration"]
    assert "May <2>" not in text
    assert "difference</button>" in text
    assert re.search(
        "</strong> (January|May &lt;2&gt;) is better: ROC AUC|</strong> No significant difference: ROC", text
    )
    assert "<dd><strong>1,000</strong> rows in 3 groups</dd>" in text
    assert len(re.findall('<th scope="row"[^>]*>[012]</th><td>[^<]*</td><td data-v="0.[0-9]+">', text)) == 3
    assert not re.search(r"https?://|@import|url\((?!#)", text)


def test_rows_of_several_models_count_once():
    for by, said in (([], " rows"), ("g", " rows in 3 groups")):
        report = scored(y_score={"new": "p", "old": "q"}, by=by).finalize()
        assert size(report) == f"<strong>1,000</strong>{said}"


def test_the_numbers_are_those_of_the_comparison():
    found = sm.compare(scored(), scored(), metrics=["rows", "accuracy"])
    row = found.frame.filter(metric="accuracy").row(0, named=True)
    text = comparison_page(found, ("a", "b"))
    assert "groups" not in headings(text)
    ahead = "(b)" if row["difference"] > 0 else "(a)"
    assert cells(text, "accuracy")[:4] == [ahead, *(minus(f"{row[c]:.3f}") for c in ("a", "b", "difference"))]
    assert not cells(text, "accuracy")[5:]


def of_metrics(found):
    """The section on the differences of metrics."""
    return differences(found, "Differences", interactive=False).content


def test_the_only_threshold_is_told():
    sentence = "Scores of at least 0.5 count as positive."
    found = sm.compare(scored(), scored())
    assert sentence in of_metrics(found)
    assert [numbers(found.a.showing(names)).count(sentence) for names in ("roc_auc", "recall")] == [0, 1]
    assert page(found.a).count(sentence) == 1  # among all numbers, since titles of cards have it


def test_sides_with_other_numbers_of_rows_are_noted():
    text = comparison_page(sm.compare(scored(), scored(100)), ("a", "b"))
    assert "The two evaluations have different numbers of rows: 1,000 and 100." in text
    found = sm.compare(scored(by="g"), scored(0, by="g"))
    assert "The two evaluations have different numbers of rows in 3 of 3 groups." in found.note


@pytest.mark.thorough
def test_a_drift_also_lists_the_measures_of_its_distributions(tmp_path):
    found = sm.drift(scored(by="g"), scored(shift=1, by="g"), confidence=0.9)
    found.save_html(tmp_path / "drift.html", interactive=True)
    text = (tmp_path / "drift.html").read_text()
    assert "// draws charts" in text
    assert headings(text)[:4] == ["findings", "drift", "distributions", "differences"]
    assert "difference</button>" in text
    assert "Each group, psi" in text
    psi = re.findall(r'<th scope="row"[^>]*>[012]</th><td>(y_\w+)</td><td>[a-z]+</td><td data-v="([^"]+)"', text)
    assert len(psi) == 6
    assert [float(x) for _, x in psi] == sorted((float(x) for _, x in psi), reverse=True)
    rolled = sm.drift(scored(), scored(shift=1))
    rolled.save_html(tmp_path / "drift.html", names=("one", "two"))
    assert (tmp_path / "drift.html").read_text().count("<td>psi</td>") == 2


def test_tables_have_names_of_their_own(tmp_path):
    """Screen readers list the regions of a page by them."""
    sm.drift(scored(by="g"), scored(shift=1, by="g")).save_html(tmp_path / "page.html")
    names = re.findall(r'role="region" aria-label="([^"]*)"', (tmp_path / "page.html").read_text(encoding="utf-8"))
    assert len(names) == len(set(names)) == 4


def test_rows_of_a_rolling_reference_are_not_summed(tmp_path):
    """Each window is in several reference periods, so that only groups can be compared."""
    days = pl.date_range(pl.date(2026, 1, 1), pl.date(2026, 1, 5), eager=True)
    rows = {"y": rng.random(500) < 0.5, "p": rng.random(500), "day": days.gather(np.arange(500) % 5)}
    acc = sm.binary(y_true="y", y_score="p", by="day").update(rows)
    for reference, shown in (
        ("3d", ["drift", "groups"]),
        (("2026-01-01", "2026-01-03"), ["findings", "drift", "differences", "groups"]),
    ):
        sm.drift_over(acc, "day", reference=reference).save_html(tmp_path / "page.html")
        text = (tmp_path / "page.html").read_text()
        assert headings(text)[: len(shown)] == shown
        assert ("the period before each window" in text) == ("differences" not in shown)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (lambda: scored(), lambda: scored(by="g")),
        (lambda: scored(y_score={"new": "p", "old": "q"}), lambda: scored(y_score={"new": "p", "old": "q"})),
        (lambda: scored(0), lambda: scored(50)),
        (lambda: scored(by="g"), lambda: scored(0, by="g")),
    ],
    ids=["reference of all groups", "models", "a side without rows", "no groups on a side"],
)
def test_other_sides(a, b, tmp_path):
    found = sm.compare(a(), b(), confidence=0.95, independent=True)
    assert "differences" in headings(comparison_page(found, ("a", "b")))[:2]
    sm.drift(a(), b()).save_html(tmp_path / "drift.html")
    assert "drift" in headings((tmp_path / "drift.html").read_text())[:2]


def test_other_tasks(tmp_path):
    y, z = rng.normal(size=500), rng.normal(size=500)
    accs = [sm.regression(y_true="y", y_pred="z").update({"y": y, "z": z + shift}) for shift in (0, 1)]
    sm.compare(*accs, confidence=0.95, independent=True).save_html(tmp_path / "page.html", names=("old", "new"))
    text = (tmp_path / "page.html").read_text()
    assert cells(text, "mae")[0] == "old"
    assert text.count("<figure") >= 3
    labels = [rng.choice(["x", "y", "z"], 300) for _ in range(2)]
    acc = sm.multiclass(y_true="a", y_pred="b").update({"a": labels[0], "b": labels[1]})
    assert "<td>x</td>" in comparison_page(sm.compare(acc, acc), ("a", "b"))


def test_each_side_has_a_chart_of_its_two_classes(tmp_path):
    sm.compare(scored(), scored()).save_html(tmp_path / "page.html", names=("March", "April"))
    text = (tmp_path / "page.html").read_text()
    assert text.index("<h3>Distribution of scores: March</h3>") < text.index("<h3>Distribution of scores: April</h3>")


def test_scores_without_labels_are_compared_with_those_of_all_rows(tmp_path):
    labeled, unlabeled = scored(), sm.predictions(y_score="p").update({"p": rng.random(500)})
    for sides in ((labeled, unlabeled), (unlabeled, labeled)):
        sm.drift(*sides).save_html(tmp_path / "page.html")
        assert "<h3>Distribution of scores</h3>" in (tmp_path / "page.html").read_text()


def test_sides_need_names(tmp_path):
    found = sm.compare(scored(), scored())
    with pytest.raises(sm.ReportError, match="Both sides have the name 'a'"):
        found.save_html(tmp_path / "page.html", names=("a", "a"))
    assert not (tmp_path / "page.html").exists()


@pytest.mark.thorough
def test_pages_of_the_command_line(tmp_path):
    for name in ("one", "two"):
        scored(y_score={"new": "p", "old": "q"}).save(tmp_path / f"{name}.state")
    states = [str(tmp_path / f"{name}.state") for name in ("one", "two")]
    page = tmp_path / "page.html"
    for command, said in (
        (["compare", *states, "--independent", "--metric", "accuracy"], "two - one"),
        (["compare", states[0], "--models", "old", "new", "--metric", "accuracy"], "new - old"),
        (["drift", *states, "--confidence", "0.9"], "<td>wasserstein</td>"),
    ):
        run(*command, "--html", page)
        assert said in page.read_text()


def test_metrics_that_are_not_judged_or_not_listed_are_named():
    found = sm.compare(scored(), scored(), metrics=["rows", "roc_auc", "calibration_ratio"])
    said = "Not judged, because neither higher nor lower values are better: calibration_ratio.</p>"
    assert said in of_metrics(found)
    assert "Not judged" not in of_metrics(sm.compare(scored(), scored(), metrics=["rows", "mcc"]))
    models = scored(y_score={"old": "q", "new": "p"}).finalize()
    note = "<p>Without a paired interval: calibration_ratio.</p>"
    assert note in compared_models(models.showing(["roc_auc", "calibration_ratio", "rows"]), interactive=False)
    assert "paired interval:" not in compared_models(models.showing(["roc_auc", "rows"]), interactive=False)


def test_models_of_different_rows_are_open_on_every_page():
    rows = pl.DataFrame({"y": [1, 0] * 40, "p": [0.9, 0.3, 0.6, 0.7] * 20, "q": [None, 0.2, 0.8, 0.4] + [0.5] * 76})
    acc = sm.binary(y_true="y", y_score={"old": "p", "new": "q"}, nulls="drop").update(rows)
    report = acc.finalize(["rows", "dropped", "accuracy"])
    found = report.compare("old", "new")
    text = comparison_page(found, ("old", "new"))
    assert "Open, without a confidence interval: accuracy of new is " in text
    assert markup(found.note) in text
    text = page(report)
    assert f'<h3 class="over">new compared with old</h3><p>{markup(found.note)}</p>' in text
    assert "<dd><strong>79 to 80</strong></dd>" in text
    assert "<dd><strong>0 to 1</strong> (0% to 1.25%): null or NaN</dd>" in text


def test_a_drift_says_which_model_differs(tmp_path):
    p = rng.beta(2, 5, 1_000)
    rows = {"y": rng.random(1_000) < p, "same": p, "moved": p}
    accs = [
        sm.binary(y_true="y", y_score={"same": "same", "moved": "moved"}).update(rows | {"moved": p**power})
        for power in (1, 0.3)
    ]
    sm.drift(*accs, confidence=0.95).save_html(tmp_path / "drift.html", names=("old", "new"))
    text = (tmp_path / "drift.html").read_text()
    assert "same: both sides have the same ROC AUC, " in text
    psi = re.findall(r'<th scope="row">(\w+)</th><td>y_score</td><td>psi</td><td>[a-z]+</td><td data-v="([^"]+)"', text)
    assert [(model, float(value) > 0.1) for model, value in psi] == [("same", False), ("moved", True)]


def test_measures_that_no_table_shows_are_not_explained(tmp_path):
    days = pl.date_range(pl.date(2026, 1, 1), pl.date(2026, 1, 5), eager=True)
    acc = sm.predictions(y_score="p", by="day").update({"p": rng.random(500), "day": days.gather(np.arange(500) % 5)})
    for reference, shown in (("3d", False), (("2026-01-01", "2026-01-03"), True)):
        sm.drift_over(acc, "day", reference=reference).save_html(tmp_path / "page.html")
        text = (tmp_path / "page.html").read_text()
        assert "<b>psi</b>: population stability index." in text
        assert ("<b>wasserstein</b>" in text) == shown
