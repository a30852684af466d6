"""The table of error moments: parts add up to the whole in any tree, and large means cost no digits."""

import math
from dataclasses import asdict
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import merged_as_a_tree, shards, shuffled

import streammetrics as sm

ALL = ("log", "log_cosh", "poisson", "gamma", "tweedie")
ORDERS = [(i, order - i) for order in (3, 4) for i in range(order + 1)]
ROWS = 40  # small, because what they give is computed in fractions
KINDS = {  # true values and predictions
    "amounts": lambda rng: (a := rng.gamma(2, 50, ROWS), a * rng.gamma(20, 0.05, ROWS)),
    "signed": lambda rng: (rng.normal(0, 1, ROWS), rng.normal(0.2, 1, ROWS)),
    "far from zero": lambda rng: (a := 1.7e9 + rng.normal(0, 1e-5, ROWS), a + rng.normal(0, 1e-5, ROWS)),
    "sorted": lambda rng: (np.sort(rng.lognormal(0, 3, ROWS)), np.sort(rng.lognormal(0, 3, ROWS))),
    "drifting": lambda rng: (np.append(1e9, a := np.linspace(-5, 1e3, ROWS - 1)), np.append(2.0, 1.01 * a + 1)),
    "biased": lambda rng: (a := 1e9 + rng.gamma(2, 1, ROWS), a + 1e3 + rng.normal(0, 1e-6, ROWS)),
}


def moments(rows, statistic=None, **options):
    weight = "w" if "w" in rows.columns else None
    acc = sm.Accumulator(
        statistic or sm.statistics.ErrorMoments(ALL), y_true="y", y_pred="p", sample_weight=weight, **options
    )
    return acc.update(rows)


def table(acc):
    return acc.state.tables["error_moments"]


def exact(rows):
    """Moments and sums with a sign in exact arithmetic; a mean is the sum of the mean and its rest."""
    y, p = ([Fraction(x) for x in rows[c]] for c in "yp")
    w = [Fraction(x) for x in rows["w"]] if "w" in rows.columns else [Fraction(1)] * len(y)
    e = [b - a for a, b in zip(y, p, strict=True)]

    def total(*powers):
        return sum(math.prod(factors) for factors in zip(w, *powers, strict=True))

    def power(values, n):
        return [x**n for x in values]

    means = [total(values) / sum(w) for values in (y, p)]
    dy, dp = ([x - mean for x in values] for values, mean in zip((y, p), means, strict=True))
    de = [b - a for a, b in zip(dy, dp, strict=True)]
    over, under = ([max(sign * x, Fraction(0)) for x in e] for sign in (1, -1))
    return {
        "weight": sum(w),
        "actual_mean": means[0],
        "predicted_mean": means[1],
        "actual_m2": total(dy, dy),
        "predicted_m2": total(dp, dp),
        "comoment": total(dy, dp),
        **{f"{side}_{f.__name__}": f(values) for side, values in (("actual", y), ("predicted", p)) for f in (min, max)},
        "over_sum": total(over),
        "under_square_sum": total(under, under),
        "error_fourth_sum": total(power(e, 4)),
        "absolute_error_max": max(map(abs, e)),
        "absolute_actual_sum": total(map(abs, y)),
        "absolute_product_sum": total(map(abs, e), map(abs, y)),
        **{f"moment_{i}{j}": total(power(dy, i), power(de, j)) for i, j in ORDERS},
    }


def unit_deviance(y, m, power):
    """The textbook formula, in decimal numbers of 60 digits."""
    y, m, power = Decimal(float(y)), Decimal(float(m)), Decimal(power)
    a = 2 - power
    if power == 1:
        return 2 * ((y * (y / m).ln() if y else 0) - y + m)
    if power == 2:
        return 2 * ((m / y).ln() + y / m - 1)
    return 2 * ((y**a if y else 0) / (a * (a - 1)) - y * m ** (a - 1) / (a - 1) + m**a / a)


def deviances(y, m, power):
    """Twice the distance of the log likelihood from its maximum, by row."""
    with localcontext(prec=60):
        return np.array([float(unit_deviance(*pair, power)) for pair in zip(y, m, strict=True)])


