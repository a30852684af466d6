"""The regression task, from batches to reports, against scikit-learn, numpy and scipy."""

import math

import numpy as np
import polars as pl
import pytest
import sklearn.metrics as sk
from error_references import REFERENCES
from polars.testing import assert_frame_equal
from scipy import stats
from strategies import use_small_chunks
from test_real_data import FOLDER

import streammetrics as sm

N = 400
ROLES = {"y_true": "y", "y_pred": "p"}
FAMILIES = ("log", "log_cosh", "poisson", "gamma", "tweedie")
QUANTILES = [
    *("median_error", "median_absolute_error", "mad", "absolute_error_quantile(q=0.9)", "error_quantile(q=0.1)"),
    *("error_iqr", "within(x=5)", "error_cdf(x=1)", "rec_auc(limit=5)"),
]
METRICS = [*map(str, REFERENCES), *QUANTILES, "rows", "dropped"]


def data(seed=0, n=N):
    rng = np.random.default_rng(seed)
    y = rng.gamma(2, 10, n) + 0.1
    return pl.DataFrame(
        {
            "y": y,
            "p": y * rng.gamma(20, 0.05, n),
            "q": y + np.abs(rng.normal(0, 3, n)),
            "w": rng.integers(1, 5, n),
            "v": rng.random(n) + 0.1,
            "g": pl.Series(["x", "y", None]).gather(rng.integers(0, 3, n)),
        }
    )


def references(y, p, w):
    """Of whole weights also quantiles, since they are repeated rows."""
    found = {str(metric): expected(y, p, w) for metric, expected in REFERENCES.items()}
    if w is not None and (w != np.round(w)).any():
        return found
    y, p = (a if w is None else np.repeat(a, w) for a in (y, p))
    e = p - y
    method = "linear" if w is None else "averaged_inverted_cdf"  # which does not depend on the scale of weights
    within = [(abs(e) <= x).mean() for x in np.sort(abs(e))]
    ends = np.append(np.sort(np.minimum(abs(e), 5)), 5)
    return found | {
        "median_error": np.median(e),
        "median_absolute_error": sk.median_absolute_error(y, p),
        "mad": stats.median_abs_deviation(e),
        "absolute_error_quantile(q=0.9)": np.quantile(abs(e), 0.9, method=method),
        "error_quantile(q=0.1)": np.quantile(e, 0.1, method=method),
        "error_iqr": np.quantile(e, 0.75, method=method) - np.quantile(e, 0.25, method=method),
        "within(x=5)": (abs(e) <= 5).mean(),
        "error_cdf(x=1)": (e <= 1).mean(),
        "rec_auc(limit=5)": (np.diff(ends) @ within) / 5,
    }


def assert_agrees(report, rows, column="p", weight=None, **keys):
    y, p = rows["y"].to_numpy(), rows[column].to_numpy()
    expected = references(y, p, None if weight is None else rows[weight].to_numpy())
    for metric, value in expected.items():
        found = report.get(metric, **keys)
        assert found.value == pytest.approx(value, rel=1e-10, abs=1e-13), metric
        assert found.lower <= found.value <= found.upper


def make(**options):
    return sm.regression(**ROLES | {"families": FAMILIES, "metrics": METRICS} | options)


@pytest.mark.parametrize("weight", [None, "w", "v"])
@pytest.mark.parametrize("batches", [1, 7])
def test_against_references(weight, batches, monkeypatch):
    if batches > 1:
        use_small_chunks(monkeypatch, rows=100)
    rows, acc = data(), make(sample_weight=weight)
    for n in range(batches):
        acc.update(rows[n::batches])
    report = acc.finalize()
    assert report.frame["metric"].to_list() == METRICS
    assert report.frame["note"].is_null().all()
    assert_agrees(report, rows, weight=weight)
    assert report["rows"].value == N


@pytest.mark.parametrize("weight", [None, "w"])
def test_groups_and_models(weight):
    rows = data(1)
    report = make(y_pred={"one": "p", "two": "q"}, by="g", sample_weight=weight).update(rows).finalize()
    for group in ("x", "y", None):
        part = rows.filter(pl.col("g").eq_missing(group))
        for model, column in (("one", "p"), ("two", "q")):
            assert_agrees(report, part, column, weight, g=group, model=model)
            assert report.get("rows", g=group, model=model).value == part.height


def test_what_is_shown():
    plain = sm.regression(**ROLES).update(data()).finalize()
    assert plain.frame["metric"].to_list()[:4] == ["rows", "dropped", "mae", "rmse"]
    every = sm.regression(**ROLES, families=FAMILIES).update(data()).finalize()
    more = {"msle", "log_cosh", "poisson_deviance", "d2_poisson", "d2_gamma", "tweedie_deviance"}
    assert more <= set(every.frame["metric"]) - set(plain.frame["metric"])
    assert_frame_equal(every.frame.join(plain.frame, on="metric", how="semi"), plain.frame)
    with pytest.raises(sm.MetricError, match="msle"):
        plain["msle"]
    with pytest.raises(sm.SpecificationError, match="Unknown family 'logs'"):
        sm.regression(**ROLES, families=["logs"])


