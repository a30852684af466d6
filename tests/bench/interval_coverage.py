"""How often intervals hold the truth: many samples, each a group of one accumulator.

``python tests/bench/interval_coverage.py 2000`` prints the columns of the tables of docs/coverage.md. With
``"200 rows" errors``, it prints one column, and those of one table. With ``--write``, it writes them to these pages.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import expit, logit, softmax

import streammetrics as sm
from streammetrics.metrics import declared_metrics
from streammetrics.reading.available import columns_of

Random = np.random.Generator
Columns = dict[str, np.ndarray]

ROWS_AT_ONCE = 1_000_000  # of samples
BIG = 2_000_000  # rows, whose metrics are the truth
LEAST, MOST = 0.93, 0.985
NONE, SAMPLES = "–", "number of samples"
SELDOM = 0.5  # share of samples with an interval, below which a table shows none
CLASSES, LABELS = 10, 5
PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
COMPLEMENTS = {"error_rate", "error_cdf"}  # of accuracy and `within`
OPTIONS = {
    "within": "within(x=1)",
    "error_quantile": "error_quantile(q=0.9)",
    "pinball_loss": "pinball_loss(q=0.9)",
    "top_k_accuracy": "top_k_accuracy(k=2)",
    "rec_auc": "rec_auc(limit=3)",
}
BINARY = [
    *("accuracy", "balanced_accuracy", "precision", "recall", "specificity", "npv", "f1", "fowlkes_mallows", "mcc"),
    *("kappa", "youden_j", "markedness", "diagnostic_odds_ratio", "roc_auc", "gini", "average_precision", "pr_auc"),
    *("partial_auc(max_fpr=0.2)", "recall_at_fpr(fpr=0.1)", "lift", "gain", "ks", "best_f1", "best_mcc"),
    *("equal_error_rate", "log_loss", "log_loss_skill", "brier_score", "brier_skill_score", "calibration_ratio"),
    "calibration_in_the_large",
]
THEMES = {  # modules of metrics
    "classes": {"several_classes", "class_probabilities"},
    "errors": {"errors", "deviances", "quantiles"},
}
AVERAGES = ["f1(average=macro)", "precision(average=weighted)", "recall(average=macro)", "precision", "recall", "f1"]
OF_CLASSES = ["log_loss", "brier_score", "log_loss_skill", "top_k_accuracy(k=2)", "precision", "recall", "f1"]
SETS = ["subset_accuracy", "hamming_loss", "samples_jaccard"]
PAIRED = [
    *("accuracy", "recall", "specificity", "precision", "npv", "f1", "mcc", "kappa", "balanced_accuracy", "roc_auc"),
    *("average_precision", "pr_auc", "ks", "best_f1", "lift", "log_loss", "log_loss_skill", "brier_score"),
    "brier_skill_score",
]
FEW = [
    *("accuracy", "precision", "recall", "f1", "mcc", "kappa", "positive_likelihood_ratio", "diagnostic_odds_ratio"),
    *("negative_likelihood_ratio", "chance_agreement", "roc_auc", "partial_auc(max_fpr=0.2)", "average_precision"),
    *("pr_auc", "lift", "ks", "best_f1", "best_mcc", "best_kappa", "log_loss", "brier_score"),
]
MACRO = [
    *("accuracy", "balanced_accuracy", "precision(average=macro)", "f1(average=macro)", "f1(average=weighted)"),
    *("kappa", "mcc", "chance_agreement"),
]
WHOLE = [
    *("median_error", "median_absolute_error", "error_quantile(q=0.9)", "within(x=1)", "mae"),
    *("rmse", "r2"),
]
TAILS = [
    *("mae", "mse", "rmse", "bias", "error_sd", "r2", "explained_variance", "pearson_r", "concordance", "mape"),
    *("rmspe", "wape", "msle", "rmsle", "log_cosh", "poisson_deviance", "gamma_deviance", "tweedie_deviance"),
]
PAIRED_ERRORS = ["mae", "mse", "rmse", "bias", "mape"]


@dataclass(frozen=True)
class Setting:
    """Rows of one kind, what is kept of them, and the table that shows them.

    Args:
        name: The column of the table.
        table: The mark of the table in the documentation.
        rows: Of a sample.
        draw: Draws so many samples of so many rows.
        make: Makes an accumulator.
        only: The metrics; None for all of the table that have an interval if rows are independent.
        paired: Whether they are differences of model b and model a.
    """

    name: str
    table: str
    rows: int
    draw: Callable[[Random, tuple[int, int]], Columns]
    make: Callable[..., sm.Accumulator]
    only: Sequence[str] | None = None
    paired: bool = False

    @property
    def title(self) -> str:
        """Of the column."""
        return self.name.removesuffix(", paired")

    @cached_property
    def metrics(self) -> list[str]:
        """Those to look at."""
        if self.only is not None:
            return [*self.only]
        tables, themes = columns_of(self.make().statistics), THEMES[self.table]
        ours = (m for m in declared_metrics() if m.formula.__module__.rsplit(".")[-1] in themes)
        known = [OPTIONS.get(m.name, m.name) for m in ours if any(map(m.readable, tables)) and has_interval(m)]
        return [*known, *(AVERAGES if self.table == "classes" else ())]

    def values(self, acc: sm.Accumulator, confidence: float | None) -> pl.DataFrame:
        """Metric, value, and limits if there is a confidence, of each group."""
        if not self.paired:
            frame = acc.finalize(self.metrics, confidence=confidence).frame
            return of_rarest(frame) if "label" in frame.columns else frame
        compared = acc.finalize().compare("a", "b", metrics=self.metrics, confidence=confidence)
        return compared.frame.rename({"difference": "value"})


def of_rarest(frame: pl.DataFrame) -> pl.DataFrame:
    """Estimates of all labels together, and of the rarest class against the rest."""
    label, named = pl.col("label"), pl.format("{} (rarest class)", "metric")
    frame = frame.with_columns(metric=pl.when(label.is_null()).then("metric").otherwise(named))
    return frame.filter(label.is_null() | (label == CLASSES - 1))


def has_interval(metric: sm.Metric) -> bool:
    if metric.name in COMPLEMENTS:
        return False
    return not metric.interval.reason_of_rows


def scores(random: Random, shape: tuple[int, int], share: float, distance: float = 1.2, sharpness: float = 1.3):
    """Scores of two normal classes: calibrated if the sharpness is 1, without skill if the distance is 0."""
    y = random.random(shape) < share
    x = random.normal(size=shape) + distance * y
    odds = sharpness * (distance * x - distance**2 / 2) if distance else 0.3 * x
    return {"y": y, "p": expit(logit(share) * (sharpness if distance else 1) + odds)}


def undersampled(random: Random, shape: tuple[int, int], share: float) -> Columns:
    """A tenth of the negatives, with a weight of ten."""
    found = scores(random, shape, share / (share + 0.1 * (1 - share)), sharpness=1.0)
    odds = logit(found["p"]) - logit(share / (share + 0.1 * (1 - share))) + logit(share)
    return {"y": found["y"], "p": expit(odds), "w": np.where(found["y"], 1.0, 10.0)}


def weighted(draw, random: Random, shape: tuple[int, int]) -> Columns:
    """The same rows with weights that follow the score or the prediction, and chance."""
    columns = draw(random, shape)
    rank = columns["p" if "p" in columns else "p0"].argsort(axis=1).argsort(axis=1) / shape[1]
    return columns | {"w": np.exp(rank + 0.7 * random.normal(size=shape))}


def clustered(random: Random, shape: tuple[int, int], units: int = 40) -> Columns:
    """Units of different difficulty, of as many rows each, and with weights."""
    samples, rows = shape
    unit = np.tile(np.arange(rows) % units, (samples, 1))
    own = np.take_along_axis(random.normal(size=(samples, units)), unit, axis=1)
    odds = own + random.normal(size=shape)
    number = unit + units * np.arange(samples)[:, None]
    return {"y": random.random(shape) < expit(1.5 * odds), "p": expit(odds), "u": number, "w": np.exp(own / 3)}


def classes(random: Random, shape: tuple[int, int]) -> Columns:
    """Probabilities of several classes, of which the first are more frequent."""
    y = (CLASSES * random.random(shape) ** 1.5).astype(int)
    seen = random.normal(size=(*shape, CLASSES)) + 2.2 * (y[..., None] == np.arange(CLASSES))
    p = softmax(2 * seen, axis=-1)
    return {"y": y, **{f"p{i}": p[..., i] for i in range(CLASSES)}}


def labels(random: Random, shape: tuple[int, int], shares: Sequence[float], accuracy: float) -> Columns:
    """Labels of different frequency. A wrong prediction is any label."""
    y, other = (random.choice(len(shares), shape, p=shares) for _ in range(2))
    return {"y": y, "p": np.where(random.random(shape) < accuracy, y, other)}


def whole_numbers(random: Random, shape: tuple[int, int]) -> Columns:
    """Errors that are whole numbers."""
    y = random.poisson(20, shape).astype(float)
    return {"y": y, "p": y + np.rint(random.normal(0.3, 4, shape))}


def sets(random: Random, shape: tuple[int, int]) -> Columns:
    """Rows with several labels, some of them with more than others."""
    odds = random.normal(size=(*shape, 1)) + random.normal(size=(*shape, LABELS)) - 0.5
    y = random.random(odds.shape) < expit(2 * odds)
    return {f"{name}{i}": v[..., i] for name, v in (("y", y), ("p", expit(odds))) for i in range(LABELS)}


def values(random: Random, shape: tuple[int, int]) -> Columns:
    """A skewed target, and errors with heavy tails."""
    y = 5 + random.gamma(2, 1, shape)
    return {"y": y, "p": np.maximum(1 + 0.8 * y + 0.7 * random.standard_t(6, shape), 2)}


def heavy(random: Random, shape: tuple[int, int], kind: str) -> Columns:
    """Errors of Student's t with three degrees of freedom, whose fourth moment is infinite, or log-normal errors."""
    y = 5 + random.gamma(2, 1, shape)
    error = random.standard_t(3, shape) if kind == "t" else random.lognormal(0, 1, shape) - np.exp(0.5)
    return {"y": y, "p": np.maximum(y + error, 2)}


