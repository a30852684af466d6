"""Metrics that are unknown or not computed, options out of range, declarations, and labels that a task does not fit."""

from math import inf, nan

import numpy as np
from data import CLICKS, DELIVERIES, DIGITS, clicks, deliveries, digits

import streammetrics as sm
from streammetrics import metrics as m

BINARY = sm.binary(**CLICKS).update(clicks()[:50])
COUNTS = sm.Accumulator(sm.statistics.ConfusionCounts(), **CLICKS).update(clicks()[:50])
CLASSES = sm.multiclass(**DIGITS, one_vs_one=True).update(digits()[:50])
ERRORS = sm.regression(**DELIVERIES).update(deliveries()[:50])
MARGINS = sm.binary(y_true="y", y_score="t", domain="real").update({"y": [0, 1], "t": [-3.0, 7.0]})
KAPPA = sm.multiclass(y_true="digit", y_pred="predicted").update(digits()[:50]).finalize()

NAMES = {
    "presicion": ["precision"],
    "AUROC": ["auroc"],
    "acc": ["accuracy"],
    "xyz": ["streammetrics metrics"],
    "neg_xyz": [],
    "xyz_ovr": [],
    "neg_presicion": ["precision"],
    "neg_log_loss": ["log_loss"],
    "f1_macro": ["f1(average=macro)"],
    "psi(of='y_score')": ["drift"],
    "fbeta(gamma=2)": ["gamma", "beta"],
    "fbeta(2)": [],
    "precision(threshold=0.3)": ["precision", "threshold=0.3"],
    "recall @ 0.5": ["recall"],
    "fbeta(**1)": [],
    "fbeta(beta=1, beta=2)": [],
    "fbeta(beta=abc)": ["beta=", "abc"],
    "cost(fp=tn)": ["fp="],
    "log_loss(label=both)": ["label"],
    "__import__('os')": [],
    "partial_auc(max_fpr=-1)": ["max_fpr"],
    "kappa(weights=linear)": ["kappa"],
}
OPTIONS = {
    BINARY: [m.partial_auc(max_fpr=0), m.recall_at_fpr(fpr=1.5), m.gain(top=-1), m.precision_at_recall(recall=0)],
    CLASSES: [*(m.top_k_accuracy(k=k) for k in (0, 1.5, nan)), m.roc_auc_ovo(average="micro")],
    ERRORS: [
        m.pinball_loss(q=1.5),
        m.pinball_loss(q=-0.1),
        m.adjusted_r2(features=-1),
        m.error_quantile(q=-0.1),
        *(
            m.absolute_error_quantile(q=nan),
            m.rec_auc(limit=0),
            m.rec_auc(limit=inf),
            m.within(x=nan),
            m.error_cdf(x=nan),
        ),
    ],
    sm.Accumulator(sm.statistics.TDigest(), **DELIVERIES): [
        m.digest_quantile(q=-0.1),
        m.digest_quantile(q=nan),
        m.digest_cdf(x=nan),
    ],
    sm.predictions(y_score="score"): [m.quantile(q=1.1), m.cdf(x=nan)],
}


def _call(function, *arguments, **options):
    """A call without parameters, since a refusal's parameter is a folder."""
    return lambda: function(*arguments, **options)


def _frame(acc, metric):
    return acc.finalize([metric]).frame


def _declared(**options):
    return lambda: sm.metric(**options)(lambda tp, fp: tp / (tp + fp))


def _second():
    @sm.metric(range=(0, 1), aliases=("ppv",))
    def another_precision(tp, fp):
        """Doc."""
        return tp / (tp + fp)


