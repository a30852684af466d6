"""The page: complete, escaped, small."""

import html.parser
import re

import numpy as np
import polars as pl
import pytest
from commands import run
from page_data import HOSTILE, NAMES, SIZE, clicks, rng

import streammetrics as sm
from streammetrics import charts
from streammetrics.html import page, pictures
from streammetrics.html.cards import cards
from streammetrics.html.decision import at_thresholds, best_thresholds, highest_scores, most_confused
from streammetrics.html.evaluated import evaluated
from streammetrics.html.fairness import criteria, metrics_of
from streammetrics.html.models import compared_models
from streammetrics.html.numbers import groups, labels, numbers
from streammetrics.text.decimals import percentage

pytestmark = pytest.mark.usefixtures("undrawn")


class Elements(html.parser.HTMLParser):
    """The elements of a page: how often each occurs, which are left open, what they refer to, and all text."""

    VOID = frozenset({"meta", "input", "link", "br"})

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.ids, self.events, self.links, self.words = [], [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attributes:
            self.ids += [value] if name == "id" else []
            self.events += [name] if name.startswith("on") else []
            self.links += [value] if name in ("src", "href") else []

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_data_are_text_and_nothing_else(text):
    found = Elements(text)
    assert not found.open
    assert found.tags.count("script") == 2  # one is JSON: the rows of the long table
    assert found.tags.count("img") == 0
    assert not found.events
    assert found.links[0] == "#main"
    assert set(found.links) == {f"#{name}" for name in found.ids if f'<h2 id="{name}"' in text} | {"#main"}
    assert len(found.ids) == len(set(found.ids))
    for name in NAMES:
        assert not name or any(name in words for words in found.words)


def test_the_page_needs_nothing_else(text):
    assert "default-src 'none'" in text
    assert not re.search(r"https?://|@import|url\((?!#)", text)


@pytest.mark.thorough
def test_a_page_of_200_groups_is_small_and_lists_them_as_its_chart():
    random = np.random.default_rng(3)
    p, groups = random.beta(1, 20, 100_000), np.arange(100_000) % 200
    rows = {"y": random.random(100_000) < p, "p": p, "region": np.char.add("region ", groups.astype(str))}
    report = sm.binary(y_true="y", y_score="p", by="region").update(rows).finalize(confidence=0.95)
    made = page(report)
    assert len(made.encode()) < 200_000
    shown = charts.segments(report, "roc_auc").y.names
    listed = re.findall(r'<th scope="row">region (\d+)</th>', made.partition('id="groups"')[2])
    assert listed[: len(shown)] == [*shown]
    assert len(listed) == 200


def test_groups_with_an_order_keep_it_in_chart_and_table():
    rows = {"y": [0, 1, 1, 0] * 90, "p": [0.1, 0.9, 0.2, 0.8, 0.2, 0.7] * 60, "hour": [3, 1, 2] * 120}
    made = page(sm.binary(y_true="y", y_score="p", by="hour").update(rows).finalize(confidence=0.95))
    assert re.findall(r'<th scope="row"[^>]*>(\d)</th>', made.partition('id="groups"')[2])[:3] == ["1", "2", "3"]
    assert made.count('<div class="in-narrow"><svg') == made.count('<div class="in-wide"><svg') == 1


def test_what_was_seen_and_left_out_is_told(report, text):
    dropped = int(report.rollup("model").rows("dropped")["value"][0])
    assert 0 < dropped < 100
    assert f"<dt>Rows dropped</dt><dd><strong>{dropped:,}</strong>" in text
    assert f"<dt>Rows evaluated</dt><dd><strong>{SIZE - dropped:,}</strong>" in text
    assert "<dt>Models</dt><dd><strong>2</strong>" in text
    assert "<dt>Groups</dt><dd><strong>200</strong>" in text
    assert "<dt>Source</dt><dd>clicks &lt;2026&gt;</dd>" in text
    assert "ScoreHistogram(" in text


@pytest.mark.parametrize(("weights", "why"), [(None, "null or NaN<"), ("w", "null or NaN, or a weight of zero<")])
def test_reasons_for_dropped_rows_fit_the_task(weights, why):
    rows = {"y": [1, 0, 1, 0], "p": [0.9, 0.2, 0.4, None], "w": [1, 2, 0, 1]}
    acc = sm.binary(y_true="y", y_score="p", sample_weight=weights, nulls="drop").update(rows)
    assert why in evaluated(acc.finalize(), acc.finalize(), None)


def test_the_story_goes_from_what_matters_most_to_all_numbers(text):
    ids = re.findall('<h2 id="([a-z]+)"', text)
    first, then = ["findings", "models", "results", "failures", "groups"], ["curves", "calibration", "decision"]
    assert ids == [*first, *then, "all"]
    assert "Below each count: its share of all rows." in text


def test_values_have_the_digits_of_their_intervals():
    rows = {"y": [1, 0, 1, 1] * 50, "p": [0.9, 0.2, 0.4, 0.6] * 50}
    report = sm.binary(y_true="y", y_score="p").update(rows).finalize(confidence=0.95)
    found = re.findall(r"<b>0\.(\d+)</b><span class=\"sure\">0\.(\d+) to 0\.(\d+)<", cards(report))
    assert len(found) >= 3
    assert all(len(value) == len(low) == len(high) for value, low, high in found)


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_values_of_a_column_have_the_same_decimals(confidence):
    seeded = np.random.default_rng(4)
    rows = {"y": seeded.random(600) < 0.3, "p": seeded.random(600), "g": np.arange(600) % 3}
    text = groups(sm.binary(y_true="y", y_score="p", by="g").update(rows).finalize(confidence=confidence))
    table = text.split("</table>")[0]
    cells = [re.findall(r"<t[dh][^>]*>([−\d.]+)<", row) for row in table.split("<tr>")[2:]]
    decimals = [{len(value.partition(".")[2]) for value in column} for column in zip(*cells, strict=True)]
    assert {len(own) for own in decimals} <= {1, 2}  # that of a group with a wide interval can have fewer


def test_values_without_an_interval_have_the_decimals_of_others():
    rows = {"y": [1, 0, 1, 0, 1, 0] * 5, "p": np.linspace(0.1, 0.9, 30)}
    report = sm.binary(y_true="y", y_score="p").update(rows).finalize(confidence=0.95)
    text = numbers(report)
    values = {name: re.search(rf'<th scope="row">{name}</th><td[^>]*>([^<]*)', text)[1] for name in ("roc_auc", "ece")}
    assert report["ece"].ci_lower is None
    assert [len(value) for value in values.values()] == [4, 4]


def test_the_values_of_cards_and_of_all_numbers_are_within_their_certified_bounds():
    seeded = np.random.default_rng(4)
    p = seeded.random(400)
    acc = sm.binary(y_true="y", y_score="p", capacity=200).update({"y": seeded.random(400) < p, "p": p})
    report = acc.finalize(["average_precision", "ks"], confidence=0.95)
    number = r"([\d.]+)"
    found = re.findall(rf"<b>{number}</b>.*?certified {number} to {number}<", cards(report))
    found += re.findall(rf"<td data-v=[^>]*>{number}</td><td>{number} to {number}</td>", numbers(report))
    assert len(found) == 4
    assert all(float(lower) <= float(value) <= float(upper) for value, lower, upper in found)


@pytest.mark.thorough
@pytest.mark.parametrize("weight", [None, "sum_insured"])
def test_a_weighted_page_says_so_wherever_it_shows_sums_of_weights(weight):
    seeded = np.random.default_rng(0)
    rows = {"y": seeded.random(500) < 0.4, "p": seeded.random(500), "sum_insured": seeded.gamma(2, 5e4, 500)}
    text = page(sm.binary(y_true="y", y_score="p", sample_weight=weight).update(rows).finalize(confidence=0.95))
    for sentence in (
        "<dt>Weighted by</dt><dd><code>sum_insured</code>: metrics are weighted",
        "Sums of the weights in <code>sum_insured</code>. Below each: its share of the total weight.",
        "All shares are weighted by <code>sum_insured</code>.",
        ">weighted mean cost<",
        "Lower chart: weight of each bin",
        "Each bin has about the same weight.",
        "Shares and sums of the weights of each actual label.",
    ):
        assert (sentence in text) == (weight is not None)
    for sentence in ("share of all rows", "cost per row", "number of rows", "Vertical lines", "of the rows"):
        assert (sentence in text) == (weight is None)
    assert "_w2" not in text
    assert text.count("<h3>Confusion matrix</h3>") == 1
    classes = sm.multiclass(y_true="y", y_pred="y", sample_weight=weight).update(rows).finalize()
    assert ("Positives are sums of the weights" in page(classes)) == (weight is not None)


@pytest.mark.thorough
def test_models_are_drawn_where_they_are_compared():
    rows = {"y": [1.0, 2, 4], "a": [1.0, 2, 3], "b": [2.0, 2, 4], "g": ["x", "x", "z"]}
    models = {"y_true": "y", "y_pred": {"a": "a", "b": "b"}}
    for by, section in (([], "models"), (["g"], "groups")):
        text = page(sm.regression(**models, by=by).update(rows).finalize())
        assert "<h3>Mean absolute error by model</h3>" in text.split(f'<h2 id="{section}"')[1].split("<h2")[0]


def test_each_label_has_a_row_with_its_metrics():
    acc = sm.multiclass(y_true="y", y_pred="z").update({"y": ["a", "a", "b"], "z": ["a", "b", "b"]})
    found = labels(acc.finalize())
    for label, values in {"a": ["1", "0.50", "0.67", "2"], "b": ["0.50", "1", "0.67", "1"]}.items():
        row = re.search(f'<tr><th scope="row">{label}</th>(.*?)</tr>', found).group(1)
        assert [float(x) for x in re.findall('data-v="([^"]+)"', row)] == pytest.approx(
            list(map(float, values)), abs=0.01
        )
    binary = sm.binary(y_true="y", y_pred="z").update({"y": [0, 1], "z": [0, 1]}).finalize()
    assert labels(binary) == ""


def test_costs_name_the_best_threshold(report):
    total = report.rollup("model")
    found = total.operating_point(minimize="cost(fp=1, fn=10)").filter(model="old")["threshold"][0]
    text = best_thresholds(total)
    rows = [row for row in text.split("<tr>") if '<th scope="row" data-v="10">' in row and ">old</td>" in row]
    assert len(rows) == 1
    assert f">{found:.4g}<" in rows[0]
    assert "<p>The thresholds are chosen on these rows. Check them on other rows," in text


def test_only_counts_of_none_and_of_all_rows_are_0_and_100_percent():
    rows = {"y": [True, False], "p": [0.9, 0.1], "weight": [4e-6, 1.0]}
    acc = sm.binary(y_true="y", y_score="p", sample_weight="weight", thresholds=[0.5, 0.95]).update(rows)
    found = at_thresholds(acc.finalize())
    assert re.findall("<small>(.*?)</small>", found)[:4] == ["0.00040%", "0%", "0%", "99.99960%"]
    assert ">100%</td>" in found


def test_rows_of_one_class_have_a_warning_and_no_infinite_cards():
    for label, said in ((0, "no row has"), (1, "every row has")):
        rows = {"y": [label] * 4, "p": [0.9, 0.2, 0.4, 0.6]}
        text = page(sm.binary(y_true="y", y_score="p").update(rows).finalize())
        assert f"<strong>Warning:</strong> {said} the positive label." in text
        assert not re.search("<b>-?∞</b>", text)
        assert ("none positive</td>" in text) == (label == 0)
    both = sm.binary(y_true="y", y_score="p").update({"y": [0, 1], "p": [0.1, 0.9]}).finalize()
    assert "Warning" not in evaluated(both, both, None)


def test_cards_have_the_values_of_any_number_of_models():
    rows = {"y": [0, 1] * 5} | {f"p{i}": rng.random(10) for i in range(6)}
    acc = sm.binary(y_true="y", y_score={f"model {i}": f"p{i}" for i in range(6)}).update(rows)
    assert cards(acc.finalize(["roc_auc"])).count('<p class="value"><span class="of">model ') == 6


def test_cards_do_not_say_the_name_twice():
    acc = sm.regression(y_true="y", y_pred="p").update({"y": [1.0, 2.0], "p": [1.0, 3.0]})
    text = page(acc.finalize(["mae", "absolute_error_quantile(q=0.9)"]))
    assert text.count("Mean absolute error") == 3  # the card, its definition, and the table of all numbers
    assert "</code>: The mean distance of predictions from true values, in their units. Lower is better.</li>" in text
    assert "See quantile" not in text
    ordered = sm.multiclass(y_true="y", y_pred="z", order=[1, 2]).update({"y": [1, 2], "z": [1, 1]})
    assert "</code>: 1 minus" in cards(ordered.finalize(["kappa(weights=quadratic)"]))


def test_cards_have_the_notes_of_values_and_the_options_in_use():
    acc = sm.multiclass(y_true="y", y_pred="z").update({"y": ["a", "b", "c"], "z": ["a", "b", "a"]})
    text = cards(acc.finalize(["precision(average=macro)"]))
    assert '<span class="sure">undefined for 1 of 3 labels</span>' in text
    scores = {"y": [0, 1, 1], "p": [0.1, 0.6, 0.7]}
    report = sm.binary(y_true="y", y_score="p").update(scores).finalize(["recall_at_fpr"])
    assert "linearly interpolated ROC curve. Default: fpr=0.01. Higher is better." in cards(report)


def test_tables_of_groups_begin_with_the_metrics_of_the_cards():
    rows = {"y": rng.random(400) < 0.4, "p": rng.random(400), "g": np.arange(400) % 4}
    text = groups(sm.binary(y_true="y", y_score="p", by="g").update(rows).finalize())
    first, others = text.split("<details>")[:2]
    names = [re.findall('<button type="button">(.*?)</button>', part) for part in (first, others)]
    of_cards = ["roc_auc", "average_precision", "log_loss_skill", "calibration_ratio", "precision", "recall"]
    assert names[0] == ["g", "rows", *of_cards]
    assert names[1][:3] == ["g", "dropped", "pr_auc"]
    assert not {*names[0][1:]} & {*names[1]}


def test_six_cards_say_what_to_compare_a_value_with():
    p = np.linspace(0.02, 0.98, 600)
    y = rng.random(600) < p**2
    overall = cards(sm.binary(y_true="y", y_score="p").update({"y": y, "p": p}).finalize()).split("</section>")
    assert [title.split("<h3>")[1].split("</h3>")[0] for title in overall[:6]] == [
        *("ROC AUC", "Average precision", "Log loss skill", "Calibration ratio"),
        *("Precision at threshold 0.5", "Recall at threshold 0.5"),
    ]
    assert f"random ranking: {percentage(y.mean())}" in overall[1]
    assert f"predicted 50.00%, observed {percentage(y.mean())}" in overall[3]
    truth, told = rng.random(500), 0.3
    errors = sm.regression(y_true="y", y_pred="p").update({"y": truth, "p": truth + told}).finalize()
    assert re.search("<h3>Root mean squared error</h3>.*?always the mean: ([0-9.]+)", cards(errors), re.DOTALL)[1] == (
        f"{truth.std():.4g}"
    )


def test_the_lowest_recall_is_that_of_a_label_whose_interval_is_low():
    rows = {"y": ["a"] * 300 + ["b"] * 200 + ["c"] * 2, "z": ["a"] * 290 + ["b"] * 110 + ["a"] * 102}
    acc = sm.multiclass(y_true="y", y_pred="z").update(rows)
    for confidence, label in ((None, "label c"), (0.95, "label b")):
        found = cards(acc.finalize(confidence=confidence)).split("<h3>Lowest recall of a label</h3>")[1]
        assert found.startswith(f'<p class="value"><span class="of">{label}</span>')


def test_the_most_confused_labels_are_told_in_words():
    rows = {"y": ["cat"] * 8 + ["dog"] * 2, "z": ["cat"] * 6 + ["<dog>"] * 2 + ["cat", "dog"]}
    text = most_confused(sm.multiclass(y_true="y", y_pred="z").update(rows).finalize())
    assert re.findall("<li>(<b>.*?)</li>", text.split("<h3>Most confused</h3>")[1].split("</ul>")[0]) == [
        "<b>cat</b> read as <b>&lt;dog&gt;</b>: 2 rows, 25.00% of this label",
        "<b>dog</b> read as <b>cat</b>: 1 row, 50.00% of this label",
    ]


def test_the_highest_scores_have_the_precision_recall_and_lift_of_their_rows():
    scores = rng.permutation(np.arange(1000) / 1000)
    labels = rng.random(1000) < scores
    report = sm.binary(y_true="y", y_score="p").update({"y": labels, "p": scores}).finalize()
    for top, row in zip((1, 2, 5, 10, 20, 30, 50), highest_scores(report).split("<tr>")[2:], strict=True):
        found = labels[np.argsort(-scores)[: 10 * top]]
        rates = (found.mean(), found.sum() / labels.sum())
        cells = re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row)
        assert cells == [
            *(f"{top}%", f"{1 - top / 100:g}", f"{top:.2f}%"),
            *map(percentage, rates),
            f"{found.mean() / labels.mean():.2f}",
        ]
    tied = sm.binary(y_true="y", y_score="p").update({"y": labels, "p": np.ones(1000)}).finalize()
    assert highest_scores(tied) == ""
    assert highest_scores(sm.binary(y_true="y", y_pred="z").update({"y": labels, "z": labels}).finalize()) == ""


