"""Readings: what is read from the tables of a state, in one tidy frame of estimates, as curves, and as counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import isnan
from numbers import Real
from typing import Any, Literal, Self, TypeVar

import polars as pl
from numpy.typing import ArrayLike

from streammetrics.base import (
    OF_VERDICTS,
    as_float,
    keys_of,
    matching,
    require_free,
    require_group_columns,
    require_level,
    require_threads,
    whole,
)
from streammetrics.data import FOLD, FOLDS, LABEL, MODEL, several
from streammetrics.errors import Argument, MetricError, ReportError
from streammetrics.metrics import CELLS, Metric, find_metric
from streammetrics.reading import curves
from streammetrics.reading.available import find
from streammetrics.reading.calibration import of_correlated_rows
from streammetrics.reading.estimates import at_threshold, estimate
from streammetrics.reading.guarantees import require_guarantees
from streammetrics.statistics import (
    GROUP,
    Binned,
    CalibrationBins,
    ConfusionCounts,
    ConfusionMatrix,
    ErrorHistogram,
    Histogram,
    ScoreHistogram,
    State,
    Statistic,
    confusion,
    for_reports,
    roll_up,
)

S = TypeVar("S")
R = TypeVar("R", bound="Readings")

ORDERS = ("tied", "best", "worst")  # of the rows within a bin
PARTS = (
    "state",
    "metrics",
    "confidence",
    "folds",
    "unit",
    "always",
    "sample_weight",
    "number_of_folds",
)  # arguments of `Readings`

ERROR_CURVES = {"error_cdf": curves.cdf_curve, "rec": curves.rec_curve}
BINS: dict[str, list[type[Binned]]] = {"scores": [ScoreHistogram, Histogram], "errors": [ErrorHistogram]}
BIN_COLUMNS = {"low": "lowest", "high": "highest", "neg": "negatives", "pos": "positives"}


class Readings:
    """Numbers of a `Report`: all that pages, charts, and comparisons are made of."""

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
        self._alone: dict[Metric, pl.DataFrame] = {}  # frames of single metrics
        self._elsewhere: tuple[Any, Self | None] = (None, None)  # the last requested threshold
        self._sampled: Self | None = None  # the last requested confidence level

    def __getstate__(self) -> dict[str, Any]:
        states = {name: state and state.parts for name, state in (("_state", self._state), ("folds", self.folds))}
        return vars(self) | states | {"_alone": {}, "_sampled": None}

    def __setstate__(self, content: dict[str, Any]) -> None:
        states = {name: content[name] and State(*content[name]) for name in ("_state", "folds")}
        vars(self).update(content | states)

    def with_confidence(self, confidence: float | None) -> Self:
        """Return the same report with another confidence level, or without intervals for None.

        >>> import streammetrics as sm
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]}).finalize()
        >>> "ci_lower" in report.with_confidence(0.95).frame.columns
        True
        """
        if confidence is not None:
            require_level(Argument("confidence"), confidence)
        if self._sampled is None or self._sampled.confidence != confidence:
            self._sampled = with_parts(self, confidence=confidence, always=None)
        return self._sampled

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All estimates: group columns, key columns such as ``threshold``, metric, value, lower, upper, note.

        One row per group, key, and metric. ``lower`` and ``upper`` are certified bounds for the evaluated rows. With a
        confidence level, ``ci_lower`` and ``ci_upper`` are the endpoints of the confidence interval. The schema depends
        on the specification, and not on the data, except for the types of groups and labels.
        """
        return self._sampled_frame.drop(OF_VERDICTS, strict=False)

    @cached_property
    def _sampled_frame(self) -> pl.DataFrame:
        """The frame, with columns for verdicts."""
        return self._estimates(self.metrics)

    def _estimates(self, metrics: Sequence[Metric]) -> pl.DataFrame:
        frame = estimate(self.state, metrics)
        if self.folds is not None:
            frame = of_correlated_rows(frame, self.state, self.folds, metrics)
        if self.confidence is None:
            return frame
        from streammetrics.reading.confidence import with_intervals  # when it is needed: it takes a while to import

        frame = with_intervals(frame, self.state, metrics, self.confidence, self.folds)
        if self.always is None:
            return frame
        from streammetrics.reading.looks import at_every_look

        return at_every_look(frame, self.state, metrics, self.confidence, self.always)

    @property
    def state(self) -> State:
        """State that the report is computed from."""
        require_threads()
        return self._state

    def showing(self, metrics: str | Metric | Sequence[str | Metric]) -> Self:
        """Return the same report with other metrics.

        Raises:
            MetricError: If the metric is unknown or not available.

        >>> import streammetrics as sm
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]}).finalize()
        >>> report.showing(["accuracy", "f1"]).keys()
        ['accuracy', 'f1']
        """
        return with_parts(self, metrics=find(metrics, self.state.statistics, self.state.labels))

    @property
    def by(self) -> list[str]:
        """Names of the group columns."""
        return self.state.by

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
        return self._sampled_rows(metric, **keys).drop(OF_VERDICTS, strict=False)

    def _sampled_rows(self, metric: str | Metric, **keys: Any) -> pl.DataFrame:
        """The rows, with columns for verdicts."""
        elsewhere = self._at_threshold(keys.get("threshold"))
        if elsewhere is not None and elsewhere.readable(metric):
            return elsewhere._sampled_rows(metric, **keys)
        found = self.find(metric, of_label=LABEL in keys)
        shown = next((m for m in self.metrics if m == found), None)  # its default options may be written out
        frame = self._frame_of(shown or found)
        return matching(frame, keys_of(frame), keys)

    def _frame_of(self, metric: Metric) -> pl.DataFrame:
        """The rows of `frame` for one metric, also without those of the others: intervals of many groups take long."""
        if metric in self.metrics and "_sampled_frame" in vars(self):
            return self._sampled_frame.filter(pl.col("metric") == metric.name)
        if metric not in self._alone:
            self._alone[metric] = self._estimates([metric])
        return self._alone[metric]

    def _at_threshold(self, threshold: Any) -> Self | None:
        """The report of the confusion counts at a threshold that is not in the frame; None if they are unknown."""
        if not isinstance(threshold, Real) or isnan(as_float(threshold)):
            return None
        last, found = self._elsewhere
        if last != threshold:
            state, folds = (None if s is None else at_threshold(s, float(threshold)) for s in (self.state, self.folds))
            found = None if state is None else with_parts(self, state=state, metrics=(), folds=folds)
            self._elsewhere = threshold, found
        return found

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

    def rollup(self, *columns: str | Sequence[str]) -> Self:
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
        names = [name for given in columns for name in several(given)]
        require_group_columns(names, self.by)
        kept = list(dict.fromkeys([*names, *(c for c in self.by if c == MODEL)]))
        folds = None if self.folds is None else roll_up(for_reports(self.folds), [*kept, FOLD])
        state = roll_up(for_reports(self.state), kept)
        return with_parts(self, state=state, folds=folds)

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
        return self._matching(self._curve(str(kind), order), keys)

    def _curve(self, kind: str, order: str) -> pl.DataFrame:
        if kind == "calibration":
            bins = self._kept(CalibrationBins)
            return self._with_keys(bins, bins.reliability(self.state.table(bins)))
        if kind == "quantile_calibration":
            histogram, groups = self._kept(ScoreHistogram), self._kept(CalibrationBins).bins
            edges = histogram.edges(self.state.table(histogram))
            return self._with_keys(histogram, curves.quantile_calibration(edges, groups))
        if kind in ERROR_CURVES:
            errors = self._kept(ErrorHistogram)
            return self._with_keys(errors, ERROR_CURVES[kind](errors.edges(self.state.table(errors))))
        if kind in BINS:
            return self._bins(kind)
        if kind not in curves.CURVES:
            of_metric = curves.metric_curve(_of_counts(kind), self._histogram_cases()["tied"])
            return self._with_keys(self._kept(ScoreHistogram), of_metric)
        histogram = self._kept(ScoreHistogram)
        if order not in ORDERS:
            raise ReportError(Argument("order"), f" must be one of {', '.join(ORDERS)}, got {order!r}.")
        cases = self._histogram_cases()
        return self._with_keys(histogram, curves.curve(kind, cases.get(order, cases["tied"])))

    def _bins(self, kind: str) -> pl.DataFrame:
        """The bins of a histogram, with the smallest and the largest value of each."""
        kept = [s for s in self.state.statistics if not isinstance(s, Histogram) or s.of == "y_score"]
        found = [s for wanted in BINS[kind] for s in kept if isinstance(s, wanted)]
        histogram = found[0] if found else self._kept(BINS[kind][0])
        bins = histogram.edges(self.state.table(histogram))
        names = {c: BIN_COLUMNS.get(c, c) for c in ("low", "high", *histogram.counts)}
        return self._with_keys(histogram, bins.select(GROUP, *names).rename(names))

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
        counts = self._kept(ConfusionCounts)
        return self._with_keys(counts, self.state.table(counts).select(GROUP, *counts.keys, *counts.counts))

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
        return self._of_matrix(lambda table: confusion.matrix_frame(table, normalize, self.state.labels))

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
        limit = whole(Argument("n"), n, least=0)
        return self._of_matrix(lambda table: confusion.most_confused(table, limit))

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
        order = self._kept(ConfusionMatrix).order or None
        return self._of_matrix(lambda table: confusion.weighted_kappa(table, weights, order))

    def _of_matrix(self, read: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.DataFrame:
        matrix = self._kept(ConfusionMatrix)
        return self._with_keys(matrix, read(self.state.table(matrix)))

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
        if confidence is not None:
            require_guarantees(subject_to, confidence, self.state.weighted, self.unit is not None)
        found = curves.operating_point(
            self._histogram_cases(), maximize=maximize, minimize=minimize, subject_to=subject_to, confidence=confidence
        )
        groups = self.state.groups_of(self._kept(ScoreHistogram))
        require_free(groups.columns, {*found.columns} - {GROUP})
        points = groups.join(found, on=GROUP, how="left", maintain_order="left").drop(GROUP)
        if confidence is not None:
            points = points.with_columns(note=pl.when(pl.col("tp").is_null()).then(pl.col("note").fill_null("no rows")))
        return self._matching(points, keys)

    def _histogram_cases(self) -> dict[str, pl.DataFrame]:
        histogram = self._kept(ScoreHistogram)
        return histogram.cases(histogram.edges(self.state.table(histogram)))

    def _kept(self, kind: type[S]) -> S:
        for statistic in self.state.statistics:
            if isinstance(statistic, kind):
                return statistic
        raise MetricError(f"The statistic {kind.__name__} is required, but not in this accumulator.")

    def _with_keys(self, statistic: Statistic, frame: pl.DataFrame) -> pl.DataFrame:
        groups = self.state.groups_of(statistic)
        require_free(groups.columns, {*frame.columns} - {GROUP})
        return groups.join(frame, on=GROUP, maintain_order="right").drop(GROUP)

    def _matching(self, frame: pl.DataFrame, keys: dict[str, Any]) -> pl.DataFrame:
        """The rows of some groups, models, and labels."""
        return matching(frame, [c for c in frame.columns if c in (*self.by, LABEL)], keys)


def _of_counts(kind: str) -> Metric:
    """The confusion-count metric whose curve is asked for."""
    try:
        return find_metric(kind, CELLS)
    except MetricError as error:
        known = ", ".join([*curves.CURVES, "calibration", "quantile_calibration", *ERROR_CURVES, *BINS])
        raise ReportError(*error.args, f" Curves: {known}, and confusion-count metrics such as f1.") from error


def with_parts(report: R, **others: Any) -> R:
    """Return the report with some of its `PARTS` replaced."""
    return type(report)(**{name: getattr(report, name) for name in PARTS} | others)
