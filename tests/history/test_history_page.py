"""The page of a history: numbers as they were packed, breaches as checks find them; and in a real browser."""

import base64
import json
import re
import zlib
from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from pages import opening, until

import streammetrics as sm
from streammetrics.cli import main
from streammetrics.history.breaches import breaches
from streammetrics.html.history import COLUMNS, Course, Measure, Watched, history_page

HOSTILE = "</script><script>alert(1)</script>"
SHOPS = ["app", "web", HOSTILE, None]
DAYS = [date(2026, 1, 1) + timedelta(days=n) for n in range(24)]
LABELLED = DAYS[:-2]
RULES = [
    sm.Rule("accuracy >= 0.7", by="shop", alarm="1 per month"),
    sm.Rule("roc_auc >= 0.6", over="3d", name="ranking"),
    sm.Rule("log_loss <= 0.1", against="5d", by="shop", min_rows=20),
    sm.Rule("psi(of='y_score') <= 0.3", against="7d", by="shop"),
    sm.Rule("accuracy >= 0.75", over="7d", alarm="1 per month", by="shop"),
]


def rows(day, size=400):
    rng = np.random.default_rng(day.toordinal())
    shop = rng.integers(0, len(SHOPS), size)
    p = rng.random(size)
    broken = (shop == 0) & (day >= DAYS[12])
    y = np.where(broken, rng.random(size) < 0.5, rng.random(size) < p)
    p = np.where(broken, p**3, p)
    return pl.DataFrame({"day": [day] * size, "shop": pl.Series([SHOPS[i] for i in shop]), "y": y, "p": p})


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("histories")
    quality, scores = sm.MetricStore(folder / "quality"), sm.MetricStore(folder / "scores")
    labelled = sm.binary(y_true="y", y_score="p", by=["day", "shop"], capacity=64)
    quality.append(labelled.update(pl.concat(map(rows, LABELLED))), batch_id="labelled")
    unlabelled = sm.predictions(y_score="p", by=["day", "shop"])
    scores.append(unlabelled.update(pl.concat(map(rows, DAYS))), batch_id="all")
    return quality, scores


