"""Findings: each code occurs for the fault that it names, and not without one."""

import json
import re
from pathlib import Path

import click
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from commands import run

import streammetrics as sm
from streammetrics.cli import main
from streammetrics.findings.table import as_frame, findings_table
from streammetrics.present.terminal import as_text

DOCS = Path(__file__).parents[2] / "docs" / "findings.md"
ROWS = 4_000


def scored(seed=0, rows=ROWS, rate=0.2, groups=3):
    """Labels, their true probabilities, and groups that tell nothing of them."""
    generator = np.random.default_rng(seed)
    odds = generator.normal(np.log(rate / (1 - rate)), 1.3, rows)
    p = 1 / (1 + np.exp(-odds))
    return pl.DataFrame({"y": generator.random(rows) < p, "p": p, "g": generator.integers(0, groups, rows).astype(str)})


def errors(seed=0, rows=ROWS):
    generator = np.random.default_rng(seed)
    z = generator.normal(0, 5, rows)
    y = z + generator.standard_t(4, rows)
    return pl.DataFrame({"y": y, "z": z, "g": generator.integers(0, 3, rows).astype(str)})


def binary(frame, **others):
    return sm.binary(**{"y_true": "y", "y_score": "p", "by": "g"} | others).update(frame).finalize()


def regression(frame, **others):
    return sm.regression(**{"y_true": "y", "y_pred": "z", "by": "g"} | others).update(frame).finalize()


def overconfident(seed=0, rows=ROWS, temperature=0.5):
    """Labels of three classes, and probabilities that are too extreme if the temperature is below 1."""
    generator = np.random.default_rng(seed)
    odds = generator.normal(0, 1.5, (rows, 3))
    true, stated = (np.exp(odds / t) for t in (1, temperature))
    y = (true.cumsum(axis=1) / true.sum(axis=1, keepdims=True) < generator.random((rows, 1))).sum(axis=1)
    return pl.DataFrame({"y": y, "p": stated / stated.sum(axis=1, keepdims=True)})


def several(frame, **others):
    return sm.multiclass(**{"y_true": "y", "y_score": "p", "labels": range(3)} | others).update(frame).finalize()


def codes(report):
    return [finding.code for finding in report.findings()]


def the(report, code):
    [finding] = [finding for finding in report.findings() if finding.code == code]
    return finding


IN_B = pl.col("g") == "1"
P = pl.col("p")
FAULTS = {
    "SM100": lambda: several(overconfident()),
    "SM101": lambda: binary(scored().with_columns(P * 0.6)),
    "SM102": lambda: binary(scored().with_columns(pl.when(IN_B).then(P * 0.4).otherwise(P))),
    "SM103": lambda: regression(errors().with_columns(pl.col("z") + 1)),
    "SM104": lambda: regression(errors().with_columns(pl.col("z") + 2 * IN_B)),
    "SM105": lambda: binary(scored().with_columns((P * 1.6 - P.mean() * 0.6).clip(0, 1))),
    "SM201": lambda: binary(scored().with_columns(p=1 - P)),
    "SM202": lambda: binary(scored().with_columns(pl.col("p").shuffle(1))),
    "SM203": lambda: binary(scored().with_columns(p=1 - P)),
    "SM204": lambda: binary(scored().with_columns(p=1 - P)),
    "SM205": lambda: regression(errors().with_columns(pl.col("z") * -1)),
    "SM301": lambda: binary(scored(), thresholds=[0.99]),
    "SM302": lambda: binary(scored(), thresholds=[0.001]),
    "SM303": lambda: (
        sm.multiclass(y_true="y", y_pred="z").update({"y": ["a", "b", "c"] * 50, "z": ["a", "b", "b"] * 50}).finalize()
    ),
    "SM401": lambda: binary(scored().with_columns(pl.when(IN_B).then(P.shuffle(1)).otherwise(P))),
    "SM501": lambda: binary(scored().with_columns(pl.when(pl.int_range(pl.len()) > 100).then(P)), nulls="drop"),
    "SM502": lambda: binary(scored().with_columns(y=False)),
    "SM503": lambda: binary(scored(rate=0.002, rows=1_000)),
    "SM504": lambda: binary(scored().with_columns(P.round(1))),
    "SM505": lambda: binary(scored(), capacity=8, by=()),
    "SM601": lambda: binary(scored(), y_score={"a": "p", "b": "p"}),
}


@pytest.mark.parametrize("code", FAULTS)
def test_a_fault_is_found(code):
    found = the(FAULTS[code](), code)
    assert found.severity in ("bad", "warn", "info")
    assert re.fullmatch(r"[^\n]{10,220}[.?]", str(found))