def test_tables_of_decisions_say_what_they_omit():
    rows = {"y": rng.random(100) < 0.5, "p": rng.random(100), "z": rng.random(100) < 0.5}
    many = sm.binary(y_true="y", y_score="p", thresholds=np.linspace(0.01, 0.99, 201)).update(rows).finalize()
    assert "Only the first 200 of 201 rows are listed.</p>" in at_thresholds(many)
    one = sm.binary(y_true="y", y_pred="z").update(rows).finalize()
    assert "Only" not in at_thresholds(one)
    assert ">Confusion counts</h3>" in at_thresholds(one)  # which have no threshold


def test_costs_have_four_digits():
    y = rng.random(3000) < 0.06
    report = sm.binary(y_true="y", y_score="p").update({"y": y, "p": 0.7 * rng.random(3000) + 0.3 * y}).finalize()
    lowest = min(report.operating_point(minimize=f"cost(fp=1, fn={fn})")["value"][0] for fn in (1, 3, 10, 30, 100))
    assert 0.01 < lowest < 0.1
    shown = [row.split("</td>")[1].rpartition(">")[2] for row in best_thresholds(report).split("<tr>")[2:]]
    assert {len(cost.partition(".")[2]) for cost in shown} == {5}


def test_costs_with_the_same_threshold_are_one_row():
    rows = {"y": [0] * 50 + [1] * 50, "p": [0.1] * 50 + [0.9] * 50}
    text = best_thresholds(sm.binary(y_true="y", y_score="p").update(rows).finalize())
    assert text.count("<tr>") == 2
    assert "Higher costs with the same threshold are omitted." in text


