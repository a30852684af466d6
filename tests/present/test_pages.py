"""Pages: their outlines, that nothing on them acts, and that their numbers are those of the frames."""

import math
import re

import polars as pl
import pytest
from commands import run
from data import CLICKS, clicks, digits
from outputs import PAGES, QUICK, acc, compared, history, page, report
from structure import Page, written

import streammetrics as sm

KINDS = [pytest.param(kind, marks=[pytest.mark.thorough] * (kind not in QUICK)) for kind in PAGES]


def same(cell, value):
    """Whether a cell shows a number: sorted by it, and rounded to it in words."""
    if value is None:
        return cell.number is None and cell.text in ("–", "")
    shown = cell.text.replace("−", "-").replace(",", "").replace("∞", "inf").removeprefix("< ")
    number, decimals = shown.rstrip("%"), len(shown.rstrip("%").partition(".")[2])
    scale = 100 if shown.endswith("%") else 1
    near = float(number) / scale == pytest.approx(
        value, abs=(1.01 if cell.text[:1] == "<" else 0.51) * 10.0**-decimals / scale
    )
    sortable = max(-1e300, min(value, 1e300))  # infinite numbers come last
    return near and cell.number == pytest.approx(sortable, rel=1e-5, abs=1e-12)


def ends(text):
    """The numbers of an interval in words."""
    return [float(end.replace("−", "-").replace(",", "")) for end in text.split(" to ")]


@pytest.mark.whole
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_has_its_outline_and_nothing_on_it_acts(kind):
    text = page(kind)
    found = Page(text)
    assert found.outline == written(f"page of {kind}")
    assert not {"img", "iframe", "object", "form", "a href"} & {*found.tags}
    assert not found.events
    assert "default-src 'none'" in text
    assert not re.search(r"https?://|@import|url\((?!#)|javascript:", text)
    assert len(found.ids) == len({*found.ids})
    assert {link.removeprefix("#") for link in found.links} <= {*found.ids}
    assert len(found.regions) == len({*found.regions})  # screen readers list them
    assert "<2>" not in text
    assert "<2026>" not in text
    assert not re.search("<b>-?∞</b>", text)
    assert not re.search("_w2|\\bnan\\b", text)
    assert len(text) < 400_000


@pytest.mark.parametrize("kind", ["two classes", "one class", "weights and units"])
def test_numbers_and_intervals_of_tables_are_those_of_the_report(kind):
    tables, group = Page(page(kind)).tables, report(kind).by
    total = report(kind).rollup()
    for row in total.frame.iter_rows(named=True):
        cells = tables["Metrics of all rows"].row(row["metric"])
        assert same(cells["value"], row["value"]), row["metric"]
        interval = cells[f"{total.confidence:.0%} interval"].text
        assert (interval == "") == (row["ci_lower"] is None)
        if row["ci_lower"] is not None:
            assert ends(interval) == pytest.approx([row["ci_lower"], row["ci_upper"]], abs=0.006)
    for row in report(kind).frame.iter_rows(named=True) if group else ():
        first, others = "Metrics of each group", "Other metrics of each group"
        name = first if f"{row['metric']}>" in tables[first].columns else others
        names = [column.removesuffix(">") for column in tables[name].columns]
        if row["metric"] in names:
            cell = tables[name].row(row[group[0]])[row["metric"]]
            assert same(cell, row["value"])
            if row["ci_lower"] is not None:
                assert ends(cell.below) == pytest.approx([row["ci_lower"], row["ci_upper"]], abs=0.006)


def test_cards_and_facts_have_the_numbers_of_the_total():
    total = report("two classes").rollup()
    cards = re.findall(r'<b>([^<]*)</b><span class="sure">([^<]*)</span>', page("two classes"))
    names = ("roc_auc", "average_precision", "log_loss_skill", sm.metrics.calibration_ratio, "precision", "recall")
    estimates = [total.get(name) for name in names]
    assert [float(value) for value, _ in cards] == pytest.approx([e.value for e in estimates], abs=6e-4)
    for (_, interval), estimate in zip(cards, estimates, strict=True):
        assert ends(interval) == pytest.approx([estimate.ci_lower, estimate.ci_upper], abs=6e-4)
    rate, mean = clicks()["clicked"].mean(), clicks()["score"].mean()
    for share in (f"random ranking: {rate:.2%}", f"predicted {mean:.2%}, observed {rate:.2%}"):
        assert share in page("two classes")
    facts = dict(re.findall(r"<dt>([^<]*)</dt><dd><strong>([\d,]+)</strong>", page("two classes")))
    assert facts == {"Rows evaluated": "4,000", "Groups": "3"}
    assert "<dt>Rows evaluated</dt><dd><strong>0</strong>" in page("no rows")