def test_every_code_is_tested_and_documented():
    written = {
        code
        for path in Path(sm.__file__).parent.glob("findings/*.py")
        for code in re.findall(r'"(SM\d{3})"', path.read_text())
    }
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    assert written == set(re.findall(r'^    "(SM\d{3})": ', tests, re.MULTILINE))
    assert set(re.findall(r"^### (SM\d{3}):", DOCS.read_text(encoding="utf-8"), re.MULTILINE)) == written


def test_a_model_without_faults_has_no_findings():
    assert codes(binary(scored())) == []
    assert codes(regression(errors())) == []


@pytest.mark.thorough
@pytest.mark.parametrize("start", [0, *(pytest.param(start, marks=pytest.mark.long) for start in (50, 100, 150))])
def test_few_reports_of_models_without_faults_have_findings(start):
    false = 0
    for seed in range(start, start + 50):
        rows, rate, groups = ((300, 0.1, 2), (2_000, 0.02, 6), (5_000, 0.3, 40))[seed % 3]
        found = binary(scored(seed, rows, rate, groups)).findings()
        blamed = [finding.code for finding in found if finding.severity != "info"]
        false += any(code < "SM300" or code == "SM401" for code in blamed)
    assert false <= 4  # at most 5% on average


def test_the_worst_groups_are_named_with_numbers():
    frame = scored(rows=40_000, groups=6).with_columns(pl.when(pl.col("g") < "5").then(P * 0.7).otherwise(P * 0.2))
    assert re.search(r"groups of g: 5 \(\d\d% too few\)\.$", the(binary(frame), "SM102").sentence)
    found = the(FAULTS["SM102"](), "SM102")
    assert found.sentence.startswith("Worse in groups of g: 1 (6")
    assert found.where == {"g": "1"}
    assert found.ci_lower < found.value < found.ci_upper < 0.95
    assert found.metric == "calibration_ratio"


def test_a_group_can_be_null():
    g = pl.when(IN_B).then(None).otherwise("g")
    frame = scored().with_columns(pl.when(IN_B).then(P * 0.4).otherwise(P), g=g)
    found = the(binary(frame), "SM102")
    assert found.sentence.startswith("Worse in groups of g: null (6")
    assert found.where == {"g": None}
    frame = frame.with_columns(pl.when(pl.col("g").is_null()).then(P.shuffle(1)).otherwise(P), h=pl.lit("x"))
    assert the(binary(frame, by=["h", "g"]), "SM401").where == {"g": None}


def test_models_and_labels_are_named():
    found = the(binary(scored().with_columns(q=1 - P), y_score={"old": "q", "new": "p"}), "SM201")
    assert found.sentence.startswith("old: ranks the wrong way round: ROC AUC is 0.")
    assert found.where == {"model": "old"}
    frame = scored().with_columns(q=P * 0.5, x="y")
    report = sm.multilabel(y_true={"cat": "x", "dog": "y"}, y_score={"cat": "q", "dog": "p"}).update(frame).finalize()
    assert the(report, "SM101").where == {"label": "cat"}


def test_groups_are_judged_by_their_own_model():
    frame = scored().with_columns(q=P * 0.3, p=pl.when(IN_B).then(P * 0.5).otherwise(P))
    assert the(binary(frame, y_score={"bad": "q", "good": "p"}), "SM102").where == {"g": "1", "model": "good"}
    frame = errors().with_columns(far=-pl.col("y") * 9, z=pl.col("z") + 2 * IN_B)
    found = [finding.where for finding in regression(frame, y_pred={"far": "far", "near": "z"}).findings()]
    assert {"model": "near"} in found
    assert {"g": "1", "model": "near"} in found


@pytest.mark.thorough
def test_skewed_errors_of_small_groups_are_no_findings():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        frame = pl.DataFrame({"z": rng.normal(0, 5, 1_500), "g": rng.integers(0, 30, 1_500)})
        frame = frame.with_columns(y=pl.col("z") + rng.exponential(1, 1_500) ** 2 - 2)
        assert codes(regression(frame)) == []


def test_of_many_thresholds_only_the_best_counts():
    assert not {"SM204", "SM301", "SM302"} & {*codes(binary(scored(), thresholds=[0.001, 0.01, 0.5, 0.99, 0.999]))}
    found = the(binary(scored(), thresholds=[0.999, 0.99, 0.9999]), "SM301")
    assert found.where == {"threshold": 0.99}
    wrong = binary(scored().with_columns(p=1 - P), thresholds=[0.1, 0.2, 0.9])
    assert len([code for code in codes(wrong) if code == "SM204"]) == 1