def rows_of(kind, rng, weighted):
    y, p = KINDS[kind](rng)
    rows = pl.DataFrame({"y": y, "p": p, "g": rng.integers(0, 2, ROWS)})
    return rows.with_columns(w=rng.random(ROWS) + 0.1) if weighted else rows


@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "plain"])
@pytest.mark.parametrize("kind", KINDS)
def test_parts_in_any_tree_have_the_moments_of_exact_arithmetic(kind, weighted):
    rng = np.random.default_rng(len(kind))
    rows = rows_of(kind, rng, weighted)
    spec = moments(rows[:0], sm.statistics.ErrorMoments(), by="g")
    parts = [spec.empty().update(part) for part in shards(shuffled(rows, rng), rng, 9)]
    for acc in (merged_as_a_tree(parts, rng), spec.empty().update(rows)):
        found = table(acc).join(acc.state.groups, on="group")
        for row in [*found.rows(named=True), table(acc.rollup()).row(0, named=True)]:
            own = rows.filter(g=row["g"]) if "g" in row else rows
            assert_near(row, exact(own))
            if weighted:
                squared = {c.removesuffix("_w2"): value for c, value in row.items() if c.endswith("_w2")}
                assert_near(row | squared, exact(own.with_columns(pl.col("w") ** 2)))


def assert_near(row, expected):
    """Sums are right to 12 digits, and moments to as many of the size that the spread gives them."""
    weight, actual, predicted = (expected[name] for name in ("weight", "actual_m2", "predicted_m2"))
    spread, error = (math.sqrt(m2 / weight) for m2 in (actual, actual + predicted - 2 * expected["comoment"]))
    bias = float(expected["predicted_mean"] - expected["actual_mean"])
    lost = 1e-12 + 1e-14 * spread / error + 1e-15 * (bias / error) ** 2
    for name, value in expected.items():
        if name.endswith("_mean"):
            kept = Fraction(row[name]) + Fraction(row[f"{name}_rest"])
            assert float(kept - value) == pytest.approx(0, abs=1e-13 * spread), name
        elif name.startswith("moment_"):
            i, j = map(int, name.removeprefix("moment_"))
            assert row[name] == pytest.approx(float(value), abs=float(weight) * spread**i * error**j * lost), name
        elif name == "comoment":
            assert row[name] == pytest.approx(float(value), abs=1e-13 * math.sqrt(actual * predicted))
        else:
            assert row[name] == pytest.approx(float(value), rel=1e-12, abs=1e-300), name


@settings(max_examples=12)
@given(
    st.lists(st.tuples(st.floats(-1e150, 1e150), st.floats(-1e150, 1e150)), min_size=1, max_size=12), st.integers(0, 12)
)
def test_any_finite_values(pairs, cut):
    rows = pl.DataFrame(pairs, schema={"y": pl.Float64, "p": pl.Float64}, orient="row")
    whole = moments(rows, sm.statistics.ErrorMoments())
    both = moments(rows[:cut], sm.statistics.ErrorMoments()) + moments(rows[cut:], sm.statistics.ErrorMoments())
    for acc in (whole, both):
        assert table(acc).select(sm.statistics.ErrorMoments().valid(())).item()
        assert table(acc)["actual_m2"].item() == pytest.approx(float(exact_m2(rows["y"])), rel=1e-9, abs=1e-300)


def exact_m2(values):
    fractions = [Fraction(x) for x in values]
    return sum((x - sum(fractions) / len(fractions)) ** 2 for x in fractions)


