"""What people see: no character of a name acts on a terminal or a page, and any date can be shown."""

import sys
from datetime import date

import polars as pl
import pytest
from click.testing import CliRunner

import streammetrics as sm
from streammetrics.charts import over_time
from streammetrics.cli import main
from streammetrics.cli.output import write
from streammetrics.html import page
from streammetrics.html.cards import cards
from streammetrics.present.estimates import report_tables
from streammetrics.present.terminal import as_text
from streammetrics.text import UNSAFE, cell, escaped
from streammetrics.text.markup import markup
from streammetrics.text.values import written

ACTING = "a\x1b]0;title\x07\x1b[2J\r\b\x7f\x9b\x85\u2028\u202e\u2066\u200f\x00b\nc\td"
SHOWN = r"a\x1b]0;title\x07\x1b[2J\r\x08\x7f\x9b\x85\u2028\u202e\u2066\u200f\x00b\nc\td"
FOREIGN = [4_000_000, -4_000_000, 2**31 - 1, 0, None]  # days since 1970: the years 12921, -8982, none, 1970, none
NAME = ACTING.replace("\0", "")  # no column can have a null in its name


def render(frame, by, width=None):
    return as_text(*report_tables(frame, by, width), width=width)


def clean(text):
    return set(UNSAFE.findall(text)) <= {"\n"}


def test_every_acting_character_is_escaped_as_python_escapes_it():
    assert escaped(ACTING) == SHOWN == escaped(SHOWN)
    for point in range(0x3000):
        c = chr(point)
        if c.isprintable():
            assert escaped(c) == c
        elif escaped(c) != c:
            assert escaped(c) == repr(c)[1:-1]
    assert escaped("naïve 日本 \u200d👩‍🚀 ة") == "naïve 日本 \u200d👩‍🚀 ة"


@pytest.fixture
def acting():
    batch = {"y": [1, 0, 1, 0], "p": [0.9, 0.1, 0.4, 0.6], NAME: [ACTING, ACTING, "x", "x"]}
    return sm.binary(y_true="y", y_score="p", by=NAME).update(batch)


def texts(acc):
    """All that is shown of an accumulator with groups."""
    report = acc.finalize(confidence=0.9)
    yield from (str(report), str(report.rollup()), repr(acc), str(sm.compare(acc, acc)), str(report.check("rows < 0")))
    yield from (page(report), report._repr_html_(), acc._repr_html_())
    if "score_histogram" in report.state.tables:
        yield str(sm.drift(acc, acc))


@pytest.mark.thorough
def test_group_names_and_values(acting):
    for text in texts(acting):
        assert clean(text), text
    assert str(acting.finalize()).startswith(escaped(NAME))
    assert SHOWN in str(acting.finalize().check("log_loss <= 0"))


def test_labels():
    acc = sm.multiclass(y_true="y", y_pred="z").update({"y": [ACTING, "b"], "z": ["b", "b"]})
    assert SHOWN in str(acc.finalize(["recall"]))
    assert all(map(clean, texts(acc)))


def texts_of_errors(acting):
    report = acting.finalize()
    for wrong in (
        lambda: report["roc_auc"],
        lambda: report.get("roc_auc", other=ACTING),
        lambda: report.rollup("other"),
        lambda: report[ACTING],
        lambda: report.curve(ACTING),
        lambda: acting.empty().update({ACTING: [1]}),
        lambda: acting.empty().update({"y": [1, 2], "p": [0.5, 0.5], ACTING: ["a", "b"]}),
        lambda: sm.binary(y_true="y", y_score=ACTING).update({"y": [1], ACTING: ["text"]}),
        lambda: sm.evaluate(f"no/such/{ACTING}".replace("\x00", ""), acting.empty()),
    ):
        with pytest.raises(sm.StreamMetricsError) as caught:
            wrong()
        yield str(caught.value)


def test_errors(acting):
    for text in texts_of_errors(acting):
        assert clean(text), text


def test_the_command_line(tmp_path):
    name = f"{tmp_path}/p.parquet"
    pl.DataFrame({"y": [1, 0], "p": [0.9, 0.1], "g": [ACTING, "x"]}).write_parquet(name)
    command = ["evaluate", name, "--y-true", "y", "--y-score", "p", "--by", "g"]
    assert clean(CliRunner().invoke(main, command).output)
    assert "\x1b" in CliRunner().invoke(main, [*command, "--format", "csv"]).output  # a pipe gets the data
    found = CliRunner().invoke(main, ["evaluate", "no\x1b[2J", *command[2:]])
    assert found.exit_code == 2
    assert clean(found.output)


