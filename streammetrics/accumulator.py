"""The accumulator, which turns batches of rows into one small table per statistic, and can be merged with others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from streammetrics import show
from streammetrics.base import StorageOptions, new_lock, pa, publish, require_level, require_threads
from streammetrics.data import FOLDS, Column, Columns, Kind, Names, Roles, coarser, read, several
from streammetrics.errors import Argument, MergeError, SpecificationError, StreamMetricsError
from streammetrics.metrics import Metric, Requirement, require_rows
from streammetrics.reading import find
from streammetrics.report import Receipt, Report, receipt_of
from streammetrics.statistics import (
    MAX_GROUPS,
    Content,
    RowCounts,
    RowFingerprint,
    Saved,
    ScoreHistogram,
    State,
    Statistic,
    brief,
    combine,
    complete,
    from_bytes,
    group_limit,
    kind_of,
    no_state,
    read_states,
    require_equal,
    to_bytes,
    write,
)

METRICS_OF_A_RECEIPT = 4  # of one model, or of several together, if none are named


class Accumulator:
    """Mergeable state of all rows processed so far.

    A column is a name or a Polars expression. ``y_pred`` and ``y_score`` may map model names to columns: several models
    are then evaluated in one pass, as values of the group column ``model``.

    Accumulators are thread-safe: any number of threads can update, merge, and read the same accumulator. Batches are
    validated in parallel and counted one at a time. To count in parallel, use one accumulator per thread and merge
    them, as `accumulate` does. Updates are atomic, and an interrupted update is finished first.

    Args:
        statistics: Statistics to accumulate, one of each kind. `RowCounts` is always included.
        task: ``"binary"``, ``"multiclass"``, ``"multilabel"``, or ``"regression"``. Defaults to the task of the
            statistics.
        y_true: Labels: Boolean, 0/1, or any values with ``positive=``. In regression tasks, numbers. In multilabel
            tasks, a mapping of each label to a column.
        y_pred: Predictions, in the same form as ``y_true``.
        y_score: Probabilities or other scores, higher for the positive class. In multiclass and multilabel tasks, a
            mapping of each label to a column.
        labels: All labels, in list order. Required if scores are lists.
        sample_weight: Column of the row weights, finite and not negative.
        count: Column of the number of equal rows that each row stands for: whole numbers, 0 or more. The state is the
            same as that of the repeated rows.
        unit: Column that identifies correlated rows, such as a user ID. Confidence intervals account for the
            correlation.
        folds: Number of parts of the units that intervals leave out one at a time, from 5 to 256.
        by: Group columns: names or Polars expressions. Null values form a separate group.
        positive: Positive label. All others are negative. One that differs from it only in spaces or capital letters
            raises an error, and so do metrics of rows with several labels of which none is positive.
        negative: Negative label. Any third label then raises an error.
        nulls: ``"raise"`` to reject nulls and NaN, or ``"drop"`` to drop and count such rows.
        renormalize: Divide class probabilities by their sum, instead of rejecting rows whose sum is not 1.
        metrics: Metrics shown in reports. Defaults to all that are available.
        max_groups: Maximum number of groups (combinations of ``by`` values; models do not count).
            An update or a merge that would exceed it raises a `DataError` and changes nothing. Defaults to 1,000,000;
            None for no limit. The limit is not saved: a loaded accumulator has none until the attribute ``max_groups``
            is set. A merge uses the limit of the first accumulator.
        **inputs: Additional input columns of custom statistics, by name (see `RowSums`).

    Raises:
        SpecificationError: If arguments contradict each other.
        MetricError: If a metric is not available from these statistics.

    >>> import streammetrics as sm
    >>> acc = sm.Accumulator(sm.statistics.ConfusionCounts(), y_true="clicked", y_score="p")
    >>> acc.update({"clicked": [1, 0, 1, 0], "p": [0.9, 0.6, 0.8, 0.1]})
    Accumulator(ConfusionCounts, y_true='clicked', y_score='p'): 4 rows
    >>> acc.finalize()["precision"].value
    0.6666666666666666
    """

    def __init__(
        self,
        *statistics: Statistic,
        task: Kind | None = None,
        y_true: Columns | None = None,
        y_pred: Columns | None = None,
        y_score: Columns | None = None,
        labels: Sequence[Any] | None = None,
        sample_weight: Column | None = None,
        count: Column | None = None,
        unit: Column | None = None,
        folds: int = FOLDS,
        by: Column | Sequence[Column] = (),
        positive: Any = None,
        negative: Any = None,
        nulls: Literal["raise", "drop"] = "raise",
        renormalize: bool = False,
        metrics: Sequence[str | Metric] | None = None,
        max_groups: int | None = MAX_GROUPS,
        **inputs: Column,
    ) -> None:
        names = Names()
        if unknown := inputs.keys() - {name for s in statistics for name in s.inputs}:
            raise SpecificationError(
                f"Unknown argument {min(unknown)!r}: not an argument of Accumulator or an input of these statistics."
            )
        kind = task or kind_of(statistics)
        if labels is None:
            labels = next((s.labels for s in statistics if s.labels), None)
        roles = Roles(
            kind=kind,
            **names.targets(kind, y_true, y_pred, y_score, labels),
            sample_weight=None if sample_weight is None else names.add(sample_weight),
            count=None if count is None else names.add(count),
            unit=None if unit is None else names.add(unit),
            by=tuple(names.add(column) for column in several(by)),
            positive=positive,
            negative=negative,
            nulls=nulls,
            renormalize=renormalize,
            probability=any(s.probabilities for s in statistics),
            rounding=next((s.rounding for s in statistics if isinstance(s, ScoreHistogram)), None),
            inputs={name: names.add(column) for name, column in sorted(inputs.items())},
            row_id=_row_id(statistics, names, unit),
            folds=folds,
            expressions=names.expressions,
        )
        statistics = complete(statistics, roles)
        if metrics is not None:
            metrics = tuple(m.name for m in find(metrics, statistics, roles.labels))
        self._start(Saved(roles, metrics, no_state(roles, statistics)), group_limit(max_groups))

    def _start(self, saved: Saved, max_groups: int | None) -> None:
        self.roles: Roles = saved.roles
        self.metrics: tuple[str, ...] | None = saved.metrics
        self._content = Content(saved.roles, saved.state.statistics, max_groups, saved.state)
        self._own_lock = new_lock()

    @classmethod
    def _from_saved(cls, saved: Saved, max_groups: int | None = None) -> Accumulator:
        accumulator = cls.__new__(cls)
        accumulator._start(saved, max_groups)
        return accumulator

    @property
    def _lock(self) -> AbstractContextManager[Any]:
        """Lock that is held while the content is changed or read. A thread never holds two of them."""
        require_threads()
        if self._own_lock._is_owned():  # type: ignore[attr-defined]
            raise StreamMetricsError(
                "A signal handler cannot use an accumulator in the middle of an update or a merge. "
                "Set a flag in the handler, and act on it after the update."
            )
        return self._own_lock

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The statistics, `RowCounts` first."""
        return self._content.statistics

    @property
    def max_groups(self) -> int | None:
        """Maximum number of groups, or None for no limit. A new value applies from the next update or merge."""
        return self._content.max_groups

    @max_groups.setter
    def max_groups(self, limit: int | None) -> None:
        with self._lock:
            self._content.max_groups = group_limit(limit)

    def update(self, batch: Any) -> Accumulator:
        """Process one batch and return this accumulator.

        Small batches are validated immediately and counted together later. A rejected batch changes nothing.

        Args:
            batch: A Polars DataFrame, anything with the Arrow PyCapsule protocol (pyarrow, pandas, a DuckDB relation),
                a mapping of names to arrays or tensors, or a list of rows, each a mapping of names to values.

        Raises:
            ColumnError: If a column is missing or has an unsupported type.
            DataError: If a column contains nulls, NaN, scores outside [0, 1], unknown labels, or negative weights, or
                if there are more groups than ``max_groups``.
        """
        rows = read(batch, self.roles)
        with self._lock:
            self._content.require(rows)
            self._content.add(rows)
        return self

    def absorb(self, other: Accumulator) -> Accumulator:
        """Merge another accumulator into this one, in place, and return this one. `merge` returns a new one.

        Raises:
            MergeError: If the specifications differ, or ``other`` is not an accumulator. Both accumulators then stay
                unchanged.
            ColumnError: If a group column has different types.
            DataError: If there are more groups than ``max_groups``.

        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]})
        >>> acc.absorb(acc.copy()).seen
        6
        """
        _require_accumulator(other)
        require_equal(self.roles, other.roles, self.statistics, other.statistics)
        with other._lock:
            content = other._content.as_state()
        with self._lock:
            self._content.require_content(content)
            self._content.absorb(content)
        return self

    def flush(self) -> Accumulator:
        """Count the rows of small batches that are still buffered. Reports and merges do this automatically.

        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]})
        >>> acc.flush().seen
        3
        """
        with self._lock:
            self._content.observe()
        return self

    @property
    def seen(self) -> int:
        """Number of rows processed, including dropped rows, of all models together."""
        return int(self.state.tables[RowCounts.name].select(pl.sum("rows") + pl.sum("dropped")).item())

    @property
    def state(self) -> State:
        """Groups and tables of all rows processed."""
        with self._lock:
            return self._content.state()

    def compact(self) -> Accumulator:
        """Reduce all processed rows to one small table now instead of at the first read. Return this accumulator.

        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]})
        >>> acc.compact().seen
        3
        """
        with self._lock:
            self._content.state()
        return self

    def merge(self, *others: Accumulator) -> Accumulator:
        """Return a new accumulator with the rows of this one and others, which stay unchanged.

        Raises:
            MergeError: If the specifications differ.
            ColumnError: If a group column has different types.
            DataError: If there are more groups than ``max_groups``.

        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]})
        >>> acc.merge(acc, acc).seen, acc.seen
        (9, 3)
        """
        return merge((self, *others))

    def __add__(self, other: Accumulator) -> Accumulator:
        return self.merge(other) if isinstance(other, Accumulator) else NotImplemented

    def __radd__(self, other: int) -> Accumulator:
        return self.copy() if isinstance(other, int) and other == 0 else NotImplemented

    def empty(self) -> Accumulator:
        """Return an empty accumulator of the same specification, for example for a worker.

        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]})
        >>> acc.empty().seen
        0
        """
        return self._with_state(no_state(self.roles, self.statistics))

    def copy(self) -> Accumulator:
        """Return an independent copy.

        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]})
        >>> acc.copy().update({"y": [1], "p": [0.7]}).seen, acc.seen
        (4, 3)
        """
        duplicate = self._with_state(self.state)
        duplicate._content.others = self._content.others
        return duplicate

    def rollup(self, *columns: Column | Sequence[Column], folds: int | None = None) -> Accumulator:
        """Return an accumulator with fewer or coarser groups, as if the rows had been grouped by these columns only.

        Histograms keep the capacity of a group, so the result can be merged with others. `Report.rollup` has narrower
        bounds.

        A column is a name, or an expression over group columns: ``pl.col("day").dt.truncate("1w").alias("week")``.
        Models stay separate. Pass columns as arguments or as a list. Without columns, all rows are one group.

        Args:
            columns: Group columns of the result.
            folds: Number of folds of units of the result, for example to merge it with others. Must divide the number
                of this accumulator, which is the default.

        Raises:
            SpecificationError: If a column is not a group column, an expression uses other columns, or ``folds`` does
                not divide the number of folds.

        >>> import streammetrics as sm
        >>> batch = {"y": [1, 0, 1], "p": [0.9, 0.2, 0.4], "country": ["DE", "DE", "FR"]}
        >>> acc = sm.binary(y_true="y", y_score="p", by="country").update(batch)
        >>> acc.rollup().finalize()["roc_auc"].value
        1.0
        """
        names = [column for argument in columns for column in several(argument)]
        roles, expressions = coarser(self.roles, names, folds)
        if expressions:
            complete(self.statistics, roles)  # rejects a name that saved states use
        return self._with_state(self._rolled_up(self.state, roles, expressions), roles)

    def _with_state(self, state: State, roles: Roles | None = None) -> Accumulator:
        """An accumulator of another state, and possibly of other columns, with the same settings."""
        return self._from_saved(Saved(roles or self.roles, self.metrics, state), self._content.max_groups)

    def _rolled_up(self, state: State, roles: Roles, expressions: Mapping[str, pl.Expr] | None = None) -> State:
        """A state with the group columns of other roles. Groups that exist before the first row stay."""
        rows = state if state.exact else state.sorted()  # so that sums of floats round alike
        total = rows.with_keys(expressions or {}).roll_up(roles.group_columns)
        if roles.keys or (state.groups.height and total.groups.height == len(roles.models)):
            return total
        return combine([no_state(roles, self.statistics), total])

    def filter(self, *predicates: pl.Expr) -> Accumulator:
        """Return an accumulator of some of the groups: ``acc.filter(pl.col("country") == "DE")``.

        Raises:
            SpecificationError: If a predicate is invalid for the group columns.

        >>> import streammetrics as sm
        >>> batch = {"y": [1, 0, 1], "p": [0.9, 0.2, 0.4], "country": ["DE", "DE", "FR"]}
        >>> acc = sm.binary(y_true="y", y_score="p", by="country").update(batch)
        >>> acc.filter(pl.col("country") == "DE").seen
        2
        """
        if not self.roles.group_columns:
            raise SpecificationError(
                "Cannot filter groups: the accumulator has neither ", Argument("by"), " nor models."
            )
        return self._with_state(self.state.filter(predicates))

    def finalize(
        self,
        metrics: Sequence[str | Metric] | None = None,
        *,
        confidence: float | None = None,
        always: int | None = None,
    ) -> Report:
        """Compute metrics, and return them as a report. The accumulator stays unchanged.

        Args:
            metrics: Names of metrics, with options as in ``"fbeta(beta=2)"``, or `Metric` objects. Defaults to those of
                the task.
            confidence: Confidence level of intervals, such as 0.95. Defaults to no intervals.
            always: Make intervals valid however often you look. They are tightest near this number of rows, such as
                100_000, and 1.5 to 2 times as wide as others. Choose the number before the first look and keep it.
                Rows can be added to a group or rollup, but not removed, so a moving window is not allowed. Requires
                ``confidence``.

        Raises:
            SpecificationError: If ``confidence`` is not between 0 and 1, or if ``always`` is not a positive integer or
                is combined with ``unit``.
            MetricError: If a metric is unknown or not available.
            DataError: If the rows have several labels, none of which is ``positive``. Saved states do not store this.
        """
        selected = find(self.metrics if metrics is None else metrics, self.statistics, self.roles.labels)
        if confidence is not None:
            require_level(Argument("confidence"), confidence)
        if always is not None:
            require_rows(always)
            if confidence is None:
                raise SpecificationError(Argument("always"), " requires ", Argument("confidence"), ", such as 0.95.")
            if self.roles.unit is not None:
                raise SpecificationError(Argument("always"), " cannot be combined with ", Argument("unit"), ".")
        with self._lock:
            self._content.require_positive()
        total, folds = self.state, None
        if self.roles.unit is not None:
            total, folds = self._rolled_up(total, replace(self.roles, unit=None, folds=FOLDS)), total
        unit, weight, total = self.roles.unit, self.roles.sample_weight, total.sorted(self.roles.models)
        return Report(total, selected, confidence, folds, unit, always, weight, self.roles.folds)

    def receipt(
        self,
        metrics: Sequence[str | Metric] | None = None,
        *,
        confidence: float = 0.95,
        require: Sequence[str] = (),
    ) -> Receipt:
        """Return a receipt: what was evaluated, and what the result was, in at most 2 kB of JSON.

        Anyone with the rows can `verify` it, in any order, sharding, or engine.

        Args:
            metrics: Metrics of all rows. Defaults to up to four of the task that have a preferred direction.
            confidence: Confidence level of intervals and verdicts.
            require: Requirements to check in each group, as in `Report.check`.

        Raises:
            SpecificationError: If the accumulator was created without ``fingerprint=``, or the receipt would be larger.

        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p", fingerprint=True).update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]})
        >>> receipt = acc.receipt(["roc_auc"])
        >>> receipt.rows, receipt.fingerprints[""]["row"], receipt.metrics["roc_auc"]
        (3, '0c07932cbd3ead99587d10a7c86cfcca', {'value': 1.0})
        """
        if metrics is None:
            available = find(self.metrics, self.statistics, self.roles.labels)
            most = max(METRICS_OF_A_RECEIPT // len(self.roles.models), 1)
            metrics = [m for m in available if m.better and m.average is None][:most]
        checked = None
        if require:  # of these metrics only, so that verdicts do not depend on the metrics shown
            required = [Requirement.parse(text).metric for text in several(require)]
            checked = self.finalize(required, confidence=confidence).check(require, confidence=confidence)
        total = self.rollup().finalize(metrics, confidence=confidence)
        return receipt_of(self._saved(), total, confidence, checked)

    def to_arrow(self) -> pa.Table:
        """Return the state as an Arrow table: one row per group, a nested column per statistic.

        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]})
        >>> acc.to_arrow().column_names[:3]
        ['row_counts', 'confusion_counts', 'score_histogram']
        """
        return self._saved().to_arrow()

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Accumulator:
        """Return the accumulator of a table from `to_arrow`. Rows of the same group are merged.

        Raises:
            StateError: If the table is not a state, or has a newer format.

        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]})
        >>> sm.Accumulator.from_arrow(acc.to_arrow()).seen
        3
        """
        require_threads()
        return cls._from_saved(Saved.from_arrow(table))

    def to_bytes(self) -> bytes:
        """Return the state as an Arrow IPC stream. Equal accumulators give equal bytes.

        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]})
        >>> acc.to_bytes() == acc.copy().to_bytes()
        True
        """
        return to_bytes(self._saved())

    @classmethod
    def from_bytes(cls, content: bytes) -> Accumulator:
        """Return the accumulator of bytes from `to_bytes`.

        Raises:
            StateError: If the bytes are truncated, damaged, not a state, or of a newer format.

        Warns:
            StateWarning: If the bytes have no checksum.

        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]})
        >>> sm.Accumulator.from_bytes(acc.to_bytes()).seen
        3
        """
        require_threads()
        return cls._from_saved(from_bytes(content))

    def save(self, path: str | Path, *, storage_options: StorageOptions = None) -> None:
        """Write the state as Parquet, or as Arrow IPC if the path ends in ``.arrow``, ``.ipc`` or ``.feather``.

        An existing file is replaced only after the new one is on disk, or complete in the object store. If saving
        fails, it stays unchanged.

        Args:
            path: A file, or its URI in an object store, such as ``s3://bucket/monday.state``.
            storage_options: As in `accumulate`.

        Raises:
            StateError: If the file cannot be written, for example because the folder is missing or the disk is full.

        >>> from tempfile import TemporaryDirectory
        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]})
        >>> with TemporaryDirectory() as directory:
        ...     acc.save(f"{directory}/clicks.state")
        ...     sm.Accumulator.load(f"{directory}/clicks.state").seen
        3
        """
        write(self._saved(), path, storage_options)

    @classmethod
    def load(cls, *paths: str | Path, storage_options: StorageOptions = None) -> Accumulator:
        """Return the accumulator of a file from `save`. Several files are merged.

        Args:
            paths: Files, folders, or globs such as ``"states/2026-01-*.state"``. In a folder, for example one that
                Spark wrote with ``states(...).write.parquet("states/")``, files whose names begin with ``_`` or ``.``
                are skipped. Each can be a URI of an object store.
            storage_options: As in `accumulate`.

        Raises:
            StateError: If a file is missing, truncated, damaged, not a state, of a newer format, or given several
                times, including through links.
            MergeError: If no file is given, or the specifications differ.

        Warns:
            StateWarning: If a file has no checksum.

        >>> from tempfile import TemporaryDirectory
        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]})
        >>> with TemporaryDirectory() as directory:
        ...     acc.save(f"{directory}/monday.state")
        ...     acc.save(f"{directory}/tuesday.state")
        ...     sm.Accumulator.load(f"{directory}/*.state").seen
        6
        """
        require_threads()
        parts = ((path, cls._from_saved(saved)) for path, saved in read_states(paths, storage_options))
        first, total = next(parts, ("", None))
        if total is None:
            return merge(())
        for path, other in parts:
            try:
                total.absorb(other)
            except MergeError as error:
                raise MergeError(f"Cannot merge {first!r} and {path!r}. ", *error.args) from error
        return total

    def _saved(self) -> Saved:
        return Saved(self.roles, self.metrics, self.state)

    def __reduce__(self) -> tuple[Any, ...]:
        saved = self._saved()  # a lock can be neither pickled nor copied
        roles = {role.name: getattr(saved.roles, role.name) for role in fields(Roles)}
        return self._unpickled, (roles, saved.metrics, saved.state.parts, self._content.max_groups)

    @classmethod
    def _unpickled(cls, roles: dict[str, Any], metrics: Any, state: Any, max_groups: Any) -> Accumulator:
        return cls._from_saved(Saved(Roles(**roles), metrics, State(*state)), max_groups)

    def _repr_html_(self) -> str:
        state = self.state
        return show.accumulator_html(
            self._description(state), [(repr(s), state.tables[s.name].height) for s in self.statistics]
        )

    def __repr__(self) -> str:
        return self._description(self.state)

    def __str__(self) -> str:
        return f"{self.roles.kind} task, {self._size(self.state)}"

    def _description(self, state: State) -> str:
        return f"Accumulator({brief(self.roles, self.statistics)}): {self._size(state)}"

    def _size(self, state: State) -> str:
        rows, dropped, groups = Saved(self.roles, self.metrics, state).size
        size = f"{rows:,} rows" + (f", {dropped:,} dropped" if dropped else "")
        return size + (f" in {groups:,} groups" if self.roles.by else "")


def merge(accumulators: Iterable[Accumulator]) -> Accumulator:
    """Merge accumulators into a new one. They are processed one at a time, so any number fits in memory.
    Few can also be added: ``a + b``, or ``sum(accumulators)``.

    Raises:
        MergeError: If ``accumulators`` is empty or contains another type, or the specifications differ.

    >>> import streammetrics as sm
    >>> days = [sm.binary(y_true="y", y_score="p").update({"y": [1, 0], "p": [0.9, p]}) for p in (0.2, 0.95)]
    >>> sm.merge(days).finalize()["roc_auc"].value, sum(days).seen
    (0.5, 4)
    """
    remaining = iter(accumulators)
    first = next(remaining, None)
    if first is None:
        raise MergeError("Nothing to merge: no accumulators were passed.")
    _require_accumulator(first)
    total = first.copy()
    for other in remaining:
        total.absorb(other)
    return total


def empty_of(roles: Roles, statistics: Sequence[Statistic], like: Accumulator) -> Accumulator:
    """An empty accumulator with given columns and statistics, and all other settings of an existing one."""
    return with_state(like, no_state(roles, complete(statistics, roles)), roles)


def with_state(like: Accumulator, state: State, roles: Roles | None = None) -> Accumulator:
    """An accumulator of a state, with all other settings of an existing one."""
    return Accumulator._from_saved(Saved(roles or like.roles, like.metrics, state))


def _row_id(statistics: Sequence[Statistic], names: Names, unit: Column | None) -> tuple[str, ...]:
    """The columns that a fingerprint of the rows includes in addition to those of the task."""
    columns = [column for s in statistics if isinstance(s, RowFingerprint) for column in (*s.columns, unit)]
    return tuple(dict.fromkeys(names.add(column) for column in columns if column is not None))


def _require_accumulator(other: Any) -> None:
    if not isinstance(other, Accumulator):
        raise MergeError(f"Cannot merge an accumulator with a value of type {type(other).__name__}.")


publish("streammetrics", Accumulator, merge)
