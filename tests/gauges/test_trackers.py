"""Reports where people look: OpenTelemetry, MLflow, and a JSON file of metrics."""

import json
import sys
from importlib.metadata import entry_points

import polars as pl
import pytest
from commands import run as command
from data import candidates

import streammetrics as sm

BATCH = candidates()[:300].select(
    pl.col("clicked").cast(int).alias("y"),
    "old",
    "new",
    land=pl.when(pl.int_range(300) % 3 > 0).then(pl.col("country").replace({"FR": 'a "b"/é'})),
)
MODELS = {"y_score": {"old": "old", "new": "new"}}
NUMBERS = ("value", "lower", "upper", "ci_lower", "ci_upper")


@pytest.fixture
def telemetry():
    """A meter, and what has been collected from it: numbers by gauge and attributes."""
    pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed")
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)

    def collected():
        data = reader.get_metrics_data()
        metrics = [m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics] if data else []
        points = [(m.name, point) for m in metrics for point in m.data.data_points]
        found = {(name, *sorted(point.attributes.items())): point.value for name, point in points}
        assert len(found) == len(points)
        return found

    return provider.get_meter("tests"), collected


def test_a_gauge_has_the_last_report_and_nothing_twice(telemetry, caplog):
    meter, collected = telemetry
    acc = sm.multiclass(y_true="y", y_pred="p")
    for rows in (2, 4):
        report = acc.update({"y": ["a", "b"], "p": ["a", "a"]}).finalize(["rows", "f1(average=macro)"])
        sm.export.to_opentelemetry(report, meter)
        found = collected()
        assert found["streammetrics.metric.value", ("metric", "rows")] == rows
        assert ("streammetrics.metric.value", ("average", "macro"), ("metric", "f1")) in found
    assert not caplog.records


def test_prometheus_and_opentelemetry_have_the_same_samples(telemetry):
    client = pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")
    meter, collected = telemetry
    acc = sm.binary(y_true="y", y_score="new", by="land", thresholds=[0.5, 0.75]).update(BATCH)
    report = acc.finalize(confidence=0.9)
    sm.export.to_opentelemetry(report, meter)
    registry = client.CollectorRegistry()
    registry.register(sm.export.PrometheusCollector(lambda: report))
    samples = [sample for family in registry.collect() for sample in family.samples]
    assert len(samples) > 300
    assert collected() == {
        (s.name.replace("_metric_", ".metric."), *sorted(s.labels.items())): s.value for s in samples
    }


def test_a_file_of_metrics_has_every_number_of_the_report(tmp_path):
    metrics = ["rows", "roc_auc", "precision", "f1", "log_loss"]
    acc = sm.binary(y_true="y", **MODELS, by="land", thresholds=[0.5, 0.75], metrics=metrics).update(BATCH)
    report = acc.finalize(confidence=0.9)
    report.save_metrics(tmp_path / "metrics.json")
    found = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
    count = 0
    for row in report.frame.iter_rows(named=True):
        group = found[f"land={'null' if row['land'] is None else row['land']}"][f"model={row['model']}"]
        at = "" if row["threshold"] is None else f" @ {row['threshold']}"
        numbers = {name: row[name] for name in NUMBERS if row[name] is not None}
        assert group.get(row["metric"] + at, {}) == numbers
        count += len(numbers)
    assert count > 100
    acc.save(tmp_path / "a.state")
    shown = ["show", tmp_path / "a.state", "--confidence", "0.9", "--format", "metrics"]
    assert json.loads(command(*shown)) == found
    command(*shown, "-o", tmp_path / "b.json")
    assert json.loads((tmp_path / "b.json").read_text(encoding="utf-8")) == found


