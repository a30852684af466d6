"""The page of a history: numbers of the history, breaches as checks find them; and in a real browser."""

import re
from datetime import datetime, timedelta

import polars as pl
import pytest
from commands import run
from data import CLICKS, FIRST_DAY, clicks
from present.structure import Page
from stores import history

import streammetrics as sm
from streammetrics.show.charts import values

DAYS = [FIRST_DAY + timedelta(days=n) for n in range(10)]
LABELED = DAYS[:8]
TASK = sm.binary(by=["day", "country"], capacity=64, **CLICKS)
RULES = [
    sm.Rule("log_loss <= 0.1", against="3d", by="country", min_rows=20, name="loss"),
    sm.Rule("accuracy >= 0.7", over="2d", by="country", name="accurate"),
    sm.Rule("roc_auc >= 0.6", over="3d", name="ranking"),
    sm.Rule("accuracy >= 0.7", by="country", alarm="1 per month", name="alarm"),
    sm.Rule("psi(of='y_score') <= 0.3", against="3d", by="country", name="drift"),
    sm.Rule("accuracy >= 0.75", over="3d", by="country", alarm="1 per month", name="slow alarm"),
]


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """Labels of the first eight days, of which those of FR are wrong from the sixth on; and scores of all ten."""
    wrong = (pl.col("country") == "FR") & (pl.col("day") >= DAYS[5])
    labeled = clicks().filter(pl.col("day") <= LABELED[-1]).with_columns(clicked=pl.col("clicked") ^ wrong)
    scores = sm.predictions(y_score="score", by=["day", "country"])
    folder = tmp_path_factory.mktemp("histories")
    return history(folder / "quality", TASK, labeled), history(folder / "scores", scores, clicks())


@pytest.fixture
def shown(undrawn, monkeypatch, tmp_path):
    """The page of a history, with the points of each series of its charts by their title."""

    def page(store, **options):
        charts = {}

        def noted(chart, identity, width):
            for row in values(chart, "line"):
                time = datetime(1970, 1, 1) + timedelta(milliseconds=row["x"])
                series = charts.setdefault(chart["title"]["text"], {}).setdefault(row["series"], {})
                series[time if time.hour else time.date()] = row["y"]
            return "<svg></svg>"

        monkeypatch.setattr("streammetrics.show.pages.pictures.as_svg", noted)
        store.save_html(tmp_path / "page.html", **options)
        found = Page((tmp_path / "page.html").read_text())
        found.charts = charts
        return found

    return page


def headings(page, level="##"):
    return [line.removeprefix(f"{level} ") for line in page.lines if line.startswith(f"{level} ")]


def folded(page):
    """The segments that have a folded chart, by measure."""
    section = "\n".join(page.lines).partition("\n## All charts\n")[2].partition("\n## ")[0]
    measures = re.findall(r"^details: (.*?)(?:: \d+ charts)?\n((?:(?!details).*\n)*)", f"{section}\n", re.MULTILINE)
    return {measure: re.findall(r"^### (.*)", charts, re.MULTILINE) for measure, charts in measures}


def first(page):
    """The charts that are not folded."""
    section = "\n".join(page.lines).partition("\n## Over time\n")[2].partition("\n## ")[0]
    return re.findall(r"^### (.*)", section, re.MULTILINE)


def runs(page):
    """Breaches: the name of the rule, the segment, and the numbers of the first and the last window."""
    found = page.tables.get("Breaches of rules, the latest first")
    number = {str(day): n for n, day in enumerate(DAYS)}
    return [
        (rule.text.split(":")[0], segment.text, number[first.text], number[last.text[:10]])
        for segment, first, last, rule in (found.rows if found else [])
    ]


def now(page):
    """The verdicts of rules by segment."""
    return page.tables["Verdicts at the newest window"]