def test_decisions_are_those_of_the_rows():
    y, p = clicks()["clicked"].to_numpy(), clicks()["score"].to_numpy()
    total, table = report("two classes").rollup(), Page(page("two classes")).tables["Candidate thresholds"]
    for name, *_ in table.rows:
        cells = table.row(name.text)
        chosen = p >= cells["threshold"].number - 1e-9  # written with six digits
        counts = {
            "true positives": (y & chosen).sum(),
            "false positives": (~y & chosen).sum(),
            "false negatives": (y & ~chosen).sum(),
            "true negatives": (~y & ~chosen).sum(),
        }
        assert {column: cells[column].number for column in counts} == counts
        assert same(cells["predicted positive"], chosen.mean())
        assert same(cells["precision"], y[chosen].mean())
        assert same(cells["recall"], y[chosen].sum() / y.sum())
        assert same(cells["lift"], y[chosen].mean() / y.mean())
    for name, goal in {
        "best F1": {"maximize": "f1"},
        "lowest cost, if a miss costs 10 false alarms": {"minimize": "cost(fp=1, fn=10)"},
    }.items():
        best = total.operating_point(**goal)["threshold"].item()
        assert table.row(name)["threshold"].number == pytest.approx(best, rel=1e-5)
    assert table.row("highest 5% of the scores")["predicted positive"].number == pytest.approx(0.05, abs=0.01)
    assert table.row("precision of at least 50%, guaranteed")["precision"].number > 0.5


def test_counts_of_predicted_labels_have_their_shares(tmp_path):
    rows = {"y": [True, False, True, True] * 10, "p": [True, False, False, True] * 10}
    sm.binary(y_true="y", y_pred="p").update(rows).finalize().save_html(tmp_path / "page.html")
    table = Page((tmp_path / "page.html").read_text(encoding="utf-8")).tables["Confusion counts"]
    assert [cell.text for cell in table.rows[0][:5]] == ["50.00%", "100%", "66.67%", "80.00%", "1.33"]
    assert [cell.text for cell in table.rows[0][5:]] == ["20", "0", "10", "10"]
    assert [cell.below for cell in table.rows[0][5:]] == ["50.00%", "0%", "25.00%", "25.00%"]


@pytest.mark.usefixtures("undrawn")
def test_only_shares_of_none_and_of_all_rows_are_0_and_100_percent(tmp_path):
    rows = {"y": [True, False, True] * 10, "p": [0.9, 0.1, None] * 10, "weight": [4e-6, 1.0, 1.0] * 10}
    task = sm.binary(y_true="y", y_score="p", sample_weight="weight", thresholds=[0.5, 0.95], nulls="drop")
    task.update(rows).finalize(["accuracy", "dropped"]).save_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    table = Page(text).tables["Candidate thresholds"]
    assert [cell.text for cell in table.rows[0][2:5]] == ["0.00040%", "100%", "100%"]
    assert [cell.text for cell in table.rows[1][2:5]] == ["0%", "–", "0%"]
    assert "<dt>Rows dropped</dt><dd><strong>10</strong>" in text


def test_labels_have_their_metrics_and_confusions():
    pairs = digits().filter(pl.col("digit") != pl.col("predicted")).group_by("digit", "predicted").len().sort("len")
    actual, predicted, size = pairs.row(-1)
    assert f"{actual} taken for {predicted}: {size} rows" in re.sub("<[^>]*>", "", page("classes"))
    [labels] = [table for table in Page(page("classes")).tables.values() if table.columns[0].startswith("label")]
    assert labels.size == 10
    for first, *_ in labels.rows:
        for metric, cell in labels.row(first.text).items():
            if metric in {"precision", "recall", "f1", "roc_auc"}:
                assert same(cell, report("classes").get(metric, label=first.text).value)


def test_fairness_names_the_groups_of_the_highest_and_lowest_values():
    made = Page(page("two classes"))
    table = made.tables["Fairness criteria over country"]
    numbers = [row[-2].number for row in table.rows]
    assert numbers == sorted(numbers, reverse=True)
    names = [row[table.columns.index("metric")].text for row in table.rows]
    titles = [f"### {name} by country" for name in dict.fromkeys(names)]
    assert [line for line in made.lines[made.lines.index("## Fairness") :] if line in titles][:4] == titles
    for row in table.rows:
        cells = dict(zip((name.removesuffix(">") for name in table.columns), row, strict=True))  # names come twice
        metric = cells["metric"].text.lower().replace("false positive rate", "fpr").replace(" ", "_")
        values = {c: acc("two classes").finalize([metric]).get(metric, country=c).value for c in ("DE", "FR", "IN")}
        assert cells["highest"].text.startswith(max(values, key=values.get))
        assert cells["lowest"].text.startswith(min(values, key=values.get))
        high, low = max(values.values()), min(values.values())
        assert same(cells["difference"], high - low)
        assert same(cells["ratio"], low / high)