def near_zero(random: Random, shape: tuple[int, int]) -> Columns:
    """True values that come close to 0, and predictions that are at least 0.05."""
    y = random.gamma(0.5, 2, shape) + 1e-6
    return {"y": y, "p": np.maximum(0.3 + 0.7 * y + 0.2 * random.standard_t(6, shape), 0.05)}


def two_scores(random: Random, shape: tuple[int, int], share: float, correlation: float, more: float = 0.15) -> Columns:
    """Scores of two normal classes by two models whose noise is correlated; b sees a bit more than a."""
    y = random.random(shape) < share
    common, found = np.sqrt(correlation) * random.normal(size=shape), {}
    for name, distance in (("a", 1.2), ("b", 1.2 + more)):
        x = distance * y + common + np.sqrt(1 - correlation) * random.normal(size=shape)
        found[name] = expit(logit(share) + distance * x - distance**2 / 2)
    return {"y": y} | found


def two_values(random: Random, shape: tuple[int, int]) -> Columns:
    """Errors with heavy tails, half of them shared."""
    y, common = 5 + random.gamma(2, 1, shape), random.standard_t(6, shape)
    one, other = (0.7 * common + 0.5 * random.standard_t(6, shape) for _ in range(2))
    return {"y": y, "a": y + one, "b": 0.3 + 0.95 * y + other}


