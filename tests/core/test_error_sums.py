"""Moments and losses of errors: both forms against exact arithmetic, and against each other."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from streammetrics import core
from streammetrics.core import Runs, compiled, moments
from streammetrics.core.definition import errors as definition
from streammetrics.statistics import ErrorMoments

ROWS = 20_011
RNG = np.random.default_rng(11)
GROUP = RNG.integers(0, 9, ROWS).astype(np.intp)
WEIGHT = RNG.random(ROWS) * 3 + 0.01
AMOUNTS = RNG.gamma(2, 50, ROWS)
EDGES = np.array([0.0, -0.0, 5e-324, -5e-324, 1e-300, -1.0, 1e150, -1e150, 1.0, 2.0])
PAIRS = {
    "amounts": (AMOUNTS, AMOUNTS * RNG.gamma(20, 0.05, ROWS)),
    "counts": (RNG.poisson(1.5, ROWS).astype(float), RNG.gamma(3, 0.5, ROWS)),
    "signed": (RNG.normal(0, 1, ROWS), RNG.normal(0.2, 1, ROWS)),
    "large mean": (1.7e9 + RNG.normal(0, 1, ROWS), 1.7e9 + RNG.normal(0, 1, ROWS)),
    "outlier first": (np.append(1e9, RNG.normal(0, 1, ROWS - 1)), RNG.normal(0, 1, ROWS)),
    "constant": (np.full(ROWS, 0.1), np.full(ROWS, 0.3)),
    "edges": (np.resize(EDGES, ROWS), np.resize(np.repeat(EDGES, len(EDGES)), ROWS)),
}
INFINITE = {
    "infinite actual": ([1.0, np.inf, 2.0], [1.0, 2.0, 3.0]),
    "infinite prediction": ([1.0, 2.0], [-np.inf, 2.0]),
    "both infinite": ([np.inf, 1.0], [np.inf, 1.0]),
    "both infinities": ([np.inf, -np.inf], [1.0, 1.0]),
    "all infinite": ([np.inf, np.inf], [3.0, 4.0]),
    "constant beside infinite": ([1.0, 1.0], [np.inf, 2.0]),
}
ALL = tuple(moments.FAMILIES)
LOOPS = ("sum_values", "sum_errors")
FORMS = [definition, *([] if compiled is None else [compiled])]
needs_core = pytest.mark.skipif(compiled is None, reason="the compiled core is not built")
grouped = pytest.mark.parametrize("group", [None, GROUP], ids=["ungrouped", "grouped"])
weighted = pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
pair = pytest.mark.parametrize("pair", PAIRS)


def one_run(rows):
    return Runs(np.array([0, rows]), np.zeros(1, dtype=np.intp))


@pytest.fixture(params=FORMS, ids=lambda module: module.__name__.rpartition(".")[2])
def form(request, monkeypatch):
    """Both forms of the loops, one after the other."""
    use(request.param, monkeypatch)
    return request.param


def use(form, monkeypatch):
    for loop in LOOPS:
        monkeypatch.setattr(core, loop, getattr(form, loop))


def sums(actual, predicted, group=None, groups=1, weight=None, families=ALL, power=1.5):
    """The columns by name."""
    arrays = np.asarray(actual, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    runs = one_run(len(arrays[0])) if group is None else Runs.of(group)
    statistic = ErrorMoments(families, power)
    found = statistic.summed(*arrays, weight, runs, groups)
    assert found.shape == (len(statistic.columns), groups)
    return dict(zip(statistic.columns, found, strict=True))


def assert_close(found, expected, rtol=1e-12):
    """Equal columns; moments that may cancel are compared to the spread."""
    for name, values in expected.items():
        scale = 0.0
        if name == "comoment":
            scale = np.sqrt(expected["actual_m2"]) * np.sqrt(expected["predicted_m2"])
        elif name.startswith("moment_"):
            i, j = map(int, name.removeprefix("moment_"))
            wide = (expected["actual_max"] - expected["actual_min"]) ** i
            scale = expected["weight"] * wide * (2 * expected["absolute_error_max"]) ** j
        elif "_mean" in name:
            side, _ = name.split("_mean")
            scale = np.maximum(np.abs(expected[f"{side}_min"]), np.abs(expected[f"{side}_max"]))
        scale = np.nan_to_num(scale, posinf=0.0)
        for one, other, allowed in zip(found[name], values, rtol * (np.abs(values) + scale), strict=True):
            same = one == other or (math.isnan(one) and math.isnan(other))
            assert same or abs(one - other) <= allowed, (name, one, other)


def exactly(actual, predicted, weight):
    """Moments and losses in exact arithmetic."""
    y, p = [Fraction(float(v)) for v in actual], [Fraction(float(v)) for v in predicted]
    w = [Fraction(1)] * len(y) if weight is None else [Fraction(float(v)) for v in weight]
    e = [b - a for a, b in zip(y, p, strict=True)]

    def total(values):
        return sum((a * b for a, b in zip(w, values, strict=True)), Fraction(0))

    n = total([Fraction(1)] * len(y))
    mean_y, mean_p = total(y) / n, total(p) / n
    return {
        "weight": n,
        "actual_mean": mean_y,
        "predicted_mean": mean_p,
        "actual_m2": total([(v - mean_y) ** 2 for v in y]),
        "predicted_m2": total([(v - mean_p) ** 2 for v in p]),
        "comoment": total([(a - mean_y) * (b - mean_p) for a, b in zip(y, p, strict=True)]),
        "actual_min": min(y),
        "actual_max": max(y),
        "predicted_min": min(p),
        "predicted_max": max(p),
        "over_sum": total([max(v, 0) for v in e]),
        "under_sum": total([max(-v, 0) for v in e]),
        "square_error_sum": total([v**2 for v in e]),
        "error_fourth_sum": total([v**4 for v in e]),
        "absolute_error_max": max(abs(v) for v in e),
        "absolute_actual_sum": total([abs(v) for v in y]),
        "percentage_sum": total([abs(a / b) for a, b in zip(e, y, strict=True)]),
        "percentage_square_sum": total([(a / b) ** 2 for a, b in zip(e, y, strict=True)]),
        "symmetric_percentage_sum": total([2 * abs(c) / (abs(a) + abs(b)) for a, b, c in zip(y, p, e, strict=True)]),
        "over_square_sum": total([max(v, 0) ** 2 for v in e]),
        "under_square_sum": total([min(v, 0) ** 2 for v in e]),
        "actual_square_sum": total([v**2 for v in y]),
        "absolute_product_sum": total([abs(a * b) for a, b in zip(e, y, strict=True)]),
        "percentage_fourth_sum": total([(a / b) ** 4 for a, b in zip(e, y, strict=True)]),
        "symmetric_percentage_square_sum": total(
            [(2 * c / (abs(a) + abs(b))) ** 2 for a, b, c in zip(y, p, e, strict=True)]
        ),
    }


@weighted
@pytest.mark.parametrize("name", ["amounts", "signed", "large mean", "outlier first", "constant"])
def test_exact_arithmetic(name, weight, form):
    rows = slice(0, 300)
    actual, predicted = (column[rows] for column in PAIRS[name])
    weight = None if weight is None else weight[rows]
    expected = {c: np.array([float(v)]) for c, v in exactly(actual, predicted, weight).items()}
    found = sums(actual, predicted, weight=weight)
    assert_close({c: found[c] for c in expected}, expected)


@pair
@weighted
def test_groups_are_as_if_alone(pair, weight, form):
    actual, predicted = PAIRS[pair]
    found = sums(actual, predicted, GROUP, 10, weight)
    for g in range(9):
        rows = g == GROUP
        alone = sums(actual[rows], predicted[rows], weight=None if weight is None else weight[rows])
        tolerance = 1e-6 if pair == "large mean" else 1e-12  # deviances there are 1e-18 of the values
        assert_close({c: v[g : g + 1] for c, v in found.items()}, alone, tolerance)


def test_many_groups_and_no_rows(form):
    group = np.arange(ROWS)[::-1].astype(np.intp) % 15_000
    actual, predicted = PAIRS["amounts"]
    found = sums(actual, predicted, group, 15_002)
    assert found["weight"].sum() == ROWS
    np.testing.assert_allclose(found["actual_mean"][group[-1]], actual[group == group[-1]].mean(), rtol=1e-15)
    for nothing in (sums([], []), sums([], [], np.empty(0, np.intp), 2), {c: v[15_000:] for c, v in found.items()}):
        for name, values in nothing.items():
            expected = np.inf if name.endswith("_min") else -np.inf if name.endswith(("l_max", "d_max")) else 0.0
            np.testing.assert_array_equal(values, expected)
    assert sums([], [], np.empty(0, np.intp), 0)["weight"].shape == (0,)


def test_a_constant_has_no_moments(form):
    for value in (0.1, 1.7e9 + 0.1, -1e-300, 1e308):
        for rows in (1, 3, 10_000):
            constant, other = np.full(rows, value), np.linspace(-1, 1, rows)
            found = sums(constant, other)
            assert (found["actual_mean"], found["actual_m2"], found["comoment"]) == (value, 0, 0)
            found = sums(other, constant, np.zeros(rows, np.intp), 1, np.full(rows, 0.1))
            assert (found["predicted_mean"], found["predicted_m2"], found["comoment"]) == (value, 0, 0)


@pytest.mark.parametrize("zeros", [[0.0, -0.0], [-0.0, 0.0], [-0.0, -0.0]])
def test_there_is_one_zero(zeros, form):
    found = sums(zeros, zeros, families=())
    for name in ("actual_mean", "actual_min", "actual_max", "over_sum", "under_sum", "comoment"):
        assert math.copysign(1, found[name].item()) == 1, name


def test_an_outlier_takes_no_digits(form):
    """A first value far from all others must not serve as the reference."""
    actual = np.append(1e9, np.random.default_rng(3).normal(0, 1, 99_999))
    found = sums(actual, actual, families=())
    mean = math.fsum(actual) / len(actual)
    assert found["actual_m2"] == pytest.approx(math.fsum((actual - mean) ** 2), rel=1e-14)


def test_a_rough_reference_takes_no_digits(form):
    """Sums of 1e15 are rounded, and so is the mean that is subtracted."""
    actual = 1e15 + np.random.default_rng(4).normal(0, 1, 700)
    predicted = actual[::-1].copy()
    expected = exactly(actual, predicted, None)
    found = sums(actual, predicted, families=())
    for name in ("actual_m2", "predicted_m2", "comoment"):
        assert found[name] == pytest.approx(float(expected[name]), rel=1e-12), name


def test_equal_terms_add_up_without_drift(form):
    """A million equal numbers in a row round to the same side."""
    rows = 1_000_000
    found = sums(np.zeros(rows), np.full(rows, 0.1), weight=np.full(rows, 0.1), families=())
    assert found["weight"] == pytest.approx(1e5, rel=1e-12)
    assert found["over_sum"] == pytest.approx(1e4, rel=1e-12)


def test_zeros_and_percentages(form):
    found = sums([0.0, 2.0], [0.0, 1.0], families=())
    assert np.isnan(found["percentage_sum"])
    assert found["symmetric_percentage_sum"] == pytest.approx(2 / 3)
    found = sums([0.0, 2.0], [1.0, 1.0], families=())
    assert found["percentage_sum"] == np.inf
    assert found["symmetric_percentage_sum"] == pytest.approx(2 + 2 / 3)
    assert sums([1.7e308], [0.9e308], families=())["symmetric_percentage_sum"] == pytest.approx(2 * 0.8 / 2.6)
    for actual, predicted in ((-1.7e308, 1.7e308), (5e-324, 0.0), (1e-300, 1e300)):
        assert sums([actual], [predicted], families=())["symmetric_percentage_sum"] == 2.0


@pytest.mark.parametrize("case", INFINITE)
@pytest.mark.parametrize("group", [None, "grouped"])
def test_infinite_values(case, group, form):
    actual, predicted = INFINITE[case]
    found = sums(actual, predicted, None if group is None else np.zeros(len(actual), np.intp))
    with np.errstate(invalid="ignore"):
        error = np.subtract(predicted, actual)
        expected = {
            "actual_mean": np.mean(actual),
            "predicted_mean": np.mean(predicted),
            "over_sum": np.maximum(error, 0).sum(),
            "under_sum": np.maximum(-error, 0).sum(),
            "square_error_sum": np.square(error).sum(),
            "absolute_error_max": np.abs(error).max(),
        }
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], [value], name)
    for side, values in (("actual", actual), ("predicted", predicted)):
        if np.isinf(values).any():
            assert np.isnan(found[f"{side}_m2"])
    assert np.isnan(found["comoment"])


OUTSIDE = [
    ("log", 1.5, -1.0, 1.0),
    ("log", 1.5, 1.0, -1.0),
    ("log", 1.5, -3.0, -2.0),
    ("poisson", 1.5, -1.0, 1.0),
    ("poisson", 1.5, 1.0, 0.0),
    ("poisson", 1.5, 0.0, 0.0),
    ("poisson", 1.5, -1.0, -1.0),
    ("gamma", 1.5, 0.0, 1.0),
    ("gamma", 1.5, 1.0, 0.0),
    ("gamma", 1.5, -1.0, -2.0),
    ("tweedie", 1.5, -1.0, 1.0),
    ("tweedie", 1.0, 1.0, 0.0),
    ("tweedie", 2.0, 0.0, 1.0),
    ("tweedie", 3.0, 0.0, 1.0),
    ("tweedie", 3.0, 2.0, -1.0),
]


@pytest.mark.parametrize(("family", "power", "actual", "predicted"), OUTSIDE)
def test_out_of_domain_rows_make_a_sum_nan(family, power, actual, predicted):
    columns = len(moments.MOMENTS)
    found = np.array([*sums([1.0, actual], [1.0, predicted], families=(family,), power=power).values()])
    assert np.isnan(found[columns])
    assert np.isfinite(found[:columns]).sum() >= columns - 3  # percentages of a zero at most
    inside = sums([1.0, 0.5], [1.0, 2.0], families=(family,), power=power)
    assert np.isfinite([*inside.values()]).all()


def unit_deviance(y, m, power):
    """The textbook formula, in decimal numbers of 60 digits."""
    y, m, power = Decimal(float(y)), Decimal(float(m)), Decimal(power)
    a = 2 - power
    if power == 1:
        return 2 * ((y * (y / m).ln() if y else 0) - y + m)
    if power == 2:
        return 2 * ((m / y).ln() + y / m - 1)
    return 2 * ((y**a if y else 0) / (a * (a - 1)) - y * m ** (a - 1) / (a - 1) + m**a / a)


@pytest.mark.parametrize("power", [1.0, 1.01, 1.5, 1.99, 2.0, 2.5, 3.0])
def test_deviances_keep_their_digits(power):
    """Also where value and mean are close, where the textbook formula loses them."""
    rng = np.random.default_rng(5)
    close = 1 + np.geomspace(1e-9, 0.9, 40)
    y = np.concatenate([close, 2 - close, 10.0 ** rng.uniform(-9, 9, 100), [1.0, 1.7e9 + 1]])
    m = np.concatenate([np.ones(80), 10.0 ** rng.uniform(-9, 9, 100), [1.0, 1.7e9]])
    if power < 2:
        y, m = np.append(y, 0.0), np.append(m, 3.0)
    found = moments.deviance(y, m, power)
    with localcontext(prec=60):
        expected = np.array([float(unit_deviance(*pair, power)) for pair in zip(y, m, strict=True)])
    change = np.clip(np.abs(y - m) / m, 1e-16, 0.5)  # a textbook formula loses as many digits twice
    lost = 1 if power == 1 else max(1, 1 / (power - 1))
    powers = 1 + np.abs(np.log(np.where(y > 0, y, m) / m))
    assert (np.abs(found - expected) <= 2e-15 * lost * powers / change * expected + 1e-50).all()


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0, 3.0])
def test_deviances_are_never_negative(power):
    y = np.random.default_rng(6).uniform(0.1, 10, 10_000)
    for m in (np.nextafter(y, 0), y, np.nextafter(y, 99), y * (1 + 1e-14)):
        assert (moments.deviance(y, m, power) >= 0).all()


def test_log_cosh_keeps_its_digits():
    error = np.concatenate([np.geomspace(1e-160, 1e3, 300), [699.9, 700.0, 700.1, 1e6, 1.7e308]])
    with localcontext(prec=400, Emax=999_999, Emin=-999_999):
        x = [Decimal(float(e)) for e in error[:-2]]
        expected = [float(((e.exp() + (-e).exp()) / 2).ln()) for e in x]
    expected += [1e6 - math.log(2), 1.7e308]
    for sign in (1, -1):
        found = [sums([0.0], [sign * e], families=("log_cosh",)) for e in error]
        np.testing.assert_allclose([f["log_cosh_sum"][0] for f in found], expected, rtol=1e-15)


RUNS = {
    "one": one_run(ROWS),
    "long": Runs.of(np.sort(GROUP)),
    "scattered": Runs.of(GROUP),
    "with empty runs": Runs(np.array([0, 0, 7, 7, ROWS, ROWS]), np.array([8, 0, 3, 0, 1])),
}


def of_form(form, pair, runs, weight, groups=10):
    """All that the loops of one form compute."""
    columns = *PAIRS[pair], weight
    totals, terms = np.zeros((groups, 3)), np.zeros((groups, moments.TERMS))
    extremes = moments.no_extremes(groups)
    definition.sum_values(*columns, runs, totals)  # which differs in the last digit
    reference = np.ascontiguousarray(totals[:, 1:] / np.maximum(totals[:, :1], 1e-9))
    totals[:] = 0
    form.sum_values(*columns, runs, totals)
    form.sum_errors(*columns, reference, runs, terms, extremes)
    return totals, terms, extremes


@needs_core
@pair
@weighted
@pytest.mark.parametrize("runs", RUNS.values(), ids=RUNS)
def test_forms_agree(pair, runs, weight):
    totals, terms, extremes = of_form(definition, pair, runs, weight)
    size = max(np.abs(values).sum() for values in (*PAIRS[pair], totals[:, 0]))
    for form in (compiled, *builds()):
        found = of_form(form, pair, runs, weight)
        np.testing.assert_array_equal(found[2], extremes)
        np.testing.assert_allclose(found[0], totals, rtol=1e-12, atol=1e-12 * size)
        allowed = 1e-12 * np.nanmax(np.where(np.isfinite(terms), np.abs(terms), 0), axis=0)
        for one, other, room in zip(found[1].T, terms.T, allowed + 1e-12 * spread(pair), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=room)


def spread(pair):
    """The sizes of the terms of all rows, of which those of odd order cancel."""
    y, p = PAIRS[pair]
    terms, nothing = np.zeros((1, moments.TERMS)), moments.no_extremes(1)
    with np.errstate(all="ignore"):
        dy, dp = np.abs(y - y.mean()), np.abs(p - p.mean())
        definition.sum_errors(-dy - dp, dy + dp, WEIGHT + 1, np.zeros((1, 2)), one_run(ROWS), terms, nothing)
    return np.where(np.isfinite(terms[0]), np.abs(terms[0]), 0)


def builds():
    """The forms for all processors and for those with AVX2."""
    found = [pytest.importorskip("streammetrics.core._baseline")]
    if found[0].has_avx2():
        found.append(pytest.importorskip("streammetrics.core._avx2"))
    return found


@needs_core
def test_wrong_arrays_are_rejected():
    y, p, w = np.zeros((3, 6))
    runs, out, extremes, reference = one_run(6), np.zeros((1, 29)), moments.no_extremes(1), np.zeros((1, 2))
    compiled.sum_errors(y, p, w, reference, runs, out, extremes)
    assert out.any()
    wrong = [
        (y[:5], p, w, reference, runs, out, extremes),
        (y, p[:5], w, reference, runs, out, extremes),
        (y, p, w[:5], reference, runs, out, extremes),
        (y, p, w, reference[:0], runs, out, extremes),
        (y, p, w, np.zeros((1, 3)), runs, out, extremes),
        (y, p, w, reference, Runs(np.array([0, 6]), np.array([1])), out, extremes),
        (y, p, w, reference, Runs(np.array([0, 6]), np.array([-1])), out, extremes),
        (y, p, w, reference, Runs(np.array([0, 7]), np.array([0])), out, extremes),
        (y, p, w, reference, runs, np.zeros((1, 28)), extremes),
        (y, p, w, reference, runs, out, np.zeros((2, 5))),
        (y, p, w, reference, runs, out, np.zeros((1, 4))),
    ]
    for arrays in wrong:
        with pytest.raises(ValueError, match=r"rows|group"):
            compiled.sum_errors(*arrays)
    with pytest.raises(ValueError, match="wrong number of sums"):
        compiled.sum_values(y, p, w, runs, np.zeros((1, 4)))
    for arrays in ((y.astype("f4"), p, w), (y, [0.0] * 6, w), (y, p, w.astype(np.int64))):
        with pytest.raises(TypeError):
            compiled.sum_errors(*arrays, reference, runs, out, extremes)
        with pytest.raises(TypeError):
            compiled.sum_values(*arrays, runs, np.zeros((1, 3)))
