"""Checks of custom statistics, metrics, and engines against the guarantees of the library.

No test runner is required. With pytest, each check can be a separate test:
``@pytest.mark.parametrize("check", checks(thing), ids=str)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.base import publish
from streammetrics.errors import SpecificationError
from streammetrics.metrics import Metric
from streammetrics.statistics import Statistic
from streammetrics.testing.check import Check, run_all, with_gaps
from streammetrics.testing.engines import Engine, engine_checks
from streammetrics.testing.laws import accumulator_checks, statistic_checks
from streammetrics.testing.metrics import metric_checks
from streammetrics.testing.rows import MakeRows

__all__ = ["Check", "Engine", "check", "checks"]

Thing = Statistic | Accumulator | Metric | Engine


def checks(
    thing: Thing,
    *,
    rows: MakeRows | None = None,
    statistic: Statistic | None = None,
    improve: Callable[[pl.DataFrame], pl.DataFrame] | None = None,
    gaps: Mapping[str, str] | None = None,
    seed: int = 0,
) -> list[Check]:
    """Return the named checks that a statistic, an accumulator, a metric, or an engine must pass.

    - A **statistic**, or an **accumulator** with its specification: the state does not depend on batches, the order of
      merges, reports in between, or saving midway. Counts are exact at any size, and a rollup equals direct grouping.
      A statistic is checked alone, by group, with weights, and with units.
    - A **metric**: it is named by its names, is within its range and bounds, is null for 0/0, has its preferred
      direction, and has a confidence interval or a reason for none. Bounds hold for every order of rows in a bin.
    - An **engine**: its tables equal those of a single process, byte for byte if they are counts. See `Engine`.

    Args:
        thing: A statistic, an accumulator, a metric, or an `Engine`.
        rows: Function of a number of rows and a NumPy generator that returns a data frame. Columns are named like their
            roles (``y_true``, ``y_score``, inputs), ``weight``, ``unit``, ``part``, and ``half``, or as in the
            accumulator. Defaults to rows of all kinds, with positive numbers for additional inputs.
        statistic: Statistic that the metric is computed from. Defaults to one that has its columns.
        improve: Function that makes the predictions in a frame perfect, to check the preferred direction of a metric.
            Defaults to predictions equal to the true values.
        gaps: Names of checks that are known to fail, with reasons. Such a check fails as soon as it passes.
        seed: Random seed of rows and splits.

    Raises:
        SpecificationError: If the object cannot be checked or requires ``rows``, or a gap is not the name of a check.

    >>> import streammetrics as sm
    >>> for check in checks(sm.statistics.ConfusionCounts())[:3]:
    ...     print(check)
    any split and any tree
    metrics and bounds do not depend on the split
    one row at a time
    """
    if isinstance(thing, Statistic):
        named = statistic_checks(thing, rows, seed)
    elif isinstance(thing, Accumulator):
        named = accumulator_checks(thing, rows, seed)
    elif isinstance(thing, Metric):
        named = metric_checks(thing, statistic, rows, improve)
    elif isinstance(thing, Engine):
        named = engine_checks(thing)
    else:
        raise SpecificationError(
            f"Pass a statistic, an accumulator, a metric, or an Engine, got {type(thing).__name__}."
        )
    return with_gaps(named, gaps or {})


def check(thing: Thing, **how: Any) -> None:
    """Run all `checks`. Takes the same arguments.

    Raises:
        AssertionError: If checks fail. The message names all of them and describes the first failure.
        SpecificationError: As for `checks`.

    >>> from streammetrics.metrics import f1
    >>> check(f1)
    """
    run_all(checks(thing, **how))


publish(__name__, Check, Engine)