binary = partial(sm.binary, y_true="y", y_score="p")
regression = partial(sm.regression, y_true="y", y_pred="p", families=["log", "log_cosh", "poisson", "gamma"])
tails = partial(sm.regression, y_true="y", y_pred="p", families=["log", "log_cosh", "poisson", "gamma", "tweedie"])
multiclass = partial(sm.multiclass, y_true="y", y_score={i: f"p{i}" for i in range(CLASSES)})
multilabel = partial(
    sm.multilabel, **{f"y_{side}": {i: f"{c}{i}" for i in range(LABELS)} for side, c in (("true", "y"), ("score", "p"))}
)
two_models = partial(sm.binary, y_true="y", y_score={"a": "a", "b": "b"})
two_regressions = partial(sm.regression, y_true="y", y_pred={"a": "a", "b": "b"})
of_weights = partial(binary, sample_weight="w")
common, few = (partial(scores, share=share) for share in (0.3, 0.02))
of_labels = partial(sm.multiclass, y_true="y", y_pred="p")
of_whole_numbers = partial(sm.regression, y_true="y", y_pred="p")
undersampled_common = partial(undersampled, share=0.1)
SETTINGS = [
    *(
        Setting(name, "binary", rows, draw, make, BINARY)
        for name, rows, draw, make in (
            ("200 rows", 200, common, binary),
            ("2,000 rows", 2_000, common, binary),
            *(
                (f"{share:.1%} positive", 2_000, partial(scores, share=share), partial(binary, thresholds=2 * share))
                for share in (0.02, 0.005, 0.002)
            ),
            ("no skill", 2_000, partial(common, distance=0.0), binary),
            ("calibrated", 2_000, partial(common, sharpness=1.0), binary),
            ("weighted", 2_000, partial(weighted, common), of_weights),
            ("weighted, 2% positive", 2_000, partial(weighted, few), partial(of_weights, thresholds=0.04)),
            ("40 units", 2_000, clustered, partial(binary, unit="u")),
            ("40 units, weighted", 2_000, clustered, partial(of_weights, unit="u")),
        )
    ),
    *(
        Setting(name, "few", rows, draw, make, FEW)
        for name, rows, draw, make in (
            ("60 rows, 5% positive", 60, partial(scores, share=0.05), partial(binary, thresholds=0.1)),
            ("1,000 rows, 3 predicted positive", 1_000, common, partial(binary, thresholds=0.97)),
            ("1,000 undersampled rows", 1_000, undersampled_common, partial(of_weights, thresholds=0.2)),
            ("3,000 undersampled rows", 3_000, undersampled_common, partial(of_weights, thresholds=0.2)),
        )
    ),
    Setting("10 classes", "classes", 2_000, classes, multiclass),
    Setting(
        "10 classes, weighted",
        "classes",
        2_000,
        partial(weighted, classes),
        partial(multiclass, sample_weight="w"),
        OF_CLASSES,
    ),
    *(
        Setting(
            f"{rows:,} rows, {name}", "labels", rows, partial(labels, shares=shares, accuracy=accuracy), only, MACRO
        )
        for name, shares, accuracy, only in (
            ("six labels", (0.4, 0.3, 0.2, 0.06, 0.03, 0.01), 0.8, of_labels),
            ("ten labels, 99% accuracy", (0.1,) * 10, 0.99, of_labels),
        )
        for rows in (300, 1_000)
    ),
    *(
        Setting(f"{rows:,} whole errors", "whole", rows, whole_numbers, of_whole_numbers, WHOLE)
        for rows in (200, 1_000)
    ),
    Setting("200 sets of labels", "sets", 200, sets, multilabel, SETS),
    Setting("2,000 sets of labels", "sets", 2_000, sets, multilabel, SETS),
    Setting(
        "2,000 sets of labels, weighted",
        "sets",
        2_000,
        partial(weighted, sets),
        partial(multilabel, sample_weight="w"),
        SETS,
    ),
    Setting("200 errors", "errors", 200, values, regression),
    Setting("2,000 errors", "errors", 2_000, values, regression),
    Setting(
        "2,000 errors, weighted", "errors", 2_000, partial(weighted, values), partial(regression, sample_weight="w")
    ),
    *(
        Setting(f"{rows:,} {name}", "tails", rows, draw, make, metrics)
        for name, draw, make, metrics in (
            ("t errors", partial(heavy, kind="t"), tails, TAILS),
            ("log-normal errors", partial(heavy, kind="log-normal"), tails, TAILS),
            (
                "t errors, weighted",
                partial(weighted, partial(heavy, kind="t")),
                partial(tails, sample_weight="w"),
                TAILS,
            ),
            ("values near 0", near_zero, tails, [m for m in TAILS if m not in ("mape", "rmspe")]),
        )
        for rows in (100, 1_000)
    ),
    *(
        Setting(
            f"{rows:,} rows, {share:.0%} positive, {correlation:g}",
            "paired",
            rows,
            partial(two_scores, share=share, correlation=correlation),
            partial(two_models, thresholds=share),
            PAIRED,
            paired=True,
        )
        for rows, share, correlation in (
            (200, 0.3, 0.8),
            (2_000, 0.3, 0.6),
            (2_000, 0.3, 0.95),
            (2_000, 0.02, 0.8),
            (20_000, 0.02, 0.95),
        )
    ),
    Setting(
        "2,000 rows, equally good",
        "paired",
        2_000,
        partial(two_scores, share=0.3, correlation=0.9, more=0.0),
        partial(two_models, thresholds=0.3),
        PAIRED,
        paired=True,
    ),
    Setting("200 errors, paired", "paired errors", 200, two_values, two_regressions, PAIRED_ERRORS, paired=True),
    Setting("2,000 errors, paired", "paired errors", 2_000, two_values, two_regressions, PAIRED_ERRORS, paired=True),
]


