"""Where a model fails: planted failures, noise, and every slice against the rows themselves."""

import re

import numpy as np
import polars as pl
import pytest
from commands import run
from false_slices import ALL, METRICS, false_discoveries, p_values
from polars.testing import assert_frame_equal
from present.structure import Page
from sklearn.metrics import roc_auc_score

import streammetrics as sm

COLUMNS = ("a", "b", "c")


def rows_of(count=20_000, seed=0, failing=None, share=0.4):
    """Calibrated scores by three columns, one with nulls; labels of the failing rows are flipped with a probability."""
    rng = np.random.default_rng(seed)
    data = pl.DataFrame(
        {
            "p": rng.random(count),
            "a": rng.integers(0, 3, count),
            "b": rng.integers(0, 5, count),
            "c": pl.Series(["x", "y", "z", None]).gather(rng.integers(0, 4, count)),
        }
    ).with_columns(y=pl.Series(rng.random(count)) < pl.col("p"))
    if failing is None:
        return data
    flipped = data.select(failing.fill_null(False)).to_series() & pl.Series(rng.random(count) < share)
    return data.with_columns(y=pl.col("y") ^ flipped)


def report_of(data, by=COLUMNS, confidence=None, **options):
    return sm.binary(y_true="y", y_score="p", by=list(by), **options).update(data).finalize(confidence=confidence)


def regression_of(data, by=COLUMNS):
    data = data.with_columns(v=pl.col("y").cast(pl.Float64))
    return sm.regression(y_true="v", y_pred="p", by=list(by)).update(data).finalize()


A, B, C = (pl.col(column) for column in COLUMNS)
PLANTED = {  # by a metric and the slices whose rows fail, a condition for these rows
    ("log_loss", "b = 2 and c = null"): (B == 2) & C.is_null(),
    ("accuracy", "a = 1 and b = 2"): (A == 1) & (B == 2),
    ("f1", "c = null"): C.is_null(),
    ("mae", "a = 1 and c = z"): (A == 1) & (C == "z"),
    ("roc_auc", "a = 1"): A == 1,
    ("log_loss", "a = 0", "b = 3 and c = x"): (A == 0) | ((B == 3) & (C == "x")),
}


@pytest.mark.parametrize(("planted", "failing"), PLANTED.items(), ids=str)
def test_planted_failures_are_found_and_nothing_else(planted, failing):
    (metric, *names), data = planted, rows_of(60_000 if len(planted) > 2 else 20_000, failing=failing)
    found = (regression_of(data) if metric == "mae" else report_of(data)).slices(metric)
    assert sorted(found["slice"]) == names
    assert (found["p_value"] < 1e-6).all()
    assert ((found["difference"] > 0) == (metric in ("log_loss", "mae"))).all()
    assert found["excess_loss"].is_sorted(descending=True)


def test_a_slice_without_which_all_rows_rank_worse_comes_last():
    random = np.random.default_rng(0)
    parts = []
    for kind, rows, base, skill in (("usual", 40_000, -3, 1.6), ("likely", 15_000, 0.5, 1.2), ("poor", 1_500, -3, 0.3)):
        y = random.random(rows) < 1 / (1 + np.exp(-base))
        margin = base + skill * y + random.normal(size=rows)
        parts.append(pl.DataFrame({"kind": kind, "y": y, "p": 1 / (1 + np.exp(-margin))}))
    acc = sm.binary(y_true="y", y_score="p", by="kind").update(pl.concat(parts))
    found = acc.finalize().slices("roc_auc", min_rows=100)
    assert found["slice"].to_list() == ["kind = poor", "kind = likely"]
    assert found["excess_loss"][0] > 0 > found["excess_loss"][1]


@pytest.mark.thorough
def test_a_failure_of_three_columns_needs_that_depth():
    report = report_of(rows_of(60_000, failing=(A == 1) & (B == 2) & (C == "x"), share=0.9))
    assert report.slices("log_loss", depth=3)["slice"].to_list() == ["a = 1 and b = 2 and c = x"]
    assert report.slices("log_loss", depth=1)["slice"].to_list() != []


