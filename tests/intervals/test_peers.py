"""Intervals beside those of scipy on the same rows, as docs/coverage.md shows them.

``python tests/intervals/test_peers.py`` writes the table.
"""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import streammetrics as sm

PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
TABLE = re.compile(r"(?<=<!-- peers -->\n\n).*?(?=\n\n)", re.DOTALL)
ROWS = 400


def binary():
    """Labels and scores."""
    random = np.random.default_rng(0)
    label = random.random(ROWS) < 0.3
    return label, 1 / (1 + np.exp(1 - random.normal(1.5 * label, 1)))


def errors():
    """True values and predictions."""
    random = np.random.default_rng(1)
    true = random.normal(2, 1, ROWS)
    return true, 0.3 + 0.8 * true + 0.6 * random.normal(0, 1, ROWS)


def wilson(count, total):
    return stats.binomtest(int(count), int(total)).proportion_ci(method="wilson")


def bootstrap(statistic, *samples):
    found = stats.bootstrap(samples, statistic, paired=True, vectorized=False, method="BCa", rng=0, n_resamples=2_000)
    return found.confidence_interval


def f1(label, chosen):
    return 2 * (label & chosen).sum() / (label.sum() + chosen.sum())


@cache
def peers():
    """For each metric the method, the function of scipy, its interval, and how far ours may be, in widths."""
    (label, score), (true, predicted) = binary(), errors()
    chosen, error = score >= 0.5, predicted - true
    cells = [[(label & chosen).sum(), (~label & chosen).sum()], [(label & ~chosen).sum(), (~label & ~chosen).sum()]]
    loss = -np.log(np.where(label, score, 1 - score))
    odds = stats.contingency.odds_ratio(np.array(cells), kind="sample")
    median = stats.quantile_test(error, q=0, p=0.5)
    mean = stats.ttest_1samp(error, 0)
    fisher = stats.pearsonr(true, predicted)
    return {
        "accuracy": ("Wilson", "`binomtest`", wilson((label == chosen).sum(), ROWS), 1e-9),
        "recall": ("Wilson", "`binomtest`", wilson(cells[0][0], label.sum()), 1e-9),
        "diagnostic_odds_ratio": ("Woolf, half a row added", "`odds_ratio`", odds.confidence_interval(), 0.05),
        "f1": ("influence", "`bootstrap`, BCa", bootstrap(f1, label, chosen), 0.1),
        "log_loss": ("influence", "`bootstrap`, BCa", bootstrap(np.mean, loss), 0.1),
        "bias": ("influence", "`ttest_1samp`", mean.confidence_interval(), 0.05),
        "pearson_r": ("influence", "`pearsonr`, normal rows", fisher.confidence_interval(), 0.1),
        "median_error": ("order statistics", "`quantile_test`", median.confidence_interval(), 0.05),
    }


def ours():
    """Our intervals of the same rows."""
    (label, score), (true, predicted) = binary(), errors()
    names = [*peers()]
    found = {}
    for acc, rows, metrics in (
        (sm.binary(y_true="y", y_score="p"), {"y": label, "p": score}, names[:5]),
        (sm.regression(y_true="y", y_pred="p"), {"y": true, "p": predicted}, names[5:]),
    ):
        report = acc.update(rows).finalize(metrics, confidence=0.95)
        found |= {m: (report[m].ci_lower, report[m].ci_upper) for m in metrics}
    return found


def table():
    """The table of the page."""
    found = ours()
    lines = ["| Metric | Method | Interval | scipy | Interval of scipy |", "|---|---|---|---|---|"]
    for metric, (method, function, limits, _) in peers().items():
        own, other = (" to ".join(f"{x:.4g}" for x in pair) for pair in (found[metric], limits))
        lines.append(f"| `{metric}` | {method} | {own} | {function} | {other} |")
    return "\n".join(lines)


def test_intervals_are_those_of_scipy_and_the_page_shows_them():
    found = ours()
    for metric, (_, _, (lower, upper), room) in peers().items():
        assert found[metric] == pytest.approx((lower, upper), abs=room * (upper - lower)), metric
    assert TABLE.search(PAGE.read_text("utf-8"))[0] == table()


if __name__ == "__main__":
    PAGE.write_text(TABLE.sub(table(), PAGE.read_text("utf-8")), "utf-8")