@pytest.mark.whole
@pytest.mark.parametrize("value", [0.1, 1.7e9 + 0.1, -1e-300, 0.0, 1e308])
def test_constants_leave_no_dust(value):
    rng = np.random.default_rng(0)
    rows = pl.DataFrame({"y": np.full(500, value), "p": rng.random(500), "w": rng.random(500)})
    for of in (rows, rows.drop("w")):
        merged = table(merged_as_a_tree(map(moments, shards(of, rng, 4)), rng))
        assert merged.select("actual_mean", "actual_m2", "comoment").row(0) == (value, 0, 0)
        assert value <= 0 or merged.select(f"{family}_null_deviance_sum" for family in ALL[2:]).row(0) == (0, 0, 0)
        turned = table(moments(of.rename({"y": "p", "p": "y"}), sm.statistics.ErrorMoments()))
        assert turned.select("predicted_mean", "predicted_m2", "comoment").row(0) == (value, 0, 0)


def test_equal_terms_add_up_without_drift():
    """A million equal numbers in a row round to the same side."""
    rows = pl.DataFrame({"y": 0.0, "p": 0.1, "w": 0.1}).select(pl.all().repeat_by(1_000_000).explode())
    found = table(moments(rows, sm.statistics.ErrorMoments())).row(0, named=True)
    assert found["weight"] == pytest.approx(1e5, rel=1e-12)
    assert found["over_sum"] == pytest.approx(1e4, rel=1e-12)


NO_SUM = dict.fromkeys(("actual_mean", "actual_min", "actual_max", "over_sum", "under_sum", "comoment"), 0.0)
ODD = {  # true values, predictions, and what they give
    "zeros of both signs": ([0.0, -0.0], [-0.0, 0.0], NO_SUM),
    "zeros with a sign": ([-0.0], [-0.0], NO_SUM),
    "no error of zero": ([0.0, 2.0], [0.0, 1.0], {"percentage_sum": math.nan, "symmetric_percentage_sum": 2 / 3}),
    "an error of zero": ([0.0, 2.0], [1.0, 1.0], {"percentage_sum": math.inf, "symmetric_percentage_sum": 2 + 2 / 3}),
    "huge": ([1.7e308], [0.9e308], {"symmetric_percentage_sum": 2 * 0.8 / 2.6}),
    "huge of both signs": ([-1.7e308], [1.7e308], {"symmetric_percentage_sum": 2.0}),
    "tiny": ([5e-324], [0.0], {"symmetric_percentage_sum": 2.0}),
    "far apart": ([1e-300], [1e300], {"symmetric_percentage_sum": 2.0}),
}


@pytest.mark.whole
@pytest.mark.parametrize(("actual", "predicted", "expected"), ODD.values(), ids=ODD)
def test_there_is_one_zero_and_percentages_do_not_overflow(actual, predicted, expected):
    found = table(moments(pl.DataFrame({"y": actual, "p": predicted}), sm.statistics.ErrorMoments())).row(0, named=True)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, nan_ok=True), name
        assert math.copysign(1, found[name]) == 1 or value != 0, name


OUTSIDE = [
    *(("log", 1.5, -1.0, 1.0), ("log", 1.5, 1.0, -1.0), ("log", 1.5, -3.0, -2.0)),
    *(
        ("poisson", 1.5, -1.0, 1.0),
        ("poisson", 1.5, 1.0, 0.0),
        ("poisson", 1.5, 0.0, 0.0),
        ("poisson", 1.5, -1.0, -1.0),
    ),
    *(("gamma", 1.5, 0.0, 1.0), ("gamma", 1.5, 1.0, 0.0), ("gamma", 1.5, -1.0, -2.0)),
    *(("tweedie", 1.5, -1.0, 1.0), ("tweedie", 1.0, 1.0, 0.0), ("tweedie", 2.0, 0.0, 1.0)),
    *(("tweedie", 3.0, 0.0, 1.0), ("tweedie", 3.0, 2.0, -1.0)),
]


def test_a_row_outside_of_the_domain_of_a_family_makes_its_sums_nan():
    for family, power, actual, predicted in OUTSIDE:
        statistic = sm.statistics.ErrorMoments((family,), power)
        own = [c for c in statistic.columns if c not in sm.statistics.ErrorMoments().columns]
        outside = table(moments(pl.DataFrame({"y": [1.0, actual], "p": [1.0, predicted]}), statistic))
        inside = table(moments(pl.DataFrame({"y": [1.0, 0.5], "p": [1.0, 2.0]}), statistic))
        assert math.isnan(outside[own[0]].item()), (family, power, actual, predicted)
        assert outside.select("actual_mean", "actual_m2", "square_error_sum").to_numpy().tolist()[0] == pytest.approx(
            [(1 + actual) / 2, (1 - actual) ** 2 / 2, (predicted - actual) ** 2]
        )
        assert np.isfinite(inside.select(statistic.columns).to_numpy()).all()


