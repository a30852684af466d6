"""The page of a history: numbers of the history, breaches as checks find them; and in a real browser.

Charts are drawn without numbers that a test could read. So most tests look at what the page is made of.
"""

import re
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from pages import opening

import streammetrics as sm
from streammetrics.cli import main

HOSTILE = "</script><script>alert(1)</script>"
SHOPS = ["app", "web", HOSTILE, None]
DAYS = [date(2026, 1, 1) + timedelta(days=n) for n in range(24)]
LABELLED = DAYS[:-2]
SEGMENT, VERDICT = "\0segment", "\0verdict"  # columns of what a page is made of
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


def content(store, **options):
    """What the page of a history shows."""
    found = []
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr("streammetrics.history.page.history_page", lambda course, *_: found.append(course) or "")
        store.save_html(Path(folder, "page.html"), **options)
    return found[0]


def segments(found):
    every = pl.concat([m.rows.select(SEGMENT) for m in found.measures])
    return every[SEGMENT].unique(maintain_order=True).to_list()


def series(found, title, name=None, segment="All rows"):
    """The values of a measure by window, those of its first series unless told otherwise."""
    measure = next(m for m in found.measures if m.title == title)
    rows = measure.rows.filter(pl.col("series") == (name or measure.names[0]), pl.col(SEGMENT) == segment)
    return dict(rows.select(found.windows.name, "value").iter_rows())


def runs(found):
    return found.breaches.rows() if found.rules > 1 else found.breaches.select(pl.exclude("rule")).rows()


def titles(found):
    return [measure.title for measure in found.measures]


def test_a_page_has_the_numbers_of_the_history(stores):
    quality, scores = stores
    found = content(quality, rules=RULES[:2], scores=scores)
    assert found.windows.to_list() == DAYS
    assert segments(found) == ["All rows", *(f"shop {shop or 'null'}" for shop in sorted(SHOPS, key=lambda s: s or ""))]
    assert titles(found) == [
        "Accuracy",
        "ROC AUC",
        "Log loss",
        "Expected calibration error",
        "Rows",
        "Drift of y_score",
    ]
    wanted = quality.query(by=["day", "shop"]).finalize(["roc_auc", "rows"], confidence=0.95)
    for metric, title in (("roc_auc", "ROC AUC"), ("rows", "Rows")):
        own = wanted.rows(metric, shop="app")
        assert series(found, title, segment="shop app") == dict(own.select("day", "value").iter_rows())
    assert series(found, "Rows", "rows with or without labels") == dict.fromkeys(DAYS, 400)
    reference = scores.query(DAYS[0], DAYS[6], by="shop")
    moved = sm.drift(reference, scores.query(by=["day", "shop"]), of="y_score").frame.filter(measure="psi", shop="app")
    assert series(found, "Drift of y_score", segment="shop app") == dict(moved.select("day", "value").iter_rows())
    base, rows = (
        acc.finalize(["rows"]).rows("rows", shop="app") for acc in (reference, scores.query(by=["day", "shop"]))
    )
    chance = {day: 9 * (1 / n + 1 / base["value"][0]) for day, n in rows.select("day", "value").iter_rows()}
    assert series(found, "Drift of y_score", "PSI by chance", "shop app") == pytest.approx(chance)


@pytest.mark.thorough
def test_breaches_are_those_that_a_check_after_each_window_finds(stores):
    quality, _ = stores
    found, checks = content(quality, rules=RULES), []
    for number, day in enumerate(LABELLED):
        breached = sm.check(quality, RULES, until=day + timedelta(days=1)).frame.filter(verdict="breached")
        for rule, where in breached.select("rule", "where").iter_rows():
            segment = (where.split(", threshold")[0] if where.startswith("shop") else "") or "All rows"
            checks.append((rule, segment, number))
    shown = [
        (str(one.rule), segment, LABELLED.index(day))
        for one in found.ruled
        for segment, _, day in one.breached.iter_rows()
    ]
    assert sorted(shown) == sorted(checks)
    assert len(shown) > 20
    titles = {one.title: str(one.rule) for one in found.ruled}
    assert sorted(
        (titles[rule], segment, number)
        for segment, first, last, rule in runs(found)
        for number in range(first, last + 1)
    ) == sorted(checks)


