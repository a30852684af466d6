"""The table of error moments: parts add up to the whole, in any tree, and large means cost no digits."""

import itertools
import math
import operator
from dataclasses import asdict
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from strategies import ErrorRows, observed

import streammetrics as sm
from streammetrics.core.moments import FAMILIES, HIGHER
from streammetrics.statistics import error_moments
from streammetrics.statistics.error_moments import ErrorMoments

EVERYTHING = ErrorMoments(families=tuple(FAMILIES))
PLAIN = ErrorMoments()
MOMENTS = ("actual_m2", "predicted_m2", "comoment")
NULL_DEVIANCES = tuple(c for columns in FAMILIES.values() for c in columns if "null" in c)
KINDS = {
    "amounts": lambda rng, n: (a := rng.gamma(2, 50, n), a * rng.gamma(20, 0.05, n)),
    "counts": lambda rng, n: (rng.poisson(0.3, n).astype(float), rng.gamma(3, 0.1, n)),
    "signed": lambda rng, n: (rng.normal(0, 1, n), rng.normal(0.2, 1, n)),
    "large mean": lambda rng, n: (1.7e9 + rng.normal(0, 1, n), 1.7e9 + rng.normal(0, 1, n)),
    "sorted": lambda rng, n: (np.sort(rng.lognormal(0, 3, n)), np.sort(rng.lognormal(0, 3, n))),
    "constant": lambda rng, n: (np.full(n, 0.1), np.full(n, 1.7e9)),
    "constant but one": lambda rng, n: (np.append(np.full(n - 1, 0.1), 0.3), rng.random(n)),
    "zeros": lambda rng, n: (rng.integers(0, 2, n).astype(float), rng.integers(0, 2, n).astype(float)),
    "infinite": lambda rng, n: (np.append(rng.random(n - 1), np.inf), np.append(-np.inf, rng.random(n - 1))),
    "both infinities": lambda rng, n: (rng.choice([-np.inf, 1.0, np.inf], n), rng.random(n)),
}
SMALLEST = 4 * np.spacing(0.0)  # squares as small as this are rounded to steps
kind = pytest.mark.parametrize("kind", KINDS)


def rows(kind, seed, n=200, groups=3, weighted=False):
    rng = np.random.default_rng(seed)
    actual, predicted = KINDS[kind](rng, n)
    group = None if groups == 1 else rng.integers(0, groups, n).astype(np.intp)
    return ErrorRows(actual, predicted, group, groups, rng.random(n) + 0.1 if weighted else None)


def part(rows, index):
    """Some of the rows."""
    columns = (None if c is None else c[index] for c in (rows.actual, rows.predicted, rows.group, rows.weight))
    actual, predicted, group, weight = columns
    return ErrorRows(actual, predicted, group, rows.group_count, weight)


def merge_in_any_order(tables, rng, statistic=EVERYTHING):
    """Merge as a random tree, several at a time."""
    tables = list(tables)
    while len(tables) > 1:
        rng.shuffle(tables)
        some = min(len(tables), int(rng.integers(2, 5)))
        tables = [statistic.merge(pl.concat(tables[:some])), *tables[some:]]
    return tables[0]


def spread(table, side):
    """Standard deviation over the largest absolute value, 1 where nothing varies."""
    size = np.maximum(table[f"{side}_min"].abs().to_numpy(), table[f"{side}_max"].abs().to_numpy())
    with np.errstate(all="ignore"):
        ratio = np.sqrt(table[f"{side}_m2"].to_numpy() / table["weight"].to_numpy()) / size
    return np.where(ratio > 0, ratio, 1.0)