PLAIN = {
    "accuracy": lambda y, p: np.mean((p >= 0.5) == y),
    "precision": lambda y, p: y[p >= 0.5].mean(),
    "log_loss": lambda y, p: -np.log(np.where(y, p, 1 - p)).mean(),
    "roc_auc": roc_auc_score,
    "mae": lambda y, p: np.abs(p - y).mean(),
    "rmse": lambda y, p: np.sqrt(((p - y) ** 2).mean()),
}


def plain(data, metric):
    """A metric of rows."""
    return PLAIN[metric](data["y"].to_numpy(), data["p"].to_numpy())


@pytest.mark.parametrize("metric", PLAIN)
def test_slices_and_their_rest_have_the_values_of_their_rows(metric):
    data = rows_of(900, seed=3, failing=(A == 1) | (B == 2))
    report, seen = regression_of(data) if metric in ("mae", "rmse") else report_of(data), 0
    for depth in (1, 2):
        for row in report.slices(metric, depth=depth, min_rows=20, fdr=ALL).iter_rows(named=True):
            columns = [part.partition(" = ")[0] for part in row["slice"].split(" and ")]
            assert len(columns) <= depth
            of_slice = pl.all_horizontal(pl.col(c).eq_missing(pl.lit(row[c])) for c in columns)
            inside, outside = data.filter(of_slice), data.filter(~of_slice)
            assert row["rows"] == inside.height >= 20
            assert row["share_of_rows"] == pytest.approx(inside.height / 900)
            for part, value in ((inside, row["value"]), (outside, row["rest"])):
                assert value == pytest.approx(plain(part, metric), rel=1e-9)
            if metric in ("log_loss", "mae"):  # as much of the loss as would vanish
                assert row["excess_loss"] == pytest.approx(1 - row["rest"] / plain(data, metric), abs=1e-9)
            seen += 1
    assert seen >= 2


def test_differences_have_the_intervals_of_independent_groups():
    data = rows_of(2_000, failing=A == 1)
    [row] = report_of(data, ["a"], 0.9).slices("accuracy").to_dicts()
    one, other = (report_of(data.filter(part), (), 0.9)["accuracy"] for part in (A == 1, A != 1))
    below = np.hypot(one.value - one.ci_lower, other.ci_upper - other.value)
    above = np.hypot(one.ci_upper - one.value, other.value - other.ci_lower)
    assert row["difference"] == pytest.approx(one.value - other.value)
    assert row["ci_lower"] == pytest.approx(row["difference"] - below)
    assert row["ci_upper"] == pytest.approx(row["difference"] + above)


def test_a_slice_has_at_least_so_many_rows_and_without_any_the_frame_is_empty():
    data = rows_of(2_000, failing=A == 1)
    rows = data.filter(a=1).height
    found = report_of(data, ["a"]).slices("accuracy", min_rows=rows)
    assert found["slice"].to_list() == ["a = 1"]
    one_slice = rows_of(2_000).with_columns(a=1)
    for part, least in ((data, rows + 1), (data.clear(), 1), (data.with_columns(y=True), 5_000), (one_slice, 1)):
        for metric in ("accuracy", "roc_auc"):
            empty = report_of(part, ["a"]).slices(metric, min_rows=least)
            assert (empty.columns, empty.height) == (found.columns, 0)
    of_one_class = report_of(rows_of(2_000).with_columns(y=True), ["a"])
    assert of_one_class.slices("log_loss", min_rows=1).is_empty()


def test_coarse_histograms_give_the_slices_of_fine_ones():
    data = rows_of(4_000, failing=A == 2)
    fine, coarse = (report_of(data, ["a"], capacity=c).slices("roc_auc") for c in (16_384, 64))
    assert fine["slice"].to_list() == coarse["slice"].to_list() == ["a = 2"]
    assert fine["rest"].item() == pytest.approx(plain(data.filter(A != 2), "roc_auc"), abs=1e-9)