@pytest.mark.parametrize(("over", "first"), [("1d", 0), ("2d", 1), ("5d", 4)])
def test_a_count_is_not_breached_before_its_period_is_complete(over, first, tmp_path):
    days = [date(2026, 1, day) for day in range(1, 9)]
    acc = sm.predictions(y_score="p", by="day").update({"day": days * 2, "p": [0.5] * 16})
    store = sm.MetricStore(tmp_path / "history")
    store.append(acc, batch_id="all")
    kept, breached = (sm.Rule(f"rows >= {limit}", over=over) for limit in (2 * (first + 1), 100))
    assert [runs(content(store, rules=rule)) for rule in (kept, breached)] == [[], [("All rows", first, 7)]]
    (early,) = sm.check(store, breached, until=days[3]).frame.rows(named=True)
    assert (early["verdict"], "shorter" in early["note"]) == (("open", True) if over == "5d" else ("breached", False))
    for rule in (sm.Rule("median >= 0.9", over=over), sm.Rule("rows <= 1", over=over)):  # more rows change nothing
        assert sm.check(store, rule, until=days[3]).frame["verdict"].item() == "breached"


@pytest.mark.usefixtures("undrawn")
def test_commands_write_the_page(stores, tmp_path):
    quality, scores = stores
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nrequire = "accuracy >= 0.9"\nby = "shop"\n')
    written = tmp_path / "history.html"
    arguments = ["store", "page", quality.uri, rules, "-o", written, "--metric", "recall", "--scores", scores.uri]
    arguments += ["--since", "2026-01-05", "--until", "2026-01-20", "--reference", "3d", "--title", "Weeks"]
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == 0, result.output
    text = written.read_text()
    assert "<strong>15</strong> (day): 2026-01-05 to 2026-01-19" in text
    assert re.findall(r'<h2 id="\w+">(.*?)</h2>', text) == [
        *("What stands out", "Rules now", "accuracy &gt;= 0.9"),
        *("Breaches", "Accuracy", "Recall", "Rows", "Drift of y_score", "How to read the charts"),
    ]
    assert "<title>Weeks</title>" in text
    created = r"Page created</dt><dd>\d{4}-\d\d-\d\d \d\d:\d\d UTC by streammetrics "
    assert re.search(created + re.escape(sm.__version__), text)


def test_the_page_opens_with_a_metric_before_the_number_of_rows(stores):
    rules = [sm.Rule("rows >= 100"), sm.Rule("recall >= 0.5"), sm.Rule("dropped <= 5")]
    assert titles(content(stores[0], metrics=["accuracy"], rules=rules))[:3] == ["Recall", "Accuracy", "Dropped"]


@pytest.mark.thorough
def test_hours_models_and_thresholds(tmp_path):
    hours = [datetime(2026, 1, 1, n) for n in range(6)]
    batch = {"t": hours * 20, "y": [0, 1] * 60, "a": [0.1, 0.8, 0.4] * 40, "b": [0.6] * 120}
    acc = sm.binary(y_true="y", y_score={"old": "a", "new": "b"}, by="t", thresholds=[0.3, 0.7])
    store = sm.MetricStore(tmp_path / "history")
    store.append(acc.update(batch), batch_id="all")
    found = content(store, metrics=["recall"], rules=sm.Rule("recall >= 0.9"), confidence=None)
    assert found.windows.to_list() == hours
    assert segments(found) == ["model new", "model old"]
    assert titles(found)[:2] == ["recall @ 0.3", "recall @ 0.7"]
    assert set(found.breaches[SEGMENT]) == {"model new", "model old"}
    assert set(found.ruled[0].newest["segment"]) == {"model new", "model old"}
    store.save_html(tmp_path / "a.html", metrics=["recall"])
    assert "(t): 2026-01-01 00:00:00 to 2026-01-01 05:00:00" in (tmp_path / "a.html").read_text()