def test_keys_of_a_file_of_metrics_differ_for_all_groups(nested_of):
    names = [None, "null", '"null"', "", "''", '""', "a\nb", "a\\nb", "\x1b[2J", "\\x1b[2J", "a/b=c", " ", "\u202e"]
    acc = sm.binary(y_true="y", y_score="new", by="land").update({"y": [1] * 13, "new": [0.5] * 13, "land": names})
    found = nested_of(acc.finalize(["rows"]))
    assert len(found) == len(names)
    assert {"land=null", 'land="null"', "land=a/b=c"} <= set(found)
    labels = sm.multiclass(y_true="y", y_pred="z").update({"y": names[1:], "z": names[1:]}).finalize(["rows", "recall"])
    assert len(nested_of(labels)) == len(names)


def test_one_threshold_is_not_named_and_undefined_numbers_are_left_out(nested_of):
    report = sm.binary(y_true="y", y_score="new").update(BATCH).finalize(["recall", "rows"])
    assert list(nested_of(report)) == ["recall", "rows"]
    acc = sm.multiclass(y_true="y", y_pred="p").update({"y": ["a", "b"], "p": ["a", "a"]})
    assert list(nested_of(acc.finalize(["accuracy", "recall"]))) == ["accuracy", "recall @ a", "recall @ b"]
    endless = sm.binary(y_true="y", y_score="new").update({"y": [1, 1], "new": [0.0, 0.5]})
    assert list(nested_of(endless.finalize(["log_loss", "roc_auc"]))) == ["log_loss"]


@pytest.fixture
def nested_of(tmp_path):
    """What a file of metrics of a report has."""

    def nested(report):
        report.save_metrics(tmp_path / "nested.json")
        return json.loads((tmp_path / "nested.json").read_text(encoding="utf-8"))

    return nested


@pytest.fixture
def mlflow(tmp_path):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    before = mlflow.get_tracking_uri()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
        yield mlflow
        mlflow.set_tracking_uri(before)


@pytest.mark.thorough
def test_a_run_has_metrics_of_all_rows_and_every_group_as_an_artifact(mlflow, tmp_path):
    by = ["land", pl.duration(days=1).alias("length")]
    acc = sm.binary(y_true="y", **MODELS, by=by, thresholds=[0.5, 0.75]).update(BATCH)
    report = acc.finalize(["roc_auc", "recall", "fbeta(beta=2)", "rows"], confidence=0.9)
    with mlflow.start_run() as run:
        report.log_to_mlflow(step=3)
    metrics = mlflow.get_run(run.info.run_id).data.metrics
    total = report.rollup("model")
    for model in ("old", "new"):
        wanted = total.get("roc_auc", model=model)
        assert metrics[f"model_{model}/roc_auc"] == wanted.value
        assert metrics[f"model_{model}/roc_auc.ci_lower"] == wanted.ci_lower
        wanted = total.get("fbeta(beta=2)", model=model, threshold=0.75)
        assert metrics[f"model_{model}/fbeta_beta_2_at_0.75.upper"] == wanted.upper
        assert metrics[f"model_{model}/rows"] == 300
    folder = tmp_path / "runs" / run.info.experiment_id / run.info.run_id
    assert "3" in (folder / "metrics" / "model_old" / "rows").read_text().split()
    table = pl.read_csv(folder / "artifacts" / "streammetrics" / "metrics.csv")
    assert table.height == report.frame.height
    assert table["value"].to_list() == report.frame["value"].to_list()
    assert "<title>Evaluation</title>" in (folder / "artifacts" / "streammetrics" / "report.html").read_text("utf-8")


@pytest.mark.thorough
def test_a_run_can_be_named_and_metrics_of_the_same_name_are_refused(mlflow):
    report = sm.binary(y_true="y", y_score="new").update(BATCH).finalize(["roc_auc"])
    run = mlflow.start_run()
    mlflow.end_run()
    report.log_to_mlflow(run.info.run_id)
    assert mlflow.get_run(run.info.run_id).data.metrics["roc_auc"] == report["roc_auc"].value
    assert mlflow.active_run() is None
    for labels, name in ((["a?", "a!"], "same name in MLflow"), (["a", "a.lower"], "'recall @ a.lower'")):
        acc = sm.multiclass(y_true="y", y_pred="p").update({"y": labels, "p": [labels[0]] * 2})
        with mlflow.start_run(), pytest.raises(sm.errors.ReportError, match=name):
            acc.finalize(["recall"]).log_to_mlflow()