@pytest.mark.thorough
def test_a_page_of_predicted_labels_has_no_thresholds():
    p = np.random.default_rng(0).dirichlet(np.ones(3), 300)
    rows = {"y": ["abc"[i] for i in p.argmax(axis=1)], "a": p[:, 0], "b": p[:, 1], "c": p[:, 2]}
    text = page(sm.multiclass(y_true="y", y_score={c: c for c in "abc"}).update(rows).finalize())
    assert "highest scores</h3>" not in text
    assert "Best thresholds" not in text


def test_values_of_models_have_the_digits_of_their_own_intervals():
    y = 100 * rng.random(2000)
    rows = {"y": y, "good": y + rng.normal(size=2000), "bad": rng.normal(50, 90, 2000)}
    report = sm.regression(y_true="y", y_pred={"good": "good", "bad": "bad"}).update(rows).finalize(confidence=0.95)
    card = cards(report).split("<h3>Mean absolute error</h3>")[1].split("</section>")[0]
    found = re.findall(r"<b>\d+\.(\d+)</b><span class=\"sure\">\d+\.(\d+) to \d+\.(\d+)<", card)
    assert [tuple(map(len, decimals)) for decimals in found] == [(3, 3, 3), (1, 1, 1)]


def test_models_compared_begin_with_a_sentence_on_each_pair():
    y = rng.random(2000) < 0.5
    rows = {"y": y, "good": 0.5 * rng.random(2000) + 0.5 * y, "bad": rng.random(2000)}
    report = sm.binary(y_true="y", y_score={"good": "good", "bad": "bad"}).update(rows).finalize()
    compared = compared_models(report, interactive=False).split('bad compared with good</h3><ul class="findings">')[1]
    assert re.match(r'<li class="warn"><strong>warn</strong> good is better: ROC AUC of bad is 0\.\d+ lower ', compared)
    assert "<svg" in compared.split("<table")[0]