def test_missing_values_and_the_text_null_are_two_segments(tmp_path):
    store = sm.MetricStore(tmp_path / "history")
    batch = {"day": [DAYS[0]] * 3, "shop": [None, "null", "null"], "y": [0, 1, 1], "p": [0.1, 0.9, 0.9]}
    store.append(sm.binary(y_true="y", y_score="p", by=["day", "shop"]).update(batch), batch_id="all")
    found = content(store, rules=[sm.Rule("rows >= 2", by="shop")])
    assert [series(found, "Rows", segment=s) for s in ("shop null", "shop 'null'")] == [{DAYS[0]: 1}, {DAYS[0]: 2}]
    assert runs(found) == [("shop null", 0, 0)]


def test_a_rule_of_one_model_has_its_segments_and_windows_only(tmp_path):
    frame = pl.DataFrame({"y": [0, 1] * 60, "a": [0.1, 0.8, 0.4] * 40, "b": [0.6] * 120, "day": DAYS[:6] * 20})
    old = sm.binary(y_true="y", y_score={"old": "a"}, by="day").update(frame.filter(day=DAYS[0]))
    both = sm.binary(y_true="y", y_score={"old": "a", "new": "b"}, by="day")
    store = sm.MetricStore(tmp_path / "history")
    store.append(old, batch_id="old")
    store.append(both.update(frame.filter(pl.col("day") > DAYS[0])), batch_id="both")
    severity = {"new": "warn", "old": "page"}
    rules = [sm.Rule("rows >= 99", over="1d", model=model, severity=severity[model]) for model in ("new", "old")]
    found = content(store, rules=rules, confidence=None)
    assert sorted(runs(found)) == [
        ("model new", 1, 5, "rows >= 99, model new, over 1d, severity warn"),
        ("model old", 0, 5, "rows >= 99, model old, over 1d"),
    ]
    assert [one.newest["segment"].to_list() for one in found.ruled] == [["model new"], ["model old"]]
    assert runs(content(store, rules=rules[:1], until=DAYS[1], confidence=None)) == []


def test_segments_that_ended_before_the_page_begins(tmp_path):
    shops = [rows(day).with_columns(shop=pl.lit(shop)) for day in DAYS[:12] for shop in ("app", "gone", "web")]
    store = sm.MetricStore(tmp_path / "history")
    some = pl.concat(shops).filter((pl.col("shop") != "gone") | (pl.col("day") < DAYS[5]))
    store.append(sm.binary(y_true="y", y_score="p", by=["day", "shop"]).update(some), batch_id="all")
    found = content(store, since=DAYS[6], reference=(DAYS[0], DAYS[2]))
    assert segments(found) == ["All rows", "shop app", "shop web"]
    found = content(store, since=DAYS[6], rules=sm.Rule("accuracy >= 0.99", over="3d", by="shop"))
    assert runs(found) == [("shop app", 0, 5), ("shop web", 0, 5), ("shop gone", 0, 0)]


def test_rows_without_labels_are_shown_if_the_history_dropped_them(tmp_path):
    store = sm.MetricStore(tmp_path / "history")
    some = pl.concat(map(rows, DAYS[:3])).with_columns(y=pl.when(pl.int_range(pl.len()) % 4 > 0).then("y"))
    store.append(sm.binary(y_true="y", y_score="p", by="day", nulls="drop").update(some), batch_id="all")
    found = content(store)
    assert series(found, "Rows", "dropped") == dict.fromkeys(DAYS[:3], 100)
    assert series(found, "Rows") == dict.fromkeys(DAYS[:3], 300)