def checked(store, rules, day):
    """The rows of a check after a day, with the segments of a page."""
    rows = sm.check(store, rules, until=day + timedelta(days=1)).frame.rows(named=True)
    segments = [row["where"].split(", threshold")[0] if "country" in row["where"] else "all rows" for row in rows]
    return [row | {"segment": segment} for row, segment in zip(rows, segments, strict=True)]


def require_verdicts(page, rows):
    """The newest verdicts of a page are those of a check."""
    for row in rows:
        cell = now(page).row(row["segment"])[row["name"]]
        symbol, verdict = cell.text.split(" ", 1)
        assert symbol == {"breached": "✗", "holds": "✓"}.get(row["verdict"], "?")
        assert (verdict.startswith(row["verdict"]), cell.number) == (True, pytest.approx(row["value"], rel=1e-4)), row


def test_a_page_has_the_numbers_of_the_history(stores, shown):
    """Of labels that are two days behind the scores."""
    quality, scores = stores
    page = shown(quality, scores=scores, rules=RULES[2:3])
    titles = ["ROC AUC", "Log loss", "Expected calibration error", "Accuracy", "Rows", "Drift of y_score"]
    assert {*titles} < {*folded(page)}
    for title in titles:
        assert folded(page)[title] == ["all rows", "country DE", "country FR", "country IN"]
    report = quality.query(by=["day", "country"]).finalize(["roc_auc", "rows"])
    for metric, title in (("roc_auc", "ROC AUC"), ("rows", "Rows")):
        expected = report.rows(metric, country="FR").select("day", "value")
        assert next(iter(page.charts[f"{title}: country FR"].values())) == dict(expected.iter_rows())
    counts = dict(clicks().group_by("day").len().iter_rows())
    assert page.charts["Rows: all rows"]["rows with or without labels"] == counts
    reference, current = scores.query(DAYS[0], DAYS[2], by="country"), scores.query(by=["day", "country"])
    psi = sm.drift(reference, current, of="y_score").frame.filter(measure="psi", country="FR").select("day", "value")
    drift = page.charts["Drift of y_score: country FR"]
    assert drift["psi"] == pytest.approx(dict(psi.iter_rows()))
    base, sizes = (acc.finalize(["rows"]).rows("rows", country="FR") for acc in (reference, current))
    by_chance = {day: 9 * (1 / n + 1 / base["value"][0]) for day, n in sizes.select("day", "value").iter_rows()}
    assert drift["PSI by chance"] == pytest.approx(by_chance)
    assert [row[0].text for row in now(page).rows] == ["all rows"]


@pytest.mark.thorough
@pytest.mark.parametrize("rules", [RULES[:2], RULES[2:]], ids=["values", "alarms"])
def test_breaches_and_verdicts_are_those_that_a_check_after_each_window_finds(rules, stores, shown):
    """Also of rules over several windows, whose values are those of their own period."""
    quality, checks, looks = stores[0], [], (0, 2, 5, 6, 7)
    page = shown(quality, rules=rules)
    for number in looks:
        rows = checked(quality, rules, LABELED[number])
        checks += [(row["name"], row["segment"], number) for row in rows if row["verdict"] == "breached"]
    breaches = runs(page)
    marked = [(*which, n) for *which, first, last in breaches for n in range(first, last + 1) if n in looks]
    assert sorted(marked) == sorted(checks)
    assert len(marked) > 2
    require_verdicts(page, rows)
    for row in rows:
        ends = [(first, last) for *which, first, last in breaches if which == [row["name"], row["segment"]]]
        days = f"{sum(last - first + 1 for first, last in ends)} of 8 days"
        below = now(page).row(row["segment"])[row["name"]].below
        assert below == (days if row["verdict"] == "breached" else f"breached on {days}" if ends else "")