@pytest.mark.thorough
def test_slices_of_calibration_are_tested_against_their_own_scores():
    data = rows_of(10_000, failing=(A == 1) & (B == 2))
    found = report_of(data).slices("ecce").sort("p_value")
    assert found["slice"][0] == "a = 1 and b = 2"
    own = report_of(data, ("a", "b")).get("ecce_p_value", a=1, b=2)
    assert found["p_value"][0] == pytest.approx(own.upper)
    assert found["value"][0] == pytest.approx(report_of(data, ("a", "b")).get("ecce", a=1, b=2).value)
    everywhere = report_of(rows_of(2_000, failing=pl.lit(True))).slices("ecce", depth=1)
    assert everywhere.height == 3 + 5 + 4
    assert report_of(rows_of(5_000)).slices("ecce").is_empty()
    units = report_of(data.with_row_index("u"), unit="u").slices("ecce").sort("p_value")
    assert units["slice"][0] == "a = 1 and b = 2"


@pytest.mark.thorough
def test_models_thresholds_labels_and_groups_are_keys():
    data = rows_of(failing=A == 1).with_columns(q=1 - pl.col("p"))
    acc = sm.binary(y_true="y", y_score={"one": "p", "two": "q"}, by=list(COLUMNS), thresholds=(0.2, 0.5)).update(data)
    report = acc.finalize()
    found = report.slices("accuracy", model="one", threshold=0.5)
    assert found["slice"].to_list() == ["a = 1"]
    assert found.drop("metric").equals(report_of(data).slices("accuracy").drop("metric"))
    elsewhere = report.slices("accuracy", model="one", threshold=0.4)  # off the score histogram
    assert elsewhere["value"].item() == pytest.approx(
        report.rollup("a").get("accuracy", a=1, model="one", threshold=0.4).value
    )
    of_group = report.slices("log_loss", model="one", c="x", min_rows=100)
    assert of_group.columns[:3] == ["a", "b", "slice"]
    assert of_group.equals(report_of(data.filter(c="x"), ("a", "b")).slices("log_loss", min_rows=100))
    labels = sm.multilabel(y_true={"y": "y", "z": "z"}, y_score={"y": "p", "z": "q"}, by=list(COLUMNS))
    labels = labels.update(data.with_columns(z=pl.col("q") > 0.5)).finalize()
    assert labels.slices("accuracy", label="y").equals(report_of(data).slices("accuracy"))
    assert labels.slices("log_loss", label="z").is_empty()


@pytest.mark.thorough
def test_rows_of_a_unit_are_compared_by_folds():
    """Each user has one error or none, so that repeated rows prove nothing."""
    rng = np.random.default_rng(1)
    users = pl.DataFrame({"u": np.arange(600), "a": rng.integers(0, 3, 600), "b": rng.integers(0, 4, 600)})
    users = users.with_columns(y=pl.Series(rng.random(600) < 0.5))
    data = pl.concat([users] * 40).with_columns(p=pl.lit(0.7))
    single = sm.binary(y_true="y", y_score="p", by=["a", "b"]).update(data).finalize()
    assert single.slices("accuracy").height
    units = sm.binary(y_true="y", y_score="p", by=["a", "b"], unit="u").update(data).finalize()
    assert units.slices("accuracy").is_empty()
    bad = data.with_columns(y=pl.col("y") & (pl.col("a") != 1))
    found = sm.binary(y_true="y", y_score="p", by=["a", "b"], unit="u").update(bad).finalize()
    assert found.slices("accuracy")["slice"].to_list() == ["a = 1"]
    empty = sm.binary(y_true="y", y_score="p", by=["a", "b"], unit="u").finalize().slices("accuracy")
    assert empty.columns == found.slices("accuracy").columns
    assert empty.is_empty()


def test_calibration_does_not_depend_on_equal_weights():
    data = rows_of(2_000, failing=A == 1)
    found, weighted = (report_of(data.with_columns(w=1.5), ["a"], sample_weight=w).slices("ecce") for w in (None, "w"))
    assert found.height > 0
    assert_frame_equal(weighted, found, rel_tol=1e-6)