@pytest.mark.thorough
@pytest.mark.parametrize("start", [datetime(2026, 3, 28, 22), datetime(2026, 10, 24, 22)])
def test_hours_around_the_change_of_the_clock(tmp_path, start):
    hours = pl.datetime_range(start, start + timedelta(hours=8), "1h", time_zone="Europe/Berlin", eager=True).alias("t")
    batch = pl.DataFrame(
        {"t": pl.concat([hours] * 4), "y": [0, 1] * (2 * len(hours)), "p": [0.2, 0.8] * (2 * len(hours))}
    )
    store = sm.MetricStore(tmp_path / "history")
    store.append(sm.binary(y_true="y", y_score="p", by="t").update(batch), batch_id="all")
    found = content(store, rules=sm.Rule("accuracy <= 0.5", over="3h"))
    assert found.measures[-2].rows["value"].to_list() == [4] * len(hours)
    assert runs(found) == [("All rows", 0, len(hours) - 1)]
    store.save_html(tmp_path / "a.html")


def test_rules_before_labels_look_at_the_scores(stores):
    quality, scores = stores
    rule = sm.Rule("accuracy <= 0.01", before_labels=True)
    wanted = sm.check(quality, rule, scores=scores, until=DAYS[-1] + timedelta(days=1)).frame["verdict"].to_list()
    assert wanted == ["breached"]
    found = content(quality, metrics=["rows"], rules=rule, scores=scores, since=DAYS[-4])
    assert runs(found) == [("All rows", 0, 3)]
    assert titles(found)[0] == "Rows"


def test_the_reference_is_of_windows_with_scores(stores, tmp_path):
    quality, scores = stores
    later = sm.MetricStore(tmp_path / "later")
    later.append(scores.query(since=DAYS[8], by=["day", "shop"]), batch_id="later")
    drift = content(quality, metrics=["rows"], scores=later).measures[-1]
    assert " 4 windows" in drift.what
    assert drift.rows.filter(pl.col(SEGMENT) == "All rows", series="psi")["value"].count() == len(DAYS) - 8


def test_the_board_has_the_verdicts_of_a_check_and_since_when(stores):
    """Also for a rule over several windows, whose values are those of its own period."""
    quality, _ = stores
    rules = [RULES[1], RULES[2], sm.Rule("accuracy >= 0.7", over="7d", by="shop")]
    found = content(quality, rules=rules)
    for one, rule in zip(found.ruled, rules, strict=True):
        checked = sm.check(quality, rule).frame
        wanted = {
            (where.split(", threshold")[0] or "All rows"): row
            for where, *row in checked.select("where", "verdict", "value").iter_rows()
        }
        newest = one.newest.select("segment", "verdict", "value").iter_rows()
        assert {segment: [verdict, pytest.approx(value)] for segment, verdict, value in newest} == wanted
    worst = found.ruled[2].newest.row(0, named=True)
    assert (worst["segment"], worst["verdict"]) == ("shop app", "breached")
    [first] = [first for segment, first, last, rule in runs(found) if rule == found.ruled[2].title and last == 21]
    assert worst["since"] == str(DAYS[first])


@pytest.mark.usefixtures("undrawn")
def test_the_page_opens_at_the_worst_breach(stores, tmp_path):
    quality, _ = stores
    rules = [RULES[1], sm.Rule("accuracy >= 0.7", over="7d", by="shop", name="accurate")]
    quality.save_html(tmp_path / "a.html", rules=rules)
    text = (tmp_path / "a.html").read_text()
    assert re.findall(r'<h2 id="\w+">(.*?)</h2>', text)[:4] == ["What stands out", "Rules now", "accurate", "ranking"]
    assert re.findall(r'<tr><th scope="row">(.*?)</th>', text)[0] == "shop app"
    assert re.search(r'class="error">breached 0\.\d+<small>since 2026-01-\d\d</small>', text)
    assert re.search("<strong>bad</strong> Breached: accurate: accuracy &gt;= 0.7, over 7d: shop app [(]0.", text)
    assert re.findall("<h3>(.*?)</h3>", text)[0] == "shop app"


