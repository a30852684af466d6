"""Findings of faults, with their codes, severities, places, and sentences in ``sentences.txt``.

``python tests/findings/test_findings.py`` writes that file again.
"""

import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from faulty import (  # noqa: E402
    IN_B,
    P,
    binary,
    classes,
    errors,
    labelled,
    models,
    moved,
    regression,
    scored,
    several,
    shifted,
    total,
    two_models,
)

import streammetrics as sm  # noqa: E402

DOCS = Path(__file__).parents[2] / "docs" / "findings.md"
SENTENCES = Path(__file__).with_name("sentences.txt")
BETTER = two_models(noise=(1.5, 0.3), worse=0.3)
WORSE_IN_B = two_models(noise=(1.5, 0.3), worse=4, groups=6)
TOO_EXTREME = (P * 1.6 - P.mean() * 0.6).clip(0, 1)
WRONG_WAY = scored().with_columns(p=1 - P)
LABELS = {f"l{i}": "p" for i in range(8)}


def one(frame, score="p", **options):
    return sm.binary(y_true="y", y_score=score, **{"by": "g"} | options).update(frame)


def in_b(fault):
    return pl.when(IN_B).then(fault).otherwise(P)


FAULTS = {
    "underconfident labels": lambda: several(classes(temperature=2)),
    "certain labels that are wrong": lambda: several(
        classes().with_columns(
            p=P.arr.to_list().list.eval((pl.element() == pl.element().max()).cast(float)).list.to_array(3)
        )
    ),
    "calibrated labels": lambda: several(classes()),
    "too few positives": lambda: binary(scored().with_columns(P * 0.6)),
    "no positives": lambda: total(scored(rate=0.15).with_columns(y=False)),
    "no negatives": lambda: total(scored(rate=0.15).with_columns(y=True)),
    "few rows of one class": lambda: total(pl.DataFrame({"y": [True] * 30, "p": np.linspace(0.87, 0.93, 30)})),
    "scores of 0": lambda: total(scored(rate=0.3).with_columns(p=pl.lit(0.0))),
    "margins are no probabilities": lambda: binary(
        scored().with_columns(P.log()), domain="real", thresholds=[np.log(0.5)]
    ),
    "too few positives of a group": lambda: binary(scored().with_columns(in_b(P * 0.4))),
    "too few positives, most of all of a group": lambda: binary(
        scored(10_000, groups=6).with_columns(pl.when(pl.col("g") < "5").then(P * 0.7).otherwise(P * 0.2))
    ),
    "too few positives of the group of nulls": lambda: binary(
        scored().with_columns(in_b(P * 0.4), g=pl.when(~IN_B).then("g"))
    ),
    "biased errors": lambda: regression(errors().with_columns(pl.col("z") + 1)),
    "biased errors of a group": lambda: regression(errors().with_columns(pl.col("z") + 2 * IN_B)),
    "wrong in ranges": lambda: total(scored(rate=0.3).with_columns(TOO_EXTREME)),
    "wrong in ranges, and perhaps on average": lambda: total(
        scored(rate=0.3).with_columns((TOO_EXTREME * 1.05).clip(0, 1))
    ),
    "wrong in ranges, and right on average": lambda: total(
        scored(40_000, 0.3).with_columns(TOO_EXTREME).with_columns(P * (pl.col("y").mean() / P.mean()))
    ),
    "wrong in ranges, by weight": lambda: binary(scored().with_columns(TOO_EXTREME, w=0.5), sample_weight="w"),
    "the wrong way round": lambda: binary(WRONG_WAY),
    "the wrong way round in a group": lambda: binary(scored().with_columns(p=in_b(1 - P))),
    "one row of many thresholds": lambda: binary(WRONG_WAY, thresholds=[0.1, 0.2, 0.9]),
    "no ranking": lambda: total(scored(20_000).with_columns(P.shuffle(1))),
    "too few rows to tell a ranking": lambda: total(scored(200, 0.1, 0.7)),
    "errors worse than the mean": lambda: regression(errors().with_columns(-pl.col("z"))),
    "a threshold above the scores": lambda: binary(scored(), thresholds=[0.99]),
    "a threshold next to 1": lambda: binary(
        WRONG_WAY.with_columns(p=1 - (1 - P) * 1e-6, y=~pl.col("y")), thresholds=[1 - 1e-9]
    ),
    "a good threshold among others": lambda: binary(scored(), thresholds=[0.001, 0.01, 0.5, 0.99, 0.999]),
    "a threshold below the scores": lambda: binary(scored(), thresholds=[0.001]),
    "a threshold below frequent scores": lambda: total(scored(4_000, 0.85, 0.2)),
    "labels that are all negative": lambda: (
        sm.binary(y_true="y", y_pred="z").update(scored().with_columns(z=False)).finalize()
    ),
    "labels that are all positive": lambda: (
        sm.binary(y_true="y", y_pred="z").update(scored().with_columns(z=True)).finalize()
    ),
    "a label that is never predicted": lambda: labelled(["a", "b", "c"] * 50, ["a", "b", "b"] * 50),
    "a label of small weights": lambda: labelled([*"abcc"] * 50, [*"abbb"] * 50, sample_weight=[1e-3] * 200),
    "no ranking in a group": lambda: binary(scored().with_columns(in_b(P.shuffle(1)))),
    "dropped rows": lambda: binary(scored().with_columns(pl.when(pl.int_range(pl.len()) > 100).then(P)), nulls="drop"),
    "few positives": lambda: binary(scored(1_000, 0.002)),
    "one positive": lambda: total(pl.DataFrame({"y": [1] + [0] * 50, "p": [0.5] * 51})),
    "few positives of large weights": lambda: binary(scored(300, 0.01, seed=1).with_columns(w=1e6), sample_weight="w"),
    "few positives of many labels": lambda: labelled(["a", "h"] * 50 + [*"bcdefg"], ["a"] * 106),
    "many positives of small weights": lambda: binary(
        scored().with_columns(P.round(1), w=1e-6), sample_weight="w", thresholds=[0.99]
    ),
    "ties": lambda: binary(scored().with_columns(P.round(1))),
    "one heavy row": lambda: total(
        scored().with_columns(w=pl.when(pl.int_range(pl.len()) == 0).then(5_000).otherwise(1)), sample_weight="w"
    ),
    "counts as weights": lambda: total(scored(2_000).with_columns(w=pl.int_range(pl.len()) % 4 + 1), sample_weight="w"),
    "rounded scores": lambda: total(scored().with_columns(P.round(2)), rounding=0.01),
    "scores of fewer decimals": lambda: total(scored().with_columns(P.round(1)), rounding=0.01),
    "some scores of fewer decimals": lambda: total(
        scored(20_000).with_columns(pl.when(IN_B).then(P.round(1)).otherwise(P.round(2))), rounding=0.01
    ),
    "some scores of a label of fewer decimals": lambda: (
        sm.multilabel(y_true={"a": "y", "b": "y"}, y_score={"a": "p", "b": "q"}, rounding=0.001)
        .update(scored(20_000).with_columns(P.round(3), q=pl.when(IN_B).then(P.round(2)).otherwise(P.round(3))))
        .finalize()
    ),
    "wide bounds": lambda: total(scored(), capacity=8),
    "equal models": lambda: binary(scored(), y_score={"a": "p", "b": "p"}),
    "models of equal metrics": lambda: (
        sm.binary(y_true="y", y_score={"a": "p", "b": "q"})
        .update(scored().with_columns(q=P * 0.999 + 0.0005))
        .finalize(["accuracy"])
    ),
    "sides without intervals": lambda: sm.compare(one(scored()), one(scored(seed=1))),
    "a better model that is worse in a group": lambda: models(WORSE_IN_B),
    "a better model that is worse calibrated": lambda: models(
        BETTER.with_columns(q=1 / (1 + (1 / pl.col("q") - 1) ** 3))
    ),
    "other numbers of rows": lambda: sm.compare(one(scored()), one(scored(3_000))),
    "the same rows as independent ones": lambda: sm.compare(one(scored()), one(scored()), independent=True),
    "shifted scores": lambda: moved(scored(), shifted(1.0), by="g"),
    "one row against another": lambda: moved(*[{"y": [1], "p": [p]} for p in (0.2, 0.9)]),
    "the same rows": lambda: moved(scored(), scored()),
    "few scores": lambda: moved(scored(40), scored(40, seed=1), sm.predictions),
    "equal scores that stay": lambda: moved(*[{"p": [0.2] * 900}] * 2, sm.predictions),
    "a few equal scores": lambda: moved({"p": [0.2] * 9}, {"p": [0.1] * 9}, sm.predictions),
    "shifted scores of a day": lambda: sm.drift_over(
        one(scored().with_columns(p=pl.when(pl.col("day").dt.day() == 9).then(1 - P).otherwise(P)), by="day"),
        "day",
        reference="5d",
    ),
    "another rate of positives": lambda: moved(scored(), scored(seed=1, rate=0.3)),
    "another rate of predicted positives": lambda: sm.drift(
        *(
            sm.binary(y_true="y", y_pred="z").update(scored(seed=seed).with_columns(z=t < P))
            for seed, t in enumerate((0.5, 0.3))
        )
    ),
    "overconfident labels": lambda: several(classes(temperature=0.5)),
    "labels in one bin": lambda: several(classes(temperature=0.4), calibration_bins=1),
    "too few positives of one label": lambda: (
        sm.multilabel(y_true={"cat": "x", "dog": "y"}, y_score={"cat": "q", "dog": "p"})
        .update(scored().with_columns(q=P * 0.5, x="y"))
        .finalize()
    ),
    "too few positives of many labels": lambda: (
        sm.multilabel(y_true=dict.fromkeys(LABELS, "y"), y_score=LABELS)
        .update(scored().with_columns(P * 0.5))
        .finalize()
    ),
    "too few positives of a group of the better model": lambda: binary(
        scored().with_columns(q=P * 0.3, p=in_b(P * 0.5)), y_score={"bad": "q", "good": "p"}
    ),
    "hostile names": lambda: binary(
        scored().with_columns(in_b(P * 0.4), g=pl.when(IN_B).then(pl.lit("a\x1b[2J\nb")).otherwise("g"))
    ),
    "wrong in ranges, by unit": lambda: binary(scored().with_columns(TOO_EXTREME), unit="u"),
    "the wrong way round in one model": lambda: binary(
        scored().with_columns(q=1 - P), y_score={"old": "q", "new": "p"}
    ),
    "a label without the highest probability": lambda: several(
        pl.DataFrame({"y": [0, 0, 1] * 100, "p": np.array([[0.7, 0.3]] * 300)})
    ),
    "a better model": lambda: models(BETTER),
    "a model that is not better": lambda: models(two_models()),
    "a worse side": lambda: sm.compare(
        one(two_models(noise=(0.3, 0.3))), one(two_models(noise=(2.5, 0.3), seed=1)), independent=True
    ),
    "other groups": lambda: sm.compare(one(scored()), one(scored(seed=1, groups=4)), independent=True),
    "moved scores": lambda: moved(scored(40_000), shifted(0.15, 40_000)),
    "stable scores": lambda: moved(scored(20_000, groups=2), scored(20_000, groups=2, seed=1), by="g"),
    "shifted scores of units": lambda: moved(scored(20_000), shifted(0.6, 20_000), sm.predictions, unit="u"),
    "weighted scores without units": lambda: moved(
        *(rows.with_columns(w=P + 0.5) for rows in (scored(), shifted(1.0))),
        sm.predictions,
        sample_weight="w",
        thresholds=(),
    ),
    "an infinite score": lambda: moved(*[{"p": [np.inf, *scored(500)["p"]]}] * 2, sm.predictions, domain="real"),
    "shifted errors": lambda: sm.drift(
        *(
            sm.regression(y_true="y", y_pred="z").update(errors().with_columns(pl.col("z") + shift))
            for shift in (0, 0.9)
        )
    ),
    "shifted scores of a group": lambda: moved(scored(), shifted(1.5, only=IN_B), by="g"),
}
NONE = {
    "calibrated scores": lambda: binary(scored()),
    "errors around 0": lambda: regression(errors()),
    "scores without labels": lambda: sm.predictions(y_score="p").update(scored()).finalize(),
    "no rows": lambda: sm.binary(y_true="y", y_score="p").finalize(),
    "statistics without metrics": lambda: (
        sm.Accumulator(
            sm.statistics.PairedOutcomes((0.5,), [("a", "b")]), y_true="y", y_score={"a": "p", "b": (1 - P).alias("q")}
        )
        .update(scored())
        .finalize()
    ),
    "both sides without labels": lambda: sm.compare(
        *(sm.predictions(y_score="p").update(scored(seed=seed)) for seed in range(2)), independent=True
    ),
}


