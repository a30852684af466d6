"""Two evaluations compared: on labelled rows, and the drift of scores without labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from streammetrics import show
from streammetrics.accumulator import Accumulator
from streammetrics.base import (
    VERDICT,
    earlier,
    joined,
    moment,
    publish,
    require_free,
    shown,
    visible,
    whole,
    write_file,
)
from streammetrics.data import several
from streammetrics.errors import Argument, ReportError, SpecificationError
from streammetrics.metrics import Metric
from streammetrics.reading import (
    PAIRED,
    Finding,
    distributions,
    drift_measures,
    drift_verdicts,
    findings_of_drift,
    without_bias,
)
from streammetrics.report import Comparison, Report
from streammetrics.show import Table, as_text, drift_table, terminal_width, with_note
from streammetrics.statistics import State

COLUMNS: tuple[str, ...] = ("of", "measure", *PAIRED)


def compare(
    a: Accumulator | Report,
    b: Accumulator | Report | None = None,
    *,
    models: tuple[str, str] | None = None,
    metrics: Sequence[str | Metric] | None = None,
    confidence: float | None = 0.95,
    independent: bool = False,
) -> Comparison:
    """Compare two evaluations, such as two models on the same rows or one model on two days.

    Confidence intervals of the differences depend on how the rows are related. Intervals of two ``models`` of one
    accumulator are paired, unless the models dropped different rows. The same holds if both sides have the same
    ``unit`` and the same number of rows in each fold. Otherwise there are intervals only for ``independent`` rows.
    Without an interval, neither side is called better, and the note names the side that is better on these rows.

    Args:
        a: An accumulator, or a report.
        b: Another one, with the same group columns or more. With more, ``a`` is compared with each group of ``b``.
        models: Names of two models of ``a``, to compare instead of ``a`` and ``b``. See `Report.compare`.
        metrics: Metrics to compare. Defaults to those that both sides show.
        confidence: Confidence level of the intervals. With None, ``better`` follows from the certified bounds only.
        independent: True if the two evaluations have independent rows, such as different users on different days. False
            for two models on the same rows.

    Returns:
        A `Comparison` with the difference of every metric in every group.

    Raises:
        ReportError: If the group columns differ, or one has the name of a column of the comparison.
        MetricError: If a metric is unknown, or not available on both sides.
        SpecificationError: If ``confidence`` is not between 0 and 1, or not exactly one of ``b`` and ``models`` is
            given, or two ``models`` are called ``independent``.

    >>> import streammetrics as sm
    >>> y = [1, 0, 1, 0]
    >>> a, b = (sm.binary(y_true="y", y_score="p").update({"y": y, "p": p}) for p in ([0.9, 0.6, 0.4, 0.1], y))
    >>> compare(a, b).frame.filter(metric="roc_auc").select("a", "b", "difference", "better", "note").row(0)
    (0.75, 1.0, 0.25, None, 'b on these rows; no confidence interval')
    """
    if (b is None) == (models is None):
        raise SpecificationError("Pass either b or ", Argument("models"), ", not both.")
    one = _report(a, metrics)
    if models is not None and independent:
        raise SpecificationError(
            Argument("independent"), " does not apply to two models of one state: their rows are the same."
        )
    if b is not None:
        return Comparison(one, _report(b, metrics), confidence, independent)
    first, second = models or ("", "")
    return one.compare(first, second, confidence=confidence)


def _report(source: Accumulator | Report, metrics: Sequence[str | Metric] | None) -> Report:
    if not isinstance(source, (Accumulator, Report)):
        raise ReportError(f"Only accumulators and reports can be compared, got {type(source).__name__}.")
    report = source if isinstance(source, Report) else source.finalize(metrics)
    return report if metrics is None else report.showing(metrics)


def drift(
    reference: Accumulator | Report,
    current: Accumulator | Report,
    *,
    of: str | Sequence[str] | None = None,
    bins: int = 10,
    confidence: float | None = None,
) -> Drift:
    """Measure the drift of distributions and metrics from a reference.

    Distributions must be available on both sides: ``"y_score"`` (from `ScoreHistogram` or `Histogram`, so scores
    without labels can be compared with a labeled reference), ``"y_true"`` (binary labels as 0 and 1, or a `Histogram`
    of true values), ``"y_pred"``, and ``"error"``. The measures:

    - ``psi``: population stability index, over quantile bins of the reference. By convention, 0.1 and 0.25 are limits
      of small and large drift (Siddiqi 2006), but a mean can rise by 41% at a PSI of 0.05. For n and m rows without
      drift, it is about ``(bins - 1) * (1 / n + 1 / m)`` (Yurdakul 2018), so small groups require a higher limit;
    - ``js``: Jensen-Shannon divergence over the same bins, to base 2, so from 0 to 1 (Lin 1991);
    - ``ks``: Kolmogorov-Smirnov distance, the largest difference of the distribution functions;
    - ``wasserstein``: Wasserstein-1 distance, the area between them, in the units of the values.

    The bins of PSI and JS come from the reference, and both sides are counted in them. A value with a share of at least
    ``1 / bins`` in the reference has its own bin; so do all values if the reference has at most ``bins`` distinct
    values. Values below, between, and above these are cut at the quantiles of the reference, or are one bin if the
    reference has no rows there, so values that are new count. The first and the last quantile bin are open.

    Histograms of different resolutions are merged to a common one. PSI and JS are exact for quantile bins whose edges
    are the nearest edges of the histograms. The bounds of KS and Wasserstein hold for any position of the rows in their
    bins. The value of KS is the largest difference at an edge. The value of Wasserstein places rows in the middle of
    their bins.

    Args:
        reference: An accumulator or report, with the same group columns or fewer. With fewer, each of its groups is the
            reference of all groups with the same values.
        current: The accumulator or report to compare.
        of: One or several distributions. Defaults to all that both sides have.
        bins: Number of quantile bins of PSI and JS, from 2 to 1,000,000.
        confidence: Confidence level of intervals of PSI, JS, KS, and the changes of metrics, such as 0.95. Defaults to
            no intervals. Intervals of PSI and JS are corrected for bias, and begin at 0 if the drift could be chance.
            With few rows per bin, they can lie below the value. They require independent, unweighted rows.

    Returns:
        A `Drift` with the measures of every group, and the changes of metrics.

    Raises:
        ReportError: If the reference has other group columns, or a distribution is not available on both sides.
        SpecificationError: If ``bins`` is less than 2, or ``confidence`` is not between 0 and 1.

    >>> import streammetrics as sm
    >>> scores = [0.1, 0.2, 0.3, 0.4], [0.2, 0.3, 0.4, 0.9]
    >>> january, may = (sm.predictions(y_score="p").update({"p": p}) for p in scores)
    >>> sm.drift(january, may, bins=2)
    of       verdict    psi      js     ks  wasserstein
    ───────  ───────  ─────  ──────  ─────  ───────────
    y_score  open     0.275  0.0488  0.250          0.2
    """
    one, other = (x.finalize() if isinstance(x, Accumulator) else x for x in (reference, current))
    if foreign := [c for c in one.by if c not in other.by]:
        raise ReportError(
            f"The reference has the group column {foreign[0]!r}, which the current side lacks. "
            "Roll both up to the same ones."
        )
    require_free(other.by, COLUMNS, "a name that drift uses")
    bins = whole(Argument("bins"), bins, least=2, most=1_000_000)
    names = dict.fromkeys(m.name for m in (*other.metrics, *one.metrics))
    metrics = [m for m in names if one.readable(m) and other.readable(m)]
    sides = compare(one.showing(metrics), other.showing(metrics), confidence=confidence, independent=True)
    return Drift(sides, _names(one, other, of), bins, confidence)


def drift_over(
    acc: Accumulator | Report,
    window: str,
    *,
    reference: str | tuple[Any, Any],
    of: str | Sequence[str] | None = None,
    bins: int = 10,
    confidence: float | None = None,
) -> Drift:
    """Measure the drift of each time window against a fixed or rolling reference period, by other group columns.

    Args:
        acc: An accumulator or a report grouped by the window.
        window: Name of the Date or Datetime group column with the start of each window.
        reference: Either a ``(start, end)`` pair of dates, datetimes, or ISO 8601 strings, ``end`` exclusive, such as
            ``("2026-01-01", "2026-01-15")``; or a Polars duration such as ``"28d"`` or ``"1mo"``, counted back from the
            start of each window.
        of: As in `drift`.
        bins: As in `drift`.
        confidence: As in `drift`. Rows of different windows are assumed to be independent, except with a ``unit``.

    Returns:
        A `Drift` with the measures of every window and group, and the changes of metrics.

    Raises:
        SpecificationError: If ``window`` is not a Date or Datetime group column, or ``reference`` is invalid.
        ReportError: If no window is in a fixed reference; and as in `drift`.

    >>> import streammetrics as sm
    >>> from datetime import date
    >>> rows = {"p": [0.1, 0.2, 0.2, 0.3, 0.8, 0.9], "day": [date(2026, 1, d) for d in (1, 1, 2, 2, 3, 3)]}
    >>> acc = sm.predictions(y_score="p", by="day").update(rows)
    >>> fixed = sm.drift_over(acc, "day", reference=("2026-01-01", "2026-01-02"))
    >>> fixed.frame.filter(measure="ks")["value"].to_list()
    [0.0, 0.5, 1.0]
    >>> rolling = sm.drift_over(acc, "day", reference="2d")
    >>> rolling.frame.filter(measure="ks")["value"].to_list()
    [None, 0.5, 1.0]
    """
    report = acc.finalize() if isinstance(acc, Accumulator) else acc
    if not isinstance(report.state.keys.schema.get(window), (pl.Date, pl.Datetime)):
        columns = ", ".join(report.by) or "none"
        raise SpecificationError(f"Column {window!r} is not a Date or Datetime group column. Group columns: {columns}.")
    folds = None if report.folds is None else _referred(report.folds, window, reference)
    state = _referred(report.state.for_reports(), window, reference).sorted()
    before = report._with(state=state, folds=folds, always=None)
    moved = drift(before, report, of=of, bins=bins, confidence=confidence)
    return replace(moved, rolling=isinstance(reference, str))


@dataclass(frozen=True)
class Drift:
    """Drift of distributions and metrics from a reference.

    >>> import streammetrics as sm
    >>> a, b = (sm.predictions(y_score="p").update({"p": p}) for p in ([0.1, 0.4], [0.1, 0.8]))
    >>> found = sm.drift(a, b)
    >>> found.frame.filter(measure="wasserstein").row(0, named=True)["value"]
    0.2
    >>> found.metrics.frame.filter(metric="predicted_positive_rate")["difference"].to_list()
    [0.5]
    """

    metrics: Comparison
    of: tuple[str, ...]
    bins: int = 10
    confidence: float | None = None
    rolling: bool = False

    @property
    def frame(self) -> pl.DataFrame:
        """The measures: group columns, ``of``, ``measure``, ``value``, ``lower``, ``upper``, ``status``, ``note``.

        Groups are those of either side, or of the current side if the reference has fewer group columns. A measure is
        null if one side has no rows: its status is ``"no_rows_in_reference"`` or ``"rows_only_in_reference"``. With a
        confidence level, also ``ci_lower`` and ``ci_upper``. Without an interval, the status is ``"no_method"`` (of the
        measure), ``"dependent_rows"`` (of a unit), or ``"weighted_rows"``. Otherwise it is ``"exact"`` or
        ``"bounded"``. ``note`` says in words why there is no value or no interval.
        """
        return visible(with_note(self._frame))

    def without_bias(self, measure: str) -> pl.DataFrame:
        """Return one measure with value and bounds corrected for the bias of small samples.

        Requires a confidence level. The confidence interval is symmetric.

        Args:
            measure: ``"psi"``, ``"js"``, ``"ks"``, or ``"wasserstein"``.

        Returns:
            The rows of `frame` for the measure, with the same columns in another order.

        >>> import streammetrics as sm
        >>> a, b = (sm.predictions(y_score="p").update({"p": p * 50}) for p in ([0.1, 0.4], [0.1, 0.8]))
        >>> sm.drift(a, b, bins=2, confidence=0.9).without_bias("psi").columns
        ['of', 'measure', 'ci_upper', 'value', 'lower', 'upper', 'ci_lower', 'status', 'note']
        """
        return visible(with_note(without_bias(self._frame.filter(measure=measure))))

    @cached_property
    def _frame(self) -> pl.DataFrame:
        return drift_measures(self.metrics, self.of, self.bins, self.confidence)

    @cached_property
    def _verdicts(self) -> pl.DataFrame:
        """The verdict on each distribution and group, with the change that decides it; of 95% without a confidence."""
        return drift_verdicts(self.metrics, self.of, self.bins, self.confidence)

    @property
    def _judged(self) -> pl.DataFrame:
        """The measures with the verdict on their distribution and group, as tables show them."""
        keys = self.frame.columns[: self.frame.columns.index("measure")]
        return joined(self.frame, self._verdicts.select(*keys, VERDICT), keys)

    def findings(self) -> list[Finding]:
        """Return what stands out: first whether distributions drifted, then the others by severity and by code.

        The intervals of the changes of the mean, of quantiles, and of the rate of predicted positives decide, at levels
        that allow for their number and that of groups. A distribution shifted if one of them contains only changes
        above 20%, and moved if it excludes no change or the interval of PSI is above 0.1. It is stable if all contain
        only changes below 10%. Otherwise, it is open, also if weighted rows have no ``unit`` and thus no intervals.

        Returns:
            A list of `Finding`. Those of changed metrics are those of `Comparison.findings`.

        >>> import streammetrics as sm
        >>> a, b = (sm.predictions(y_score="p").update({"p": [low, 0.5] * 500}) for low in (0.1, 0.4))
        >>> print(str(sm.drift(a, b).findings()[0]).partition(";")[0])
        Scores shifted: from 0.300 to 0.450 on average (+50%, +44% to +56%)
        """
        return self._findings(("reference", "current"))

    def _findings(self, names: tuple[str, str]) -> list[Finding]:
        return findings_of_drift(replace(self.metrics, names=names), self.of, self.bins, self.rolling)

    def save_html(
        self,
        path: str | Path,
        title: str = "Drift",
        names: tuple[str, str] = ("reference", "current"),
        interactive: bool = False,
    ) -> None:
        """Write the drift as one self-contained HTML page.

        It begins with what stands out, and shows the measures of drift of all rows and of each group, the distributions
        of both sides, and the changes of all metrics. With a rolling reference, it shows the groups only. Arguments and
        errors are those of `Comparison.save_html`. For charts over time, use `MetricStore.save_html`.

        >>> from tempfile import TemporaryDirectory
        >>> import streammetrics as sm
        >>> a, b = (sm.predictions(y_score="p").update({"p": p}) for p in ([0.1, 0.4], [0.1, 0.8]))
        >>> with TemporaryDirectory() as directory:
        ...     sm.drift(a, b).save_html(f"{directory}/drift.html")
        """
        total = None if self.rolling else replace(self, metrics=self.metrics.total)._judged
        findings = self._findings(names)
        write_file(
            path, show.drift_page(self.metrics, names, title, interactive, findings, total, self._judged).encode()
        )

    def _repr_html_(self) -> str:
        return show.in_notebook(self.findings(), [self._table])

    def __str__(self) -> str:
        return as_text(self._table, width=terminal_width())

    @property
    def _table(self) -> Table:
        return drift_table(self._judged, self.confidence, self.metrics.note)

    def __repr__(self) -> str:
        return str(self)


def _names(reference: Report, current: Report, of: str | Sequence[str] | None) -> tuple[str, ...]:
    one, other = (list(distributions(r.state)) for r in (reference, current))
    common = [x for x in other if x in one]
    names = common if of is None else several(of)
    if missing := [x for x in names if x not in common]:
        listed = ", ".join(common) or "none"
        raise ReportError(f"No distribution of {missing[0]!r} on both sides. Available: {listed}.")
    if not names:
        raise ReportError("No distribution to compare. Add a ScoreHistogram, Histogram, or ErrorHistogram.")
    return tuple(names)


def _referred(state: State, window: str, reference: str | tuple[Any, Any]) -> State:
    if isinstance(reference, str):
        return _before_each(state, window, reference)
    if not isinstance(reference, list | tuple) or len(reference) != 2:
        raise SpecificationError(
            Argument("reference"), f" must be a duration such as '28d' or a (start, end) pair, got {shown(reference)}."
        )
    return _between(state, window, *reference)


def _between(state: State, window: str, start: Any, end: Any) -> State:
    begins = state.keys[window]
    clock = begins.cast(pl.Datetime("us")) if begins.dtype == pl.Date else begins.dt.replace_time_zone(None)
    keys = state.keys.filter((clock >= _time(start)) & (clock < _time(end)))
    if not keys.height:
        raise ReportError(f"No window of {window!r} lies between {start} and {end}.")
    return state.select(keys).without(window)


def _before_each(state: State, window: str, length: str) -> State:
    """For each window, those that start within a duration before it, rolled up to one."""
    windows = state.keys[window].drop_nulls().unique().sort()
    starts = earlier(windows, length)
    if not (starts < windows).all():
        raise SpecificationError(
            Argument("reference", length), f" is too short for window {window!r}. Use a longer duration, such as '7d'."
        )
    return state.periods(window, windows, starts, windows)


def _time(value: Any) -> datetime:
    """A date, datetime, or ISO 8601 string as local time in the time zone of the column."""
    time = moment(value)
    if time is None or time.tzinfo is not None:
        raise SpecificationError(
            Argument("reference"),
            f" must have dates or datetimes without a time zone, such as '2026-01-31', got {shown(value)}.",
        )
    return time


publish("streammetrics", Drift, drift, drift_over, compare)