@pytest.mark.parametrize("kind", ["comparison", "gate"])
def test_differences_are_those_of_the_comparison(kind):
    found = compared() if kind == "gate" else sm.compare(acc("two classes"), acc("other days"), independent=True)
    a, b = ("old", "new") if kind == "gate" else ("May", "June <2>")
    tables = Page(page(kind)).tables
    [table] = [found for found in tables.values() if found.columns[0] == "metric" and "better" in found.columns]
    for row in found.total.frame.iter_rows(named=True):
        if row["metric"] in {cells[0].text for cells in table.rows}:
            cells = table.row(row["metric"])
            difference = next(cells[name] for name in cells if name in ("difference", f"{b} - {a}"))
            for cell, name in ((cells[a], "a"), (cells[b], "b"), (difference, "difference")):
                assert same(cell, row[name]), row["metric"]
            sides = {"a": a, "b": b, "equal": "equal"}
            assert cells["better"].text == sides.get(row["better"], cells["better"].text)


def test_measures_of_a_drift_are_those_of_its_frame():
    found = sm.drift(acc("two classes"), acc("other days"))
    tables, psi = Page(page("drift")).tables, found.frame.filter(measure="psi")
    for country, of, _, value in tables["Drift of each group"].rows:
        assert same(value, psi.filter(country=country.text, of=of.text)["value"].item())
    total = sm.drift(acc("two classes").rollup(), acc("other days").rollup()).frame
    for of, measure, _, value in tables["Drift of distributions"].rows:
        assert same(value, total.filter(of=of.text, measure=measure.text)["value"].item())


@pytest.mark.thorough
@pytest.mark.usefixtures("undrawn")
def test_many_groups_are_listed_as_their_chart(tmp_path):
    rows = clicks().with_columns(place=pl.format("place {}", pl.int_range(pl.len()) % 60))
    made = sm.binary(by="place", **CLICKS).update(rows).finalize(["roc_auc"], confidence=0.95)
    made.save_html(tmp_path / "page.html")
    found = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    groups = found.tables["Metrics of each group"]
    assert groups.size == 60
    worst = [row[0].text for row in groups.rows[:20]]
    assert worst == made.frame.sort("ci_upper")["place"].to_list()[:20]


@pytest.mark.thorough
def test_pages_depend_on_their_content_alone(tmp_path):
    PAGES["drift"](tmp_path / "page.html")
    texts = [page("drift"), (tmp_path / "page.html").read_text(encoding="utf-8")]
    one, two = (re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", text) for text in texts)
    assert one == two
    used, made = (set(re.findall(pattern, one)) for pattern in (r"url\(#([^)]*)\)", r'<clipPath id="([^"]*)"'))
    assert used
    assert used <= made


def test_notebooks_show_tables(tmp_path):
    texts = [
        report("two classes"),
        compared(),
        sm.drift(acc("two classes"), acc("other days")),
        report("two classes").check("roc_auc >= 0.9"),
        report("two classes").rollup()["roc_auc"],
        acc("two classes"),
    ]
    for shown in texts:
        text = shown._repr_html_()
        found = Page(text)
        assert text.startswith('<div class="streammetrics"><style>')
        assert found.tables
        assert "script" not in found.tags
    groups = Page(report("two classes")._repr_html_()).tables
    assert any(cell.below for table in groups.values() for row in table.rows for cell in row)
    pytest.importorskip("deltalake")
    assert "<table" not in sm.MetricStore(tmp_path / "none")._repr_html_()
    newest = clicks().filter(day=clicks()["day"].max())
    listed = rf"{newest['day'][0]}</td><td[^>]*>3</td><td[^>]*>{newest.height}<"
    assert re.search(listed, history()._repr_html_())


@pytest.mark.usefixtures("undrawn")
def test_certified_bounds_contain_the_value(tmp_path):
    coarse = sm.binary(**CLICKS, capacity=64).update(clicks()).finalize(["roc_auc", "average_precision", "ks"])
    coarse.save_html(tmp_path / "page.html")
    table = Page((tmp_path / "page.html").read_text(encoding="utf-8")).tables["Metrics of all rows"]
    for metric in ("roc_auc", "average_precision", "ks"):
        estimate = coarse[metric]
        bound = table.row(metric)["bound"].text
        value = float(table.row(metric)["value"].text)
        low, high = ends(bound) if " to " in bound else (value - float(bound[2:]), value + float(bound[2:]))
        assert low <= estimate.lower <= estimate.value <= estimate.upper <= high
        assert math.isfinite(high)
        assert low <= value <= high


@pytest.mark.thorough
@pytest.mark.usefixtures("undrawn")
def test_a_page_is_written_by_every_command(tmp_path):
    path, state = tmp_path / "page.html", tmp_path / "a.state"
    acc("errors").save(state)
    run("show", state, "--metric", "mae", "--html", path)
    assert "## Groups" in Page(path.read_text(encoding="utf-8")).outline
    run("show", state, "--metric", "mae", "--total", "--html", path)
    assert "## Groups" not in Page(path.read_text(encoding="utf-8")).outline
