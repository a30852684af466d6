"""Names and values as readers see them: nothing in them acts, none is invisible, and long ones are cut."""

import re
import sys
from datetime import date, datetime, timedelta

import polars as pl
import pytest
from commands import run
from data import CANDIDATES, CLICKS, candidates, clicks

import streammetrics as sm

ACTING = "a\x1b]0;title\x07\x1b[2J\r\b\x7f\x9b\x85\u2028\u202e\u2066\u200f\x00b\nc\td"
SHOWN = r"a\x1b]0;title\x07\x1b[2J\r\x08\x7f\x9b\x85\u2028\u202e\u2066\u200f\x00b\nc\td"
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]")
LONG = "x" * (1 << 13)
OTHER = LONG[: 1 << 12] + "y" + LONG[(1 << 12) + 1 :]  # which differs in the middle only
WRONG = ACTING.replace("\0", "") + LONG
LONGEST = 1_000  # characters of a sentence
MIDNIGHTS = pl.Series([datetime(2026, 4, 1) + timedelta(days=n % 3) for n in range(90)])


def page(report, folder):
    report.save_html(folder / "page.html")
    return (folder / "page.html").read_text(encoding="utf-8")


def command(acc, folder, name, *options, code=0):
    acc.save(folder / "a.state")
    return run(name, folder / "a.state", *options, code=code)


def rules(acc, folder, **options):
    store = sm.MetricStore(folder / str(len([*folder.iterdir()])))
    store.append(acc, batch_id="all")
    return str(sm.check(store, sm.Rule("accuracy >= 0.99", **options)))


TEXTS = {
    "report": lambda acc, _: str(acc.finalize()),
    "accumulator": lambda acc, _: repr(acc),
    "comparison": lambda acc, _: str(sm.compare(acc, models=("old", "new"))),
    "drift": lambda acc, _: str(sm.drift(acc, acc)),
    "verdicts": lambda acc, _: str(acc.finalize().check("accuracy >= 0.99")),
    "check": lambda acc, folder: command(acc, folder, "check", "--require", "accuracy>=0.99", code=1),
    "annotations": lambda acc, folder: command(
        acc, folder, "check", "--require", "accuracy>=0.99", "--format", "github", code=1
    ),
    "markdown": lambda acc, folder: command(acc, folder, "show", "--format", "markdown"),
    "notebook": lambda acc, _: acc.finalize()._repr_html_(),
    "page": lambda acc, folder: page(acc.finalize(), folder),
}
NAMED = [name for name in TEXTS if name != "accumulator"]


