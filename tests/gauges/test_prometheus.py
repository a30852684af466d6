"""Gauges for Prometheus: what its own parser reads is what the report says."""

import json
import re
import sys
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import streammetrics as sm
from streammetrics.cli import main

client = pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")
DASHBOARD = Path(__file__).parents[2] / "examples" / "grafana.json"
NAMES = ("value", "lower", "upper", "ci_lower", "ci_upper")
BATCH = {
    "y": [1, 0, 1, 0, 1, 0] * 20,
    "p": [0.9, 0.2, 0.8, 0.4, 0.3, 0.7] * 20,
    "land": ["DE", 'a "b"\n\\é', None] * 40,
    "day of week": [1, 2, 1] * 40,
}


def parsed(text):
    """The samples of a text, as Prometheus' parser reads them, by name and labels."""
    from prometheus_client.parser import text_string_to_metric_families

    families = list(text_string_to_metric_families(text))
    assert {family.type for family in families} <= {"gauge"}
    samples = [sample for family in families for sample in family.samples]
    found = {(sample.name, *sorted(sample.labels.items())): sample.value for sample in samples}
    assert len(found) == len(samples)
    return found


def test_each_number_of_a_report_is_a_sample():
    acc = sm.binary(y_true="y", y_score="p", by=["land", "day of week"], thresholds=[0.5, 0.75]).update(BATCH)
    report = acc.finalize(confidence=0.9)
    found = parsed(sm.to_prometheus(report))
    expected = {}
    for row in report.frame.iter_rows(named=True):
        labels = {"metric": row["metric"], "land": row["land"] or "", "day_of_week": str(row["day of week"])}
        labels["threshold"] = "" if row["threshold"] is None else str(row["threshold"])
        for name in NAMES:
            if row[name] is not None:
                expected[(f"streammetrics_metric_{name}", *sorted((k, v) for k, v in labels.items() if v))] = row[name]
    assert found == expected
    assert {name for name, *_ in found} == {f"streammetrics_metric_{name}" for name in NAMES}


def test_undefined_values_have_no_sample_and_no_interval_has_no_gauge():
    report = sm.binary(y_true="y", y_score="p").update({"y": [1, 1], "p": [0.2, 0.4]}).finalize(["roc_auc", "rows"])
    text = sm.to_prometheus(report)
    assert parsed(text) == {(f"streammetrics_metric_{name}", ("metric", "rows")): 2.0 for name in NAMES[:3]}
    assert text.count("# TYPE") == text.count("# HELP") == 3


def test_averages_are_a_label():
    acc = sm.multiclass(y_true="y", y_pred="p").update({"y": ["a", "b"], "p": ["a", "a"]})
    report = acc.finalize(["accuracy", "f1(average=macro)", "fbeta(beta=2, average=micro)", "recall"])
    labels = [dict(pairs) for name, *pairs in parsed(sm.to_prometheus(report)) if name.endswith("_value")]
    assert [(one["metric"], one.get("average"), one.get("label")) for one in labels] == [
        ("accuracy", None, None),
        ("f1", "macro", None),
        ("fbeta(beta=2)", "micro", None),
        ("recall", None, "a"),
        ("recall", None, "b"),
    ]


@pytest.mark.parametrize(
    ("by", "fault"),
    [
        (["a b", "a_b"], "The columns 'a b', 'a_b' would have the same label 'a_b'"),
        (["average"], "The columns 'average', 'average' would have the same label 'average'"),
        (["text"], "null and an empty text"),
    ],
)
def test_labels_that_would_be_the_same_are_refused(by, fault):
    rows = {"y": ["a", "b"], "p": ["a", "a"], "a b": [1, 2], "a_b": [1, 2], "average": ["x", "y"], "text": [None, ""]}
    report = sm.multiclass(y_true="y", y_pred="p", by=by).update(rows).finalize(["f1(average=macro)"])
    with pytest.raises(sm.ReportError, match=fault):
        sm.to_prometheus(report)


@pytest.mark.parametrize(("column", "label"), [("1st", "_1st"), ("__x", "_x"), ("Größe", "Gr__e"), ("a-b", "a_b")])
def test_labels_have_names_that_prometheus_takes(column, label):
    acc = sm.binary(y_true="y", y_score="p", by=column).update({"y": [1, 0], "p": [0.7, 0.2], column: ["x", "x"]})
    assert f'{{{label}="x",metric="rows"}}' in sm.to_prometheus(acc.finalize(["rows"]))


def test_a_collector_reads_a_new_report_at_each_scrape_and_none_before():
    acc, reads = sm.binary(y_true="y", y_score="p", by="land"), []

    def read():
        reads.append(acc.seen)
        return acc.finalize(["rows"])

    registry = client.CollectorRegistry()
    registry.register(sm.PrometheusCollector(read))
    assert reads == []
    assert parsed(client.generate_latest(registry).decode()) == {}
    for rows in (120, 240):
        acc.update(BATCH)
        found = parsed(client.generate_latest(registry).decode())
        assert sum(value for (name, *_), value in found.items() if name == "streammetrics_metric_value") == rows
    assert reads == [0, 120, 240]
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        registry.register(sm.PrometheusCollector(read))


def test_the_command_line_writes_a_textfile_whole(tmp_path):
    acc = sm.binary(y_true="y", y_score="p", by=[pl.lit(date(2026, 1, 1)).alias("day"), "land"]).update(BATCH)
    acc.save(tmp_path / "a.state")
    textfile = tmp_path / "node" / "streammetrics.prom"
    textfile.parent.mkdir()
    show = ["show", str(tmp_path / "a.state"), "--by", "land", "--format", "prometheus"]
    printed = CliRunner().invoke(main, show).output
    assert CliRunner().invoke(main, [*show, "-o", str(textfile)]).output == ""
    assert textfile.read_text(encoding="utf-8") == printed == sm.to_prometheus(acc.finalize().rollup("land"))
    assert [path.name for path in textfile.parent.iterdir()] == [textfile.name]
    sm.MetricStore(tmp_path / "history").append(acc, batch_id="a")
    report = ["store", "report", str(tmp_path / "history"), "--by", "land", "--format", "prometheus"]
    assert parsed(CliRunner().invoke(main, report).output) == parsed(printed)


def test_without_the_client_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    report = sm.binary(y_true="y", y_score="p").update(BATCH).finalize(["rows"])
    for call in (lambda: sm.to_prometheus(report), lambda: sm.PrometheusCollector(lambda: report)):
        with pytest.raises(sm.SpecificationError, match=r"pip install '.\[prometheus\]'"):
            call()
    result = CliRunner().invoke(main, ["show", "nowhere.state", "--format", "prometheus"])
    assert result.exit_code == 2
    assert "pip install '.[prometheus]'" in result.stderr


def test_the_dashboard_asks_for_gauges_that_there_are():
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    acc = sm.binary(y_true="y", y_score="p", by="land").update(BATCH)
    gauges = {name for name, *_ in parsed(sm.to_prometheus(acc.finalize(confidence=0.9)))}
    asked = {
        gauge
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for gauge in re.findall(r"streammetrics_\w+", target["expr"])
    }
    assert asked == gauges
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    assert set(re.findall(r"\$\{?([a-z]+)", DASHBOARD.read_text(encoding="utf-8"))) == variables
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    cells = [
        (x, y)
        for grid in (panel["gridPos"] for panel in dashboard["panels"])
        for x in range(grid["x"], grid["x"] + grid["w"])
        for y in range(grid["y"], grid["y"] + grid["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