def assert_same(found, expected, merges):
    """Sums and moments within 1e-12, counts and extremes bit for bit, null deviances but for digits the mean takes."""
    assert found.schema == expected.schema
    lost = 1e-12 + 1e-15 * math.sqrt(merges) / np.minimum(spread(expected, "actual"), spread(expected, "predicted"))
    for name in expected.columns:
        one, other = found[name].to_numpy(), expected[name].to_numpy()
        end = "_w2" if name.endswith("_w2") else ""
        column = name.removesuffix(end)
        scale, tolerance = np.abs(other), 1e-12
        if column in NULL_DEVIANCES:
            tolerance = lost
        if column == "comoment":
            spreads = np.prod(
                [np.sqrt(expected[f"{side}_m2{end}"].to_numpy()) for side in ("actual", "predicted")], axis=0
            )
            scale = np.maximum(scale, spreads)  # squares may underflow
        if column.startswith("moment_"):  # which may cancel to nothing, as moments of order 2 of errors are differences
            wide = (expected["actual_max"] - expected["actual_min"]).to_numpy()
            size = np.maximum(wide, 2 * expected["absolute_error_max"].to_numpy())
            with np.errstate(all="ignore"):
                scale = expected[f"weight{end}"].to_numpy() * size ** sum(map(int, column.removeprefix("moment_")))
            one, other = (np.where(scale < 1e300, moment, np.nan) for moment in (one, other))  # others overflow
        if "_mean" in column:
            side, rest = column.split("_mean")
            low, high = (expected[f"{side}_{extreme}"].to_numpy() for extreme in ("min", "max"))
            scale, tolerance = np.maximum(np.abs(low), np.abs(high)), 1e-15 * (1 + math.sqrt(merges))
            if rest:  # the sum of a mean and its rest has all digits of its distance to the rows
                mean = expected[f"{side}_mean{end}"].to_numpy()
                with np.errstate(invalid="ignore"):
                    one = one + np.nan_to_num(found[f"{side}_mean{end}"].to_numpy() - mean)
                    scale, tolerance = high - low + 1e-4 * np.spacing(scale), 1e-12
        if name in ("group", "absolute_error_max") or name.endswith(("_min", "l_max", "d_max")):
            tolerance = 0.0
        with np.errstate(invalid="ignore"):
            near = np.abs(one - other) <= np.nan_to_num(tolerance * scale, posinf=0.0) + (tolerance > 0) * SMALLEST
        assert (near | (one == other) | np.isnan(one) & np.isnan(other)).all(), (name, one, other)


@kind
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 8))])
def test_any_split_any_order_any_tree(kind, weighted, seed):
    rng = np.random.default_rng(seed)
    data = rows(kind, seed, weighted=weighted)
    owner = rng.integers(0, 9, len(data.actual))
    parts = [observed(EVERYTHING, part(data, owner == n)) for n in range(10)]  # the last has no rows
    assert_same(merge_in_any_order(parts, rng), observed(EVERYTHING, data), merges=10)


@kind
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_single_rows_and_ranges(kind, weighted):
    data = rows(kind, 1, n=30, groups=1, weighted=weighted)
    whole = observed(EVERYTHING, data)
    single = [observed(EVERYTHING, part(data, slice(n, n + 1))) for n in range(30)]
    assert_same(EVERYTHING.merge(pl.concat(single)), whole, merges=30)
    one_by_one = single[0]
    for more in single[1:]:
        one_by_one = EVERYTHING.merge(pl.concat([one_by_one, more]))
    assert_same(one_by_one, whole, merges=30)
    ranges = [observed(EVERYTHING, part(data, slice(n, n + 10))) for n in (20, 0, 10)]
    assert_same(EVERYTHING.merge(pl.concat(ranges)), whole, merges=3)


@kind
def test_a_merge_of_one_changes_nothing(kind):
    table = observed(EVERYTHING, rows(kind, 2, groups=5))
    for same in (table, table.reverse(), pl.concat([table, observed(EVERYTHING, rows(kind, 2, n=2, groups=5))[:0]])):
        assert_frame_equal(EVERYTHING.merge(same), table, check_exact=True)
    nothing = observed(EVERYTHING, part(rows(kind, 2, groups=5), slice(0)))
    assert_frame_equal(EVERYTHING.merge(pl.concat([nothing, table])), table, check_exact=True)
    assert_frame_equal(EVERYTHING.merge(pl.concat([nothing, nothing])), nothing, check_exact=True)
    assert_frame_equal(EVERYTHING.merge(table[:0]), table[:0])


