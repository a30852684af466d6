"""Commands that are refused: exit code 2, one line, and what it names. Sentences are those of the library's tables."""

import shlex
from datetime import date, datetime
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest
from commands import run

import streammetrics as sm

FAULTY = "evaluate rows.csv --y-true clicked --y-score score"
PARQUET = FAULTY.replace("csv", "parquet")
REFUSED = {  # by command: what it must name
    "evaluate rows.csv --y-true click --y-score score": ("'click'", "'clicked'"),
    "evaluate row.csv --y-true clicked --y-score score": ("'row.csv'", "'rows.csv'"),
    "evaluate rows.csv --y-score score": ("--y-true",),
    "evaluate rows.csv --task predictions --y-true clicked --y-score score": ("--y-true",),
    "evaluate rows.csv --task regression --y-true clicked --y-score score": ("--y-score", "--y-pred"),
    "evaluate rows.csv --task regression": ("--y-true",),
    "evaluate rows.csv --task multiclass --y-true clicked --y-score score": ("--y-score cat=p_cat", "--label"),
    "evaluate rows.csv --y-true clicked --y-true score --y-score score": ("--y-true", "got 2"),
    "evaluate rows.csv --y-true score --y-score clicked": ("--y-true", "--y-score"),
    "evaluate rows.csv --task predictions --y-pred score --nulls raise": ("--y-score",),
    "evaluate rows.csv --y-true country --y-score score --positive de": (
        "labels that differ from 'de'",
        "'DE'",
        "'FR'",
    ),
    f"{FAULTY} --task regresion": ("'regression'",),
    f"{FAULTY} --format jsn": ("'json'",),
    f"{FAULTY} --format json --safe-csv": ("--safe-csv", "--format csv"),
    f"{FAULTY} --threshold 50%": ("'50%'", "0.5"),
    f"{FAULTY} --threshold 50": ("50.0", "0.5", "--domain real"),
    f"{FAULTY} --confidence 95": ("--confidence", "95.0", "0.95"),
    f"{FAULTY} --by country,shop": ("--by country --by shop",),
    f"{FAULTY} --by land --text shpo": ("'shpo'", "'shop'"),
    f"{FAULTY} --sort roc --save new.state": ("'roc'",),
    f"{FAULTY} --by 'DATE(day)'": ("'day'", "'03/04/2026'"),
    f"{FAULTY} --where 'score > 2'": ("'score > 2'",),
    f"{FAULTY} --where 'score >'": ("SQL", "score >"),
    f"{FAULTY} --where 'score + 1'": ("--where", "'score + 1'", "Float64"),
    f"{FAULTY} --where \"score > 'a'\"": ("score > 'a'",),
    "evaluate rows.csv --y-true clicked --y-score 'score click'": ("'score click'",),
    "evaluate rows.csv --y-true clicked --y-score '1 -'": ("SQL", "'1 -'"),
    "evaluate rows.csv --y-true clicked --y-score 'comma / 100'": ("'comma'", "'10,9'"),
    "evaluate rows.csv --y-true clicked --y-score comma": ("'comma'", "row 0", "line 2", "rows.csv", "'10,9'"),
    "evaluate rows.parquet --y-true clicked --y-score score --text shop": ("--text", "rows.parquet"),
    "evaluate rows.parquet --y-true clicked --y-score score --null-value x": ("--null-value",),
    "show row.state": ("'row.state'", "'rows.state'"),
    "show rows": ("'rows.csv'", "'rows.parquet'"),
    "evaluate rows.csv --y-true clicked --y-score 'logit / 2'": ("'logit'",),
    "show history": ("'history'", "MetricStore"),
    "show rows.state --by country --total": ("--by", "--total"),
    "show rows.state --by contry": ("'country'",),
    "show rows.state --always 1000": ("--always", "--confidence"),
    "merge rows.state ./rows.state -o both.state": ("rows.state", "2 times"),
    "merge rows.state whole.state -o both.state": ("'rows.state'", "'whole.state'", "'country'", "--by"),
    "check rows.state --require 'roc_auc>=0.3' --bounds-only --confidence 0.9": ("--confidence", "--bounds-only"),
    "check two.state --require 'roc_auc>=0.3' --model best": ("'best'", "'one', 'two'"),
    "check rows.state --require 'roc_auc>=70%'": ("70%", "0.7"),
    "compare two.state --models one two --not-worse roc_auc==0.2": ("'roc_auc==0.2'",),
    "check rows.state --require 'roc_auc >= 80'": ("roc_auc >= 80", "0.8"),
    "show rows.state --metric recall,precision": ("'recall,precision'",),
    "check rows.state --require roc_auc": ("'roc_auc'",),
    "operating-point rows.state": ("--maximize", "--minimize"),
    "compare two.state --models one two --open pass": ("--open", "--not-worse", "--better"),
    "compare two.state --models one two --format junit": ("--not-worse", "--better"),
    "store append history": ("STATES",),
    "store report nowhere": ("'nowhere'",),
    "store check history rule.toml": ("'rules.toml'",),
    "store check history": ("RULES",),
    "store retain history": ("--since",),
    "store forget": ("forget",),
    "evaluate rows.csv --task multilabel --y-true a=clicked --y-score a=score --threshold 0.3 --threshold 0.5": (
        *("--threshold", "--task multilabel", "got 2"),
    ),
    "evaluate rows.csv --task multiclass --y-true shop --y-score a=score --threshold 0.3": (
        *("--task multiclass", "--threshold"),
    ),
    "check rows.state --require 'precision(threshold=0.3)>=0.1'": ("precision", "--threshold 0.3"),
    "check rows.state --require 'roc_auc>=0.1' --require 'ece<=1' --threshold 0.3": ("'roc_auc', 'ece'", "--threshold"),
    "show rows.state --metric roc_auc --threshold 0.3": ("'roc_auc'", "--threshold"),
    "show rows.state --threshold 30": ("--threshold", "30", "0.3"),
    "show rows.state --threshold 0.3 --html page.html": ("--html", "--threshold"),
    "show rows.state --threshold 0.3 --threshold 0.1": ("--threshold", "got 2"),
    "show labels.state --threshold 0.3": ("ScoreHistogram", "0.3"),
    "show several.state --threshold 0.3": ("'a', 'b'",),
    "store report quality --since 2027-01-01": ("quality", "2026-01-02"),
    "store report rows.state": ("rows.state", "folder"),
    "evaluate rows.csv": ("--y-true", "'clicked'", "'score'"),
    "evaluate rows.csv --y-true clicked": ("--y-score", "--y-pred"),
    "evaluate rows.csv --y-true comma --y-score score": ("'comma'", "multiclass", "regression", "--positive"),
    "evaluate rows.csv --y-true clicked --y-score missing": ("'missing'", "--nulls drop"),
    "evaluate rows.csv --y-true 'click = 1' --y-score score --positive a": ("'click'", "'clicked'"),
    "evaluate rows.csv --y-true clicked --y-score a=score --y-score score": ("a=score",),
    "evaluate rows.csv --y-true clicked --y-score a=score --y-score a=comma": ("'a'", "2 times"),
    "evaluate rows.csv --task multiclass --y-true shop --y-score web=score --y-score app=score": ("--renormalize",),
    f"{FAULTY} --by country --by country": ("--by", "'country'", "2 times"),
    f"{FAULTY} --by country --max-groups 1": ("1 group", "'country'", "--max-groups"),
    f"{PARQUET} --where \"date > '2026-01-01'\"": ("DATE('2026-01-31')",),
    "evaluate rows.state --y-true clicked --y-score score": ("'rows.state'", "streammetrics show", "MetricStore"),
    "show rows.csv": ("evaluate",),
    "show https://host/a.state": ("URI", "--storage-option"),
    "compare rows.state": ("--models A B",),
    "compare rows.state rows.state --models a b": ("--models A B",),
}
for condition in ('country="DE"', "score > 0 AND country <> DE", "country in ('FR', DE)"):
    REFUSED[f"{FAULTY} --where {shlex.quote(condition)}"] = ("single quotes", "'DE'")