@pytest.fixture
def evaluated(mlflow, tmp_path):
    """What the evaluator makes of rows or a model: the numbers that MLflow returns, and those of the run."""
    evaluation = pytest.importorskip(
        "mlflow.models.evaluation", reason="MLflow has no evaluation", exc_type=ImportError
    )
    from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry as registry

    [entry] = entry_points(group="mlflow.model_evaluator", name="streammetrics")
    registry.register("streammetrics", entry.load())

    def run(**options):
        with mlflow.start_run() as run:
            found = evaluation.evaluate(evaluators="streammetrics", **options).metrics
        assert mlflow.get_run(run.info.run_id).data.metrics == found
        folder = tmp_path / "runs" / run.info.experiment_id / run.info.run_id / "artifacts" / "streammetrics"
        return found, pl.read_csv(folder / "metrics.csv")

    return run


@pytest.mark.thorough
def test_mlflow_evaluates_scores(evaluated):
    config = {"task": "binary", "by": "land", "confidence": 0.9, "thresholds": [0.5, 0.75]}
    data = {"data": BATCH.to_pandas(), "targets": "y", "predictions": "new", "model_type": "classifier"}
    found, table = evaluated(**data, evaluator_config=config)
    acc = sm.binary(y_true="y", y_score="new", by="land", thresholds=[0.5, 0.75]).update(BATCH)
    report = acc.finalize(confidence=0.9)
    assert found["roc_auc"] == report.rollup()["roc_auc"].value
    assert found["recall_at_0.75.ci_upper"] == report.rollup().get("recall", threshold=0.75).ci_upper
    assert table["value"].to_list() == report.frame["value"].to_list()


@pytest.mark.thorough
def test_mlflow_evaluates_a_model(evaluated):
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0], "y": [1.5, 2.0, 2.0]}).to_pandas()
    data = {"data": frame, "targets": "y", "model_type": "regressor", "evaluator_config": {"task": "regression"}}
    for options, error in (
        ({"model": lambda rows: rows["x"]}, 0.5),
        ({"model": lambda rows: rows.assign(double=2 * rows["x"]), "predictions": "double"}, (0.5 + 2 + 4) / 3),
    ):
        assert evaluated(**data, **options)[0]["mae"] == error


@pytest.mark.thorough
def test_a_configuration_can_say_what_predictions_are(evaluated):
    rows = BATCH.with_columns(hard=pl.col("new").round().cast(int))
    data = {"data": rows.to_pandas(), "targets": "y", "predictions": "hard", "model_type": "classifier"}
    for config in ({"task": "binary", "y_pred": "hard"}, {"task": "multiclass"}):
        found, _ = evaluated(**data, evaluator_config=config)
        assert found["accuracy"] == pytest.approx((rows["y"] == rows["hard"]).mean())
    with pytest.raises(sm.errors.SpecificationError, match="'ranking'"):
        evaluated(**data, evaluator_config={"task": "ranking"})


def test_without_an_extra_the_error_names_it(monkeypatch):
    report = sm.binary(y_true="y", y_score="new").update(BATCH).finalize(["rows"])
    for package, extra, call in (
        ("opentelemetry.metrics", "otel", lambda: sm.export.to_opentelemetry(report)),
        ("mlflow", "mlflow", report.log_to_mlflow),
        ("prometheus_client", "prometheus", lambda: sm.export.to_prometheus(report)),
        ("prometheus_client", "prometheus", lambda: sm.export.PrometheusCollector(lambda: report)),
    ):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)
            with pytest.raises(sm.errors.SpecificationError, match=rf"pip install '.\[{extra}\]'"):
                call()
            if extra == "prometheus":
                assert f".[{extra}]" in command("show", "nowhere.state", "--format", extra, code=2)
