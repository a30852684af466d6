"""Comparisons in words: of many groups and metrics, the total and one metric of each group."""

import json
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from commands import run

import streammetrics as sm
from streammetrics.present.differences import IN_PARENTHESES, differences_table
from streammetrics.present.markdown import as_markdown
from streammetrics.present.terminal import as_text
from streammetrics.report.comparisons import comparison_tables


def shown(found, width=None):
    return as_text(*comparison_tables(found, width, ""), width=width)


def of_shops(shops, worse=(), rows=200, seed=0, **columns):
    """Predictions of some shops, in a few of which they are worse."""
    rng = np.random.default_rng(seed)
    shop = np.repeat(np.arange(shops), rows)
    clicked = rng.random(len(shop)) < 0.4
    signal = np.where(np.isin(shop, worse), -2.0, 2.0) * clicked
    seen = {name: 1 / (1 + np.exp(1 - signal * skill - rng.normal(size=len(shop)))) for name, skill in columns.items()}
    return pl.DataFrame({"clicked": clicked, "shop": shop, **seen})


def evaluated(*arguments, **options):
    return sm.binary(y_true="clicked", y_score="p", by="shop").update(of_shops(*arguments, **options, p=1.0))


def groups_of(text):
    """The shops in the table of groups."""
    return [int(shop) for shop in re.findall(r"^(\d+) ", text.partition("Each group")[2], re.MULTILINE)]


def test_many_metrics_of_many_groups_are_a_total_and_one_metric_of_each_group():
    one, other = evaluated(45), evaluated(45, (20, 44), seed=1)
    comparison = sm.compare(one, other, independent=True)
    text = str(comparison)
    total = str(sm.compare(one.finalize().rollup(), other.finalize().rollup(), independent=True))
    assert text.startswith(f"All groups together:\n\n{total}\n\nEach group, roc_auc:\n\n")
    decided = comparison.frame.filter(pl.col("better").is_in(["a", "b"]), metric="roc_auc")["shop"].to_list()
    assert 44 in decided
    assert {*decided} <= {*groups_of(text)}
    assert groups_of(text) == sorted(groups_of(text))
    assert len(groups_of(text)) == 40
    assert "\n… and 5 more groups\n" in text
    last = "… and 24 more metrics of each group. Choose them with metrics=, or read all of them in the frame."
    assert text.splitlines()[-1] == last


def test_few_metrics_and_few_rows_are_all_shown():
    one, other = evaluated(45), evaluated(45, seed=1)
    named = str(sm.compare(one, other, metrics=["roc_auc", "f1"]))
    assert "All groups together" not in named
    assert named.count("roc_auc") == named.count("f1") == 40
    one, other = evaluated(4), evaluated(4, seed=1)
    metrics = ["roc_auc", "f1", "ece", "recall", "log_loss", "accuracy"]
    assert "All groups together" not in str(sm.compare(one, other, metrics=metrics))
    assert "Each group, roc_auc" in str(sm.compare(one, other))
    without = str(sm.compare(one.rollup(), other.rollup()))
    assert "All groups together" not in without
    assert len(re.findall(r"^roc_auc ", without, re.MULTILINE)) == 1


def test_the_names_of_models_are_headers_if_they_fit():
    data = of_shops(3, old=1.0, new=1.2)
    acc = sm.binary(y_true="clicked", y_score={"old": "old", "gradient boosting": "new"}).update(data)
    found = sm.compare(acc, models=("old", "gradient boosting"), metrics=["roc_auc", "ece"])
    header, _, auc, ece, *_ = shown(found).splitlines()
    assert re.split(" {2,}", header)[:5] == ["metric", "better", "old", "gradient boosting", "difference"]
    assert re.match("roc_auc +gradient boosting ", auc)
    assert re.match(r"ece +\((old|gradient boosting)\) ", ece)
    assert IN_PARENTHESES in shown(found)
    every = sm.compare(acc, models=("old", "gradient boosting"), confidence=0.95)
    narrow = shown(replace(every, names=("model_2026_01_version_1", "model_2026_02_version_2")), 100)
    assert narrow.splitlines()[0].split()[:7] == ["metric", "better", "a", "b", "b", "-", "a"]
    assert narrow.splitlines()[-1].startswith("a is model_2026_01_version_1, b is model_2026_02_version_2.")
    long = shown(replace(found, names=("old", "a name of more than twenty characters")))
    assert long.endswith("\na is old, b is a name of more than twenty characters.")