for condition in (
    *("berlin >= TIMESTAMP '2026-01-02 00:00:00'", "NOT date < berlin", "NOW() > berlin"),
    *("CAST(berlin AS DATE) = DATE('2026-01-02')", "TIMESTAMP(berlin) >= TIMESTAMP '2026-01-02 00:00:00'"),
    *("berlin BETWEEN DATE '2026-01-01' AND DATE '2026-01-02'", "berlin IN (TIMESTAMP '2026-01-02 00:00:00')"),
    "CASE WHEN naive > berlin THEN true ELSE false END",
):
    REFUSED[f"{PARQUET} --where {shlex.quote(condition)}"] = ("'berlin'", "Europe/Berlin", "STRFTIME(berlin,")
for column, *names in (
    ("DATE_TRUNC('month', day) AS month", "'day'", "DATE_TRUNC('month', DATE(day))"),
    ("DATE_TRUNC('decade', naive)", "'decade'", "day, week, month"),
    ("DATE_TRUNC('hour', date)", "'date'", "Date"),
    ("DATE_TRUNC('month', naive) = date", "DATE_TRUNC"),
):
    REFUSED[f"{PARQUET} --by {shlex.quote(column)}"] = tuple(names)
for condition in (
    *("score > 0.5 * MAX(score)", "ROW_NUMBER() OVER () < 3", "SUM(score) OVER (PARTITION BY shop) > 1"),
    *("CASE WHEN score > AVG(score) THEN true ELSE false END", "COUNT(*) > 1", "UNNEST(ARRAY[1, 2]) > 1"),
):
    REFUSED[f"{FAULTY} --where {shlex.quote(condition)}"] = (repr(condition), "other rows")