def test_a_slice_that_is_all_of_a_larger_one_is_not_told_twice():
    data = rows_of(failing=A == 1).with_columns(
        b=pl.when(A == 1).then(9).otherwise("b")  # b = 9 and a = 1 are the same rows
    )
    found = report_of(data).slices("log_loss")["slice"].to_list()
    assert len(found) == 1
    assert found[0] in ("a = 1", "b = 9")


@pytest.mark.thorough
@pytest.mark.parametrize(("samples", "most"), [(8, 4), pytest.param(50, 17, marks=pytest.mark.long)])
def test_noise_gives_no_more_discoveries_than_promised(samples, most):
    """Where nothing fails every discovery is false, so some are found in a share fdr of samples at most."""
    found = false_discoveries(range(samples), METRICS if samples > 8 else ["accuracy", "ecce"], 0.2)
    assert all(count <= most for count in found.values()), found  # with probability 0.99


CONFUSION = ["accuracy", "precision", "recall", "f1", "mcc", "balanced_accuracy"]


RANKING = pytest.param("roc_auc", marks=pytest.mark.long)


@pytest.mark.parametrize("metric", [*CONFUSION, "log_loss", "brier_score", "mae", "rmse", RANKING])
@pytest.mark.parametrize(("rates", "threshold"), [((1, 12), 0.15), ((2, 2), 0.5)], ids=["rare", "even"])
def test_p_values_are_no_smaller_than_chance_makes_them(metric, rates, threshold):
    slices = 600 if metric == "roc_auc" else 1_500
    p = p_values(metric, rates, threshold, slices)
    for level, most in ((0.1, 0.12), (0.02, 0.03), (0.002, 0.008)):
        assert (p <= level).sum() <= most * slices