@pytest.fixture(scope="module")
def page(stores, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "history.html"
    quality, scores = stores
    quality.save_html(path, rules=RULES[:2], scores=scores, title=f"Clicks {HOSTILE}")
    return path


@pytest.mark.thorough
def test_a_window_at_the_end_of_the_calendar_can_be_left_out(tmp_path):
    store, days = sm.MetricStore(tmp_path / "history"), [*DAYS, date.max]
    batch = pl.concat([rows(DAYS[0]).with_columns(pl.lit(day).alias("day")) for day in days])
    store.append(sm.binary(y_true="y", y_score="p", by=["day", "shop"]).update(batch), batch_id="all")
    rules = [sm.Rule("accuracy >= 0.99"), sm.Rule("accuracy >= 0.99", over="7d", alarm="1 per month", by="shop")]
    with pytest.raises(sm.SpecificationError, match=r"No time comes after .* 9999-12-31. Pass until="):
        store.save_html(tmp_path / "history.html", rules=rules)
    store.save_html(tmp_path / "history.html", rules=rules, until="9999-12-31")
    assert content(tmp_path / "history.html")["rules"][0]["runs"] == [[0, 0, len(DAYS) - 1]]


def content(path):
    return json.loads(re.search(r'id="data">(.*?)</script>', path.read_text(encoding="utf-8"))[1])


def unpacked(packed, shape):
    """The numbers of a measure, read as the script of the page reads them."""
    data = np.frombuffer(zlib.decompress(base64.b64decode(packed["data"])), np.uint8)
    columns, at = [], 0
    for planes in packed["planes"]:
        own = data[at : at + planes * np.prod(shape)].reshape(planes, *shape).astype(np.int64)
        columns.append(sum((plane << (8 * i) for i, plane in enumerate(own)), np.zeros(shape, np.int64)))
        at += own.size
    assert at == len(data)
    steps, below, above, *ends = columns
    signed = [np.where(code % 2, -(code + 1) // 2, code // 2) for code in (steps, *(end - 1 for end in ends))]
    value, scale = np.cumsum(signed[0], axis=1), 10.0 ** np.array(packed["exponents"])[:, None]
    known = [below > 0, below > 0, below > 0, *(end > 0 for end in ends)]
    whole = [value, value - below + 1, value + above, *(value + end for end in signed[1:])]
    return np.stack([np.where(k, n * scale, np.nan) for k, n in zip(known, whole, strict=True)])


def estimates(rng, segments, windows):
    """Values with bounds and intervals, as different from one another as metrics are."""
    value = rng.normal(0.8, 0.02, (segments, windows)) * 10.0 ** rng.integers(-6, 6, (segments, 1))
    width = np.abs(value) * rng.uniform(0.02, 0.06, value.shape)
    bound = np.where(rng.random(value.shape) < 0.5, 0, width * rng.random(value.shape))
    found = np.stack([value, value - bound, value + bound, value - width, value + width])
    found[:, rng.random(value.shape) < 0.1] = np.nan
    found[3:, rng.random(value.shape) < 0.1] = np.nan
    return found


def test_numbers_are_rounded_to_a_small_part_of_their_interval_and_bounds_outward():
    rng = np.random.default_rng(0)
    values = estimates(rng, 30, 50)
    found = unpacked(Measure("m", values).packed(), values.shape[1:])
    assert (np.isnan(found) == np.isnan(values)).all()
    width = np.nanquantile(values[4] - values[3], 0.1, axis=1, keepdims=True)
    for place in (0, 3, 4):
        assert np.nanmax(np.abs(found[place] - values[place]) / width) <= 1 / 40 + 1e-9
    dust = 1e-5 * width
    unknown = np.isnan(values[0])
    exact = values[1] == values[2]
    assert (unknown | exact | (found[1] <= values[1] + dust)).all()
    assert (unknown | exact | (found[2] >= values[2] - dust)).all()
    assert (found[1] == found[2])[exact].all()


@pytest.mark.parametrize(
    "value",
    [
        [3.0, 1e8, 0.0],
        [-5.0, 7.0, np.nan],
        [0.0, 0.0, 0.0],
        [1e-300, 2e-300, 0.0],
        [np.inf, 1.0, -np.inf],
        [np.nan] * 3,
    ],
)
def test_awkward_numbers_come_back(value):
    values = np.full((5, 1, 3), np.nan)
    values[:3] = value
    found = unpacked(Measure("m", values).packed(), (1, 3))[0, 0]
    finite = np.isfinite(value)
    assert (np.isnan(found) == ~finite).all()
    np.testing.assert_allclose(found[finite], np.array(value)[finite], rtol=1e-3)


@pytest.mark.thorough
def test_three_years_of_200_segments_are_below_three_megabytes():
    rng, segments, days = np.random.default_rng(0), 200, 1095
    windows = pl.date_range(date(2023, 1, 1), date(2025, 12, 30), eager=True).alias("day")
    measures = []
    for n in range(4):
        size = rng.poisson(1_000, (segments, days))
        value = np.clip(rng.normal(0.7 + 0.05 * n, 0.02, (segments, days)), 0, 1)
        half = 2 * np.sqrt(value * (1 - value) / size)
        measures.append(Measure(f"m{n}", np.stack([value, value - 1e-4, value + 1e-4, value - half, value + half])))
    volume = np.full((5, segments, days), np.nan)
    volume[:3] = size
    psi = Measure("y_score", np.stack([*[rng.chisquare(9, size.shape) / size] * 3, *volume[3:]]))
    course = Course(
        window="day",
        windows=windows,
        segments=[("shop", [f"shop {i}" for i in range(segments)])],
        metrics=measures,
        rows=Measure("rows", volume),
        scored=None,
        dropped=None,
        drift=psi,
        reference="the first 28 windows",
        reference_rows=[28_000] * segments,
        rules=[Watched("m0 >= 0.6", "m0", 0.6, list(range(segments)), [(i, 5, 9) for i in range(segments)])],
        confidence=0.95,
    )
    assert 1_000_000 < len(history_page(course, "large").encode()) < 3_000_000


def test_a_page_says_when_it_was_created(page):
    text = page.read_text(encoding="utf-8")
    assert re.search(
        rf"Page created \d{{4}}-\d\d-\d\d \d\d:\d\d UTC by streammetrics {re.escape(sm.__version__)}\. ", text
    )


def test_a_page_has_the_numbers_of_the_history(stores, page):
    quality, scores = stores
    found = content(page)
    assert found["windows"] == [str(day) for day in DAYS]
    names = [name for _, own in found["segments"] for name in own]
    assert names == ["All rows", "null", *sorted(shop for shop in SHOPS if shop)]
    assert [m["name"] for m in found["metrics"]] == ["accuracy", "roc_auc", "log_loss", "ece"]
    shape = (len(names), len(DAYS))
    wanted = quality.query(by=["day", "shop"]).finalize(["roc_auc", "rows"], confidence=0.95)
    for name, packed in (("roc_auc", found["metrics"][1]), ("rows", found["rows"])):
        own = unpacked(packed, shape)
        for row in wanted.rows(name).iter_rows(named=True):
            place = (names.index(row["shop"] or "null"), DAYS.index(row["day"]))
            for column, matrix in zip(COLUMNS, own, strict=True):
                if row[column] is None:
                    assert np.isnan(matrix[place])
                else:
                    assert matrix[place] == pytest.approx(row[column], abs=2e-2 if name == "roc_auc" else 0)
        assert np.isnan(own[0, :, DAYS.index(LABELLED[-1]) + 1 :]).all()
    assert unpacked(found["scored"], shape)[0, 0].tolist() == [400.0] * len(DAYS)
    reference = scores.query(DAYS[0], DAYS[6], by="shop")
    moved = sm.drift(reference, scores.query(by=["day", "shop"]), of="y_score").frame.filter(measure="psi", shop="app")
    psi = unpacked(found["drift"], shape)[0, names.index("app")]
    np.testing.assert_allclose(psi, moved.sort("day")["value"], atol=1e-3)
    rows_of_reference = dict(reference.finalize(["rows"]).frame.select("shop", "value").iter_rows())
    assert found["reference_rows"][names.index("app")] == rows_of_reference["app"]


@pytest.mark.thorough
def test_breaches_are_those_that_a_check_after_each_window_finds(stores):
    quality, _ = stores
    windows = pl.Series("day", LABELLED)
    found = breaches(quality._windows(), RULES, windows)
    checks = {day: sm.check(quality, RULES, until=day + timedelta(days=1)).frame for day in LABELLED}
    some = 0
    for rule, frame in zip(RULES, found, strict=True):
        wanted = set()
        for day, verdicts in checks.items():
            breached = verdicts.filter(rule=str(rule), verdict="breached")
            wanted |= {(day, where.split(",")[0]) for where in breached["where"]}
        shop = pl.format("shop {}", pl.col("shop").fill_null("null")) if rule.by and frame.height else pl.lit("")
        shown = {(day, where if rule.by else "") for day, where in frame.select("day", where=shop).iter_rows()}
        assert shown == {(day, where if rule.by else "") for day, where in wanted}, rule
        some += len(wanted)
    assert some > 20


@pytest.mark.parametrize(("over", "first"), [("1d", 0), ("2d", 1), ("5d", 4)])
def test_a_count_is_not_breached_before_its_period_is_complete(over, first, tmp_path):
    days = [date(2026, 1, day) for day in range(1, 9)]
    acc = sm.predictions(y_score="p", by="day").update({"day": days * 2, "p": [0.5] * 16})
    store = sm.MetricStore(tmp_path / "history")
    store.append(acc, batch_id="all")
    rules = [sm.Rule(f"rows >= {limit}", over=over) for limit in (2 * (first + 1), 100)]
    kept, breached = (frame["day"].to_list() for frame in breaches(store._windows(), rules, pl.Series("day", days)))
    assert (kept, sorted(breached)) == ([], days[first:])
    (early,) = sm.check(store, rules[1], until=days[3]).frame.rows(named=True)
    assert early["verdict"] == ("open" if over == "5d" else "breached")
    assert ("shorter than the period" in early["note"]) == (over == "5d")


def test_commands_write_the_page(stores, tmp_path):
    quality, scores = stores
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nrequire = "accuracy >= 0.9"\nby = "shop"\n')
    written = tmp_path / "history.html"
    arguments = ["store", "page", quality.uri, rules, "-o", written, "--metric", "recall", "--scores", scores.uri]
    arguments += ["--since", "2026-01-05", "--until", "2026-01-20", "--reference", "3d", "--title", "Weeks"]
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == 0, result.output
    found = content(written)
    assert found["windows"] == [str(day) for day in DAYS[4:19]]
    assert [m["name"] for m in found["metrics"]] == ["accuracy", "recall"]
    assert found["reference"] == "the 3d before each window"
    assert all(first >= 0 and last < 15 for _, first, last in found["rules"][0]["runs"])
    assert "<title>Weeks</title>" in written.read_text()


def test_the_page_opens_with_a_metric_before_the_number_of_rows(stores, tmp_path):
    rules = [sm.Rule("rows >= 100"), sm.Rule("recall >= 0.5"), sm.Rule("dropped <= 5")]
    stores[0].save_html(tmp_path / "a.html", rules=rules, metrics=["accuracy"])
    assert [m["name"] for m in content(tmp_path / "a.html")["metrics"]] == ["recall", "accuracy", "rows", "dropped"]


def test_the_page_opens_with_the_first_metric_of_a_report(stores, tmp_path):
    stores[0].save_html(tmp_path / "a.html")
    assert [m["name"] for m in content(tmp_path / "a.html")["metrics"]] == ["roc_auc", "log_loss", "ece", "accuracy"]


@pytest.mark.thorough
def test_hours_models_and_thresholds(tmp_path):
    hours = [datetime(2026, 1, 1, n) for n in range(6)]
    batch = {"t": hours * 20, "y": [0, 1] * 60, "a": [0.1, 0.8, 0.4] * 40, "b": [0.6] * 120}
    acc = sm.binary(y_true="y", y_score={"old": "a", "new": "b"}, by="t", thresholds=[0.3, 0.7])
    store = sm.MetricStore(tmp_path / "history")
    store.append(acc.update(batch), batch_id="all")
    store.save_html(tmp_path / "a.html", metrics=["recall"], confidence=None, rules=sm.Rule("recall >= 0.9"))
    found = content(tmp_path / "a.html")
    assert found["windows"][:2] == ["2026-01-01T00:00:00", "2026-01-01T01:00:00"]
    assert found["segments"] == [["model", ["old", "new"]]]
    assert [m["name"] for m in found["metrics"]] == ["recall @ 0.3", "recall @ 0.7"]
    assert {place for place, *_ in found["rules"][0]["runs"]} == {0, 1}


def test_windows_at_midnight_are_dates(tmp_path):
    batch = {"t": [datetime(2026, 1, n) for n in range(1, 7)] * 20, "y": [0, 1] * 60, "p": [0.1, 0.8, 0.4] * 40}
    store = sm.MetricStore(tmp_path / "history")
    store.append(sm.binary(y_true="y", y_score="p", by="t").update(batch), batch_id="all")
    store.save_html(tmp_path / "a.html")
    assert content(tmp_path / "a.html")["windows"][0] == "2026-01-01"


def test_a_rule_of_one_model_has_its_segments_and_windows_only(tmp_path):
    frame = pl.DataFrame({"y": [0, 1] * 60, "a": [0.1, 0.8, 0.4] * 40, "b": [0.6] * 120, "day": DAYS[:6] * 20})
    old = sm.binary(y_true="y", y_score={"old": "a"}, by="day").update(frame.filter(day=DAYS[0]))
    both = sm.binary(y_true="y", y_score={"old": "a", "new": "b"}, by="day")
    store = sm.MetricStore(tmp_path / "history")
    store.append(old, batch_id="old")
    store.append(both.update(frame.filter(pl.col("day") > DAYS[0])), batch_id="both")
    severity = {"new": "warn", "old": "page"}
    rules = [sm.Rule("rows >= 99", over="1d", model=model, severity=severity[model]) for model in ("new", "old")]
    store.save_html(tmp_path / "a.html", rules=rules, confidence=None)
    found = content(tmp_path / "a.html")
    place = {name: i for i, name in enumerate(found["segments"][0][1])}
    assert [rule["text"] for rule in found["rules"]] == [
        *("rows >= 99, model new, over 1d, severity warn", "rows >= 99, model old, over 1d")
    ]
    assert [rule["segments"] for rule in found["rules"]] == [[place["new"]], [place["old"]]]
    assert [rule["runs"] for rule in found["rules"]] == [[[place["new"], 1, 5]], [[place["old"], 0, 5]]]
    store.save_html(tmp_path / "a.html", rules=rules[:1], until=DAYS[1], confidence=None)
    assert content(tmp_path / "a.html")["rules"][0]["runs"] == []


def test_segments_that_ended_before_the_page_begins(tmp_path):
    shops = [rows(day).with_columns(shop=pl.lit(shop)) for day in DAYS[:12] for shop in ("app", "gone", "web")]
    store = sm.MetricStore(tmp_path / "history")
    some = pl.concat(shops).filter((pl.col("shop") != "gone") | (pl.col("day") < DAYS[5]))
    store.append(sm.binary(y_true="y", y_score="p", by=["day", "shop"]).update(some), batch_id="all")
    store.save_html(tmp_path / "a.html", since=DAYS[6], reference=(DAYS[0], DAYS[2]))
    found = content(tmp_path / "a.html")
    assert (found["segments"][1][1], found["reference_rows"]) == (["app", "web"], [2400, 800, 800])
    store.save_html(tmp_path / "a.html", since=DAYS[6], rules=sm.Rule("accuracy >= 0.99", over="3d", by="shop"))
    found = content(tmp_path / "a.html")
    assert found["segments"][1][1] == ["app", "gone", "web"]
    assert found["rules"][0]["runs"] == [[1, 0, 5], [2, 0, 0], [3, 0, 5]]
    assert np.isnan(unpacked(found["rows"], (4, 6))[0, 2]).all()


def test_rows_without_labels_are_shown_if_the_history_dropped_them(tmp_path):
    store = sm.MetricStore(tmp_path / "history")
    some = pl.concat(map(rows, DAYS[:3])).with_columns(y=pl.when(pl.int_range(pl.len()) % 4 > 0).then("y"))
    store.append(sm.binary(y_true="y", y_score="p", by="day", nulls="drop").update(some), batch_id="all")
    store.save_html(tmp_path / "a.html")
    found = content(tmp_path / "a.html")
    assert unpacked(found["dropped"], (1, 3))[0, 0].tolist() == [100.0] * 3
    assert unpacked(found["rows"], (1, 3))[0, 0].tolist() == [300.0] * 3


def test_a_single_window_without_segments_has_no_drift(tmp_path):
    store = sm.MetricStore(tmp_path / "history")
    store.append(sm.binary(y_true="y", y_score="p", by="day").update(rows(DAYS[0])), batch_id="first")
    store.save_html(tmp_path / "a.html", confidence=0.57)
    found = content(tmp_path / "a.html")
    assert found["confidence"] == "57%"  # 100 * 0.57 is not 57
    assert found["segments"] == [["", ["All rows"]]]
    assert found["drift"] is None
    assert found["dropped"] is None
    assert unpacked(found["rows"], (1, 1))[0, 0, 0] == 400


@pytest.mark.thorough
@pytest.mark.parametrize("start", [datetime(2026, 3, 28, 22), datetime(2026, 10, 24, 22)])
def test_hours_around_the_change_of_the_clock(tmp_path, start):
    hours = pl.datetime_range(start, start + timedelta(hours=8), "1h", time_zone="Europe/Berlin", eager=True).alias("t")
    batch = pl.DataFrame(
        {"t": pl.concat([hours] * 4), "y": [0, 1] * (2 * len(hours)), "p": [0.2, 0.8] * (2 * len(hours))}
    )
    store = sm.MetricStore(tmp_path / "history")
    store.append(sm.binary(y_true="y", y_score="p", by="t").update(batch), batch_id="all")
    store.save_html(tmp_path / "a.html", rules=sm.Rule("accuracy <= 0.5", over="3h"))
    found = content(tmp_path / "a.html")
    assert len(found["windows"]) == len(hours)
    assert unpacked(found["rows"], (1, len(hours)))[0, 0].tolist() == [4.0] * len(hours)
    assert found["rules"][0]["runs"] == [[0, 0, len(hours) - 1]]


def test_rules_before_labels_look_at_the_scores(stores, tmp_path):
    quality, scores = stores
    rule = sm.Rule("accuracy <= 0.01", before_labels=True)
    quality.save_html(tmp_path / "a.html", rules=rule, scores=scores, since=DAYS[-4], metrics=["rows"])
    wanted = sm.check(quality, rule, scores=scores, until=DAYS[-1] + timedelta(days=1)).frame["verdict"].to_list()
    assert wanted == ["breached"]
    found = content(tmp_path / "a.html")
    assert found["rules"][0]["runs"] == [[0, 0, 3]]
    assert [m["name"] for m in found["metrics"]] == ["rows"]


def test_the_reference_is_of_windows_with_scores(stores, tmp_path):
    quality, scores = stores
    later = sm.MetricStore(tmp_path / "later")
    later.append(scores.query(since=DAYS[8], by=["day", "shop"]), batch_id="later")
    quality.save_html(tmp_path / "a.html", scores=later, metrics=["rows"])
    found = content(tmp_path / "a.html")
    assert found["reference"] == "the first 4 windows with scores"
    assert found["reference_rows"][0] == 1600
    assert not np.isnan(unpacked(found["drift"], (5, len(DAYS)))[0, 0, 8:]).any()


def test_faults_are_named(stores, tmp_path):
    quality, scores = stores
    path = tmp_path / "a.html"
    for error, message, options in (
        (sm.StateError, "no windows in this time range. Newest window: ", {"since": "2030-01-01"}),
        (sm.MetricError, "mae", {"metrics": ["mae"]}),
        (sm.SpecificationError, "'by' cannot contain the window", {"rules": sm.Rule("rows >= 1", by="day")}),
        (sm.SpecificationError, "scores=", {"rules": sm.Rule("accuracy >= 1", before_labels=True)}),
        (sm.SpecificationError, "scores= must be a MetricStore, got str", {"scores": "scores"}),
        (sm.SpecificationError, "Unknown group column", {"by": "city"}),
        (sm.SpecificationError, "rules= must be of type Rule, got str", {"rules": ["accuracy >= 1"]}),
        (sm.SpecificationError, "reference= must be a duration or a", {"reference": ("2026-01-01",)}),
        (sm.SpecificationError, "reference= must be a duration or a", {"reference": 7}),
        (sm.SpecificationError, "Cannot read 'soon' as a duration", {"reference": "soon"}),
    ):
        with pytest.raises(error, match=message):
            quality.save_html(path, **options)
    assert not path.exists()
    with pytest.raises(sm.SourceError):
        quality.save_html(tmp_path / "none" / "a.html", metrics=["rows"])
    assert scores.windows().height == len(DAYS)


@pytest.fixture
def opened(browser, page):
    with opening(browser, page, ready="#chart svg") as open_page:
        yield open_page


def chosen(window, metric, segment):
    window.select_option("#metric", label=metric)
    window.select_option("#segment", label=segment)
    until(window, f"document.getElementById('chosen').textContent === {f'{metric}: shop {segment}'!r}")


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_chart_is_drawn_and_nothing_is_wider_than_the_window(opened, width, scheme):
    window = opened(width, color_scheme=scheme)
    assert window.evaluate("document.documentElement.scrollWidth") == width
    line = window.locator("#chart path.value").first
    assert line.get_attribute("d").count("L") == len(LABELLED) - 1
    assert window.evaluate("e => getComputedStyle(e).stroke", line.element_handle()) == (
        "rgb(11, 92, 173)" if scheme == "light" else "rgb(108, 182, 255)"
    )
    assert "PSI of y_score against the first 6 windows" in window.locator("#chart text.title").all_text_contents()
    notes = window.locator("#notes").text_content()
    assert "(95%) estimates the metric for all rows of which these are a random sample." in notes
    box = window.locator("#chart svg").bounding_box()
    dates = "[...document.querySelectorAll('.time, td:nth-child(2), td:nth-child(3)')]"
    assert window.evaluate(f"{dates}.map(e => getComputedStyle(e).whiteSpace)") == ["nowrap"] * 4
    assert box["height"] > 400
    assert box["x"] + box["width"] <= width
    assert window.evaluate("e => e.scrollWidth - e.clientWidth", window.query_selector("#breaches .scroll")) == 0


@pytest.mark.browser
def test_intervals_after_a_sharp_drop_are_in_the_chart(opened):
    window = opened(1280)
    low, high = window.evaluate(
        """() => {
          const own = { value: [], ends: [[], []] };
          for (let i = 0; i <= last; i++) {
            const value = i > last - 2 ? 0.2 : 0.8, half = i === 0 ? 0.5 : 0.05;
            own.value.push(value); own.ends[0].push(value - half); own.ends[1].push(value + half);
          }
          return extent(own, []);
        }"""
    )
    assert low <= 0.15
    assert 0.85 <= high < 1  # without the whole of one very wide interval


def of_weeks(size, tmp_path, start=date(2026, 8, 31)):
    """The page of a history of weeks."""
    weeks = [start + timedelta(weeks=n) for n in range(size)]
    acc = sm.binary(y_true="y", y_score="p", by="week")
    store = sm.MetricStore(tmp_path / "history")
    store.append(acc.update({"week": weeks * 2, "y": [0] * size + [1] * size, "p": [0.4] * 2 * size}), batch_id="all")
    store.save_html(tmp_path / "a.html", confidence=None)
    return weeks, tmp_path / "a.html"


@pytest.mark.browser
def test_weeks_are_marked_at_their_first_day(browser, tmp_path):
    mondays, path = of_weeks(12, tmp_path)
    with opening(browser, path, ready="#chart svg") as open_page:
        marked = open_page(1280).locator("#chart text").all_text_contents()
    assert {f"{day:%b} {day.day}" for day in mondays} <= set(marked)


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("start", [date(2023, 1, 2), datetime(2023, 1, 5, 6)])
def test_years_of_weeks_are_marked_at_weeks(browser, tmp_path, width, start):
    path = of_weeks(156, tmp_path, start)[1]
    with opening(browser, path, ready="#chart svg") as open_page:
        drawn = open_page(width)
        line = drawn.locator("#chart path.value").first.get_attribute("d")
        marks = drawn.evaluate(
            "[...document.querySelectorAll('#chart .grid')].map(m => [m.getAttribute('x1'), m.getAttribute('x2')])"
        )
        labels = drawn.locator("#chart text").all_text_contents()
    places = np.array([float(place) for place in re.findall(r"[ML](\S+)", line)])
    across = [float(x1) for x1, x2 in marks if x1 == x2]
    assert len(across) >= 3
    assert max(np.abs(places - x).min() for x in across) < 0.06
    assert {"Jan 2023", "Apr 2024"} < set(labels) if width > 360 else {"2023", "2024", "2025"} < set(labels)


@pytest.mark.browser
def test_two_windows_are_connected(browser, tmp_path):
    path = of_weeks(2, tmp_path)[1]
    with opening(browser, path, ready="#chart svg") as open_page:
        assert "L" in open_page(1280).locator("#chart path.value").first.get_attribute("d")


@pytest.mark.browser
def test_lines_are_broken_at_long_gaps_and_counts_have_an_axis(browser, tmp_path):
    days = [date(2026, 1, 1) + timedelta(days=n) for n in (0, 1, 4, 5, 60, 61)]
    store = sm.MetricStore(tmp_path / "history")
    acc = sm.binary(y_true="y", y_score="p", by="day")
    store.append(acc.update({"day": days * 460, "y": ([0] * 6 + [1] * 6) * 230, "p": [0.4] * 2760}), batch_id="all")
    store.save_html(tmp_path / "a.html", confidence=None)
    with opening(browser, tmp_path / "a.html", ready="#chart svg") as open_page:
        window = open_page(1280)
        assert window.locator("#chart path.value").first.get_attribute("d").count("M") == 2
        assert {"0", "200", "400"} <= set(window.locator("#chart text").all_text_contents())
        window.emulate_media(media="print")
        stretched = window.evaluate(  # in one step, as on paper, before the chart can be drawn again
            """() => {
                document.querySelector("#chart").style.width = "400px";
                const chart = document.querySelector("#chart svg"), { width, height } = chart.viewBox.baseVal;
                const box = chart.getBoundingClientRect();
                return box.height / box.width / (height / width);
            }"""
        )
        assert stretched == pytest.approx(1, rel=0.01)


@pytest.mark.browser
def test_what_is_told_are_the_numbers_of_the_window(opened, stores):
    window = opened()
    chosen(window, "accuracy", "app")
    wanted = stores[0].query(DAYS[19], DAYS[20], by="shop").finalize(["accuracy", "rows"])
    told = window.locator("#readout")
    assert told.inner_text().startswith(f"{LABELLED[-1]}: accuracy ")
    window.locator("#chart svg").focus()
    for _ in range(2):
        window.keyboard.press("ArrowLeft")
    found = re.match(r"(\S+): accuracy (\S+) · interval .* · ([\d,]+) of ([\d,]+) rows", told.inner_text())
    assert found[1] == str(DAYS[19])
    assert float(found[2]) == pytest.approx(wanted.get("accuracy", shop="app").value, abs=0.006)
    assert found[3] == found[4] == f"{wanted.get('rows', shop='app').value:.0f}"


@pytest.mark.browser
def test_a_range_of_time_is_chosen_by_fields_and_by_dragging(opened):
    window = opened()
    window.fill("#from", str(DAYS[5]))
    window.dispatch_event("#from", "change")
    until(window, "document.querySelector('#chart path.value').getAttribute('d').split('L').length === 17")
    box = window.locator("#chart svg").bounding_box()
    window.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 100)
    window.mouse.down()
    window.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 100)
    window.mouse.up()
    first, last = (window.input_value(f"#{name}") for name in ("from", "to"))
    assert str(DAYS[5]) < first < last < str(DAYS[-1])
    window.get_by_role("button", name="All", exact=True).click()
    assert window.input_value("#from") == str(DAYS[0])
    window.get_by_role("button", name="7 days", exact=True).click()
    assert window.input_value("#from") == str(DAYS[-7])
    assert window.input_value("#to") == str(DAYS[-1])
    shown = window.locator(".buttons button:visible").all_inner_texts()
    assert shown == ["7 days", "All"]  # the others show too few windows, or all


@pytest.mark.browser
def test_the_legend_lists_what_is_visible(opened):
    window = opened()
    legend = window.locator("#legend")
    window.get_by_role("button", name="shop app", exact=True).first.click()
    until(window, "document.getElementById('legend').textContent.includes('breach')")
    assert "PSI by chance" in legend.text_content()
    chosen(window, "accuracy", "web")
    assert window.locator("#chart rect.breached").count() == 0
    assert "breach" not in legend.text_content()


@pytest.mark.browser
def test_breaches_lead_to_their_segment(opened):
    window = opened()
    window.get_by_role("button", name="shop app", exact=True).first.click()
    until(window, "document.getElementById('chosen').textContent === 'accuracy: shop app'")
    assert window.locator("#chart path.breach").count() >= 1
    assert window.locator("#chart rect.breached").count() >= 1
    assert window.locator("#chart path.limit").count() == 1
    first, last = window.evaluate("page.rules[0].runs.find(([place]) => names[place] === 'app').slice(1)")
    breached, shaded, every = (
        float(window.locator(f"#chart rect.{name}").first.get_attribute("width"))
        for name in ("breached", "alarmed", "track")
    )
    assert breached == shaded == pytest.approx(every * (last - first + 1) / len(DAYS))