def coverage(setting: Setting, samples: int, seed: int = 0, confidence: float = 0.95) -> pl.DataFrame:
    """Metric, truth, the share of samples with an interval, of those that hold the truth, and their mean width."""
    random = np.random.default_rng(seed)
    options = {"pairs": False} if setting.paired else {}
    many = setting.draw(random, (max(1, BIG // setting.rows), setting.rows))
    whole = setting.make(**options).update({name: column.ravel() for name, column in many.items()})
    truth = setting.values(whole, None).select("metric", truth="value")
    parts, at_once = [], max(1, min(samples, ROWS_AT_ONCE // setting.rows))
    for start in range(0, samples, at_once):
        size = min(at_once, samples - start)
        drawn = setting.draw(random, (size, setting.rows))
        batch = {name: column.ravel() for name, column in drawn.items()}
        acc = setting.make(by="sample").update(batch | {"sample": np.repeat(np.arange(size), setting.rows)})
        parts.append(setting.values(acc, confidence).select("metric", "ci_lower", "ci_upper"))
    given = pl.col("ci_lower").is_not_null() | pl.col("ci_upper").is_not_null()
    low, high = pl.col("ci_lower").fill_null(-np.inf), pl.col("ci_upper").fill_null(np.inf)
    found = pl.concat(parts).join(truth, on="metric", maintain_order="left")
    return found.group_by("metric", "truth", maintain_order=True).agg(
        given=given.mean(),
        covered=((low <= pl.col("truth")) & (pl.col("truth") <= high)).filter(given).mean(),
        width=(pl.col("ci_upper") - pl.col("ci_lower")).mean(),
    )


def column(found: pl.DataFrame, samples: int) -> dict[str, str]:
    """The coverage by metric, in bold if it is far from what it should be."""
    cells = {SAMPLES: f"{samples:,}"}
    for metric, _, given, covered, width in found.iter_rows():
        if given < SELDOM or not width:
            cells[f"`{metric}`"] = NONE
            continue
        cells[f"`{metric}`"] = f"{covered:.3f}" if LEAST <= covered <= MOST else f"**{covered:.3f}**"
    return cells


def mark_of(table: str) -> re.Pattern[str]:
    """Finds a table on the page."""
    return re.compile(rf"(?<=<!-- coverage: {table} -->\n\n).*?(?=\n\n)", re.DOTALL)


def documented(table: str) -> dict[str, dict[str, str]]:
    """The columns of a table as the page shows them."""
    found = mark_of(table).search(PAGE.read_text("utf-8"))
    assert found is not None
    return columns_of_table(found[0])


def columns_of_table(text: str) -> dict[str, dict[str, str]]:
    """The columns of a Markdown table, each by the first cell of its rows."""
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    return {name: {row[0]: row[i] for row in rows if row[i]} for i, name in enumerate(header[1:], 1)}


def table_of(columns: dict[str, dict[str, str]]) -> str:
    """A Markdown table; without metrics that have an interval in no column."""
    metrics = dict.fromkeys(metric for cells in columns.values() for metric in cells)
    rows = [[metric, *(cells.get(metric, "") for cells in columns.values())] for metric in metrics]
    rows = [row for row in rows if {*row[1:]} - {NONE, ""}]
    lines = [["Metric", *columns], ["---"] * (len(columns) + 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(setting: Setting, found: pl.DataFrame, samples: int) -> None:
    """Write the column of a setting to the page that shows it."""
    columns = documented(setting.table)
    columns[setting.title] = column(found, samples)
    ordered = [s.title for s in SETTINGS if s.table == setting.table and s.title in columns]
    table = table_of({name: columns[name] for name in ordered})
    PAGE.write_text(mark_of(setting.table).sub(table, PAGE.read_text("utf-8")), "utf-8")


def main(samples: int, *wanted: str, to_pages: bool = False) -> None:
    """Print the columns of some settings, of all settings of some tables, or of all, and write them to their pages."""
    for setting in (s for s in SETTINGS if not wanted or {s.name, s.table} & {*wanted}):
        start = time.perf_counter()
        found = coverage(setting, samples)
        print(table_of({setting.title: column(found, samples)}), flush=True)
        if to_pages:
            write(setting, found, samples)
        print(f"{setting.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--write"]
    main(int(arguments[0]), *arguments[1:], to_pages="--write" in sys.argv)