def test_fairness_is_told_of_a_group_column():
    rows = {"y": [1, 0, 1, 0, 1, 0], "z": [1, 1, 1, 0, 0, 0], "gender": ["f", "f", "m", "m", "m", "m"]}
    report = sm.binary(y_true="y", y_pred="z", by="gender").update(rows).finalize()
    text = page(report, fairness="gender")
    table = text.split('id="fairness"')[1].split("</table>")[0]
    assert re.findall(r'<th scope="row">([^<]*)</th>', table) == [
        *("demographic parity", "equal opportunity", "equalized odds", "equalized odds", "predictive parity")
    ]
    assert re.findall(r'<td data-v="[\d.]+">([\d.]+)</td>', table) == [
        "0.75",
        "0.25",
        *("0.5", "0.5") * 2,
        "1",
        "0",
        "0.5",
        "0.5",
    ]
    assert "Recall by gender</h3>" in text
    assert ">threshold<" not in table
    assert "Ratio: lowest divided by highest" in text
    with pytest.raises(sm.ReportError, match="town"):
        page(report, fairness="town")


def test_fairness_begins_with_what_differs_and_keeps_one_order():
    random = np.random.default_rng(1)
    g = pl.Series(["a", "b", "c"]).gather(random.integers(0, 3, 6_000))
    y = random.random(6_000) < 0.4
    z = np.where(g.to_numpy() == "b", random.random(6_000) < 0.1, y ^ (random.random(6_000) < 0.1))
    rows = pl.DataFrame({"y": y, "z": z & ((g.to_numpy() != "c") | (np.arange(6_000) < 60)), "g": g})
    report = sm.binary(y_true="y", y_pred="z", by="g").update(rows).finalize(confidence=0.95)
    section = criteria(report, "g")
    said = re.findall("<p><strong>(.*?)</strong></p>", section)
    assert said[0].startswith("Predicted positive rate differs: 0.4")
    assert said[0].endswith(" for c.")
    assert re.fullmatch(r"Too few predicted positives to compare precision: c \(\d+\).", said[-1])
    assert {make().y.names for make in metrics_of(report, "g")} == {("c", "b", "a")}
    mixed = sm.binary(y_true="y", y_pred="z", by="g").update(rows.with_columns(z=pl.col("y"), g=g.shuffle(3)))
    told = criteria(mixed.finalize(confidence=0.95), "g")
    assert "<p><strong>No significant difference, all pairs of g considered: predicted positive rate, " in told