@pytest.mark.parametrize("value", [0.1, 1.7e9 + 0.1, -3.3, 0.0, 1e300])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_constants_leave_no_dust(value, weighted):
    rng = np.random.default_rng(0)
    tables = []
    for n in rng.integers(1, 3_000, 20):
        weight = rng.random(n) if weighted else None
        tables.append(observed(EVERYTHING, ErrorRows(np.full(n, value), rng.random(n), weight=weight)))
    merged = merge_in_any_order(tables, rng)
    assert merged["actual_mean"].item() == value
    assert merged.select("actual_m2", "comoment").row(0) == (0, 0)
    if value > 0:
        assert merged.select(NULL_DEVIANCES).row(0) == (0, 0, 0)


def exact_moments(actual, predicted, weight=None):
    """Means and second moments in exact arithmetic."""
    y, p = [Fraction(float(v)) for v in actual], [Fraction(float(v)) for v in predicted]
    w = [Fraction(1)] * len(y) if weight is None else [Fraction(float(v)) for v in weight]
    mean_y, mean_p = (sum(map(operator.mul, w, values)) / sum(w) for values in (y, p))
    dy, dp = [v - mean_y for v in y], [v - mean_p for v in p]
    products = ((dy, dy), (dp, dp), (dy, dp))
    return mean_y, mean_p, *(float(sum(a * b * c for a, b, c in zip(w, *both, strict=True))) for both in products)


def exact_m2(values):
    """In exact arithmetic."""
    return exact_moments(values, values)[2]