def loss_by_row(y, p, statistic, column):
    """The loss of each row, which is a group of its own."""
    acc = moments(pl.DataFrame({"y": y, "p": p}).with_row_index("row"), statistic, by="row")
    return table(acc).join(acc.state.groups, on="group").sort("row")[column].to_numpy()


@pytest.mark.whole
@pytest.mark.parametrize("power", [1.0, 1.01, 1.5, 1.99, 2.0, 2.5, 3.0])
def test_deviances_keep_their_digits(power):
    """Also where value and mean are close, where the textbook formula loses them, or would be negative."""
    rng = np.random.default_rng(5)
    close, any_size = 1 + np.geomspace(1e-9, 0.9, 20), 10.0 ** rng.uniform(-9, 9, (2, 40))
    y = np.concatenate([close, 2 - close, any_size[0], [1.0, 1.7e9 + 1], [0.0] * (power < 2)])
    m = np.concatenate([np.ones(40), any_size[1], [1.0, 1.7e9], [3.0] * (power < 2)])
    found = loss_by_row(y, m, sm.statistics.ErrorMoments(("tweedie",), power), "tweedie_deviance_sum")
    expected = deviances(y, m, power)
    change = np.clip(np.abs(y - m) / m, 1e-16, 0.5)  # a textbook formula loses as many digits twice
    lost = 1 if power == 1 else max(1, 1 / (power - 1))
    powers = 1 + np.abs(np.log(np.where(y > 0, y, m) / m))
    assert (np.abs(found - expected) <= 2e-15 * lost * powers / change * expected + 1e-50).all()
    y = rng.uniform(0.1, 10, 300)
    for m in (np.nextafter(y, 0), y, np.nextafter(y, 99), y * (1 + 1e-14)):
        assert (loss_by_row(y, m, sm.statistics.ErrorMoments(("tweedie",), power), "tweedie_deviance_sum") >= 0).all()


def test_log_cosh_keeps_its_digits():
    error = np.concatenate([np.geomspace(1e-160, 1e3, 200), [699.9, 700.0, 700.1, 1e6, 1.7e308]])
    with localcontext(prec=400, Emax=999_999, Emin=-999_999):
        x = [Decimal(float(e)) for e in error[:-2]]
        expected = [float(((e.exp() + (-e).exp()) / 2).ln()) for e in x]
    expected += [1e6 - math.log(2), 1.7e308]
    for sign in (1, -1):
        found = loss_by_row(
            np.zeros(len(error)), sign * error, sm.statistics.ErrorMoments(("log_cosh",)), "log_cosh_sum"
        )
        np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_families_add_columns_in_one_order():
    plain, statistic = sm.statistics.ErrorMoments(), sm.statistics.ErrorMoments(["poisson", "log"], 2)
    assert (
        statistic
        == sm.statistics.ErrorMoments(("log", "poisson", "log"), 2.0)
        == sm.statistics.ErrorMoments(**asdict(statistic))
    )
    assert hash(statistic) != hash(plain)
    log = ("squared_log_error_sum", "squared_log_error_square_sum")
    added = (*log, *(f"poisson_{what}_sum" for what in ("deviance", "null_deviance", "deviance_square")))
    assert statistic.columns == (*plain.columns, *added)


def test_an_empty_part_does_not_change_huge_values():
    acc = sm.regression(y_true="y", y_pred="p").update({"y": [1e155, 1e155], "p": [1e155, 1e155]})
    assert (acc.empty() + acc).finalize()["mse"].value == 0
    assert (acc.empty() + acc).state.tables["error_moments"].equals(acc.state.tables["error_moments"])
