"""The kit of laws is itself tested: broken examples fail the check that is named for what is wrong with them."""

import functools
import subprocess
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import streammetrics as sm
from streammetrics import metrics
from streammetrics.engines import evaluated, merge, partial
from streammetrics.testing import Check, Engine, check, checks


def failing(thing, *names, **how):
    """Names of the checks that fail, or of those among some, without their variants."""
    found = set()
    for one in checks(thing, **how):
        if names and one.name.partition(" (")[0] not in names:
            continue
        try:
            one()
        except Exception:
            found.add(one.name.partition(" (")[0])
    return found


def statistic(name, columns=lambda y_true: {"seen": 1, "total": y_true}, **methods):
    """A sum of true values, with some methods of its own; its class can be pickled."""
    body = {"inputs": ("y_true",), "of_rows": lambda self, y_true: columns(y_true), "__module__": __name__}
    made = dataclass(frozen=True)(type(name, (sm.statistics.RowSums,), body | methods))
    setattr(sys.modules[__name__], name, made)
    return made()


def mean_of_means(self, table):
    return table.group_by("group").agg(pl.sum("seen"), pl.mean("total")).sort("group")


def counts_in_single_precision(self, table):
    return (
        table.group_by("group").agg(pl.col("seen").cast(pl.Float32).sum().cast(pl.Int64), pl.sum("total")).sort("group")
    )


def what_comes_first(self, table):
    return table.group_by("group").agg(pl.sum("seen"), pl.first("total")).sort("group")


def loses_a_group(self, table):
    return table.group_by("group").agg(pl.sum("seen", "total")).sort("group").slice(0, 3)


@pytest.mark.parametrize(
    ("merge", "broken"),
    [
        (mean_of_means, "any split and any tree"),
        (what_comes_first, "any split and any tree"),
        (counts_in_single_precision, "counts are exact however large"),
        (loses_a_group, "a rollup is the direct view"),
    ],
)
def test_statistics_that_merge_wrongly(merge, broken):
    assert failing(statistic("Broken", merge=merge), broken) == {broken}


def test_a_bin_that_remembers_the_order_of_rows():
    @dataclass(frozen=True)
    class LastBin(sm.statistics.Histogram):
        """Bins as wide as the last part that came needed."""

        name = "last_bin"

        def merge(self, table):
            shift = table["shift"].last() if table.height else 0
            wider = pl.max_horizontal(pl.lit(shift, pl.UInt8), "shift")
            return super().merge(
                table.with_columns(bin=pl.col("bin").floordiv(2 ** (wider - pl.col("shift"))), shift=wider)
            )

    assert failing(LastBin(16), "any split and any tree")


@pytest.mark.thorough
def test_a_statistic_of_rows_that_depends_on_their_neighbours():
    broken = {"any split and any tree", "one row at a time"}
    assert (
        failing(statistic("Steps", lambda y_true: {"steps_sum": np.abs(np.diff(y_true, prepend=0.0))}), *broken)
        == broken
    )


def test_a_table_that_is_not_as_declared():
    def more(self, values, weighted):
        return sm.statistics.RowSums.tabulate(self, values, weighted).with_columns(surplus=1)

    assert failing(statistic("Surplus", tabulate=more), "tables have their schema")


def test_a_statistic_that_does_not_travel():
    made = statistic("Lost")
    delattr(sys.modules[__name__], "Lost")
    assert failing(made, "saving midway")


def declared(name, formula, columns, **how):
    """A metric of a formula over columns, which can be pickled."""
    names = {}
    exec(
        f"def {name}({', '.join(columns)}):\n    'Doc.'\n    return formula({', '.join(columns)})",
        {"formula": formula},
        names,
    )
    names[name].__module__ = __name__
    made = sm.metric(**how)(names[name])
    setattr(sys.modules[__name__], name, made)
    return made


COUNTS, BINS = ("tp", "fp", "fn", "tn"), ("neg", "pos")