def test_fairness_names_thresholds_and_empty_groups():
    rows = {"y": [1, 0, 1, 0, 1, 0], "p": [0.9, 0.6, 0.8, 0.1, 0.2, 0.3], "gender": ["f", "f", "", "", "", ""]}
    report = sm.binary(y_true="y", y_score="p", by="gender").update(rows).finalize()
    header, row = criteria(report, "gender").split("<tr>")[1:3]
    assert ">threshold<" in header
    assert ">0.5</td>" in row
    assert "<td>&#x27;&#x27;</td>" in row
    assert charts.segments(report, "recall").y.names == ("''", "f")


def test_fairness_names_the_null_group_but_none_if_no_value_is_defined():
    rows = {"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.8, 0.1], "gender": ["f", "f", None, None]}
    report = sm.binary(y_true="y", y_score="p", by="gender").update(rows).finalize()
    rates = criteria(report, "gender").split("<tr>")[2]
    assert "<td>f</td><td>null</td>" in rates.replace("\n", "")
    report = sm.binary(y_true="y", y_score="p", by="gender").update({**rows, "y": [0] * 4}).finalize()
    recalls = criteria(report, "gender").split("<tr>")[3]
    assert "null" not in recalls


def drawn(report):
    """The charts of the section of curves."""
    return pictures.figures("curve", pictures.curves(report), interactive=False)


def test_each_model_has_a_histogram_of_scores_of_its_own(report):
    text = drawn(report.rollup("model"))
    assert "<h3>Distribution of scores: old</h3>" in text
    assert text.count("<h3>Distribution of scores") == 2


def test_the_histogram_of_a_constant_model_does_not_flatten_the_others():
    data = {
        "y": [True, False] * 500,
        "p": np.linspace(0, 1, 1000),
        "q": np.linspace(0, 1, 1000) ** 2,
        "c": [0.5] * 1000,
    }
    models = sm.binary(y_true="y", y_score={"p": "p", "q": "q", "constant": "c"}).update(data).finalize()
    p, q, constant = (charts.scores(models, model=name).y.high for name in ("p", "q", "constant"))
    assert p < q == pytest.approx(0.17, abs=0.03)
    assert constant == pytest.approx(1.05)


def test_bins_of_equal_width_are_shown_if_rows_are_in_several():
    score = np.linspace(0.001, 0.02, 1000)
    for scores, width in ((score, False), (np.full(1000, 0.01), True)):  # bins of equal size do not show more of one
        report = sm.binary(y_true="y", y_score="p").update({"y": [True, False] * 500, "p": scores}).finalize()
        text = pictures.figures("calibration", pictures.calibration(report), interactive=False)
        assert ("bins of equal width" in text) == width
        assert "bins of equal size" in text


def test_bounds_below_a_value_do_not_look_like_an_interval():
    n = 3_000
    data = {"y": np.arange(n) % 500 == 0, "p": np.random.default_rng(0).beta(1, 20, n), "g": np.arange(n) % 2}
    report = sm.binary(y_true="y", y_score="p", by="g", capacity=64).update(data).finalize(["ks"], confidence=0.95)
    assert report.frame["ci_lower"].is_null().all()
    below = re.findall("<small>(.*?)</small>", groups(report))
    assert below
    assert all(text.startswith(("certified ", "± ")) for text in below)


def test_each_label_has_a_histogram_of_scores_of_its_own_unless_there_are_many():
    for size, titles in ((3, [": a", ": b", ": c"]), (7, [""])):
        names = list("abcdefg"[:size])
        rows = {"y": names * 20} | {name: np.linspace(0.1, 0.9, 20 * size) / size for name in names}
        acc = sm.multiclass(y_true="y", y_score={name: name for name in names}, renormalize=True)
        found = re.findall("<h3>Distribution of scores(.*?)</h3>", drawn(acc.update(rows).finalize()))
        assert found == titles


def test_numbers_are_those_of_all_rows(report, text):
    total = report.rollup("model").get("log_loss_skill", model="old").value
    assert f"<b>{total:.6f}".rstrip("0") in text
    assert "certified" in text


def test_every_kind_of_report_has_a_page(tmp_path):
    acc = sm.regression(y_true="y", y_pred={"a": "p", "b": "q"})
    rows = {"y": [1.0, 2.0, 4.0], "p": [1.0, 2.0, 3.0], "q": [9.0, 9.0, 9.0]}
    assert page(acc.update(rows).finalize()).count("<figure>") == 5
    acc = sm.multiclass(y_true="t", y_pred="z").update({"t": ["a", HOSTILE], "z": ["a", "a"]})
    assert HOSTILE not in page(acc.finalize())
    for acc in (sm.binary(y_true="y", y_score="p"), sm.predictions(y_score="p", by="g")):
        empty = page(acc.finalize())
        assert "<dt>Rows evaluated</dt><dd><strong>0</strong>" in empty
        assert "<strong>Warning:</strong> No rows were evaluated.</p>" in empty
        assert 'id="groups"' not in empty


def test_notebooks_show_tables(report):
    found = Elements(report._repr_html_())
    assert found.tags.count("tr") == 41
    assert "script" not in found.tags
    assert any("360 more groups" in words for words in found.words)
    acc = sm.binary(y_true="y", y_score="p").update({"y": [1, 0], "p": [0.9, 0.1]})
    assert "roc_auc" in acc.finalize()._repr_html_()
    assert "2 rows" in acc._repr_html_()
    assert Elements(sm.binary(y_true=HOSTILE, y_score="p")._repr_html_()).tags.count("script") == 0


def test_values_and_intervals_are_apart_in_notebooks():
    rows = {"y": [1, 0] * 50, "p": np.linspace(0, 1, 100), "g": ["a", "b", "b", "a"] * 25}
    acc = sm.binary(y_true="y", y_score="p", by="g").update(rows)
    found = acc.finalize(confidence=0.95)._repr_html_()
    assert found.count("<small") == found.count("<br><small") > 20
    assert "Printed" not in found
    assert "Printed" in page(acc.finalize())


@pytest.mark.thorough
def test_commands_write_pages(tmp_path):
    pytest.importorskip("vl_convert", reason="vl_convert is not installed")
    clicks(10).write_parquet(tmp_path / "a.parquet")
    options = ["--y-true", "y", "--y-score", "p", "--nulls", "drop", "--by", HOSTILE]
    run("evaluate", tmp_path / "a.parquet", *options, "--save", tmp_path / "state", "--html", tmp_path / "a.html")
    run("show", tmp_path / "state", "--total", "--html", tmp_path / "b.html")
    assert '<h2 id="groups">' in (tmp_path / "a.html").read_text(encoding="utf-8")
    assert '<h2 id="groups">' not in (tmp_path / "b.html").read_text(encoding="utf-8")


def test_intervals_with_one_endpoint_are_explained():
    said = "?: too few rows to compute this limit."
    rows = {"p": np.linspace(0.41, 0.92, 400), "g": [0] * 12 + [1] * 388}
    text = page(sm.predictions(y_score="p", by="g").update(rows).finalize(confidence=0.95))
    listed, numbers = text.split('id="groups"')[1].split('id="all"')
    assert said in listed
    assert re.search(r"<small>\? to 0\.\d{3}</small>", listed)
    assert said not in numbers


def test_charts_of_predictions_show_a_share_that_varies():
    rows = {"p": [0.1, 0.9, 0.4, None], "g": ["a", "a", "b", "b"]}
    acc = sm.predictions(y_score="p", by="g")
    assert "Dropped rate by g</h3>" in page(acc.empty().update(rows).finalize())
    none_dropped = page(acc.empty().update(pl.DataFrame(rows).drop_nulls()).finalize())
    assert "Dropped rate by g</h3>" not in none_dropped
    assert "Predicted positive rate by g</h3>" in none_dropped
    many = {"p": np.arange(900) % 10 / 10, "g": np.arange(900) % 30}
    assert "Where it fails" not in page(acc.empty().update(many).finalize())