def test_the_names_of_models_are_headers_of_all_metrics_too():
    data = of_shops(3, champion=1.0, challenger=1.2)
    names = ("champion", "challenger")
    acc = sm.binary(y_true="clicked", y_score={name: name for name in names}).update(data)
    for width in (100, 120, 160):
        header = shown(sm.compare(acc, models=names), width).splitlines()[0]
        assert header.split()[:4] == ["metric", "better", *names]


def test_markdown_has_the_names_of_both_sides_and_all_groups():
    acc = sm.binary(y_true="clicked", y_score={"old": "old", "new": "new"}, by="shop")
    acc = acc.update(of_shops(50, old=1.0, new=1.2))
    found = sm.compare(acc, models=("old", "new"), metrics=["roc_auc", "ece"], confidence=0.95)
    table, _, note = as_markdown(differences_table(found.frame, found.names, found.b.by)).rpartition("\n\n")
    header, _, *lines = table.splitlines()
    assert header == "| shop | metric | better | old | new | new - old | bound | interval | note |"
    assert (len(lines), note) == (2 * 50, IN_PARENTHESES)
    assert not any(re.search(r"\| [ab] ", line) for line in lines)


def decimals(number):
    return len(number.partition(".")[2])


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_both_values_and_their_difference_have_the_same_decimals_as_the_interval(confidence):
    one, other = evaluated(1).rollup(), evaluated(1, seed=1).rollup()
    text = str(sm.compare(one, other, independent=True, confidence=confidence))
    rows = [re.split(r"\s{2,}", line) for line in text.splitlines() if "exact" in line]
    assert len(rows) == 23
    for row in rows:
        values = [cell for cell in row[1:] if re.fullmatch(r"-?[\d.]+", cell)]
        interval = row[-1]
        numbers = [*values, *(interval.split(" to ") if " to " in interval else [])]
        assert len({decimals(number) for number in numbers}) == 1


def test_a_small_difference_can_be_read_beside_its_values():
    rng = np.random.default_rng(2)
    y, p = np.arange(400) % 5 == 0, rng.random(400)
    shifted = np.where(np.arange(400) < 2, 1 - p, p)
    acc = sm.binary(y_true="y", y_score={"old": "p", "new": "q"}).update({"y": y, "p": p, "q": shifted})
    text = str(acc.finalize().compare("old", "new", metrics=["log_loss"]))
    old, new, difference = [c for c in re.split(r"\s{2,}", text.splitlines()[2]) if re.fullmatch(r"-?[\d.]+", c)][:3]
    assert float(difference) != 0
    assert len({decimals(number) for number in (old, new, difference)}) == 1
    assert float(new) - float(old) == pytest.approx(float(difference), abs=1.1 * 10 ** -decimals(difference))


@pytest.mark.parametrize("unit", [None, "unit"])
def test_the_total_of_two_models_has_their_paired_intervals(unit):
    data = of_shops(3, old=1.0, new=1.2).with_columns(unit=pl.int_range(pl.len()) % 40)
    acc = sm.binary(y_true="clicked", y_score={"old": "old", "new": "new"}, by="shop", unit=unit).update(data)
    report = acc.finalize()
    text, total = str(report.compare("old", "new")), str(report.rollup().compare("old", "new"))
    assert text.startswith(f"All groups together:\n\n{total}\n\nEach group")
    assert " to " in total
    assert groups_of(text) == [0, 1, 2]