def test_thresholds_near_1_do_not_read_as_1():
    frame = scored().with_columns(p=1 - P * 1e-6, y=~pl.col("y"))
    sentence = the(binary(frame, thresholds=[1 - 1e-9]), "SM301").sentence
    assert sentence.startswith("At threshold 0.999999999, ")
    assert re.search(r"For the best F1, use 0\.99999\d+\.$", sentence)


def test_weights_of_any_scale_are_numbers_of_rows():
    frame = scored().with_columns(P.round(1), w=pl.lit(1e-6))
    found = codes(binary(frame, sample_weight="w", thresholds=[0.99]))
    assert {"SM301", "SM504"} <= {*found}
    assert "SM503" not in found
    few = binary(scored(rows=300, rate=0.01, seed=1).with_columns(w=pl.lit(1e6)), sample_weight="w")
    assert the(few, "SM503").sentence.startswith("Only ")
    never = pl.DataFrame({"y": ["a", "b", "c", "c"] * 50, "z": ["a", "b", "b", "b"] * 50, "w": 1e-3})
    report = sm.multiclass(y_true="y", y_pred="z", sample_weight="w").update(never).finalize()
    assert the(report, "SM303").sentence == "Labels that are never predicted: c, 50.00% of the rows."


def test_one_row_of_a_class_is_singular():
    report = sm.binary(y_true="y", y_score="p").update({"y": [1] + [0] * 50, "p": [0.5] * 51}).finalize()
    assert the(report, "SM503").sentence.startswith("Only 1 positive: ")


def test_many_labels_with_few_rows_are_one_finding():
    batch = {"y": ["a", "h"] * 50 + list("bcdefg"), "z": ["a"] * 106}
    report = sm.multiclass(y_true="y", y_pred="z").update(batch).finalize()
    assert the(report, "SM503").sentence == "Few positives of b, c, d and 3 more: most of their metrics are uncertain."


def test_models_with_the_same_value_of_the_metrics_shown_can_differ():
    acc = sm.binary(y_true="y", y_score={"a": "p", "b": "q"}, thresholds=[0.5])
    report = acc.update(scored().with_columns(q=P * 0.999 + 0.0005)).finalize(["accuracy"])
    assert len({*report.frame["value"]}) == 1
    assert "SM601" not in codes(report)


def test_many_labels_with_the_same_fault_are_one_finding():
    labels = {f"l{i}": "p" for i in range(8)}
    acc = sm.multilabel(y_true=dict.fromkeys(labels, "y"), y_score=labels)
    found = the(acc.update(scored().with_columns(P * 0.5)).finalize(), "SM101")
    assert found.where == {"label": "l0"}
    assert found.sentence.startswith("l0: predicts ")
    assert found.sentence.endswith(" observed. SM101 is also found for l1, l2, l3 and 4 more.")


def test_names_are_not_lowercased():
    report = binary(scored(), y_score={"one": "p", "two": (pl.col("p") * 0.9).alias("other")}, capacity=8, by=())
    [found, _] = [finding for finding in report.findings() if finding.code == "SM505"]
    assert found.sentence.startswith("one: ROC AUC is known only to")


def test_models_without_metrics_are_not_said_to_be_equal():
    pairs = sm.PairedOutcomes((0.5,), [("a", "b")])
    acc = sm.Accumulator(pairs, y_true="y", y_score={"a": "p", "b": (1 - P).alias("q")}).update(scored())
    assert codes(acc.finalize()) == []


def test_a_better_threshold_is_named():
    report = binary(scored(), thresholds=[0.99])
    best = report.rollup().operating_point(maximize="f1")["threshold"][0]
    assert the(report, "SM301").sentence.endswith(f"For the best F1, use {best:.3g}.")


def test_groups_are_ranked_the_wrong_way_round():
    report = binary(scored().with_columns(p=pl.when(IN_B).then(1 - P).otherwise(P)))
    assert the(report, "SM201").sentence.startswith("Groups of g are ranked the wrong way round: 1 (ROC AUC 0.")


def test_findings_are_sorted_by_severity():
    found = binary(scored().with_columns(p=1 - P), y_score={"a": "p", "b": "p"}).findings()
    severities = [finding.severity for finding in found]
    assert severities == sorted(severities, key=["bad", "warn", "info"].index)
    assert len(set(severities)) > 1