def sentences(found):
    """The findings of a case, in a line each, with their titles."""
    lines = (f"    {f.code} {f.severity} {f.keys or 'all'}: {f}" + f" [{f.title}]" * bool(f.title) for f in found)
    return "".join(f"{line}\n" for line in lines)


def written():
    """The findings of the cases in the file."""
    return dict(re.findall(r"^(\S.*)\n((?: .*\n)*)", SENTENCES.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_has_its_findings(fault):
    found = FAULTS[fault]().findings()
    verdicts = [f for f in found[:1] if f.code in ("SM701", "SM711")]  # of two sides, which come first
    order = [("bad", "warn", "info").index(f.severity) for f in found[len(verdicts) :]]
    assert order == sorted(order)
    assert all(re.fullmatch(r"[^\x00-\x1f]{10,260}[.?]", str(f)) for f in found)
    assert all(f.ci_lower is None or f.ci_lower <= f.value <= f.ci_upper for f in found)
    assert sentences(found) == written()[fault]
    assert all(f.title for f in found if f.severity != "info" and f.code != "SM704")


@pytest.mark.whole
@pytest.mark.parametrize("rows", NONE)
def test_rows_without_faults_have_no_findings(rows):
    assert NONE[rows]().findings() == []


def test_every_code_has_a_fault_and_is_documented():
    package = Path(sm.__file__).parent.glob("reading/diagnosis/*.py")
    codes = {code for path in package for code in re.findall(r'"(SM\d{3})"', path.read_text(encoding="utf-8"))}
    tried = set(re.findall(r"^    (SM\d{3})", SENTENCES.read_text(encoding="utf-8"), re.MULTILINE))
    assert tried == {code for code in codes if code < "SM800"}  # those of rules have a table of their own
    assert set(re.findall(r"^### (SM\d{3}):", DOCS.read_text(encoding="utf-8"), re.MULTILINE)) == codes


if __name__ == "__main__":
    text = "\n".join(f"{fault}\n{sentences(call().findings())}" for fault, call in FAULTS.items())
    SENTENCES.write_text(text, encoding="utf-8")