@pytest.mark.parametrize("day", [LABELED[0], LABELED[4], LABELED[7]])
def test_the_page_and_a_check_give_one_verdict_without_a_breach(day, stores, shown):
    """Before a period is complete, too, and where an alarm waits for evidence."""
    rules = [
        sm.Rule("accuracy >= 0.8", over="3d", by="country", alarm="1 per month", name="alarm"),
        sm.Rule("accuracy >= 0.8", alarm="1 per month", min_rows=500, name="few"),
        sm.Rule("rows >= 100", over="5d", by="country", name="enough"),
        sm.Rule("rows >= 10000", over="5d", name="many"),
    ]
    page = shown(stores[0], metrics=["rows"], rules=rules, until=day + timedelta(days=1))
    rows = checked(stores[0], rules, day)
    assert len(rows) == 8
    require_verdicts(page, rows)


def test_the_page_opens_at_the_worst_breach(stores, shown):
    page = shown(stores[0], rules=RULES[2:0:-1])
    assert headings(page)[:3] == ["Rules at 2026-01-08", "What stands out", "Over time"]
    assert now(page).columns == ["segment", "accurate>", "ranking>"]
    assert (now(page).rows[0][0].text, folded(page)["accurate"][0]) == ("country FR", "country FR")
    assert first(page)[0] == "accurate: country FR"
    assert page.lines[0] == "# History"
    assert "finding: SM801 bad" in page.lines


def test_breached_rules_another_metric_rows_and_drift_are_shown_first(stores, shown):
    """And then all others, which are folded."""
    rules = [sm.Rule("rows >= 1"), sm.Rule("recall >= 0.99"), sm.Rule("dropped <= 5"), *RULES[1:2]]
    page = shown(stores[0], metrics=["recall", "accuracy", "log_loss"], rules=rules)
    of_rules = ["recall ≥ 0.99: all rows", "accurate: country FR"]
    assert first(page) == [*of_rules, "Log loss: all rows", "Rows: all rows", "Drift of y_score: all rows"]
    others = ["rows ≥ 1", "dropped ≤ 5", "Recall", "Accuracy", "Dropped"]
    assert [*folded(page)] == [*(title.partition(":")[0] for title in first(page)), *others]


def test_at_most_three_of_the_first_charts_are_of_rules(stores, shown):
    rules = [sm.Rule(f"accuracy >= 0.9{i}", name=f"strict {i}") for i in range(1, 6)]
    titles = first(shown(stores[0], metrics=["roc_auc"], rules=rules))
    assert titles == [*(f"strict {i}: all rows" for i in (1, 2, 3)), "ROC AUC: all rows", "Rows: all rows"]


@pytest.mark.parametrize(("step", "unit"), [("1h", "hours"), ("1d", "days"), ("1w", "weeks"), ("1mo", "months")])
def test_windows_are_called_by_their_usual_distance(step, unit, shown, tmp_path):
    times = pl.datetime_range(datetime(2026, 1, 1), datetime(2027, 1, 1), step, eager=True)[:4]
    store = history(tmp_path, sm.predictions(y_score="p", by="t"), {"t": times, "p": [0.5, 0.9, 0.5, 0.9]})
    page = shown(store, rules=sm.Rule("max <= 0.7", over=step.replace("1mo", "28d"), name="high"))
    assert now(page).row("all rows")["high"].below == f"2 of 4 {unit}"
    assert "High is breached in all rows" in page.words


@pytest.mark.parametrize(("over", "first"), [("5d", 4), ("2d", 1), ("1d", 0)])
def test_a_count_is_not_breached_before_its_period_is_complete(over, first, shown, tmp_path):
    task = sm.predictions(y_score="p", by="day")
    store = history(tmp_path, task, {"day": DAYS[:8] * 2, "p": [0.5] * 16})
    rules = [sm.Rule(f"rows >= {n}", over=over, name=f"{n}") for n in (2 * (first + 1), 100)]
    assert runs(shown(store, rules=rules)) == [("100", "all rows", first, 7)]
    later = sm.Rule("median >= 0.9", over=over), sm.Rule("rows <= 1", over=over)  # more rows change nothing
    early, *others = sm.check(store, [rules[1], *later], until=DAYS[3]).frame["verdict"]
    assert (early, others) == ("open" if over == "5d" else "breached", ["breached"] * 2)


