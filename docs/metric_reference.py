"""Fill the pages of docs/metrics/ with the docstrings of the metrics."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from streammetrics import Metric
from streammetrics.core.moments import FAMILIES
from streammetrics.metrics import declared_metrics
from streammetrics.statistics import STATISTICS, ErrorMoments, Statistic, TDigest
from streammetrics.statistics.binned import Binned

MARK = re.compile(r"<!-- metrics: (\w+) -->")
LIST = "<!-- all metrics -->"
FOLDER = Path(__file__).parent / "metrics"
THEMES = {
    "volume": "Volume",
    "ratios": "Confusion-count metrics",
    "totals": "Counts of outcomes",
    "agreement": "Agreement",
    "several_classes": "Multiclass",
    "multilabel": "Multilabel",
    "ranking": "Ranking",
    "losses": "Probability losses",
    "class_probabilities": "Multiclass probabilities",
    "calibration": "Calibration",
    "cumulative": "Calibration without bins",
    "predictions": "Predictions without labels",
    "errors": "Regression errors",
    "deviances": "Deviances",
    "quantiles": "Distributions and quantiles",
    "digests": "t-digests",
}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The hook of the site: the metrics of a theme in place of its mark."""
    if page.file.src_uri == "metrics/index.md":
        return markdown.replace(LIST, "\n".join(names()))
    return MARK.sub(lambda mark: "\n".join(reference(mark[1])), markdown)


def declared() -> list[Metric]:
    """The metrics of the library itself."""
    return [metric for metric in declared_metrics() if metric.__module__.startswith("streammetrics.")]


def themed() -> dict[str, list[Metric]]:
    """The metrics of each theme, by name."""
    found: dict[str, list[Metric]] = {theme: [] for theme in THEMES}
    for metric in sorted(declared(), key=lambda m: m.name):
        found[metric.formula.__module__.rsplit(".", 1)[-1]].append(metric)
    return found


def reference(theme: str) -> Iterator[str]:
    """The lines of the reference of a theme."""
    yield f"## {THEMES[theme]}\n"
    for metric in themed()[theme]:
        yield from _entry(metric)


def names() -> Iterator[str]:
    """The lines of a table of all metrics by theme, with links to their entries."""
    pages = {theme: path.name for path in FOLDER.glob("*.md") for theme in MARK.findall(path.read_text("utf-8"))}
    yield "| Theme | Metrics |\n|---|---|"
    for theme, metrics in themed().items():
        links = ", ".join(f"[`{metric.__name__}`]({pages[theme]}#{_anchor(metric)})" for metric in metrics)
        yield f"| {THEMES[theme]} | {links} |"


def _anchor(metric: Metric) -> str:
    return "-".join((metric.name, *metric.columns))


def _entry(metric: Metric) -> Iterator[str]:
    statistics = _readable(metric, [kind() for kind in STATISTICS.values()])
    families = _readable(metric, [ErrorMoments(families=(family,)) for family in FAMILIES])
    kept = [type(s).__name__ for s in statistics] or [f"ErrorMoments(families={s.families})" for s in families]
    low, high = (_number(end) for end in metric.range)
    better = {"high": "higher is better", "low": "lower is better"}.get(metric.better or "", "no preferred direction")
    options = ", ".join(f"{name}={value}" for name, value in metric.options.items())
    yield f"### {metric.__name__} {{ #{_anchor(metric)} }}\n"
    yield f"{_prose(metric)}\n"
    if formula := _formula(metric):
        yield f"    {formula}\n"
    yield f"- Range: {low} to {high}; {better}"
    if metric.aliases:
        yield f"- Aliases: {', '.join(f'`{alias}`' for alias in metric.aliases)}"
    source = " or ".join(f"`{name}`" for name in kept)
    yield f"- Computed from {source}: {', '.join(f'`{c}`' for c in metric.columns)}; {_certainty(metric, statistics)}"
    if options:
        yield f"- Options: `{options}`"
    yield ""


def _readable(metric: Metric, statistics: list[Statistic]) -> list[Statistic]:
    return [s for s in statistics if any(metric.readable(view.columns) for view in s.views())]


def _certainty(metric: Metric, statistics: list[Statistic]) -> str:
    if any(isinstance(s, TDigest) for s in statistics):
        return "certified bounds from the extremes of each centroid"
    if metric.bounds_expressions() is not None:
        return "certified bounds of its own"
    hides = any(isinstance(s, Binned) for s in statistics)
    return "certified bounds from the best and the worst order in each bin" if hides else "exact"


def _prose(metric: Metric) -> str:
    """The docstring without its examples."""
    text = inspect.cleandoc(metric.__doc__ or "")
    return re.split(r"\n\s*>>>", text)[0].replace("``", "`").strip()


def _formula(metric: Metric) -> str:
    """The body of a formula of one line; nothing where that is a mere column."""
    lines = [line.strip() for line in inspect.getsource(metric.formula).splitlines()]
    body = [line for line in lines if line.startswith("return ")]
    told = body[0].removeprefix("return ") if len(body) == 1 and lines[-1] == body[0] else ""
    return "" if told in metric.columns or "pl." in told or told.startswith(("Bounded(", "_", "order.")) else told


def _number(value: float) -> str:
    return {float("inf"): "∞", -float("inf"): "−∞"}.get(value, f"{value:g}".replace("-", "−"))