def test_a_total_beside_the_groups_of_the_other_side():
    one, other = evaluated(3).rollup(), evaluated(3, seed=1)
    total = str(sm.compare(one, other.rollup()))
    assert str(sm.compare(one, other)).startswith(f"All groups together:\n\n{total.partition(' The two')[0][:200]}")


def test_several_models_without_other_groups_have_no_total():
    data = of_shops(1, old=1.0, new=1.2)
    acc = sm.binary(y_true="clicked", y_score={"old": "old", "new": "new"}).update(data)
    text = str(sm.compare(acc, acc))
    assert "All groups together" not in text
    assert text.count("roc_auc") == 2


def test_columns_that_say_nothing_are_left_out():
    acc = sm.regression(y_true="y", y_pred="p").update({"y": [1.0, 2.0], "p": [1.5, 2.0]})
    header, *_ = str(sm.compare(acc, acc)).splitlines()
    assert header.split() == ["metric", "better", "a", "b", "b", "-", "a", "bound"]
    bias = str(sm.compare(acc, acc, metrics=["bias"], confidence=None))
    assert "threshold" not in bias


def test_metrics_that_are_best_at_a_value_name_it():
    rows = {"y": [1.0, 2.0, 4.0, 8.0] * 20, "p": [2.0, 3.0, 5.0, 9.5] * 20}
    high = sm.regression(y_true="y", y_pred="p").update(rows)
    low = sm.regression(y_true="y", y_pred="p").update(rows | {"p": [0.5, 2.0, 4.0, 7.0] * 20})
    shown = str(sm.compare(high, low, metrics=["bias", "mae", "mean_predicted"], independent=True)).splitlines()
    assert shown[2].split()[:2] == ["bias", "1.12"]
    assert "Nearer to 0 is better: bias." in shown
    scores = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1, 0], "p": [0.9, 0.4, 0.6, 0.2]})
    others = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1, 0], "p": [0.8, 0.4, 0.6, 0.2]})
    assert "Nearer to 1 is better: calibration_ratio." in str(sm.compare(scores, others, metrics=["calibration_ratio"]))


def test_the_command_line_says_how_to_see_the_other_metrics(tmp_path):
    compare = ["compare", tmp_path / "one.state", tmp_path / "other.state"]
    for seed, path in enumerate(compare[1:]):
        evaluated(40, rows=20, seed=seed).save(path)
    for width in (80, 120):
        lines = run(*compare, "--width", width).splitlines()
        assert max(map(len, lines)) <= width
        assert len(lines) < 250
    assert "Choose them with --metric, or read all of them with --format csv." in run(*compare)
    assert len(json.loads(run(*compare, "--format", "json"))) == 40 * 25
    assert len(run(*compare, "--format", "csv").splitlines()) == 40 * 25 + 1


def test_the_group_of_nulls_has_a_name():
    rows = of_shops(2, p=1.0).with_columns(shop=pl.when(pl.col("shop") == 1).then("shop"))
    acc = sm.binary(y_true="clicked", y_score="p", by="shop").update(rows)
    text = str(sm.compare(acc, acc, metrics=["roc_auc"]))
    assert re.search("^null +roc_auc", text, re.MULTILINE)


def test_differences_that_cannot_have_intervals_say_what_to_do():
    rows = {"y": [0, 1] * 20, "p": np.linspace(0, 1, 40), "q": np.linspace(0, 1, 40) ** 2, "w": [1.0, 2.0] * 20}
    one, other = (sm.binary(y_true="y", y_score=p).update(rows) for p in ("p", "q"))
    assert "pass independent=True. For the same rows, evaluate both models in one pass" in str(sm.compare(one, other))
    assert sm.compare(one, other, independent=True).note is None
    models = {"y_true": "y", "y_score": {"old": "p", "new": "q"}}
    assert sm.binary(**models).update(rows).finalize().compare("old", "new").note is None
    weighted = sm.binary(**models, sample_weight="w").update(rows).finalize().compare("old", "new")
    assert weighted.note == (
        "Differences of weighted rows have confidence intervals only by unit: pass unit= to the evaluation."
    )
