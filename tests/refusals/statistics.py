"""Options of statistics, and rows from which custom ones cannot be computed."""

import numpy as np
from data import CLICKS, clicks

import streammetrics as sm
from streammetrics.statistics import Histogram, LabelSets, PairedLosses, PairedScores, PairHistograms

CLICKED = sm.binary(**CLICKS).update(clicks()[:50])
MOST = {  # numbers that have a stated maximum
    "capacity of a task": (lambda n: sm.binary(capacity=n, **CLICKS), 1 << 30, "capacity="),
    "capacity of a statistic": (sm.statistics.ScoreHistogram, 1 << 30, "capacity="),
    "capacity of pairs": (lambda n: PairedScores([("a", "b")], n), 1 << 30, "capacity="),
    "calibration bins": (sm.statistics.CalibrationBins, 1_000_000, "calibration bins"),
    "compression": (sm.statistics.TDigest, 1_000_000, "compression="),
    "folds": (lambda n: sm.binary(unit="u", folds=n, **CLICKS), 256, "folds="),
    "max_groups": (lambda n: sm.binary(by="day", max_groups=n, **CLICKS), (1 << 32) - 1, "max_groups="),
    "bins of drift": (lambda n: sm.drift(CLICKED, CLICKED, bins=n), 1_000_000, "bins="),
    "workers": (lambda n: sm.evaluate(clicks()[:2], CLICKED.empty(), workers=n), 1_024, "workers="),
}


class WidthsOfIntervals(sm.statistics.RowSums):
    inputs = ("y_true", "lower", "upper")

    def of_rows(self, y_true, lower, upper):
        with np.errstate(over="ignore"):
            return {"intervals": 1, "interval_width_sum": upper - lower}


class Counted(sm.statistics.RowSums):
    inputs = ("y_true",)

    def of_rows(self, y_true):
        return {"counted": y_true.astype(np.int64)}


