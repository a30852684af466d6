"""How often a gate passes by chance, and how often it finds a better model: many samples, each a group.

``python tests/bench/false_passes.py`` prints the tables of docs/evidence.md, or one of them with its name, such as
``power``. ``--write`` writes them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import integrate, stats
from scipy.special import expit, logit
from simulated import show, table

import streammetrics as sm

ROWS_AT_ONCE = 2_000_000  # of samples
CHAMPION = 1.2  # distance of the classes along the score, in standard deviations
METRICS = ("accuracy", "recall", "precision", "f1", "roc_auc", "log_loss", "brier_score")
RELATIVE = ("accuracy", "recall", "roc_auc", "log_loss")
ERRORS = {"mae": 0.05, "rmse": 0.05, "bias": 0.02}  # true loss of the candidate


@dataclass(frozen=True)
class Setting:
    """Samples of one kind: scores of two normal classes by two models with correlated noise, or two regressions."""

    name: str
    rows: int
    samples: int
    share: float = 0.3
    worse: float = 0.1
    correlation: float = 0.9
    errors: bool = False


SETTINGS = [
    Setting("200 rows", 200, 4_000, worse=0.3),
    Setting("200 rows, 5% positive", 200, 4_000, share=0.05, worse=0.3),
    Setting("2,000 rows", 2_000, 4_000),
    Setting("2,000 rows, 2% positive", 2_000, 4_000, share=0.02),
    Setting("20,000 rows, 1% positive", 20_000, 2_000, share=0.01),
    Setting("200,000 rows, 1% positive", 200_000, 400, share=0.01, worse=0.02),
]
OF_ERRORS = [
    Setting("200 errors", 200, 4_000, errors=True),
    Setting("2,000 errors", 2_000, 4_000, errors=True),
    Setting("20,000 errors", 20_000, 2_000, errors=True),
]


def score(x, distance: float, share: float):
    """The probability of a positive at x."""
    return expit(logit(share) + distance * x - distance**2 / 2)


def truth(distance: float, share: float) -> dict[str, float]:
    """The metrics of infinitely many rows."""
    cut = (distance**2 / 2 - logit(share)) / distance
    recall, fpr = stats.norm.sf(cut - distance), stats.norm.sf(cut)
    tp, fp = share * recall, (1 - share) * fpr

    def mean(loss) -> float:
        def density(x: float) -> float:
            p = score(x, distance, share)
            of_classes = share * stats.norm.pdf(x - distance), (1 - share) * stats.norm.pdf(x)
            return of_classes[0] * loss(p) + of_classes[1] * loss(1 - p)

        return integrate.quad(density, -9, 9 + distance, limit=200)[0]

    return {
        "accuracy": tp + (1 - share) - fp,
        "recall": recall,
        "precision": tp / (tp + fp),
        "f1": 2 * tp / (2 * tp + fp + share - tp),
        "roc_auc": stats.norm.cdf(distance / np.sqrt(2)),
        "log_loss": mean(lambda p: -np.log(np.maximum(p, 1e-300))),
        "brier_score": mean(lambda p: (1 - p) ** 2),
    }


def drawn(random: np.random.Generator, setting: Setting, samples: int, distances: tuple[float, float]):
    """Rows of some samples: labels, and the scores of both models."""
    shape = samples, setting.rows
    y, common = random.random(shape) < setting.share, random.normal(size=shape)
    found = {"y": y}
    for name, distance in zip("ab", distances, strict=True):
        noise = np.sqrt(setting.correlation) * common + np.sqrt(1 - setting.correlation) * random.normal(size=shape)
        found[name] = score(distance * y + noise, distance, setting.share)
    return found


def drawn_errors(random: np.random.Generator, setting: Setting, samples: int):
    """Rows of some samples with normal errors, half of them shared, and the biases 0.1 and -0.12."""
    shape = samples, setting.rows
    y, common = random.normal(size=shape), random.normal(size=shape)
    one, other = (np.sqrt(0.5) * common + np.sqrt(0.5) * random.normal(size=shape) for _ in range(2))
    return {"y": y, "a": y + one + 0.1, "b": y + 1.05 * other - 0.12}


def parts(setting: Setting):
    """Numbers of samples that fit into memory."""
    size = max(1, ROWS_AT_ONCE // setting.rows)
    return [min(size, setting.samples - start) for start in range(0, setting.samples, size)]


def compared(rows, setting: Setting, models: tuple[str, str]) -> sm.Comparison:
    """The comparison of two models in each sample."""
    task, role = (sm.regression, "y_pred") if setting.errors else (sm.binary, "y_score")
    numbers = np.repeat(np.arange(len(rows["y"])), setting.rows)
    batch = {name: values.ravel() for name, values in rows.items()} | {"sample": numbers}
    acc = task(y_true="y", **{role: {"a": "a", "b": "b"}}, by="sample")
    return sm.compare(acc.update(batch), models=models)


def passes(setting: Setting, samples: int | None = None) -> dict[str, float]:
    """The share of samples in which a requirement holds whose margin is the true difference."""
    setting = replace(setting, samples=samples or setting.samples)
    random, held, tested = np.random.default_rng(setting.rows), dict[str, int](), 0
    if setting.errors:
        size = np.sqrt([1 + 0.1**2, 1.05**2 + 0.12**2])
        folded = [stats.foldnorm(c=abs(m) / s, scale=s).mean() for m, s in ((0.1, 1.0), (-0.12, 1.05))]
        loss = {"mae": folded[1] - folded[0], "rmse": size[1] - size[0], "bias": 0.02}
        relative = {}
    else:
        distances = CHAMPION, CHAMPION - setting.worse
        true = [truth(distance, setting.share) for distance in distances]
        loss = {m: abs(true[1][m] - true[0][m]) for m in METRICS}
        relative = {m: f"{100 * loss[m] / true[0][m]:.12f}%" for m in RELATIVE}
    for count in parts(setting):
        rows = drawn_errors(random, setting, count) if setting.errors else drawn(random, setting, count, distances)
        there, back = (compared(rows, setting, models) for models in (("a", "b"), ("b", "a")))
        tested += count
        for kind, found in (
            ("not worse", there.check(not_worse=loss)),
            ("better", back.check(better=loss)),
            *([("not worse, relative", there.check(not_worse=relative))] if relative else []),
        ):
            for (rule,), own in found.frame.group_by("rule", maintain_order=True):
                name = f"{str(rule).split()[0]}, {kind}"
                held[name] = held.get(name, 0) + int((own["verdict"] == "holds").sum())
    return {name: count / tested for name, count in held.items()}


def delong(y, a, b) -> float:
    """The one-sided p-value of a larger ROC AUC of b (DeLong, DeLong & Clarke-Pearson 1988), from the rows."""
    placed = []
    for x in (a, b):
        own = stats.rankdata(x[y]), stats.rankdata(x[~y])
        both = stats.rankdata(np.r_[x[y], x[~y]])
        placed.append(((both[: y.sum()] - own[0]) / (~y).sum(), 1 - (both[y.sum() :] - own[1]) / y.sum()))
    (of_a, not_a), (of_b, not_b) = placed
    change, others = of_b - of_a, not_b - not_a
    error = np.sqrt(change.var(ddof=1) / len(change) + others.var(ddof=1) / len(others))
    return stats.norm.sf(change.mean() / error) if error else 1.0


def mcnemar(y, a, b) -> float:
    """The one-sided p-value of a higher accuracy of b (McNemar 1947), exact if fewer than 30 rows differ."""
    right, other = (a >= 0.5) == y, (b >= 0.5) == y
    more, less = (other & ~right).sum(), (right & ~other).sum()
    if more + less < 30:
        return stats.binomtest(more, more + less, alternative="greater").pvalue if more + less else 1.0
    return stats.norm.sf((more - less) / np.sqrt(more + less))


def power(setting: Setting, samples: int | None = None) -> dict[str, tuple[float, ...]]:
    """The shares of samples in which an equal model passes, a better one is open for few rows, and a better one passes.

    The tests are never open.
    """
    setting = replace(setting, samples=samples or setting.samples)
    random = np.random.default_rng(1)
    shares = {name: np.zeros(3) for name in ("accuracy better", "McNemar's test", "roc_auc better", "DeLong's test")}
    for count in parts(setting):
        for place, worse in ((0, 0.0), (2, setting.worse)):
            rows = drawn(random, setting, count, (CHAMPION - worse, CHAMPION))
            gates = compared(rows, setting, ("a", "b")).check(better=["accuracy", "roc_auc"]).frame
            for metric, name, test in (("accuracy", "McNemar's test", mcnemar), ("roc_auc", "DeLong's test", delong)):
                gate = gates.filter(rule=f"{metric} better")
                shares[gate["rule"][0]][place] += (gate["verdict"] == "holds").sum()
                shares[name][place] += sum(test(*sample) < 0.05 for sample in zip(*rows.values(), strict=True))
                if worse:
                    few = gate["note"].fill_null("").str.contains("effective rows") | gate["ci_lower"].is_null()
                    shares[gate["rule"][0]][1] += ((gate["verdict"] == "open") & few).sum()
    return {name: tuple(share / setting.samples) for name, share in shares.items()}


def by_requirement(settings: list[Setting], measure: Callable[[Setting], dict]) -> str:
    """A Markdown table with a column for each setting."""
    cells = {"number of samples": {setting.name: f"{setting.samples:,}" for setting in settings}}
    for setting in settings:
        for name, shares in measure(setting).items():
            metric, _, kind = name.partition(", ")
            cells.setdefault(f"`{metric}`, {kind}" if kind else name, {})[setting.name] = cell(shares)
    return table("Requirement", cells)


def cell(share: float | tuple[float, ...]) -> str:
    """A share, or some shares, in percent."""
    return " / ".join(f"{100 * x:.1f}" for x in share) if isinstance(share, tuple) else f"{100 * share:.1f}%"


def main(*wanted: str) -> None:
    """Print some tables, or all, and write them."""
    of_power = [replace(s, samples=min(s.samples, 2_000), worse=1.5 * s.worse) for s in SETTINGS[:5]]
    for mark, settings, measure in (
        ("false passes", SETTINGS, passes),
        ("false passes of errors", OF_ERRORS, passes),
        ("power", of_power, power),
    ):
        if not wanted or mark in wanted:
            show("evidence.md", mark, by_requirement(settings, measure))


if __name__ == "__main__":
    main(*(argument for argument in sys.argv[1:] if argument != "--write"))