def test_a_slice_in_which_nothing_is_right_is_found():
    """F1 is 0 there, which has no interval."""
    batch = {"y": [1, 0] * 500, "z": [1, 0] * 400 + [0, 1] * 100, "g": ["a"] * 800 + ["b"] * 200}
    report = sm.binary(y_true="y", y_pred="z", by="g").update(batch).finalize()
    for metric in ("f1", "mcc", "accuracy"):
        assert report.slices(metric, min_rows=100)["slice"].to_list() == ["g = b"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("slices") / "week.state"
    data = rows_of(failing=A == 1)
    scores = {"one": "p", "two": "q"}
    acc = sm.binary(y_true="y", y_score=scores, by=["a", "c"], thresholds=(0.2, 0.5))
    acc.update(data.with_columns(q=pl.col("p"))).save(path)
    return path


@pytest.mark.thorough
def test_the_command_equals_the_library(saved, tmp_path):
    report, show = sm.Accumulator.load(saved).finalize(), ("slices", saved, "log_loss", "--model", "one")
    assert re.search(r"^a = 1 .* 6,\d{3} .*33\.\d+%", run(*show), re.MULTILINE)
    for options, level, rate in (([], "95%", "5%"), (["--confidence", 0.9, "--fdr", 0.01], "90%", "1%")):
        shown = " ".join(run(*show, *options).split())
        assert f" {level} interval " in shown
        assert re.findall(r"\d+%", shown)[-1] == rate
    for metric, threshold in (("accuracy", 0.2), ("recall", 0.61)):
        options = ["--model", "two", "--threshold", threshold, "--format", "parquet", "-o", tmp_path / "found"]
        run("slices", saved, metric, *options)
        expected = report.slices(metric, model="two", threshold=threshold)
        assert pl.read_parquet(tmp_path / "found").equals(expected)
    for options, name in (
        ([*show, "--threshold", "0.61"], "--threshold"),
        (["slices", saved, "log_loss"], "--model: 'one', 'two'"),
        (["slices", saved, "log_loss", "--depth", 0], "--depth"),
    ):
        assert name in run(*options, code=2)


@pytest.fixture
def tables(tmp_path, undrawn):
    """The tables of the page of a report in which the model fails, by caption."""

    def found(report):
        report.save_html(tmp_path / "page.html")
        page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
        lines = [line for line in page.lines if line.startswith("#")]
        failing = any("Where it fails" in line for line in lines)
        captions = [caption for caption in page.tables if "worse" in caption]
        assert failing == bool(captions)
        return {caption: page.tables[caption] for caption in captions}

    return found


@pytest.mark.thorough
def test_a_page_has_a_table_of_slices_of_each_model_by_a_metric_that_it_shows(saved, tables):
    report = sm.Accumulator.load(saved).finalize()
    for metrics, expected in ((["roc_auc", "log_loss"], "log_loss"), (["ece"], "log_loss_skill")):
        assert all(f"{expected} is worse" in caption for caption in tables(report.showing(metrics)))
    for found in (tables(report), tables(report.rollup("a"))):  # few groups, of which one fails
        assert len(found) == 2
        for table in found.values():
            assert [row[0].text.removeprefix("a = ") for row in table.rows] == ["1"]
            assert "excess loss>" in table.columns
    assert tables(report_of(rows_of(), ["a"])) == {}
    classes = sm.multiclass(y_true="y", y_pred="z", by=["a", "c"])
    data = rows_of(failing=A == 1).with_columns(z=(pl.col("p") > 0.5).cast(pl.String))
    [caption] = tables(classes.update(data.with_columns(pl.col("y").cast(pl.String))).finalize())
    assert "accuracy" in caption


@pytest.mark.thorough
def test_the_page_finds_noise_scores_and_not_many_positives(tables):
    """A group of correct probabilities near a half has a high log loss, but does not fail."""
    rng = np.random.default_rng(4)
    place, p = np.arange(24_000) % 12, rng.beta(1, 9, 24_000)
    p[place == 7] = rng.beta(1, 1, 2_000)
    y = rng.random(24_000) < p
    p[place == 3] = rng.permutation(p[place == 3])
    acc = sm.binary(y_true="y", y_score="p", by="place").update({"y": y, "p": p, "place": place})
    [table] = tables(acc.finalize()).values()
    assert table.rows[0][0].text == "3"
    assert "7" not in [row[0].text for row in table.rows]


@pytest.mark.parametrize("metric", ["mse", "msle", "poisson_deviance", "log_cosh"])
def test_means_of_losses_are_compared_with_the_rest(metric):
    """The largest error of the rest is unknown, and that of the slice does not widen its interval."""
    rng = np.random.default_rng(0)
    y, a, b = rng.gamma(2, 1, 4_000) + 0.1, rng.integers(0, 4, 4_000), rng.integers(0, 3, 4_000)
    p = y * np.exp(np.where(a == 2, 0.5, 0.2) * rng.normal(size=4_000))
    options = {"y_true": "y", "y_pred": "p", "families": ["log", "log_cosh", "poisson"]}
    found = sm.regression(**options, by=["a", "b"]).update({"y": y, "p": p, "a": a, "b": b}).finalize().slices(metric)
    alone = [sm.regression(**options).update({"y": y[own], "p": p[own]}).finalize() for own in (a == 2, a != 2)]
    assert found["slice"].to_list() == ["a = 2"]
    assert found.select("value", "rest").row(0) == pytest.approx([report[metric].value for report in alone])


def test_the_largest_errors_of_groups_are_not_added():
    data = rows_of(failing=A == 1)
    [upper] = regression_of(data).with_confidence(0.95).slices("rmse")["ci_upper"]
    parts = [regression_of(data.filter(part), ()) for part in (A != 1, A == 1)]
    assert upper == pytest.approx(sm.compare(*parts, metrics=["rmse"], independent=True).frame["ci_upper"].item())


@pytest.mark.parametrize(("rows", "findings"), [(40, 0), (100, 1)])
def test_a_slice_that_is_worse_by_few_effective_rows_is_no_finding(rows, findings):
    """The variance of 40 equal losses is as uncertain as that of seven rows, of which ten decide."""
    error = pl.Series([1.0, 2.0] * 2_000).scatter(range(0, 4 * rows, 4), 30.0)
    data = pl.DataFrame({"y": 0.0, "p": error, "g": pl.Series([*"abcd"] * 1_000)})
    report = sm.regression(y_true="y", y_pred="p", by="g").update(data).finalize(["mse"])
    assert report.slices("mse").height == findings