@pytest.mark.parametrize("model", [False, True])
def test_nulls_are_dropped_and_counted(model):
    rows = data(2).with_columns(
        y=pl.when(pl.int_range(pl.len()) % 10 == 0).then(None).otherwise("y"),
        p=pl.when(pl.int_range(pl.len()) % 7 == 0).then(math.nan).otherwise("p"),
        w=pl.when(pl.int_range(pl.len()) % 11 == 0).then(0).otherwise("w"),
    )
    pred = {"y_pred": {"a": "p", "b": "q"}} if model else {}
    acc = make(nulls="drop", sample_weight="w", **pred).update(rows)
    kept = rows.with_columns(pl.col("p").fill_nan(None)).filter(pl.col("w") > 0)
    for name, column in (("a", "p"), ("b", "q")) if model else ((None, "p"),):
        keys, rest = {"model": name} if model else {}, kept.drop_nulls(["y", column])
        assert_agrees(acc.finalize(), rest, column, "w", **keys)
        assert acc.finalize().get("dropped", **keys).value == N - rest.height
    with pytest.raises(sm.DataError, match=r"Column 'y' contains null or NaN in 40 of 400 rows .*nulls='drop'"):
        make().update(rows)


@pytest.mark.parametrize(
    ("column", "values", "error", "message"),
    [
        (
            "p",
            [1.0, math.inf, 2.0],
            sm.DataError,
            r"'p' contains infinite values in 1 of 3 rows .*inf at row 1.*Drop these",
        ),
        ("y", [-math.inf, math.inf, 2.0], sm.DataError, r"'y' contains infinite values in 2 of 3 rows .*row 0"),
        ("y", ["1", "2", "3"], sm.ColumnError, "'y' must be numeric, got String"),
        ("p", [[1.0], [2.0], [3.0]], sm.ColumnError, "'p' must be numeric, got List"),
        ("p", [1.0, None, 2.0], sm.DataError, "'p' contains null or NaN in 1 of 3"),
        ("p", [1.0, math.nan, 2.0], sm.DataError, "'p' contains null or NaN in 1 of 3"),
        ("w", [1.0, -1.0, 1.0], sm.DataError, "'w' contains negative or infinite weights in 1 of 3"),
        ("w", [1.0, math.inf, 1.0], sm.DataError, "'w' contains negative or infinite weights in 1 of 3"),
        ("u", [[1], [2], [3]], sm.ColumnError, "'u' must be .* to be a unit or a row ID, got List"),
        ("y", None, sm.ColumnError, "Column 'y' not found"),
    ],
)
def test_what_is_no_number_is_refused_and_changes_nothing(column, values, error, message):
    good = pl.DataFrame({"y": [1.0, 2.0, 3.0], "p": [1.5, 2.0, 2.0], "w": [1.0, 2.0, 1.0], "u": [1, 2, 3]})
    acc = sm.regression(**ROLES, sample_weight="w", unit="u").update(good)
    before = acc.to_bytes()
    bad = good.drop(column) if values is None else good.with_columns(pl.Series(column, values))
    with pytest.raises(error, match=message):
        acc.update(bad)
    assert acc.to_bytes() == before
    assert acc.update(good).finalize()["mae"].value == pytest.approx(1.5 / 4)


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt64, pl.Float32, pl.Decimal(10, 2), pl.Boolean])
def test_numbers_of_any_type(dtype):
    y, p = pl.Series([0, 1, 1, 0], dtype=pl.Int64).cast(dtype), pl.Series([0, 0, 1, 1], dtype=pl.Int64).cast(dtype)
    report = sm.regression(**ROLES).update(pl.DataFrame({"y": y, "p": p})).finalize()
    assert (report["mae"].value, report["bias"].value) == (0.5, 0.0)


@pytest.mark.parametrize(
    "options", [{}, {"unit": "u"}, {"y_pred": {"a": "p", "b": "q"}}, {"sample_weight": "w"}], ids=str
)
def test_no_rows(options):
    acc = sm.regression(**ROLES | options, by="g")
    direct = sm.regression(**ROLES | options | {"capacity": 4096})
    assert acc.finalize(confidence=0.9).frame.is_empty()
    expected = direct.finalize(confidence=0.9).frame
    for none in (direct, acc.rollup(), acc.update(data(n=0).with_columns(u=1)).rollup()):
        report = none.finalize(confidence=0.9)
        assert report.get("rows", **({"model": "a"} if "y_pred" in options else {})).value == 0
        assert report.frame.filter(~pl.col("metric").is_in(["rows", "dropped"]))["value"].is_null().all()
        assert_frame_equal(report.frame, expected)
        assert report.curve("rec").is_empty()
        assert none.to_bytes() == direct.to_bytes()
        assert sm.Accumulator.from_bytes(none.to_bytes()).to_bytes() == none.to_bytes()