@pytest.mark.usefixtures("undrawn")
def test_commands_write_the_page(stores, folder):
    (folder / "rules.toml").write_text('[[rule]]\nrequire = "accuracy >= 0.9"\nby = "country"\n')
    times = "--since 2026-01-02 --until 2026-01-08 --reference 3d --title Weeks --metric recall -o page.html".split()
    run("store", "page", stores[0].uri, "rules.toml", "--scores", stores[1].uri, *times)
    text = (folder / "page.html").read_text()
    assert "<strong>6</strong> (day): 2026-01-02 to 2026-01-07" in text
    assert headings(Page(text)) == [
        *("Rules at 2026-01-07", "What stands out", "Over time", "Breaches", "All charts", "How to read the charts")
    ]
    assert [*folded(Page(text))] == ["accuracy ≥ 0.9", "Recall", "Rows", "Drift of y_score", "Accuracy"]
    assert "<title>Weeks</title>" in text
    created = r"Page created</dt><dd>\d{4}-\d\d-\d\d \d\d:\d\d UTC by streammetrics "
    assert re.search(created + re.escape(sm.__version__), text)


@pytest.mark.thorough
def test_hours_models_and_thresholds(shown, tmp_path):
    hours = [datetime(2026, 1, 1, n) for n in range(6)]
    task = sm.binary(y_true="y", y_score={"old": "a", "new": "b"}, by="t", thresholds=[0.3, 0.7])
    batch = {"t": hours * 20, "y": [0, 1] * 60, "a": [0.1, 0.8, 0.4] * 40, "b": [0.6] * 120}
    page = shown(history(tmp_path, task, batch), metrics=["recall"], rules=sm.Rule("recall >= 0.9"), confidence=None)
    assert folded(page)["recall @ 0.3"] == folded(page)["recall @ 0.7"] == ["model new", "model old"]
    assert [*next(iter(page.charts["recall @ 0.3: model old"].values()))] == hours[1::2]  # which have positives
    assert {row[0].text for row in now(page).rows} == {"model new", "model old"}


def test_missing_values_and_the_text_null_are_two_segments(shown, tmp_path):
    batch = {"day": [DAYS[0]] * 3, "shop": [None, "null", "null"], "y": [0, 1, 1], "p": [0.1, 0.9, 0.9]}
    store = history(tmp_path, sm.binary(y_true="y", y_score="p", by=["day", "shop"]), batch)
    page = shown(store, rules=[sm.Rule("rows >= 2", by="shop", name="two")])
    for segment, rows in (("shop null", 1), ("shop 'null'", 2)):
        assert page.charts[f"Rows: {segment}"]["Rows"] == {DAYS[0]: rows}
    assert runs(page) == [("two", "shop null", 0, 0)]


@pytest.mark.thorough
def test_a_rule_of_one_model_has_its_segments_and_windows_only(shown, tmp_path):
    """The new one came on the second day."""
    frame = pl.DataFrame({"y": [0, 1] * 30, "a": [0.1, 0.8, 0.4] * 20, "b": [0.6] * 60, "day": DAYS[:6] * 10})
    tasks = [sm.binary(y_true="y", y_score=scores, by="day") for scores in ({"old": "a"}, {"old": "a", "new": "b"})]
    store = sm.MetricStore(tmp_path / "history")
    for number, task in enumerate(tasks):
        rows = frame.filter((pl.col("day") > DAYS[0]) == bool(number))
        store.append(task.update(rows), batch_id=f"{number}")
    rules = [sm.Rule("rows >= 99", model=model, name=f"of {model}") for model in ("new", "old")]
    page = shown(store, rules=rules, confidence=None)
    assert sorted(runs(page)) == [("of new", "model new", 1, 5), ("of old", "model old", 0, 5)]
    assert {row[0].text: [bool(cell.text) for cell in row[1:]] for row in now(page).rows} == {
        "model new": [True, False],
        "model old": [False, True],
    }
    assert runs(shown(store, rules=rules[:1], until=DAYS[1], confidence=None)) == []


