"""A report, with all that users do with it: estimates, checks, charts, pages, and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from inspect import signature
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl
from numpy.typing import ArrayLike

from streammetrics import show
from streammetrics.base import (
    as_float,
    keys_of,
    matching,
    of_labels_once,
    only,
    require_group_columns,
    require_level,
    require_threads,
    visible,
    whole,
    write_file,
)
from streammetrics.data import FOLD, FOLDS, LABEL, MODEL, several
from streammetrics.errors import Argument, MetricError
from streammetrics.metrics import Metric, with_defaults
from streammetrics.reading import (
    MIN_ROWS,
    Diagnosis,
    Finding,
    SameRows,
    curve,
    estimate,
    fairness,
    find,
    gaps,
    of_model,
    operating_point,
    pairs_of,
    ranked,
    require_models,
    slices,
    threshold_state,
)
from streammetrics.report.estimate import Estimate, estimate_of
from streammetrics.report.nested import as_json
from streammetrics.report.verdicts import Verdicts, check
from streammetrics.show import (
    as_text,
    report_tables,
    terminal_width,
    with_note,
    with_note_of_gap,
    with_note_of_threshold,
)
from streammetrics.statistics import (
    GROUP,
    ConfusionCounts,
    ConfusionMatrix,
    PairedOutcomes,
    State,
    confusion,
)

if TYPE_CHECKING:
    from streammetrics.report.comparison import Comparison

FEW = 3  # metrics that are computed alone


class Report:
    """Metrics of an accumulator: a tidy frame, single estimates, and curves.

    ``report["roc_auc"]`` and `get` return an `Estimate`, and `frame` contains all of them. `curve` and
    `operating_point` use the histograms. Metrics that are not shown are computed on demand.

    A report behaves like a dictionary of its metrics: iteration returns the names of those shown, ``dict(report)``
    their estimates, and ``in`` tests whether a metric is available. With groups or several thresholds, a name has
    more than one estimate. ``report[name]`` and ``dict(report)`` then raise a `ReportError` with the keys for `get`.

    >>> import streammetrics as sm
    >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.8, 0.3, 0.4]}).finalize()
    >>> report["roc_auc"]
    Estimate(value=1.0, lower=1.0, upper=1.0)
    >>> report.get("recall", threshold=0.5).value
    0.5
    >>> "recall" in report, "mse" in report, list(report)[:3]
    (True, False, ['rows', 'dropped', 'roc_auc'])
    """

    def __init__(
        self,
        state: State,
        metrics: Sequence[Metric],
        confidence: float | None = None,
        folds: State | None = None,
        unit: str | None = None,
        always: int | None = None,
        sample_weight: str | None = None,
        number_of_folds: int = FOLDS,
    ) -> None:
        self._state = state
        self.always = always
        self.folds = folds
        self.unit = unit
        self.sample_weight = sample_weight
        self.number_of_folds = number_of_folds
        self.metrics: tuple[Metric, ...] = tuple(metrics)
        self.confidence = confidence
        self._frames: dict[Metric, pl.DataFrame] = {}  # of single metrics
        self._last_threshold: tuple[float | None, Report | None] = (None, None)
        self._last_level: Report | None = None

    def __getitem__(self, metric: str | Metric) -> Estimate:
        if len(self._frames) >= FEW:  # all together take less time, as for dict(report)
            self.frame  # noqa: B018
        return self.get(metric)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.metrics)

    def __contains__(self, metric: object) -> bool:
        return isinstance(metric, (str, Metric)) and self.readable(metric)

    def keys(self) -> list[str]:
        """Return the names of the metrics shown.

        >>> import streammetrics as sm
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]}).finalize()
        >>> report.keys()[:3]
        ['rows', 'dropped', 'roc_auc']
        """
        return [metric.name for metric in self.metrics]

    def items(self) -> list[tuple[str, Estimate]]:
        """Return the names of the metrics shown, with their estimates.

        Raises:
            ReportError: If a metric has more than one estimate.

        >>> import streammetrics as sm
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]}).finalize()
        >>> report.showing("rows").items()
        [('rows', Estimate(value=3.0, lower=3.0, upper=3.0))]
        """
        return [(name, self[name]) for name in self]

    def get(self, metric: str | Metric, **keys: Any) -> Estimate:
        """Return the estimate of a metric by name, alias or with options: ``get("fbeta(beta=2)", country="DE")``.

        With a score histogram, ``threshold=`` can be any number (see `rows`). Metrics of the labels alone, such as
        ``"prevalence"``, need none.

        Args:
            metric: Metric to return.
            keys: Values of group columns and key columns that select one row. Times can be ISO 8601 strings.

        Raises:
            MetricError: If the metric is unknown or not available.
            ReportError: If the keys do not select exactly one row.
        """
        return estimate_of(self._row(metric, keys), self.confidence)

    def rows(self, metric: str | Metric, **keys: Any) -> pl.DataFrame:
        """Return the rows of `frame` for one metric and the given groups and keys, or for one label with ``label=``.

        With a score histogram, confusion-count metrics are available at any ``threshold=``. A threshold that is not in
        the frame is exact if no bin holds scores on both sides of it, and has bounds otherwise. It is compared with the
        64-bit values of scores. For float32 scores, pass ``float(np.float32(0.9))``, not 0.9.

        Args:
            metric: Metric to return.
            keys: Values of group columns and key columns that select rows.

        Returns:
            Rows with the columns of `frame`.

        Raises:
            MetricError: If the metric is unknown or not available.
            ReportError: If a key is not a column of the frame.

        >>> import streammetrics as sm
        >>> batch = {"y": [1, 0, 1], "p": [0.9, 0.2, 0.4], "country": ["DE", "DE", "FR"]}
        >>> acc = sm.binary(y_true="y", y_score="p", by="country").update(batch)
        >>> report = acc.finalize(["accuracy", "rows"])
        >>> report.rows("accuracy", country="FR").select("country", "metric", "value").rows()
        [('FR', 'accuracy', 0.0)]
        """
        report = self._with_key(metric, keys)
        return visible(with_note(report._sampled_rows(metric, **keys), [report.find(metric, of_label=LABEL in keys)]))

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All estimates: group columns, key columns such as ``threshold``, metric, value, lower, upper, status, note.

        One row per group, key, and metric. ``lower`` and ``upper`` are certified bounds for the evaluated rows. With a
        confidence level, ``ci_lower`` and ``ci_upper`` are the endpoints of the confidence interval. The schema depends
        on the specification, and not on the data, except for the types of groups and labels.

        ``note`` says the same as ``status`` in words. It is ``"exact"`` or ``"bounded"`` if there is no more to know.
        Without a value, it is ``"undefined"``, ``"overflow"``, ``"no_label"`` (no label has a value), or
        ``"few_expected"`` (for `ecce_p_value`). Without an interval, it is ``"no_method"``, ``"no_method_of_units"``,
        ``"needs_units"``, ``"weighted_rows"``, ``"many_labels"``, ``"infinite"``, ``"few_rows_of_class"``,
        ``"at_end"`` (of the range), ``"few_rows"``, or ``"few_units"``. Intervals of ``"few_effective_rows"`` can be
        too narrow, and those of ``"every_look"`` hold at every look.
        """
        return visible(with_note(self._sampled_frame, self.metrics))

    @property
    def state(self) -> State:
        """State that the report is computed from."""
        require_threads()
        return self._state

    @property
    def by(self) -> list[str]:
        """Names of the group columns."""
        return self.state.by

    def find(self, metric: str | Metric, of_label: bool = False) -> Metric:
        """Return the metric of that name, alias, or text with options, as it is available in this report.

        Args:
            metric: Metric to find.
            of_label: Whether to prefer the one-vs-rest metric to the metric of all labels with the same name.

        Raises:
            MetricError: If the metric is unknown or not available.

        >>> import streammetrics as sm
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]}).finalize()
        >>> report.find("fbeta(beta=2)")
        fbeta(beta=2)
        """
        return find([metric], self.state.statistics, self.state.labels, of_label)[0]

    def readable(self, metric: str | Metric) -> bool:
        """Return whether a metric is available in this report.

        >>> import streammetrics as sm
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]}).finalize()
        >>> report.readable("recall"), report.readable("mse")
        (True, False)
        """
        try:
            self.find(metric)
        except MetricError:
            return False
        return True

    def showing(self, metrics: str | Metric | Sequence[str | Metric]) -> Report:
        """Return the same report with other metrics.

        Raises:
            MetricError: If the metric is unknown or not available.

        >>> import streammetrics as sm
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]}).finalize()
        >>> report.showing(["accuracy", "f1"]).keys()
        ['accuracy', 'f1']
        """
        return self._with(metrics=find(metrics, self.state.statistics, self.state.labels))

    def with_confidence(self, confidence: float | None) -> Report:
        """Return the same report with another confidence level, or without intervals for None.

        >>> import streammetrics as sm
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]}).finalize()
        >>> "ci_lower" in report.with_confidence(0.95).frame.columns
        True
        """
        if confidence is not None:
            require_level(Argument("confidence"), confidence)
        if self._last_level is None or self._last_level.confidence != confidence:
            self._last_level = self._with(confidence=confidence, always=None)
        return self._last_level

    def rollup(self, *columns: str | Sequence[str]) -> Report:
        """Return the report for fewer groups, as if the rows had been grouped by these columns only.

        Models stay separate. Histograms keep the bins of the coarsest group, up to 16,384 bins (or the capacity, if
        larger).

        Args:
            columns: Group columns, as arguments or as a list. Without any, all rows are one group.

        Raises:
            ReportError: If a column is not a group column.

        >>> import streammetrics as sm
        >>> batch = {"y": [1, 0, 1], "p": [0.9, 0.2, 0.4], "country": ["DE", "DE", "FR"]}
        >>> acc = sm.binary(y_true="y", y_score="p", by="country").update(batch)
        >>> report = acc.finalize(["accuracy", "rows"])
        >>> report.rollup()["rows"].value
        3.0
        """
        names = [name for argument in columns for name in several(argument)]
        require_group_columns(names, self.by)
        by = list(dict.fromkeys([*names, *(c for c in self.by if c == MODEL)]))
        if by == self.by:  # the report knows its numbers
            return self
        folds = None if self.folds is None else self.folds.for_reports().roll_up([*by, FOLD])
        return self._with(state=self.state.for_reports().roll_up(by), folds=folds)

    def curve(self, kind: str | Metric, order: Literal["tied", "best", "worst"] = "tied", **keys: Any) -> pl.DataFrame:
        """Return a curve of every group as a frame.

        ``"roc"``, ``"pr"``, ``"det"``, and ``"lift"`` have one row per threshold, in descending order, with the exact
        counts tp, fp, fn, and tn of ``score >= threshold``. So does each confusion-count metric, such as ``"f1"`` or
        ``"cost(fp=1, fn=10)"``: its value is exact, and its bounds also cover the thresholds inside the bin that begins
        there. ``"calibration"`` has one row per bin of equal width.
        ``"quantile_calibration"`` has as many bins, each with about the same number of rows, and certified bounds of
        their mean score. ``"error_cdf"`` and ``"rec"`` have one row per edge of the error histogram, in ascending
        order: the share of rows with errors, or absolute errors, up to the edge, and its certified bounds. ``"scores"``
        and ``"errors"`` have one row per bin of the histogram, in ascending order: its smallest and largest value, and
        the number of its rows or the sum of their weights.

        Args:
            kind: ``"roc"`` (fpr, recall), ``"pr"`` (recall, precision), ``"det"`` (fpr, fnr), ``"lift"`` (targeted,
                gain, lift), a confusion-count metric (value, lower, upper), ``"calibration"`` (lowest, highest, weight,
                mean_score, observed_rate), ``"quantile_calibration"`` (the same, with lower and upper),
                ``"error_cdf"`` (value, share, lower, upper), ``"rec"`` (tolerance, share, lower, upper), ``"scores"``
                (lowest, highest, negatives and positives, or count without labels), or ``"errors"`` (lowest, highest,
                count).
            order: Assumed order of the rows within a bin, for the first four kinds: ``"tied"``, ``"best"`` (positives
                above negatives), or ``"worst"`` (positives below negatives). The exact curve lies between the best and
                the worst one. They begin above all scores, at an infinite threshold, or at null if a score is infinite.
            keys: Values of group columns, ``model``, and ``label`` that select curves.

        Returns:
            The group columns, and the columns that ``kind`` lists.

        Raises:
            ReportError: If the kind or a key is unknown, or a group column has the name of a curve column.
            MetricError: If the statistic of the curve is missing.

        >>> import streammetrics as sm
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]}).finalize()
        >>> report.curve("roc").select("fpr", "recall").rows()
        [(0.0, 0.0), (0.0, 0.5), (0.0, 1.0), (1.0, 1.0)]
        >>> report.curve("accuracy").select("threshold", pl.col("value").round(2)).rows()
        [(inf, 0.33), (0.9, 0.67), (0.4, 1.0), (0.2, 0.67)]
        """
        return self._matching(curve(self.state, str(kind), order), keys)

    def operating_point(
        self,
        *,
        maximize: str | Metric | None = None,
        minimize: str | Metric | None = None,
        subject_to: str | Sequence[str] | None = None,
        confidence: float | None = None,
        **keys: Any,
    ) -> pl.DataFrame:
        """Return the best threshold of every group for a confusion-count metric.

        ``value`` is attained at ``threshold`` with exact counts. ``lower`` and ``upper`` bound the best value over all
        thresholds, including those inside a bin.

        With ``confidence=``, the constraints hold for new rows like these: in at most 5% of the evaluations with a
        level of 0.95, the threshold violates one of them. This is true of each group. Constraints can then be on
        precision, npv, recall, specificity, their complements, and predicted_positive_rate (Angelopoulos, Bates,
        Candès, Jordan & Lei 2021).

        Args:
            maximize: Metric to maximize, such as ``"youden_j"`` or ``"fbeta(beta=2)"``.
            minimize: Metric to minimize, such as ``"cost(fp=1, fn=10)"``.
            subject_to: Constraints, such as ``"fpr <= 0.01 and precision >= 0.5"``, or a list of them.
            confidence: Confidence level at which the constraints hold for new rows, such as 0.95.
            keys: Values of group columns, ``model``, and ``label`` that select rows.

        Returns:
            One row per group: the group columns, threshold, tp, fp, fn, tn, value, lower, upper, and with
            ``confidence`` note. If no threshold qualifies, the numbers are null, and the note says why.

        Raises:
            MetricError: If the objective has no preferred direction, there is no score histogram, or a constraint
                cannot be guaranteed: that is, of weighted or correlated rows, or of other metrics.
            ReportError: If a key is unknown.

        >>> import streammetrics as sm
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.8, 0.3, 0.4]}).finalize()
        >>> report.operating_point(maximize="youden_j").select("threshold", "tp", "fp", "value").row(0)
        (0.4, 2, 0, 1.0)
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0] * 50, "p": [0.8, 0.3] * 50}).finalize()
        >>> point = report.operating_point(maximize="recall", subject_to="precision >= 0.9", confidence=0.95)
        >>> point.select("threshold", "value", "note").row(0)
        (0.8, 1.0, None)
        """
        points = operating_point(self.state, maximize, minimize, subject_to, confidence, self.unit is not None)
        if confidence is not None:
            points = with_note_of_threshold(points, confidence)
        return self._matching(points, keys)

    def confusion_counts(self) -> pl.DataFrame:
        """Return the confusion counts of every group and threshold.

        Returns:
            The group columns, ``threshold`` (null for predicted labels), ``tp``, ``fp``, ``fn``, and ``tn``. With
            weights, counts are sums of weights.

        Raises:
            MetricError: If there are no confusion counts.

        >>> import streammetrics as sm
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.8, 0.3, 0.4]}).finalize()
        >>> report.confusion_counts().rows()
        [(0.5, 1, 0, 1, 1)]
        """
        counts = self.state.statistic(ConfusionCounts)
        return self.state.join_groups(counts, self.state.table(counts).select(GROUP, *counts.keys, *counts.counts))

    def confusion_matrix(self, normalize: confusion.Normalization | None = None) -> pl.DataFrame:
        """Return the nonempty cells of the multiclass confusion matrix.

        Args:
            normalize: Denominator of shares: the rows of each ``"actual"`` label, of each ``"predicted"`` label, or
                ``"all"`` rows of the group. Defaults to no shares.

        Returns:
            The group columns, ``actual``, ``predicted``, ``count``, and with ``normalize`` ``share``, in the order of
            the declared labels, or sorted.

        Raises:
            MetricError: If there is no confusion matrix.

        >>> import streammetrics as sm
        >>> acc = sm.multiclass(y_true="y", y_pred="z").update({"y": ["a", "b", "b"], "z": ["a", "a", "b"]})
        >>> acc.finalize().confusion_matrix(normalize="actual").rows()
        [('a', 'a', 1, 1.0), ('b', 'a', 1, 0.5), ('b', 'b', 1, 0.5)]
        """
        matrix = self.state.statistic(ConfusionMatrix)
        cells = confusion.matrix_frame(self.state.table(matrix), normalize, self.state.labels)
        return self.state.join_groups(matrix, cells)

    def most_confused(self, n: int = 10) -> pl.DataFrame:
        """Return the most frequent errors of each group, by descending count.

        Args:
            n: Maximum number of errors per group.

        Returns:
            The group columns, ``actual``, ``predicted``, ``count``, ``share_of_actual`` (of the rows with the true
            label), and ``share_of_errors`` (of all errors of the group).

        Raises:
            MetricError: If there is no confusion matrix.
            SpecificationError: If ``n`` is not an integer of at least 0.

        >>> import streammetrics as sm
        >>> batch = {"y": ["cat", "dog", "emu", "cat"], "y_hat": ["cat", "cat", "emu", "emu"]}
        >>> report = sm.multiclass(y_true="y", y_pred="y_hat").update(batch).finalize()
        >>> report.most_confused().select("actual", "predicted", "count").rows()
        [('cat', 'emu', 1), ('dog', 'cat', 1)]
        """
        limit, matrix = whole(Argument("n"), n, least=0), self.state.statistic(ConfusionMatrix)
        return self.state.join_groups(matrix, confusion.most_confused(self.state.table(matrix), limit))

    def weighted_kappa(self, weights: ArrayLike) -> pl.DataFrame:
        """Return Cohen's kappa of every group with a weight for each kind of error (Cohen 1968).

        Args:
            weights: Weight of each error, as a square matrix. Rows are predicted labels, columns true labels, in label
                order.

        Returns:
            The group columns and ``kappa``, null if all rows have the same label.

        Raises:
            MetricError: If there is no confusion matrix.
            SpecificationError: If ``weights`` is not a square matrix of finite numbers, one row per label.

        >>> import streammetrics as sm
        >>> batch = {"y": ["cat", "dog", "emu", "cat"], "y_hat": ["cat", "cat", "emu", "emu"]}
        >>> report = sm.multiclass(y_true="y", y_pred="y_hat").update(batch).finalize()
        >>> report.weighted_kappa([[0, 1, 2], [1, 0, 1], [2, 1, 0]]).item()
        0.25
        """
        matrix = self.state.statistic(ConfusionMatrix)
        kappa = confusion.weighted_kappa(self.state.table(matrix), weights, matrix.order or None)
        return self.state.join_groups(matrix, kappa)

    def worst(
        self, metric: str | Metric, n: int = 10, *, min_rows: int = 1, by_bound: bool = False, **keys: Any
    ) -> pl.DataFrame:
        """Return the groups in which a metric is worst, the worst first; ties are broken by size.

        Tiny groups can be worst by chance. ``min_rows`` excludes them; ``by_bound`` ranks by the more favorable
        endpoint of the confidence interval, so that significantly bad groups come first.

        Args:
            metric: Metric to rank by, such as ``"roc_auc"``, with a preferred direction.
            n: Maximum number of groups.
            min_rows: Minimum number of rows of a group.
            by_bound: Whether to rank by the endpoint of the confidence interval. Requires a confidence level.
            keys: Values of group columns and key columns, such as ``threshold=0.5``, that select rows.

        Returns:
            The columns of `Report.frame`, with ``rows`` after the value, without groups in which it is undefined.

        Raises:
            MetricError: If the metric is unknown, or has no preferred direction.
            SpecificationError: If ``n`` or ``min_rows`` is not an integer of at least 0.
            ReportError: If a key is not a column, ``by_bound`` is set without confidence intervals, or a group column
                is named ``rows``.

        >>> import streammetrics as sm
        >>> batch = {"y": [1, 0, 1, 0, 1, 0], "p": [0.9, 0.1, 0.2, 0.7, 0.4, 0.4], "g": ["a", "a", "b", "b", "c", "c"]}
        >>> report = sm.binary(y_true="y", y_score="p", by="g").update(batch).finalize()
        >>> report.worst("roc_auc", n=2).select("g", "rows", "value").rows()
        [('b', 2, 0.0), ('c', 2, 0.5)]
        """
        return ranked(self, metric, n, min_rows, by_bound, keys, worst_first=True)

    def best(
        self, metric: str | Metric, n: int = 10, *, min_rows: int = 1, by_bound: bool = False, **keys: Any
    ) -> pl.DataFrame:
        """Return the groups in which a metric is best, the best first; ties are broken by size.

        Arguments and errors are as in `worst`.

        Returns:
            The columns of `Report.frame`, with ``rows`` after the value, without groups in which it is undefined.

        >>> import streammetrics as sm
        >>> batch = {"y": [1, 0, 1, 0, 1, 0], "p": [0.9, 0.1, 0.2, 0.7, 0.4, 0.4], "g": ["a", "a", "b", "b", "c", "c"]}
        >>> report = sm.binary(y_true="y", y_score="p", by="g").update(batch).finalize()
        >>> report.best("roc_auc", n=2)["g"].to_list()
        ['a', 'c']
        """
        return ranked(self, metric, n, min_rows, by_bound, keys, worst_first=False)

    def gaps(
        self, metric: str | Metric, *, over: str, reference: Any = None, min_rows: int = 1, **keys: Any
    ) -> pl.DataFrame:
        """Compare a metric between the values of a group column, in each group of the other columns.

        Without a reference, the groups with the highest and the lowest value are compared. For more than two groups,
        this difference is biased upward, and its confidence interval does not account for that. With a reference, each
        other group is compared with it.

        If the report has a confidence level, differences and ratios have confidence intervals, from those of both
        groups (MOVER: Zou & Donner 2008, Newcombe 2016). Groups are assumed to be independent.

        Args:
            metric: Metric to compare.
            over: The group column whose values are compared, such as ``"gender"``.
            reference: The value of this column that all others are compared with. Defaults to none.
            min_rows: Minimum number of rows of a compared group. Smaller groups are dropped.
            keys: Values of group columns and key columns that select rows.

        Returns:
            Without a reference: the other group columns and key columns, ``metric``, ``highest`` and ``lowest`` (the
            values of the column with the highest and the lowest metric), ``max`` and ``min`` (the metric there),
            ``difference`` (max - min) and ``ratio`` (min / max; null if a value is negative, and for 0/0), each with
            its certified bounds ``_lower`` and ``_upper`` and the endpoints ``_ci_lower`` and ``_ci_upper`` of its
            interval if there is a confidence level, and a note if the metric is undefined for some values of the
            column, which are skipped.

            With a reference: all group columns and key columns, ``metric``, ``reference`` (the value of the column),
            ``rows``, ``value``, ``reference_value``, ``difference`` (value - reference_value), ``ratio``
            (value / reference_value), their bounds and intervals, and the note of the value, or of
            the reference if the metric is undefined there.

        Raises:
            MetricError: If the metric is unknown.
            SpecificationError: If ``min_rows`` is not an integer of at least 0.
            ReportError: If ``over`` is not a group column or does not have the reference, or a group column has the
                name of one of these columns.

        >>> import streammetrics as sm
        >>> batch = {"z": [1, 1, 1, 0, 0, 0], "gender": ["f", "f", "m", "m", "m", "m"]}
        >>> report = sm.predictions(y_pred="z", by="gender").update(batch).finalize()
        >>> gap = report.gaps("predicted_positive_rate", over="gender")
        >>> gap.select("highest", "lowest", "difference", "ratio").row(0)
        ('f', 'm', 0.75, 0.25)
        >>> gap = report.gaps("predicted_positive_rate", over="gender", reference="m")
        >>> gap.select("gender", "value", "reference_value", "difference", "ratio").row(0)
        ('f', 1.0, 0.25, 0.75, 4.0)
        """
        frame = gaps(self, metric, over, reference, min_rows, keys)
        return with_note_of_gap(frame, over, [self._with_key(metric, keys).find(metric)])

    def fairness(self, *, over: str, reference: Any = None, min_rows: int = 1, **keys: Any) -> pl.DataFrame:
        """Return fairness criteria over the values of a group column, in each group of the other columns.

        The criteria whose metrics are available, with a row for each metric:

        - ``demographic_parity``: equal predicted-positive rates (Dwork et al. 2012), without labels;
        - ``equal_opportunity``: equal recalls (Hardt, Price and Srebro 2016);
        - ``equalized_odds``: equal recalls and equal false positive rates (the same paper). The criterion of fairlearn
          is the larger of both differences, or the smaller of both ratios;
        - ``predictive_parity``: equal precisions (Chouldechova 2017).

        They cannot all hold if the values of the column differ in prevalence, except for a perfect classifier
        (Kleinberg, Mullainathan and Raghavan 2016).

        Args:
            over: The group column whose values are compared, such as ``"gender"``.
            reference: The value of this column that all others are compared with. Defaults to none: the highest value
                is compared with the lowest.
            min_rows: Minimum number of rows of a compared group. Smaller groups are dropped.
            keys: Values of group columns and key columns, such as ``threshold=0.5``, that select rows.

        Returns:
            The columns of `gaps`, with ``criterion`` before ``metric``. A difference of 0 and a ratio of 1 are fair.
            With a reference, one row for each other group.

        Raises:
            MetricError: If none of the metrics can be computed from the state.
            ReportError: If ``over`` is not a group column, or does not have the reference.

        >>> import streammetrics as sm
        >>> batch = {"y": [1, 0, 1, 0, 1, 0], "z": [1, 1, 1, 0, 0, 0], "gender": ["f", "f", "m", "m", "m", "m"]}
        >>> report = sm.binary(y_true="y", y_pred="z", by="gender").update(batch).finalize()
        >>> report.fairness(over="gender").select("criterion", "metric", "difference", "ratio").rows()
        [('demographic_parity', 'predicted_positive_rate', 0.75, 0.25),
         ('equal_opportunity', 'recall', 0.5, 0.5),
         ('equalized_odds', 'recall', 0.5, 0.5),
         ('equalized_odds', 'fpr', 1.0, 0.0),
         ('predictive_parity', 'precision', 0.5, 0.5)]
        """
        frame = fairness(self, over, reference, min_rows, keys)
        metrics = [self._with_key(name, keys).find(name) for name in frame["metric"].unique()]
        return with_note_of_gap(frame, over, metrics)

    def slices(
        self, metric: str | Metric, *, depth: int = 2, min_rows: int = MIN_ROWS, fdr: float = 0.05, **keys: Any
    ) -> pl.DataFrame:
        """Find slices in which a metric is significantly worse than in all other rows.

        A slice is all rows with some values in up to ``depth`` group columns, such as ``country = DE and device =
        phone``. Each slice is compared with the rest of the rows, and with the rest of each slice of one column less
        that contains it. It is a finding only if it is worse than all of these, so that no larger slice explains it.
        Its p-value is the largest of these comparisons. The Benjamini–Hochberg procedure over all slices selects the
        findings, so that an expected share of at most ``fdr`` of them is false. Finally, a finding is dropped if it is
        not worse without the rows that it shares with worse findings.

        With ``"ecce"``, each slice is instead tested against its own scores, by `ecce_p_value`: the findings are the
        slices in which scores are not calibrated, also if they are not calibrated elsewhere. Those of several columns
        are then listed beside the slices that contain them.

        P-values are two-sided, although only worse slices are found. This leaves a factor of two for the dependence of
        slices that overlap. If the certified bounds of a metric allow several differences, the smallest one counts.

        Args:
            metric: Name of a metric with a preferred direction and confidence intervals.
            depth: Maximum number of group columns of a slice.
            min_rows: Minimum number of rows of a slice.
            fdr: False discovery rate, between 0 and 1.
            keys: Values of group columns that select the rows to search, and of ``model``, ``threshold``, and ``label``
                if there are several.

        Returns:
            One row per finding, by descending excess loss: the group columns (null if the slice has any value),
            ``slice`` (the same as text), ``metric``, ``value``, ``rest`` (the metric of all other rows), ``difference``
            (value - rest) with ``ci_lower`` and ``ci_upper`` at the confidence level of the report, or 0.95 without
            one, ``p_value``, ``rows``, ``share_of_rows``, and ``excess_loss``: the share of the distance of the metric
            of all rows from its best value that would disappear if the slice were as good as the rest (null if there is
            no best value).

        Raises:
            MetricError: If the metric is unknown, has no preferred direction or no confidence intervals here, or is
                computed from a state that cannot be subtracted.
            SpecificationError: If ``depth``, ``min_rows``, or ``fdr`` is invalid.
            ReportError: If there are no group columns, or keys do not leave one metric.

        >>> import streammetrics as sm
        >>> batch = {"y": [1, 0] * 500, "z": [1, 0] * 400 + [0, 1] * 100, "g": ["a"] * 800 + ["b"] * 200}
        >>> report = sm.binary(y_true="y", y_pred="z", by="g").update(batch).finalize()
        >>> report.slices("accuracy", min_rows=100).select("slice", "value", "rest", "rows", "excess_loss").rows()
        [('g = b', 0.0, 1.0, 200, 1.0)]
        """
        return visible(slices(self, metric, depth, min_rows, fdr, **keys))

    def findings(self) -> list[Finding]:
        """Return what stands out, the most important first: by severity, then by code.

        Findings about metrics are decided by confidence intervals, widened by the certified bounds. Their levels allow
        for all groups: if a model has no faults, at most 5% of its reports have such a finding of severity ``"bad"`` or
        ``"warn"``, other than slices that are harder to predict. Other findings are counts, such as those of dropped
        rows. The documentation has the reason for each code, and what to do.

        Returns:
            A list of `Finding`, empty if nothing stands out.

        >>> import streammetrics as sm
        >>> batch = {"y": [0, 0, 0, 1] * 250, "p": [0.1, 0.2, 0.3, 0.4] * 250}
        >>> found = sm.binary(y_true="y", y_score="p").update(batch).finalize().findings()
        >>> found[0].code, str(found[0])[:65]
        ('SM105', 'Wrong in ranges of scores: 60.00% of the positives are elsewhere.')
        """
        return list(self._findings)

    def check(
        self,
        requirements: str | Sequence[str],
        *,
        confidence: float | None = 0.95,
        open: Literal["fail", "pass"] = "pass",
        min_rows: int = 1,
        **keys: Any,
    ) -> Verdicts:
        """Check requirements such as ``"roc_auc >= 0.8"`` in every group.

        A requirement holds if the certified bounds and the confidence interval, widened by them, lie on the required
        side of its limit: it holds for new rows of the same population. It is breached if they lie on the other side,
        and otherwise open (inconclusive). Requirements on undefined metrics never pass.

        Args:
            requirements: One requirement, or several.
            confidence: Confidence level of each endpoint of the intervals, between 0.5 and 1, as in `Rule`. Metrics
                without intervals are decided by their bounds, unless a class has too few rows for one. With ``None``,
                bounds decide all metrics: the verdicts apply to the evaluated rows.
            open: ``"pass"`` or ``"fail"``: result of an open requirement, and of a group with too few rows.
            min_rows: Minimum number of rows of a group.
            keys: Values of group columns and key columns that select rows, such as ``model="new"``.

        Returns:
            `Verdicts` with the verdict on every requirement in every group.

        Raises:
            MetricError: If a requirement is invalid or its metric is unknown.
            ReportError: If a key is not a column of the frame.
            SpecificationError: If ``confidence``, ``open``, or ``min_rows`` is invalid.

        >>> import streammetrics as sm
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.8, 0.3, 0.4]}).finalize()
        >>> report.check(["recall >= 0.1", "recall >= 0.4"])
        rule           value  90% interval  verdict
        ─────────────  ─────  ────────────  ──────────────────────────────────
        recall >= 0.4   0.50  0.12 to 0.88  ? open: about 72 rows would decide
        recall >= 0.1   0.50  0.12 to 0.88  ✓ holds
        Undecided, allowed: 1 of 2
        In every line: bound exact.
        At threshold 0.5.
        A verdict at 95% confidence compares one end of the 90% interval with the limit.
        >>> report.check("recall >= 0.8", confidence=None).hold
        False
        """
        return check(self, several(requirements), confidence, open, min_rows, **keys)

    def compare(
        self,
        a: str,
        b: str,
        *,
        metrics: Sequence[str | Metric] | None = None,
        confidence: float | None = 0.95,
    ) -> Comparison:
        """Compare two models of the report, in each group of the other columns.

        Args:
            a: Name of a model.
            b: Name of the other model.
            metrics: Metrics to compare. Defaults to those shown.
            confidence: Confidence level for intervals of the differences. They are paired: computed from statistics of
                both models on the same rows, or from the folds of a ``unit``. With None, ``better`` follows from the
                certified bounds only.

        Raises:
            ReportError: If the report has no such model.
            MetricError: If a metric is unknown or not available.
            SpecificationError: If ``confidence`` is not between 0 and 1.

        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score={"old": "p", "new": "q"})
        >>> report = acc.update({"y": [1, 0, 1], "p": [0.8, 0.3, 0.2], "q": [0.8, 0.3, 0.4]}).finalize()
        >>> report.compare("old", "new").frame.filter(metric="roc_auc").select("a", "b", "note").row(0)
        (0.5, 1.0, 'new on these rows; no confidence interval')
        """
        from streammetrics.report.comparison import Comparison  # which imports this file

        report = self if metrics is None else self.showing(metrics)
        one, other = of_model(report, a), of_model(report, b)
        same_rows = SameRows.of(one.state, other.state, pairs_of(report.state, a, b), (a, b))
        names = (a, b) if a != b else ("a", "b")
        return Comparison(one, other, confidence, same_rows=same_rows, names=names)

    def flip_rate(self, a: str, b: str, *, confidence: float = 0.95) -> pl.DataFrame:
        """Return how often the decisions of two models differ, in each group of the other columns.

        Only rows predicted by both models count. Intervals are those of a proportion, or from a delete-one-fold
        jackknife with ``unit=``. Weighted rows have none.

        Args:
            a: Name of a model.
            b: Name of the other model.
            confidence: Confidence level of the intervals.

        Returns:
            The group columns, ``threshold`` (null for predicted labels), ``rows``, ``flips`` (rows with different
            decisions), ``value`` (their share of the rows), ``ci_lower``, and ``ci_upper``.

        Raises:
            ReportError: If the report has no such model.
            MetricError: If there are no statistics of the pair.
            SpecificationError: If ``confidence`` is not between 0 and 1.

        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score={"old": "p", "new": "q"})
        >>> report = acc.update({"y": [1, 0, 1], "p": [0.8, 0.3, 0.2], "q": [0.8, 0.3, 0.6]}).finalize()
        >>> report.flip_rate("old", "new").select("threshold", "rows", "flips").row(0)
        (0.5, 3, 1)
        """
        from streammetrics.reading import flip_rates  # when it is needed

        require_models(self.state, a, b)
        outcomes = self.state.statistic(PairedOutcomes)
        pairs = pairs_of(self.state if self.folds is None else self.folds, a, b)
        return flip_rates(pairs, outcomes, (a, b), confidence)

    @property
    def plot(self) -> show.Plot:
        """Charts, such as ``report.plot.roc()``. Requires the ``plot`` extra."""
        return show.Plot(self)

    def save_html(
        self,
        path: str | Path,
        title: str = "Evaluation",
        interactive: bool = False,
        source: str | None = None,
        fairness: str | None = None,
    ) -> None:
        """Write the report as one self-contained HTML page.

        It shows the evaluated data, metrics with bounds and confidence intervals, slices in which the model fails,
        curves, calibration, decisions at each threshold, segments, and all numbers.

        Args:
            path: File to write.
            title: Title of the page.
            interactive: Whether charts have tooltips, panning, and zooming. Adds about 1 MB of script.
            source: Description of the evaluated data. Defaults to none.
            fairness: Group column whose values are compared for fairness. Defaults to none.

        Raises:
            SpecificationError: If the ``plot`` extra is not installed.
            ReportError: If ``fairness`` is not a group column.
            MetricError: If no fairness criterion can be computed from the state.
            SourceError: If the file cannot be written. An existing file then stays unchanged.

        >>> from tempfile import TemporaryDirectory
        >>> import streammetrics as sm
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]}).finalize()
        >>> with TemporaryDirectory() as directory:
        ...     report.save_html(f"{directory}/report.html", title="Clicks")
        """
        write_file(path, show.page(self, title, interactive, source, fairness).encode())

    def save_metrics(self, path: str | Path) -> None:
        """Write the report as one JSON object, for DVC and other experiment trackers.

        Groups are keys such as ``"country=DE"``. They contain metrics, which contain ``value``, ``lower``, ``upper``,
        and, with a confidence level, ``ci_lower`` and ``ci_upper``. Undefined and infinite numbers are omitted.

        Raises:
            SourceError: If the file cannot be written. An existing file then stays unchanged.

        >>> import json
        >>> from tempfile import TemporaryDirectory
        >>> import streammetrics as sm
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0], "p": [0.8, 0.3]}).finalize(["roc_auc"])
        >>> with TemporaryDirectory() as directory:
        ...     report.save_metrics(f"{directory}/metrics.json")
        ...     json.loads(Path(directory, "metrics.json").read_text())
        {'roc_auc': {'value': 1.0, 'lower': 1.0, 'upper': 1.0}}
        """
        write_file(path, as_json(self.frame, self.by).encode())

    def log_to_mlflow(self, run_id: str | None = None, *, step: int | None = None) -> None:
        """Log the report to an MLflow run.

        Metrics are logged for all rows together, per model: the value as ``roc_auc``, its bounds as ``roc_auc.lower``
        and ``roc_auc.upper``, and, with a confidence level, ``roc_auc.ci_lower`` and ``roc_auc.ci_upper``. The
        artifacts are ``streammetrics/metrics.csv``, with all groups, and ``streammetrics/report.html``, the page of
        `save_html`. Characters that MLflow does not allow in names become underscores.

        Args:
            run_id: ID of the run. Defaults to the active run, or a new one.
            step: Step of the metrics, such as the epoch.

        Raises:
            SpecificationError: If the ``mlflow`` extra is not installed.
            ReportError: If two metrics would have the same name.
        """
        from streammetrics.report.mlflow import log  # when it is needed

        log(self, run_id, step)

    def _repr_html_(self) -> str:
        return show.report_html(self)

    def __str__(self) -> str:
        more = "Read all of them in the frame, or the worst with worst()."
        width = terminal_width()
        return as_text(
            *report_tables(self.frame, self.by, width, with_defaults(self.metrics), more, self.confidence), width=width
        )

    def __repr__(self) -> str:
        return str(self)

    def __getstate__(self) -> dict[str, Any]:
        states = {name: state and state.parts for name, state in (("state", self.state), ("folds", self.folds))}
        return self._arguments | states

    def __setstate__(self, arguments: dict[str, Any]) -> None:
        states = {name: arguments[name] and State(*arguments[name]) for name in ("state", "folds")}
        Report.__init__(self, **arguments | states)

    @property
    def _arguments(self) -> dict[str, Any]:
        """What the report is made from, and all that a pickle has."""
        return {name: getattr(self, name) for name in signature(Report).parameters}

    def _with(self, **changes: Any) -> Report:
        """The report with some of its arguments replaced."""
        return Report(**self._arguments | changes)

    def _with_states(self, change: Callable[[State], State]) -> Report:
        """The report of another state, with the same change of its folds."""
        return self._with(state=change(self.state), folds=None if self.folds is None else change(self.folds))

    def _row(self, metric: str | Metric, keys: dict[str, Any]) -> pl.DataFrame:
        rows = self.rows(metric, **keys)
        of_label = {LABEL: keys[LABEL]} if LABEL in keys and len(keys) > 1 else {}
        rows = rows if "threshold" in keys else of_labels_once(rows)
        return only(metric, rows, keys, lambda: self.rows(metric, **of_label))

    @cached_property
    def _sampled_frame(self) -> pl.DataFrame:
        """The frame, with the effective rows behind intervals."""
        return self._estimates(self.metrics)

    def _sampled_rows(self, metric: str | Metric, **keys: Any) -> pl.DataFrame:
        """The rows, with the effective rows behind intervals."""
        report = self._with_key(metric, keys)
        if report is not self:
            return report._sampled_rows(metric, **keys)
        metric = self.find(metric, of_label=LABEL in keys)
        frame = self._frame_of(
            next((m for m in self.metrics if m == metric), metric)
        )  # its default options may be written
        return matching(frame, keys_of(frame), keys)

    def _frame_of(self, metric: Metric) -> pl.DataFrame:
        """The rows of `frame` for one metric, also without those of the others: intervals of many groups take long."""
        if metric in self.metrics and "_sampled_frame" in vars(self):
            return self._sampled_frame.filter(pl.col("metric") == metric.name)
        if metric not in self._frames:
            self._frames[metric] = self._estimates([metric])
        return self._frames[metric]

    def _estimates(self, metrics: Sequence[Metric]) -> pl.DataFrame:
        return estimate(self.state, metrics, self.confidence, self.folds, self.always)

    def _with_key(self, metric: str | Metric, keys: Mapping[str, Any]) -> Report:
        """The report of the confusion counts at a threshold that is not in the frame, or this one."""
        threshold = as_float(keys.get("threshold"))
        if isnan(threshold):
            return self
        if self._last_threshold[0] != threshold:
            state, folds = (state and threshold_state(state, threshold) for state in (self.state, self.folds))
            report = None if state is None else self._with(state=state, metrics=(), folds=folds)
            self._last_threshold = threshold, report
        report = self._last_threshold[1]
        return self if report is None or not report.readable(metric) else report

    @cached_property
    def _findings(self) -> list[Finding]:  # a page and a terminal show the same
        return Diagnosis(self).findings()

    def _matching(self, frame: pl.DataFrame, keys: dict[str, Any]) -> pl.DataFrame:
        """The rows of some groups, models, and labels."""
        return matching(frame, [c for c in frame.columns if c in (*self.by, LABEL)], keys)