@pytest.mark.parametrize(
    ("formula", "columns", "how", "broken"),
    [
        (
            lambda tp, fp, fn, tn: (fp + fn) / (tp + fp + fn + tn),
            COUNTS,
            {"better": "high"},
            "the better end is the better one",
        ),
        (lambda tp, fp, fn, tn: tp / (tp + fn), COUNTS, {"better": "low"}, "the better end is the better one"),
        (lambda tp, fp, fn, tn: 100 * tp / (tp + fn), COUNTS, {}, "values lie within bounds and range"),
        (lambda tp, fp, fn, tn: tp / pl.max_horizontal(tp + fn, 1), COUNTS, {}, "without rows a mean is null"),
        (lambda neg, pos: (neg + pos).max() / (neg + pos).sum(), BINS, {}, "bounds hold whatever bins hide"),
        (lambda neg, pos: sm.Bounded(*[metrics.roc_auc(neg, pos)] * 3), BINS, {}, "bounds hold whatever bins hide"),
    ],
    ids=["error rate", "recall", "percent", "zero", "largest tie", "bounds too narrow"],
)
def test_broken_metrics(formula, columns, how, broken):
    assert failing(declared("broken_metric", formula, columns, range=(0, 1), **how), broken)


def test_a_metric_that_cannot_be_pickled():
    made = declared("lost_metric", lambda tp, fp, fn, tn: tp / (tp + fp), COUNTS, range=(0, 1), better="high")
    delattr(sys.modules[__name__], "lost_metric")
    assert failing(made) == {"it is found by its names"}


def test_the_statistic_of_a_metric_and_what_improves_it_can_be_given():
    kept = statistic("Widths", lambda y_true: {"widths": 1, "half_width_sum": y_true / 2})
    made = declared(
        "half_width",
        lambda half_width_sum, widths: half_width_sum / widths,
        ("half_width_sum", "widths"),
        range=(0, np.inf),
        better="high",
    )
    narrow = lambda rows: rows.with_columns(pl.col("y_true") / 2)  # noqa: E731
    assert failing(made, statistic=kept) == set()
    assert failing(made, improve=narrow) == {"the better end is the better one"}
    with pytest.raises(sm.errors.SpecificationError, match="Pass statistic=, a statistic with the columns"):
        checks(declared("nothing", lambda nowhere: nowhere, ("nowhere",), range=(0, 1)))


def accumulate(folder, acc):
    """An engine: a state for each file, and one of all of them."""
    states = [partial(str(path), acc) for path in sorted(folder.glob("*.parquet"))]
    return acc.empty().absorb(sm.Accumulator.from_arrow(merge(states)))


def of(function):
    """An engine that accumulates by a function."""
    module = SimpleNamespace(accumulate=function, evaluate=functools.partial(evaluated, function))
    return Engine(module, source=lambda folder: folder)


@pytest.mark.parametrize("check", checks(of(accumulate)), ids=str)
def test_a_sound_engine(check):
    check()


def forgets_the_last(paths, acc):
    states = [partial(str(path), acc) for path in sorted(paths.glob("*.parquet"))[:-1]]
    return acc.empty().absorb(sm.Accumulator.from_arrow(merge(states)))


def counts_twice(paths, acc):
    return accumulate(paths, acc).absorb(accumulate(paths, acc))


@pytest.mark.parametrize(
    "broken", [forgets_the_last, counts_twice, lambda paths, acc: acc.absorb(accumulate(paths, acc))]
)
def test_broken_engines(broken):
    assert failing(of(broken), "rows of the source are counted alone")


@pytest.mark.thorough
def test_a_gap_is_known_until_it_is_mended():
    acc = sm.Accumulator(statistic("Means", merge=mean_of_means), y_true="y_true")
    names = failing(acc)
    assert "any split and any tree" in names
    with pytest.raises(AssertionError, match=rf"^{len(names)} failed: any split and any tree; "):
        check(acc)
    check(acc, gaps=dict.fromkeys(names, "means do not add up"))
    with pytest.raises(AssertionError, match=r"'one row at a time' passes now.*\(no reason\)"):
        check(sm.Accumulator(), gaps={"one row at a time": "no reason"})


def test_checks_have_a_name_each():
    for thing in (sm.statistics.TDigest(), metrics.roc_auc, Engine(sm, source=str)):
        names = [one.name for one in checks(thing)]
        assert len(names) == len(set(names)) > 5
        assert all(isinstance(one, Check) and str(one) == one.name for one in checks(thing))


@pytest.mark.thorough
def test_no_test_runner_is_needed():
    code = "import sys, streammetrics.testing as t; t.check(t.Accumulator(y_true='y')); print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pytest", "hypothesis"}.intersection(found)