@pytest.mark.parametrize("module", ["errors", pytest.param("compiled", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("parts", [1, 20, 60, pytest.param(300, marks=pytest.mark.long)])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(("offset", "spread"), [(0.0, 1.0), (1.7e9, 1e-5), (1e12, 1e-3), (1e15, 1.0)])
def test_large_means_cost_no_digits(module, parts, weighted, offset, spread, monkeypatch):
    """Those of distances to the rows: also of a mean between two floats, in any tree of merges, and by group."""
    kernel = pytest.importorskip(f"streammetrics.core.{module}")
    monkeypatch.setattr(error_moments.kernels, "sum_errors", kernel.sum_errors)
    rng = np.random.default_rng(parts)
    actual = offset + rng.normal(0, spread, 600)
    predicted = actual + rng.normal(0, spread / 2, 600)
    weight = rng.random(600) + 0.1 if weighted else None
    group = rng.integers(0, 2, 600).astype(np.intp)
    data = ErrorRows(actual, predicted, group, 2, weight)
    merged = merge_in_any_order([observed(PLAIN, part(data, slice(n, None, parts))) for n in range(parts)], rng, PLAIN)
    alone = ErrorRows(actual, predicted, weight=weight)
    merged_alone = [observed(PLAIN, part(alone, slice(n, None, parts))) for n in range(parts)]
    both = pl.concat([merged, merge_in_any_order(merged_alone, rng, PLAIN)])
    for row, chosen in zip(both.rows(named=True), (group == 0, group == 1, slice(None)), strict=True):
        w = None if weight is None else weight[chosen]
        *means, actual_m2, predicted_m2, comoment = exact_moments(actual[chosen], predicted[chosen], w)
        assert row["actual_m2"] == pytest.approx(actual_m2, rel=1e-13)
        assert row["predicted_m2"] == pytest.approx(predicted_m2, rel=1e-13)
        assert row["comoment"] == pytest.approx(comoment, rel=1e-13)
        for side, mean in zip(("actual", "predicted"), means, strict=True):
            kept = Fraction(row[f"{side}_mean"]) + Fraction(row[f"{side}_mean_rest"])
            assert float(kept - mean) == pytest.approx(0, abs=1e-14 * spread)


@pytest.mark.parametrize("noise", [1.0, 1e-6], ids=["noisy", "precise"])
@pytest.mark.parametrize("offset", [0.0, 1e9])
@pytest.mark.parametrize("bias", [0.0, 0.5, 1e3])
def test_moments_of_merged_parts_have_the_digits_of_their_scale(noise, offset, bias):
    rng = np.random.default_rng(0)
    actual = np.sort(offset + rng.gamma(2, 1, 90))
    predicted = actual + bias + noise * rng.normal(1, 1, 90)
    parts = (observed(PLAIN, ErrorRows(actual[i : i + 10], predicted[i : i + 10])) for i in range(0, 90, 10))
    merged = PLAIN.merge(pl.concat(parts))
    y = [Fraction(v) for v in actual]
    e = [Fraction(p) - v for p, v in zip(predicted, y, strict=True)]
    dy, de = ([v - sum(values) / 90 for v in values] for values in (y, e))
    spread = [float(sum(d * d for d in distances) / 90) ** 0.5 for distances in (dy, de)]
    lost = 1e-14 * spread[0] / spread[1] + 1e-15 * (bias / spread[1]) ** 2
    for i, j in HIGHER:
        exact = float(sum(a**i * b**j for a, b in zip(dy, de, strict=True)))
        scale = 90 * spread[0] ** i * spread[1] ** j
        assert merged[f"moment_{i}{j}"].item() == pytest.approx(exact, abs=scale * (1e-12 + lost)), (i, j)


def test_r2_of_merged_parts_at_a_large_offset():
    rng = np.random.default_rng(0)
    actual = 1e12 + rng.normal(0, 1e-3, 4_000)
    predicted = actual + rng.normal(0, 3e-4, 4_000)
    frame = pl.DataFrame({"y": actual, "p": predicted})
    spec = sm.regression(y_true="y", y_pred="p")
    parts = [spec.empty().update(frame[n::20]) for n in range(20)]
    y, p = [Fraction(v) for v in actual.tolist()], [Fraction(v) for v in predicted.tolist()]
    mean = sum(y) / len(y)
    lost = sum((a - b) ** 2 for a, b in zip(y, p, strict=True)) / sum((a - mean) ** 2 for a in y)
    for whole in (sum(parts[1:], parts[0]), spec.empty().update(frame)):
        assert float(whole.finalize()["r2"]) == pytest.approx(float(1 - lost), rel=1e-12)


@pytest.mark.thorough
def test_parts_far_apart():
    """Ranges of a drifting value, the heaviest part last, one outlier as a part of its own."""
    actual = np.concatenate([[1e9], np.linspace(-5, 5, 3_000), np.linspace(1e3, 1e3 + 1, 6_000)])
    ends = [0, 1, 500, 3_001, len(actual)]
    slices = [actual[a:b] for a, b in itertools.pairwise(ends)]
    merged = PLAIN.merge(pl.concat(observed(PLAIN, ErrorRows(s, s)) for s in slices))
    assert merged["actual_m2"].item() == pytest.approx(exact_m2(actual), rel=1e-12)
    assert merged["comoment"].item() == pytest.approx(exact_m2(actual), rel=1e-12)


@pytest.mark.thorough
@given(st.lists(st.tuples(st.floats(-1e150, 1e150), st.floats(-1e150, 1e150)), min_size=1, max_size=12), st.data())
def test_any_finite_values(pairs, data):
    actual, predicted = np.array(pairs).T
    cut = data.draw(st.integers(0, len(actual)))
    halves = [observed(PLAIN, ErrorRows(actual[i], predicted[i])) for i in (slice(cut), slice(cut, None))]
    merged, whole = PLAIN.merge(pl.concat(halves)), observed(PLAIN, ErrorRows(actual, predicted))
    assert merged.select(PLAIN.valid()).to_series().all()
    assert_same(merged, whole, merges=2)
    assert whole["actual_m2"].item() == pytest.approx(exact_m2(actual), rel=1e-9, abs=1e-300)


def test_power_decides_the_tweedie_deviance():
    data = rows("amounts", 4, groups=1)
    tables = {p: observed(ErrorMoments(("tweedie",), p), data) for p in (1, 2, 1.5)}
    columns = {f: observed(EVERYTHING, data)[f"{f}_deviance_sum"].item() for f in ("poisson", "gamma", "tweedie")}
    found = [tables[p]["tweedie_deviance_sum"].item() for p in (1, 2, 1.5)]
    assert found == pytest.approx([columns["poisson"], columns["gamma"], columns["tweedie"]], rel=1e-14)


def test_families_add_columns_in_one_order():
    statistic = ErrorMoments(["poisson", "log"], 2)
    assert statistic == ErrorMoments(("log", "poisson", "log"), 2.0)
    assert ErrorMoments(**asdict(statistic)) == statistic
    assert hash(statistic) != hash(PLAIN)
    assert statistic.columns[: len(PLAIN.columns)] == PLAIN.columns
    log = ("squared_log_error_sum", "squared_log_error_square_sum")
    added = (*log, *(f"poisson_{what}_sum" for what in ("deviance", "null_deviance", "deviance_square")))
    assert statistic.columns[len(PLAIN.columns) :] == added
    table = observed(statistic, rows("amounts", 0))
    assert table.schema == pl.Schema(statistic.schema(weighted=False))
    assert table.schema["weight"] == pl.Int64
    assert observed(statistic, rows("amounts", 0, weighted=True)).schema["weight"] == pl.Float64
    assert_frame_equal(table.select(observed(PLAIN, rows("amounts", 0)).columns), observed(PLAIN, rows("amounts", 0)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"families": ("possion",)}, "Unknown family 'possion'. Families: log, log_cosh, poisson, gamma, tweedie"),
        ({"families": "log"}, "Unknown family"),
        ({"power": 0}, "at least 1, got 0"),
        ({"power": 0.5}, "at least 1"),
        ({"power": math.nan}, "at least 1"),
        ({"power": math.inf}, "at least 1"),
    ],
)
def test_impossible_specifications_are_refused(options, message):
    with pytest.raises(sm.SpecificationError, match=message):
        ErrorMoments(**options)


@kind
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_what_is_observed_is_valid(kind, weighted):
    data = rows(kind, 5, groups=4, weighted=weighted)
    table = observed(EVERYTHING, data._replace(group_count=6))
    assert table.height == 6
    assert table.select(EVERYTHING.valid()).to_series().all()
    assert EVERYTHING.merge(pl.concat([table, table])).select(EVERYTHING.valid()).to_series().all()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("weight", -1),
        ("weight", None),
        ("actual_mean", None),
        ("actual_mean_rest", None),
        ("predicted_mean_rest", 1.0),
        ("actual_m2", -1.0),
        ("predicted_m2", -1e-9),
        ("comoment", None),
        ("actual_min", 1e9),
        ("predicted_max", -1e9),
        ("actual_max", None),
        ("over_sum", -1.0),
        ("absolute_error_max", -1.0),
        ("poisson_deviance_sum", -1.0),
        ("tweedie_null_deviance_sum", None),
    ],
)
def test_what_cannot_be_is_not_valid(column, value):
    table = observed(EVERYTHING, rows("amounts", 5, groups=1))
    assert table.select(EVERYTHING.valid()).item()
    wrong = table.with_columns(pl.lit(value, table.schema[column]).alias(column))
    assert not wrong.select(EVERYTHING.valid().fill_null(False)).item()


def test_infinite_weights_are_not_valid():
    table = observed(EVERYTHING, rows("amounts", 5, groups=1, weighted=True))
    assert not table.with_columns(weight=math.inf).select(EVERYTHING.valid()).item()