def test_true_values_alone_are_those_of_a_regression():
    for statistic, metric in ((sm.Histogram(of="y_true"), "median"), (sm.TDigest(of="y_true"), "digest_median")):
        report = sm.Accumulator(statistic, y_true="x").update({"x": [1.5, 2.5, 9.0]}).finalize()
        assert report[metric].value == 2.5
    labels = sm.Accumulator(sm.Histogram(), y_true="x", y_score="p").update({"x": [1, 0], "p": [0.9, 0.2]})
    assert labels.finalize()["median"].value == 0.55


def test_histograms_and_digests_of_one_column():
    rows = data(3)
    acc = sm.Accumulator(
        sm.Histogram(of="y_pred"), sm.TDigest(compression=100, of="y_true"), task="regression", **ROLES
    )
    report = acc.update(rows).finalize()
    assert report["median"].value == np.median(rows["p"])
    assert report["quantile(q=0.9)"].value == pytest.approx(np.quantile(rows["p"], 0.9), rel=1e-12)
    assert (report["minimum"].value, report["maximum"].value) == (rows["p"].min(), rows["p"].max())
    digest = report["digest_median"]
    assert digest.lower <= np.median(rows["y"]) <= digest.upper


def test_error_curves():
    rows = data(4)
    report = sm.regression(**ROLES, by="g").update(rows).finalize()
    for kind, along, of in (("error_cdf", "value", lambda e: e), ("rec", "tolerance", np.abs)):
        curve = report.curve(kind)
        assert curve.columns == ["g", along, "share", "lower", "upper"]
        for group in ("x", "y", None):
            part = rows.filter(pl.col("g").eq_missing(group))
            errors = np.sort(of((part["p"] - part["y"]).to_numpy()))
            own = curve.filter(pl.col("g").eq_missing(group))
            assert own[along].to_list() == errors.tolist()
            assert own["share"].to_numpy() == pytest.approx(np.arange(1, len(errors) + 1) / len(errors))
            assert own["lower"].equals(own["upper"], check_names=False)
    with pytest.raises(sm.ReportError, match=r"Curves: roc, .*error_cdf, rec"):
        report.curve("rok")
    with pytest.raises(sm.ReportError, match="'share' has the name"):
        sm.regression(**ROLES, by=pl.col("g").alias("share")).update(rows).finalize().curve("rec")


@pytest.mark.skipif(not FOLDER.is_dir(), reason="STREAMMETRICS_REAL_DATA names no folder")
@pytest.mark.parametrize("by", [(), "party"], ids=["together", "by party"])
def test_vote_shares_of_governors(by):
    path = FOLDER / "governors_elections.csv"
    share = {c: pl.col(f"{c}_voteshare").cast(pl.Float64, strict=False) for c in ("projected", "actual")}
    source = pl.scan_csv(path, infer_schema=False)
    roles = {"y_true": share["actual"].alias("y"), "y_pred": share["projected"].alias("p")}
    report = sm.evaluate(source, make(**roles, by=by, nulls="drop", families=(), metrics=None))
    rows = source.with_columns(y=share["actual"], p=share["projected"]).collect()
    assert 0 < rows.drop_nulls(["y", "p"]).height < rows.height == 19_831
    for keys in [{"party": party} for party in rows["party"].unique()] if by else [{}]:
        every = rows.filter(*(pl.col(k).eq_missing(pl.lit(v)) for k, v in keys.items()))
        part = every.drop_nulls(["y", "p"])
        assert report.get("rows", **keys).value == part.height
        assert report.get("dropped", **keys).value == every.height - part.height
        if not part.height:
            continue
        y, p = part["y"].to_numpy(), part["p"].to_numpy()
        for metric, expected in {
            "mae": sk.mean_absolute_error(y, p),
            "rmse": sk.root_mean_squared_error(y, p),
            "median_absolute_error": sk.median_absolute_error(y, p),
            "mad": stats.median_abs_deviation(p - y),
            "within(x=5)": (abs(p - y) <= 5).mean(),
        }.items():
            found = report.get(metric, **keys)
            assert found.lower - 1e-12 <= expected <= found.upper + 1e-12
            assert found.value == pytest.approx(expected, rel=1e-12 if found.exact else 1e-2)
        if y.var():
            assert report.get("r2", **keys).value == pytest.approx(sk.r2_score(y, p), rel=1e-10)


def test_one_value_in_place_of_several():
    rows = {"y": [1.0, 2.0], "p": [1.5, 2.0]}
    one = sm.regression(y_true="y", y_pred="p", families="log", atoms=0.5).update(rows)
    several = sm.regression(y_true="y", y_pred="p", families=["log"], atoms=[0.5]).update(rows)
    assert one.to_bytes() == several.to_bytes()


@pytest.mark.parametrize(("p", "note"), [([1.0, 1.0], "a true value is 0"), ([0.0, 1.0], "undefined: a true value")])
def test_percentages_of_zero_are_told(p, note):
    report = sm.regression(y_true="y", y_pred="p").update({"y": [0.0, 2.0], "p": p}).finalize(["mape", "rmspe"])
    for metric in ("mape", "rmspe"):
        assert report[metric].note.startswith(note)
        assert report[metric].note.endswith("0, which wape and smape allow")
    [verdict] = report.check("mape <= 0.2").frame["verdict"]
    assert (verdict == "undefined") == (p[0] == 0)