def by(values, **options):
    """Two models whose groups have these values in turns."""
    rows = candidates()[:90].with_columns(g=pl.Series([*values] * (90 // len(values))))
    return sm.binary(by="g", metrics=["accuracy"], **CANDIDATES | options).update(rows)


@pytest.mark.thorough
def test_names_do_not_act_and_are_visible(tmp_path):
    acc = by([ACTING, "", "north"])
    for name, shown in TEXTS.items():
        text = shown(acc, tmp_path).replace("&#x27;", "'")
        text = text.replace("\\\\", "\\").replace("\\]", "]").replace("\\[", "[") if name == "markdown" else text
        assert {*UNSAFE.findall(text)} <= {"\n"}, name
        if name in NAMED:
            assert SHOWN in text, name
            assert "''" in text, name
    labels = sm.multiclass(y_true="y", y_pred="z").update({"y": [ACTING, "b"], "z": ["b", "b"]}).finalize()
    assert SHOWN in str(labels)
    column = sm.binary(y_true="clicked", y_score="new", by=ACTING.replace("\0", ""))
    rows = candidates()[:90].rename({"country": ACTING.replace("\0", "")})
    assert str(column.update(rows).finalize()).startswith(SHOWN.replace(r"\x00", ""))


def test_a_pipe_gets_the_data_and_a_terminal_does_not(tmp_path, monkeypatch):
    acc = by([ACTING, "x"])
    assert "\x1b" in command(acc, tmp_path, "show", "--format", "csv")
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda self: True, raising=False)
    assert "\x1b[2J" not in command(acc, tmp_path, "show", "--format", "csv")


@pytest.mark.thorough
@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_datetimes_at_midnight_are_dates(zone, tmp_path):
    acc = by(MIDNIGHTS.dt.replace_time_zone(zone).to_list()[:3])
    for name in NAMED[:-1]:  # the page has the same tables
        text = TEXTS[name](acc, tmp_path)
        assert "2026-04-03" in text, name
        assert "00:00:00" not in text, name
    report = acc.finalize()
    for day in ("2026-04-02", date(2026, 4, 2)):
        value = report.frame.filter(pl.col("g").dt.day() == 2, model="old")["value"].item()
        assert report.get("accuracy", g=day, model="old").value == value


def test_other_datetimes_keep_their_times(tmp_path):
    acc = by([datetime(2026, 4, 1), datetime(2026, 4, 2, 6)])
    for name in ("report", "verdicts"):
        assert "2026-04-01 00:00:00" in TEXTS[name](acc, tmp_path)
        assert "2026-04-02 06:00:00" in TEXTS[name](acc, tmp_path)
    rows = clicks().with_columns(hour=pl.datetime(2026, 4, 1, pl.int_range(pl.len()) % 12))
    wrong = pl.when(pl.col("hour").dt.hour() == 0).then(1 - pl.col("score")).otherwise("score")
    slices = sm.binary(by="hour", **CLICKS).update(rows.with_columns(score=wrong)).finalize().slices("log_loss")
    assert slices["slice"].to_list() == ["hour = 2026-04-01 00:00:00"]


def test_formats_of_programs_do_not_depend_on_other_values(tmp_path):
    acc = by(MIDNIGHTS.to_list()[:3])
    assert "2026-04-01T00:00:00.000000,old," in command(acc, tmp_path, "show", "--format", "csv")
    assert '"g":"2026-04-01 00:00:00"' in command(acc, tmp_path, "show", "--format", "json")
    assert '"g=2026-04-01 00:00:00"' in command(acc, tmp_path, "show", "--format", "metrics")


def test_rules_have_days_and_empty_segments(tmp_path):
    pytest.importorskip("deltalake")
    rows = clicks()[:500].with_columns(
        country=pl.col("country").replace({"IN": ""}), day=pl.col("day").cast(pl.Datetime)
    )
    acc = sm.binary(by=["day", "country"], **CLICKS).update(rows)
    for options in ({}, {"by": "country", "over": "10d"}, {"alarm": "1 per week"}):
        text = rules(acc, tmp_path, **options)
        assert "2026-01-10" in text
        assert "00:00:00" not in text
        assert ("''" in text) == ("by" in options)


def test_what_is_printed_fits_the_terminal_and_a_pipe_has_no_width(monkeypatch):
    report = sm.binary(**CANDIDATES).update(candidates()).finalize(confidence=0.95)
    printed = (report, report.compare("old", "new"))
    assert min(max(map(len, str(shown).splitlines())) for shown in printed) > 60
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    assert max(max(map(len, str(shown).splitlines())) for shown in printed) <= 60


@pytest.mark.thorough
def test_long_texts_are_cut_and_data_stays_whole(tmp_path):
    acc = by([LONG, OTHER])
    for name, shown in TEXTS.items():
        text = shown(acc, tmp_path)
        assert len(text) < 400_000, name
        assert not re.search(f"[xy]{{{LONGEST + 1}}}", text), name
    report = acc.finalize()
    assert {*report.frame["g"]} == {LONG, OTHER}
    assert {*report.check("accuracy >= 0.9").frame["where"]} == {
        f"g {name}, model {model}, threshold 0.5" for name in (LONG, OTHER) for model in ("old", "new")
    }
    apart = str(by([LONG[:300], OTHER[4_000:4_300]]).finalize()).splitlines()[2:6]  # names that differ in the middle
    assert len({line.partition("  ")[0] for line in apart}) == 2


@pytest.mark.thorough
@pytest.mark.usefixtures("undrawn")
def test_long_names_of_columns_and_models_are_cut(tmp_path):
    columns = sm.binary(y_true="clicked", y_score={LONG: "old", OTHER: "new"}, by=LONG)
    made = columns.update(candidates()[:90].rename({"country": LONG})).finalize(["accuracy"])
    for text in (str(made), page(made, tmp_path), str(made.check("accuracy >= 1"))):
        assert not re.search(f"[xy]{{{LONGEST + 1}}}", text)


ERRORS = {
    "value": lambda report: report.get("accuracy", g="a"),
    "wrong value": lambda report: report.get("accuracy", g=WRONG),
    "metric": lambda report: report.get(WRONG),
    "requirement": lambda report: report.check(f"{WRONG} > 1"),
    "rule": lambda _: sm.Rule(WRONG),
    "column": lambda _: sm.binary(y_true=WRONG, y_score="p").update(clicks()[:9]),
    "available columns": lambda _: sm.binary(y_true="none", y_score="p").update({WRONG: [1]}),
    "bad value": lambda _: sm.binary(y_true="y", y_score="p", positive="a", negative="b").update(
        {"y": [WRONG], "p": [0.5]}
    ),
    "label": lambda _: sm.multiclass(y_true="y", y_pred="z", labels=[WRONG, "a"]).update({"y": [OTHER], "z": ["a"]}),
    "model": lambda report: report.compare(WRONG, "b"),
    "option": lambda _: sm.binary(y_true="y", y_score="p", domain=WRONG),
    "group column": lambda report: report.rollup(WRONG),
    "merge": lambda _: sm.binary(y_true="y", y_score="p") + sm.binary(y_true=WRONG, y_score="p"),
    "state": lambda _: sm.Accumulator.load(WRONG),
    "file": lambda _: sm.evaluate(WRONG, sm.binary(y_true="y", y_score="p")),
}


def test_long_and_acting_texts_in_errors_are_cut_and_do_not_act():
    report = by([LONG, OTHER]).finalize()
    for name, wrong in ERRORS.items():
        with pytest.raises(sm.StreamMetricsError) as error:
            wrong(report)
        assert max(map(len, str(error.value).split("\n"))) <= LONGEST, name
        assert not UNSAFE.search(str(error.value)), name