REFUSALS = {
    **{f"metric {name}": (_call(_frame, BINARY, name), *names) for name, names in NAMES.items()},
    **{
        f"option {metric}": (
            _call(_frame, acc, metric),
            *(f"{option}=" for option in metric.options if option != "standardized"),
        )
        for acc, metrics in OPTIONS.items()
        for metric in metrics
    },
    "an option nested too deeply": (lambda: BINARY.finalize([f"fbeta(beta={'(' * 3_000}1{')' * 3_000})"]), "fbeta"),
    "too few columns": (lambda: m.precision(3), "precision", "tp", "fp"),
    "too many columns": (lambda: m.precision(3, 1, 2), "precision", "tp", "fp"),
    "an unknown keyword": (lambda: m.fbeta(gamma=2), "gamma", "fbeta", "beta"),
    "an unknown keyword beside columns": (lambda: m.fbeta(gamma=2, tp=1, fp=1, fn=0), "gamma", "beta"),
    "better= lower": (_declared(range=(0, 1), better="lower"), "better=", "lower"),
    "range= with None": (_declared(range=(0, None)), "range=", "None"),
    "range= that descends": (_declared(range=(1, 0)), "range=", "(1, 0)"),
    "a second metric of one name": (_second, "ppv"),
    "a metric without its statistic": (lambda: COUNTS.finalize(["roc_auc"]), "roc_auc", "ScoreHistogram"),
    "an average of what labels do not have": (
        lambda: CLASSES.finalize()["log_loss(average=macro)"],
        *("log_loss", "ProbabilityLoss"),
    ),
    "weights of kappa": (lambda: KAPPA["kappa(weights=cubic)"], "weights=", "cubic"),
    "ECCE of margins": (lambda: MARGINS.finalize(["ecce"]), "domain='probability'"),
    "a family that was not evaluated": (lambda: ERRORS.finalize(["msle"]), "msle"),
    "a family in a list": (lambda: sm.regression(families=[["log"]], **DELIVERIES), "['log']"),
    "a threshold without a histogram": (
        lambda: COUNTS.finalize().get("recall", threshold=0.61),
        *("recall", "threshold=0.61"),
    ),
    "a threshold of a metric of all": (
        lambda: BINARY.finalize().get("roc_auc", threshold=0.61),
        *("roc_auc", "threshold=0.61"),
    ),
    **{
        f"threshold {value}": (_call(BINARY.finalize().get, "recall", threshold=value), str(value))
        for value in (nan, "high", None)
    },
    "an unknown key of a curve": (lambda: CLASSES.finalize().curve("roc", fpr=0.1), "fpr", "label"),
    "an unknown key of an operating point": (
        lambda: CLASSES.finalize().operating_point(maximize="f1", fpr=0.1),
        *("fpr", "label"),
    ),
    "a group with the name of a column of a curve": (
        lambda: (
            sm.regression(by="share", **DELIVERIES)
            .update(deliveries()[:9].with_columns(share=1))
            .finalize()
            .curve("rec")
        ),
        "'share'",
    ),
    "an order without labels that occur": (
        lambda: (
            sm.multiclass(y_true="y", y_pred="z", order=["a", "b"]).update({"y": [*"abcd"], "z": [*"abcd"]}).finalize()
        ),
        "order=",
    ),
    "shares of another side": (lambda: KAPPA.confusion_matrix(normalize="true"), "normalize=", "'true'"),
    "no confused labels": (lambda: KAPPA.most_confused(0), "n=", "0"),
    **{
        f"weights of kappa that are {wrong}": (_call(KAPPA.weighted_kappa, matrix), "weights=")
        for wrong, matrix in {
            "too few": [[0, 1], [1, 0]],
            "a list": [0, 1, 2],
            "ragged": [[0, 1], [1]],
            "text": [["a"] * 10] * 10,
            "NaN": np.full((10, 10), nan),
        }.items()
    },
    "an option too large": (lambda: BINARY.finalize(["fbeta(beta=1e308)"]).frame, "fbeta", "too large"),
    "a capacity of thousands of digits": (lambda: sm.binary(capacity=10**5000, **CLICKS), "4,300"),
}