def test_csv_on_a_terminal(monkeypatch, capsys):
    frame = pl.DataFrame({"g": [ACTING]})
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for form in ("csv", "json"):
        write(frame, "", form, None)
        assert clean(capsys.readouterr().out)


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", [pl.Date, pl.Datetime("us"), pl.Datetime("us", "Europe/Berlin")])
def test_dates_of_any_year_are_shown(dtype):
    days = pl.Series(FOREIGN, dtype=pl.Int64)
    if dtype == pl.Date:
        times = days.cast(pl.Int32).cast(dtype)
    else:
        times = pl.Series([day and min(day, 10**8) * 86_400_000_000 for day in FOREIGN], dtype=pl.Int64).cast(dtype)
    shown = written(times).to_list()
    assert shown[0].startswith("+12921-08-18")
    assert shown[3].startswith("1970-01-01")
    assert shown[4] is None
    near = pl.Series([0, 1, 2, 3, None]).cast(dtype)
    batch = pl.DataFrame({"y": [1, 0, 1, 0, 1], "p": [0.9, 0.1, 0.4, 0.6, 0.2], "day": near})
    acc = sm.binary(y_true="y", y_score="p", by="day", metrics=["rows", "accuracy", "roc_auc"]).update(batch)
    saved = acc.to_arrow()  # as of a version that took such dates
    acc = sm.Accumulator.from_arrow(saved.set_column(0, saved.field(0), times.to_arrow().cast(saved.field(0).type)))
    for text in texts(acc):
        assert isinstance(text, str)
    assert "+12921-08-18" in str(acc.finalize())
    assert "+12921-08-18" in page(acc.finalize())
    report = acc.finalize()
    with pytest.raises(sm.ReportError, match=r"for example with day='-8982"):
        report["roc_auc"]
    with pytest.raises(sm.ReportError, match="years 1 to 9999"):
        over_time(report, "accuracy")
    assert list(map(cell, shown)) == [*shown[:4], "null"]


@pytest.mark.thorough
def test_everything_printed_fits_the_terminal_and_a_pipe_has_no_width(monkeypatch, tmp_path):
    days = [date(2026, 1, 1), date(2026, 1, 2)] * 50
    rows = {"y": [0, 1, 1, 1] * 25, "a": [0.1, 0.6, 0.4, 0.8] * 25, "b": [0.3, 0.5, 0.7, 0.2] * 25, "day": days}
    acc = sm.binary(y_true="y", y_score={"a": "a", "b": "b"}, by="day").update(rows)
    report = acc.rollup().finalize(confidence=0.95)
    store = sm.MetricStore(tmp_path / "history")
    store.append(acc, batch_id="all")
    rule = sm.Rule("log_loss <= 0.05", against="1d", name="a name of some length")
    printed = (
        report,
        report.compare("a", "b"),
        sm.check(store, rule),
        sm.drift(acc.filter(pl.col("day") == days[0]).rollup(), acc.filter(pl.col("day") == days[1]).rollup()),
    )
    wide = [max(map(len, str(shown).splitlines())) for shown in printed]
    assert all(width > 60 for width in wide[:3])
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    assert all(max(map(len, str(shown).splitlines())) <= 60 for shown in printed)


def test_markup_is_escaped_for_both():
    assert markup('<b>&"\x1b') == r"&lt;b&gt;&amp;&quot;\x1b"


def test_reports_name_the_default_level_of_a_metric():
    acc = sm.binary(y_true="y", y_score="p", by="day").update({"y": [0, 1], "p": [0.1, 0.9], "day": [1, 1]})
    for report in (acc.finalize(["recall_at_fpr", "gain"]), acc.rollup().finalize(["recall_at_fpr", "gain"])):
        assert str(report).endswith("\nDefault options: recall_at_fpr(fpr=0.01), gain(top=0.1).")
    assert "Default" not in str(acc.finalize(["recall_at_fpr(fpr=0.1)", "roc_auc"]))


def test_metrics_of_labels_alone_are_shown_once_for_several_thresholds():
    rows = {"y": [1, 0, 1, 0], "p": [0.9, 0.4, 0.6, 0.2], "g": ["a", "a", "b", "b"]}
    report = sm.binary(y_true="y", y_score="p", by="g", thresholds=[0.3, 0.5]).update(rows).finalize()
    for shown in (str(report), page(report)):
        assert "recall @ 0.3" in shown
        assert "prevalence @" not in shown
    assert len([line for line in str(report.rollup()).splitlines() if "prevalence" in line]) == 1
    assert cards(report.rollup().showing(["prevalence"])).count('<p class="value">') == 1
    assert report.rollup().get("prevalence", threshold=0.3).value == 0.5


def test_only_values_that_a_table_shows_are_explained():
    rows = {"y": [1, 0, 1, 1], "p": [0.9, 0.4, 0.6, 0.2], "g": ["a", "a", "b", "b"]}
    report = sm.binary(y_true="y", y_score="p", by="g").update(rows).finalize(["recall", "f1", "accuracy", "roc_auc"])
    assert "Undefined values (–): no negatives." in render(report.frame, ["g"], width=80)
    narrow = render(report.frame, ["g"], width=24)
    assert "… and 2 more metrics:" in narrow
    assert "Undefined" not in narrow
    groups = {"y": [1, 0] * 45 + [1], "p": [0.5] * 91, "g": [i // 2 for i in range(91)]}
    many = str(sm.binary(y_true="y", y_score="p", by="g").update(groups).finalize(["roc_auc"]))
    assert "… and 6 more groups" in many
    assert "Undefined" not in many


def test_tables_without_notes_say_why_values_are_undefined():
    rows = {"y": [1, 0, 1, 1], "p": [0.9, 0.4, 0.6, 0.2], "g": ["a", "a", "b", "b"]}
    acc = sm.binary(y_true="y", y_score="p", by="g").update(rows)
    assert "Undefined values (–): no negatives." in str(acc.finalize(["roc_auc", "rows"]))
    assert "Undefined" not in str(acc.finalize(["recall", "rows"]))
    assert "Undefined" not in str(acc.filter(pl.col("g") == "b").rollup().finalize(["roc_auc"]))