@pytest.mark.thorough
def test_rules_with_an_alarm_have_values_limits_and_breaches(stores, tmp_path):
    found = content(stores[0], rules=RULES[:1])
    [rule] = found.ruled
    daily = stores[0].query(by="shop", every="1d").finalize(["accuracy"]).frame
    last = daily.filter(pl.col("day") == pl.col("day").max(), shop="app")
    assert rule.newest.filter(segment="shop app")["value"].item() == last["value"].item()
    segment, first, last = runs(found)[0]
    marked = rule.rows.filter(pl.col(SEGMENT) == segment, pl.col(VERDICT) == "breached")["day"].to_list()
    assert set(DAYS[first : last + 1]) <= set(marked)
    stores[0].save_html(tmp_path / "a.html", rules=RULES[:1])
    made = (tmp_path / "a.html").read_text()
    assert re.search(r">breached 0\.\d+<small>since 2026", made)
    assert ">Accuracy</text>" in made
    assert ">accuracy</text>" not in made


@pytest.mark.usefixtures("undrawn")
def test_of_many_segments_those_that_need_attention_are_shown(tmp_path):
    shops = {f"shop {i:02d}": 0.5 + i / 100 for i in range(30)}
    frame = pl.DataFrame({"day": DAYS[:4]}).join(pl.DataFrame({"shop": list(shops)}), how="cross")
    frame = frame.join(pl.DataFrame({"y": [0, 1] * 50, "n": range(100)}), how="cross")
    right = pl.col("n") < 100 * pl.col("shop").replace_strict(shops)
    store, acc = sm.MetricStore(tmp_path / "history"), sm.binary(y_true="y", y_pred="z", by=["day", "shop"])
    store.append(acc.update(frame.with_columns(z=pl.when(right).then("y").otherwise(1 - pl.col("y")))), batch_id="all")
    store.save_html(tmp_path / "a.html", metrics=["accuracy"])
    text = (tmp_path / "a.html").read_text()
    section = text.partition("Accuracy</h2>")[2].partition("</section>")[0]
    assert re.findall("<h3>(.*?)</h3>", section) == ["All rows", *(f"shop shop {i:02d}" for i in range(5))]
    assert "5 of 30 segments" in section
    assert len(text) < 100_000


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_window(browser, page, width, scheme):
    with opening(browser, page, ready="figure svg") as open_page:
        window = open_page(width, color_scheme=scheme)
        assert window.evaluate("document.documentElement.scrollWidth") == width
        assert window.locator("#breaches").count() == 1


def test_rules_of_labels_have_verdicts_although_scores_are_newer(stores):
    found = content(stores[0], rules=RULES[1:2], scores=stores[1])
    assert found.windows[-1] == DAYS[-1] != LABELLED[-1]
    assert found.ruled[0].newest["segment"].to_list() == ["All rows"]


@pytest.mark.usefixtures("undrawn")
def test_a_single_window_without_segments_has_no_drift(tmp_path):
    store = sm.MetricStore(tmp_path / "history")
    store.append(sm.binary(y_true="y", y_score="p", by="day").update(rows(DAYS[0])), batch_id="first")
    store.save_html(tmp_path / "a.html", confidence=0.57)
    assert "(57%)" in (tmp_path / "a.html").read_text()  # 100 * 0.57 is not 57
    found = content(store)
    assert (segments(found), titles(found)[-1]) == (["All rows"], "Rows")
    assert found.measures[-1].rows.filter(series="dropped").is_empty()
    assert series(found, "Rows") == {DAYS[0]: 400}


@pytest.mark.thorough
def test_a_window_at_the_end_of_the_calendar_can_be_left_out(tmp_path):
    store, days = sm.MetricStore(tmp_path / "history"), [*DAYS, date.max]
    batch = pl.concat([rows(DAYS[0]).with_columns(pl.lit(day).alias("day")) for day in days])
    store.append(sm.binary(y_true="y", y_score="p", by=["day", "shop"]).update(batch), batch_id="all")
    rule = sm.Rule("accuracy >= 0.99")
    with pytest.raises(sm.SpecificationError, match=r"9999-12-31.* until="):
        store.save_html(tmp_path / "history.html", rules=rule)
    assert runs(content(store, rules=rule, until="9999-12-31")) == [("All rows", 0, len(DAYS) - 1)]