def test_segments_that_ended_before_the_page_begins(shown, tmp_path):
    """They are not shown, unless a rule over several windows still sees them."""
    gone = (pl.col("country") == "IN") & (pl.col("day") > DAYS[3])
    store = history(tmp_path, TASK, clicks().filter(~gone))
    rule = sm.Rule("accuracy >= 0.99", over="3d", by="country", name="strict")
    page = shown(store, since=DAYS[5], reference=(DAYS[0], DAYS[2]), rules=rule)
    assert folded(page)["Rows"] == ["all rows", "country DE", "country FR"]
    assert sorted(runs(page)) == [
        ("strict", "country DE", 5, 9),
        ("strict", "country FR", 5, 9),
        ("strict", "country IN", 5, 5),
    ]


def test_rows_without_labels_are_shown_if_the_history_dropped_them(shown, tmp_path):
    some = clicks()[:40].with_columns(
        day=pl.lit(DAYS[0]), clicked=pl.when(pl.int_range(pl.len()) % 4 > 0).then("clicked")
    )
    store = history(tmp_path, sm.binary(by="day", nulls="drop", **CLICKS), some)
    assert shown(store).charts["Rows: all rows"] == {"Rows": {DAYS[0]: 30}, "dropped": {DAYS[0]: 10}}


@pytest.mark.thorough
def test_rules_before_labels_look_at_the_scores(stores, shown):
    quality, scores = stores
    rule = sm.Rule("accuracy <= 0.01", before_labels=True, name="early")
    page = shown(quality, metrics=["rows"], rules=rule, scores=scores, since=DAYS[-4])
    assert [(row[2], row[3]) for row in runs(page)] == [(6, 9)]
    assert sm.check(quality, rule, scores=scores).frame["verdict"].to_list() == ["breached"]


def test_the_reference_is_of_windows_with_scores(stores, shown, tmp_path):
    quality, scores = stores
    later = sm.MetricStore(tmp_path / "later")
    later.append(scores.query(since=DAYS[4], by=["day", "country"]), batch_id="later")
    drift = shown(quality, metrics=["rows"], scores=later).charts["Drift of y_score: all rows"]
    assert [*drift["psi"]] == DAYS[4:]
    moved = sm.drift(scores.query(DAYS[4], DAYS[5]), scores.query(DAYS[4], by="day"), of="y_score").frame
    assert drift["psi"] == pytest.approx(dict(moved.filter(measure="psi").select("day", "value").iter_rows()))


def test_of_many_segments_those_that_need_attention_are_shown(shown, tmp_path):
    shops = pl.DataFrame({"shop": [f"{i:02d}" for i in range(30)], "right": range(50, 80)})
    frame = shops.join(pl.DataFrame({"day": DAYS[:2]}), how="cross").join(pl.DataFrame({"n": range(100)}), how="cross")
    frame = frame.with_columns(y=pl.col("n") % 2, z=(pl.col("n") + (pl.col("n") >= pl.col("right"))) % 2)
    store = history(tmp_path, sm.binary(y_true="y", y_pred="z", by=["day", "shop"]), frame)
    page = shown(store, metrics=["accuracy"])
    assert folded(page)["Accuracy"] == ["all rows", *(f"shop {i:02d}" for i in range(5))]
    assert (tmp_path / "page.html").stat().st_size < 100_000


def test_a_single_window_without_segments_has_no_drift(shown, tmp_path):
    store = history(tmp_path, sm.binary(by="day", **CLICKS), clicks().filter(day=DAYS[0]))
    page = shown(store, confidence=0.57)
    assert "(57%)" in "".join(page.words)  # 100 * 0.57 is not 57
    assert folded(page)["Rows"] == ["all rows"]
    assert "Drift of y_score" not in folded(page)
    assert page.charts["Rows: all rows"] == {"Rows": {DAYS[0]: clicks().filter(day=DAYS[0]).height}}
