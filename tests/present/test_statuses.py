"""Statuses and numbers decide, and sentences are only shown."""

import secrets
from functools import partial

import polars as pl
import pytest
from click.testing import CliRunner
from data import clicks, deliveries, visits

import streammetrics as sm
from streammetrics.base import Status
from streammetrics.cli import main
from streammetrics.metrics import declared_metrics
from streammetrics.show.tables import notes, verdicts

RULES = ["roc_auc >= 0.6", "precision >= 0.5", "ece <= 0.2", "best_f1 >= 0.5", "accuracy >= 0.4", "rows >= 2"]
SHOWN = ["roc_auc", "precision", "recall", "ece", "ks", "ecce_p_value", "log_loss", "log_loss_skill", "rows", "kappa"]
SENTENCES = (notes.TEXTS, notes.AHEAD_TEXTS, notes.POINT_TEXTS, verdicts.WORDS, verdicts.REMARKS)


def binary(unit=None, weight=None):
    """Two models, in groups of many rows, of few rows, and of one row."""
    part = pl.when(pl.int_range(500) < 470).then(pl.lit("large")).when(pl.int_range(500) < 499).then(pl.lit("few"))
    rows = visits()[:500].with_columns(part=part.otherwise(pl.lit("one")), other=pl.col("score") ** 1.2)
    scores = {"a": "score", "b": "other"}
    return sm.binary(y_true="bought", y_score=scores, by="part", unit=unit, sample_weight=weight).update(rows)


def texts(frame):
    return frame["note"].drop_nulls().to_list() if "note" in frame.columns else []


def of_models(_, **options):
    report = binary(**options).finalize(SHOWN, confidence=0.95)
    compared = report.compare("a", "b", metrics=["roc_auc", "log_loss", "ks"])
    gate = compared.check(not_worse={"roc_auc": 0.01, "log_loss": "2%", "ks": 0.1})
    with pytest.raises(sm.errors.ReportError, match="no confidence interval"):
        sm.rows_needed(report.rollup(), "ks", difference=0.1, model="a")
    frames = [report.frame, compared.frame, gate.frame, report.check(RULES).frame]
    return [*frames, report.gaps("recall", over="part", reference="few")], compared.findings(), []


def of_estimates(_):
    goal = {"maximize": "recall", "subject_to": "precision >= 0.99"}
    errors = sm.regression(y_true="minutes", y_pred="forecast").update(deliveries()[:3])
    frames = [
        binary(weight="weight").finalize(SHOWN, confidence=0.95).frame,
        binary().finalize(SHOWN, confidence=0.9, always=500).frame,
        binary().finalize().operating_point(**goal, confidence=0.95),
        errors.finalize(confidence=0.95).frame,
    ]
    return frames, [], []


def of_sides(directory):
    half = clicks()[:400]
    sides = [sm.binary(y_true="clicked", y_score="score", by="country").update(half[i::2]) for i in (0, 1)]
    drift = sm.drift(*sides, confidence=0.9)
    path = directory / "side.state"
    sides[0].save(path)
    command = ["check", str(path), *(part for rule in RULES for part in ("--require", rule))]
    exits = [CliRunner().invoke(main, [*command, *more]).exit_code for more in ([], ["--open", "fail"])]
    return [drift.frame, sm.expect(*sides, confidence=0.9).frame], drift.findings(), exits


RESULTS = {  # and at least how many sentences they have
    "models": (of_models, 60),
    "estimates": (of_estimates, 100),
    "sides": (of_sides, 20),
    "models, by units": (partial(of_models, unit="visitor"), 80),
}


def results(kind, directory):
    """All that is not a sentence, and all sentences."""
    frames, findings, exits = RESULTS[kind][0](directory)
    sentences = [text for frame in frames for text in texts(frame)]
    codes = [(finding.code, finding.severity) for finding in findings] + exits
    return [frame.drop("note", strict=False) for frame in frames], codes, sentences


@pytest.fixture
def tokens():
    """Random tokens in place of all sentences, which are then restored."""
    saved = [dict(table) for table in SENTENCES]
    methods = {id(m.interval): m.interval for m in declared_metrics()}.values()
    reasons = [(m, name, getattr(m, name)) for m in methods for name in ("reason_of_rows", "reason_of_units")]
    reasons = [(m, name, text) for m, name, text in reasons if text]

    def replace():
        for table in SENTENCES:
            table.update({code: secrets.token_hex(8) + "{}" * text.count("{}") for code, text in table.items() if text})
        words = {text: secrets.token_hex(8) for _, _, text in reasons}
        for method, name, text in reasons:
            object.__setattr__(method, name, words[text])

    yield replace
    for table, texts in zip(SENTENCES, saved, strict=True):
        table.update(texts)
    for method, name, text in reasons:
        object.__setattr__(method, name, text)


@pytest.mark.parametrize("kind", RESULTS)
def test_no_sentence_decides(kind, tmp_path, tokens):
    frames, codes, sentences = results(kind, tmp_path)
    tokens()
    others, other_codes, tokens_shown = results(kind, tmp_path)
    assert all(frame.equals(other) for frame, other in zip(frames, others, strict=True))
    assert codes == other_codes
    assert len(sentences) == len(tokens_shown) >= RESULTS[kind][1]
    assert not [text for text in {*sentences} & {*tokens_shown} if text.startswith("no interval")]


def test_each_status_of_an_estimate_has_a_sentence_or_needs_none():
    silent = {"exact", "bounded", "no_method_of_units", "needs_units", *notes.AHEAD_TEXTS}
    assert {*Status.categories} == {*notes.TEXTS} | silent


def test_a_value_that_is_undefined_says_so_also_with_an_interval_of_its_cells():
    rows = {"y": [0, 1] * 20, "p": [0] * 40, "w": [2] * 40}
    for weight in (None, "w"):
        report = sm.binary(y_true="y", y_pred="p", sample_weight=weight).update(rows).finalize(confidence=0.95)
        for metric in ("precision", "mcc", "diagnostic_odds_ratio"):
            assert (report[metric].status, report[metric].note) == ("undefined", "0/0")