class Halved(sm.statistics.RowSums):
    inputs = ("y_true",)

    def of_rows(self, y_true):
        return {"halved_sum": y_true[: max(len(y_true) // 2, 1)]}


class Renamed(sm.statistics.RowSums):
    inputs = ("y_true",)

    def of_rows(self, y_true):
        return {"renamed" if len(y_true) < 3 else "other": y_true}


def _widths(**columns):
    batch = {"y": [1.0, 2.0], "low": [0.0, 1.0], "high": [1.0, 2.0]} | columns
    return sm.Accumulator(WidthsOfIntervals(), y_true="y", lower="low", upper="high").update(batch)


def _counted(statistic, values):
    return sm.Accumulator(statistic, y_true="y").update({"y": values})


NAN = float("nan")
ACC = sm.Accumulator
OPTIONS = {  # what is wrong: a function, its arguments, and the names
    "a capacity too small for its atoms": (
        sm.statistics.ScoreHistogram,
        {"capacity": 135, "atoms": (0.1, 0.2)},
        *("136", "135"),
    ),
    **{
        f"rounding to {step}": (sm.statistics.ScoreHistogram, {"rounding": step}, "rounding=", str(step))
        for step in (0.0, 1e-16, float("inf"))
    },
    "an atom that is no probability": (sm.statistics.ScoreHistogram, {"atoms": [2.0]}, "atoms=", "2.0", "probability"),
    "an atom that is no number": (Histogram, {"atoms": [NAN]}, "atoms=", "nan"),
    "a domain of errors": (sm.statistics.ErrorHistogram, {"domain": "probability"}, "domain="),
    "a histogram of no role": (Histogram, {"of": "y_false"}, "of=", "y_false", "y_score, y_pred, y_true"),
    "a digest of no role": (sm.statistics.TDigest, {"of": "y_false"}, "of=", "y_false", "error"),
    "thresholds that are equal": (sm.statistics.ConfusionCounts, {"thresholds": [0.5, 0.5]}, "thresholds="),
    "thresholds of NaN": (sm.statistics.ConfusionCounts, {"thresholds": [NAN]}, "thresholds=", "nan"),
    "thresholds of text": (sm.statistics.ConfusionCounts, {"thresholds": ["half"]}, "thresholds=", "half"),
    "many equal thresholds": (sm.statistics.ConfusionCounts, {"thresholds": [0.5] * 100_000}, "thresholds="),
    "a threshold of labels of NaN": (LabelSets, {"threshold": NAN}, "threshold=", "nan"),
    "a threshold of labels of text": (LabelSets, {"threshold": "0.5"}, "threshold=", "0.5"),
    "an unknown family": (
        sm.statistics.ErrorMoments,
        {"families": ("possion",)},
        *("possion", "log, log_cosh, poisson, gamma"),
    ),
    "families as text": (sm.statistics.ErrorMoments, {"families": "log"}, "family"),
    **{
        f"a power of {n}": (sm.statistics.ErrorMoments, {"power": n}, "power=", str(n))
        for n in (0.5, NAN, float("inf"))
    },
    **{
        f"a compression of {n!r}": (sm.statistics.TDigest, {"compression": n}, "compression=", repr(n))
        for n in (0, 2.5, None)
    },
    **{
        f"calibration bins of {n}": (sm.statistics.CalibrationBins, {"bins": n}, "calibration bins", str(n))
        for n in (0, 2.5)
    },
    "a model beside itself": (PairedLosses, {"pairs": [("a", "a")]}, "pairs="),
    "a pair twice": (PairedLosses, {"pairs": [("a", "b"), ("b", "a")]}, "pairs="),
    "a pair of three letters": (PairedLosses, {"pairs": ["abc"]}, "pairs="),
    "a pair of a number": (PairedLosses, {"pairs": [("a", 1)]}, "pairs="),
    "no pairs": (PairedLosses, {"pairs": 5}, "pairs="),
    "an order of two types": (sm.statistics.ConfusionMatrix, {"order": ["a", 1]}, "of one type"),
    "row IDs as text": (sm.statistics.RowFingerprint, {"columns": "id"}, "columns=", "'id'"),
}
for name, make in {"scores": sm.statistics.ScoreHistogram, "values": Histogram, "pairs": PairHistograms}.items():
    OPTIONS[f"{name} without a bin per octave"] = (make, {"capacity": 7}, "capacity=", "8", "7")
    OPTIONS[f"{name} of half a bin"] = (make, {"capacity": 99.5}, "capacity=", "99.5")
    OPTIONS[f"{name} of an unknown domain"] = (make, {"domain": "margin"}, "domain=", "margin")
COLUMNS = {  # what is wrong: a statistic, columns that it cannot be computed from, and the names
    "a pair of an unknown model": (PairedScores([("a", "c")]), {"y_score": {"a": "a", "b": "b"}}, "'c'"),
    "a missing input": (WidthsOfIntervals(), {}, "lower=", "upper="),
    "an unknown input": (WidthsOfIntervals(), {"lower": "l", "upper": "u", "lowest": "l"}, "'lowest'"),
    "losses of a regression": (sm.statistics.ProbabilityLoss(), {"y_score": "p", "task": "regression"}, "regression"),
    "a matrix of a binary task": (sm.statistics.ConfusionMatrix(), {"y_pred": "z", "task": "binary"}, "binary"),
    "a matrix without predictions": (sm.statistics.ConfusionMatrix(), {}, "ConfusionMatrix", "y_pred="),
    "a matrix of unknown labels": (sm.statistics.ConfusionMatrix(), {"y_score": "p"}, "label"),
    "losses without scores": (sm.statistics.ClassLoss(), {"y_pred": "z"}, "ClassLoss", "y_score="),
    "labels of a binary task": (sm.statistics.ConfusionCounts(), {"y_score": "p", "labels": ["a"]}, "labels="),
    "a histogram of classes": (Histogram(of="y_pred"), {"y_pred": "z", "task": "multiclass"}, "Histogram"),
    "a histogram of a missing column": (Histogram(), {"y_pred": "p", "task": "regression"}, "y_score="),
}
CLASSES = {  # what is wrong: the body of a class, and the names
    "an input that is an argument": ({"inputs": ("by",), "of_rows": lambda self, by: {"x1": by}}, "'by'"),
    "a column of another statistic": (
        {"inputs": ("y_true",), "of_rows": lambda self, y_true: {"tp": y_true}},
        *("'tp'", "ConfusionCounts"),
    ),
    "a name of another statistic": (
        {"name": "score_histogram", "of_rows": lambda self: {"x1": 1}},
        "'score_histogram'",
    ),
}


def _refused(call, *arguments, **options):
    return lambda: call(*arguments, **options)


def _specifications():
    for wrong, (make, options, *names) in OPTIONS.items():
        yield wrong, (_refused(make, **options), *names)
    for wrong, (statistic, columns, *names) in COLUMNS.items():
        yield wrong, (_refused(ACC, statistic, y_true="y", **columns), *names)
    for wrong, (body, *names) in CLASSES.items():
        yield wrong, (_refused(type, "Odd", (sm.statistics.RowSums,), body), *names)
    for name, (make, most, argument) in MOST.items():
        for number, size in ((most + 1, "too large"), (10**400, "of no integer")):
            yield f"{name} {size}", (_refused(make, number), f"{most:,}", argument)


REFUSALS = {
    **dict(_specifications()),
    "a null input": (lambda: _widths(low=[None, 1.0]), "'low'", "1 of 2"),
    "an input of text": (lambda: _widths(low=["x", "y"]), "'low'", "2 of 2"),
    "a sum that is not finite": (
        lambda: _widths(low=[-1.7e308, 0.0], high=[1.7e308, 1.0]),
        *("'interval_width_sum'", "1 of 2"),
    ),
    **{
        f"a count of {n}": (_refused(_counted, Counted(), [0.0, n]), "'counted'", "2,147,483,647", "1 of 2")
        for n in (-1.0, 2.0**31, 2.0**62)
    },
    "fewer numbers than rows": (lambda: _counted(Halved(), [1.0] * 4), "halved"),
    "other columns than declared": (lambda: _counted(Renamed(), [1.0] * 4), "renamed", "other"),
}