def test_hostile_names_are_escaped():
    frame = scored().with_columns(
        pl.when(IN_B).then(P * 0.4).otherwise(P), g=pl.when(IN_B).then(pl.lit("a\x1b[2J\nb")).otherwise("g")
    )
    for finding in binary(frame).findings():
        assert not re.search(r"[\x00-\x1f]", finding.sentence)


def test_nothing_is_found_without_rows():
    assert sm.binary(y_true="y", y_score="p").finalize().findings() == []


def test_weights_units_and_margins():
    frame = scored().with_columns(P * 0.6, w=pl.lit(2.0), u=pl.int_range(pl.len()) % 500, m=P.log())
    assert "SM101" in codes(binary(frame, sample_weight="w"))
    assert "SM101" in codes(binary(frame, unit="u"))
    assert codes(binary(frame, y_score="m", domain="real", thresholds=[np.log(0.5)])) == []
    assert codes(sm.predictions(y_score="p").update(frame).finalize()) == []


def test_ranges_of_scores_are_judged_with_units_and_weights():
    frame = scored().with_columns((P * 1.6 - P.mean() * 0.6).clip(0, 1), u=pl.int_range(ROWS) // 2, w=pl.lit(0.5))
    for others in ({"unit": "u"}, {"sample_weight": "w"}):
        assert "SM105" in codes(binary(frame, **others))


def test_findings_as_text_and_frame():
    found = FAULTS["SM201"]().findings()
    assert all(len(line) <= 60 for line in as_text(findings_table(found), width=60).splitlines())
    assert as_text(findings_table(found, 1)).endswith(f"… and {len(found) - 1} more findings")
    frame = as_frame(found)
    assert frame["code"].to_list() == [finding.code for finding in found]
    assert as_frame(FAULTS["SM102"]().findings()).filter(code="SM102")["where"].item() == "g 1"


def test_a_report_searches_once(monkeypatch):
    report = FAULTS["SM101"]()
    first = report.findings()
    monkeypatch.setattr("streammetrics.findings.findings._found", None)
    assert report.findings() == first


@pytest.mark.thorough
def test_the_command_says_them_in_every_format(tmp_path):
    state, summary = tmp_path / "a.state", tmp_path / "summary.md"
    sm.binary(y_true="y", y_score="p", by="g").update(scored().with_columns(P * 0.6)).save(state)
    assert "bad       SM101  Predicts " in run("findings", state)
    assert json.loads(run("findings", state, "--format", "json"))[0]["code"] == "SM101"
    printed = run("findings", state, "--format", "github", GITHUB_STEP_SUMMARY=str(summary))
    assert re.search(r"^::warning title=SM101::Predicts \d+%25 too few positives", printed, re.MULTILINE)
    assert "| bad | SM101 | Predicts" in summary.read_text(encoding="utf-8")
    shown = run("show", state, "--format", "github")
    assert shown.count("\n::warning title=SM101::Predicts ") == 1
    found = CliRunner().invoke(main, ["findings", str(state)], color=True).output
    assert "\n\x1b[31mbad\x1b[0m       SM101" in found
    assert click.unstyle(found) == run("findings", state)
    assert "SM101" in run("show", state)
    assert "SM101" not in run("show", state, "--metric", "roc_auc")


@pytest.mark.thorough
def test_compare_and_drift_write_only_findings_if_requested(tmp_path):
    one, other = tmp_path / "one.state", tmp_path / "other.state"
    task = sm.binary(y_true="y", y_score="p", by="g")
    task.empty().update(scored()).save(one)
    task.empty().update(scored().with_columns(P * 0.6)).save(other)
    for command, code, others in (("compare", "SM701", ("--independent",)), ("drift", "SM711", ())):
        asked = [command, one, other, *others, "--confidence", "0.95", "--findings", "--format"]
        found = json.loads(run(*asked, "json"))
        assert code in [finding["code"] for finding in found]
        assert run(*asked, "table").splitlines()[0].split() == ["severity", "code", "finding"]
        assert f" title={code}::" in run(*asked, "github", GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"))


def test_one_heavy_row_is_not_called_a_tie():
    rows = scored().with_columns(w=pl.when(pl.int_range(pl.len()) == 0).then(5_000).otherwise(1))
    found = sm.binary(y_true="y", y_score="p", sample_weight="w").update(rows).finalize().findings()
    [tied] = [finding for finding in found if finding.code == "SM504"]
    assert re.search(r"% of the weight has the same score, 0\.\d+\.$", str(tied))