for condition in (
    *("score IN /* a */ (/* ' */ SELECT score FROM a) OR shop = ''", "score > 0 -- '\n OR score IN (SELECT 1 FROM a)"),
    *("shop = $$'$$ OR score IN (SELECT 1 FROM a) OR shop = ''", "shop = E'\\'' OR score IN (SELECT 1) OR shop = ''"),
):
    REFUSED[f"{FAULTY} --where {shlex.quote(condition)}"] = ("E'a'",)
METRICS = {"aucpr": "'auprc'", "sensitivty": "'sensitivity'", "gmmm": "streammetrics metrics"}
ROWS = pl.DataFrame(
    {
        "clicked": [1, 0] * 10,
        "score": [0.75, 0.25, 0.5, 0.5] * 5,
        "country": ["DE", "FR", "FR", "DE"] * 5,
        "shop": ["web", "web", "app", "app"] * 5,
        "day": ["03/04/2026", "04/13/2026"] * 10,
        "comma": ["10,9", "7,1", "0,5", "0,5"] * 5,
        "missing": [0.5, None] * 10,
        "date": [date(2026, 1, 2)] * 20,
        "naive": [datetime(2026, 1, 2)] * 20,
    }
).with_columns(berlin=pl.col("naive").dt.replace_time_zone("Europe/Berlin"))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Rows, states, an empty history and one of a day, and rules."""
    place = tmp_path_factory.mktemp("refused")
    ROWS.write_csv(place / "rows.csv")
    ROWS.write_parquet(place / "rows.parquet")
    for name, scores, by in (
        ("rows", "score", "country"),
        ("whole", "score", ()),
        ("two", {"one": "score", "two": "score"}, ()),
    ):
        sm.binary(y_true="clicked", y_score=scores, by=by).update(ROWS).save(place / f"{name}.state")
    sm.binary(y_true="clicked", y_pred="clicked").update(ROWS).save(place / "labels.state")
    several = sm.multilabel(y_true=dict.fromkeys("ab", "clicked"), y_score=dict.fromkeys("ab", "score"))
    several.update(ROWS).save(place / "several.state")
    (place / "history" / "_delta_log").mkdir(parents=True)
    if find_spec("deltalake"):
        acc = sm.binary(y_true="clicked", y_score="score", by=["date", "country"])
        sm.MetricStore(place / "quality").append(acc.update(ROWS), batch_id="1")
    (place / "rules.toml").write_text('[[rule]]\nrequire = "rows >= 100"\n')
    return place


@pytest.mark.whole
@pytest.mark.parametrize("command", [*REFUSED, *(f"{FAULTY} --metric {metric}" for metric in METRICS)])
def test_a_refused_command_names_the_fault(command, place, monkeypatch):
    monkeypatch.chdir(place)
    before = sorted(Path().rglob("*"))
    *usage, message = run(*shlex.split(command), code=2).strip().splitlines()
    assert message.startswith("Error: ")
    assert not usage or usage[0].startswith("Usage: ")
    names = REFUSED.get(command) or (METRICS[command.rpartition(" ")[2]],)
    assert [name for name in names if name not in message] == [], message
    assert sorted(Path().rglob("*")) == before
