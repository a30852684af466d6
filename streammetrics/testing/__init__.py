"""Prove statistics, metrics and engines of your own: the laws of the library, as named checks.

No test runner is needed. With pytest, each check is a test of its own:
``@pytest.mark.parametrize("check", checks(thing), ids=str)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.errors import SpecificationError
from streammetrics.metrics import Metric
from streammetrics.statistics import Statistic
from streammetrics.system.public import publish
from streammetrics.testing.check import Check, run_all, with_gaps
from streammetrics.testing.engines import Engine, of_engine
from streammetrics.testing.laws import of_accumulator, of_statistic
from streammetrics.testing.metrics import of_metric
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
    """Return the checks that a thing must pass, each with a name.

    - A **statistic**, or an **accumulator** as it is specified, keeps the same however rows are split, in whatever tree
      parts are merged, with reads in between, and saved midway; counts are exact however large; a rollup equals the
      direct view. A statistic is checked alone, by group, with weights, and with units.
    - A **metric** is found by its names, lies within its range and its bounds, is null for 0/0, has its preferred
      direction, and has a confidence interval or says why not. Its bounds hold for every order of the rows in a bin.
    - An **engine** keeps the tables of one process, byte for byte if they are counts. See `Engine`.

    Args:
        thing: A statistic, an accumulator, a metric, or an `Engine`.
        rows: Makes a data frame of a number of rows and a numpy generator. Columns are named as their roles
            (``y_true``, ``y_score``, inputs), ``weight``, ``unit``, ``part``, and ``half``, or as the accumulator has
            them. Defaults to rows of all kinds; of further inputs, to positive numbers.
        statistic: The statistic that a metric is computed from. Defaults to one that has its columns.
        improve: Makes the predictions in a frame of rows as good as can be, to check the preferred direction of a
            metric. Defaults to predictions equal to the true values.
        gaps: Names of checks that are known to fail, and why. Such a check fails once the gap is mended.
        seed: Seed of rows and splits.

    Raises:
        SpecificationError: If the thing cannot be checked, needs ``rows``, or if a gap is not the name of a check.

    >>> import streammetrics as sm
    >>> for check in checks(sm.ConfusionCounts())[:3]:
    ...     print(check)
    any split and any tree
    metrics and bounds do not depend on the split
    one row at a time
    """
    if isinstance(thing, Statistic):
        found = of_statistic(thing, rows, seed)
    elif isinstance(thing, Accumulator):
        found = of_accumulator(thing, rows, seed)
    elif isinstance(thing, Metric):
        found = of_metric(thing, statistic, rows, improve)
    elif isinstance(thing, Engine):
        found = of_engine(thing)
    else:
        raise SpecificationError(
            f"A statistic, an accumulator, a metric or an Engine can be checked, got {type(thing).__name__}."
        )
    return with_gaps(found, gaps or {})


def check(thing: Thing, **how: Any) -> None:
    """Run all `checks` of a thing, with the same arguments.

    Raises:
        AssertionError: If some fail. It names all of them and says what the first found.
        SpecificationError: As for `checks`.

    >>> from streammetrics.metrics import f1
    >>> check(f1)
    """
    run_all(checks(thing, **how))


publish(__name__, Check, Engine)
