"""Gauges for Prometheus: what its own parser reads is what the report says."""

import json
import re
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from commands import run
from data import CLICKS, clicks

import streammetrics as sm

client = pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")
DASHBOARD = Path(__file__).parents[2] / "examples" / "grafana.json"
NAMES = ("value", "lower", "upper", "ci_lower", "ci_upper")
COUNTRIES = pl.col("country").replace({"FR": 'a "b"\n\\é', "IN": None}).alias("land")
BY_LAND = sm.binary(by=["land", "day of week"], thresholds=[0.5, 0.75], **CLICKS)
BATCH = clicks().select("clicked", "score", COUNTRIES, pl.col("day").dt.weekday().mod(2).alias("day of week"))


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
    report = BY_LAND.empty().update(BATCH[:600]).finalize(confidence=0.9)
    found, expected = parsed(sm.export.to_prometheus(report)), {}
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
    text = sm.export.to_prometheus(report)
    assert parsed(text) == {(f"streammetrics_metric_{name}", ("metric", "rows")): 2.0 for name in NAMES[:3]}
    assert text.count("# TYPE") == text.count("# HELP") == 3


def test_averages_are_a_label():
    acc = sm.multiclass(y_true="y", y_pred="p").update({"y": ["a", "b"], "p": ["a", "a"]})
    report = acc.finalize(["accuracy", "f1(average=macro)", "fbeta(beta=2, average=micro)", "recall"])
    labels = [dict(pairs) for name, *pairs in parsed(sm.export.to_prometheus(report)) if name.endswith("_value")]
    assert [(one["metric"], one.get("average"), one.get("label")) for one in labels] == [
        *(("accuracy", None, None), ("f1", "macro", None), ("fbeta(beta=2)", "micro", None)),
        *(("recall", None, "a"), ("recall", None, "b")),
    ]


def test_labels_have_names_that_prometheus_takes():
    for column, label in {"1st": "_1st", "__x": "_x", "Größe": "Gr__e", "a-b": "a_b"}.items():
        acc = sm.binary(by=column, **CLICKS).update(clicks().with_columns(pl.lit("x").alias(column)))
        assert f'{{{label}="x",metric="rows"}}' in sm.export.to_prometheus(acc.finalize(["rows"]))


def test_a_collector_reads_a_new_report_at_each_scrape_and_none_before():
    acc, reads = sm.binary(by="country", **CLICKS), []

    def read():
        reads.append(acc.seen)
        return acc.finalize(["rows"])

    registry = client.CollectorRegistry()
    registry.register(sm.export.PrometheusCollector(read))
    assert reads == []
    assert parsed(client.generate_latest(registry).decode()) == {}
    for rows in (4_000, 8_000):
        acc.update(clicks())
        found = parsed(client.generate_latest(registry).decode())
        assert sum(value for (name, *_), value in found.items() if name == "streammetrics_metric_value") == rows
    assert reads == [0, 4_000, 8_000]
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        registry.register(sm.export.PrometheusCollector(read))


def test_the_command_line_writes_a_textfile_whole(tmp_path):
    acc = sm.binary(by=[pl.lit(date(2026, 1, 1)).alias("day"), "land"], **CLICKS).update(BATCH)
    acc.save(tmp_path / "a.state")
    textfile = tmp_path / "node" / "streammetrics.prom"
    textfile.parent.mkdir()
    options = ["--by", "land", "--format", "prometheus"]
    printed = run("show", tmp_path / "a.state", *options)
    assert run("show", tmp_path / "a.state", *options, "-o", textfile) == ""
    assert textfile.read_text(encoding="utf-8") == printed == sm.export.to_prometheus(acc.finalize().rollup("land"))
    assert [path.name for path in textfile.parent.iterdir()] == [textfile.name]
    sm.MetricStore(tmp_path / "history").append(acc, batch_id="a")
    assert parsed(run("store", "report", tmp_path / "history", *options)) == parsed(printed)


def test_the_dashboard_asks_for_gauges_that_there_are():
    text = DASHBOARD.read_text(encoding="utf-8")
    dashboard = json.loads(text)
    report = sm.binary(by="country", **CLICKS).update(clicks()[:600]).finalize(["roc_auc"], confidence=0.9)
    asked = {g for p in dashboard["panels"] for t in p["targets"] for g in re.findall(r"streammetrics_\w+", t["expr"])}
    assert asked == {name for name, *_ in parsed(sm.export.to_prometheus(report))}
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    assert set(re.findall(r"\$\{?([a-z]+)", text)) == variables
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    grids = [panel["gridPos"] for panel in dashboard["panels"]]
    cells = [(x + grid["x"], y + grid["y"]) for grid in grids for x in range(grid["w"]) for y in range(grid["h"])]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
