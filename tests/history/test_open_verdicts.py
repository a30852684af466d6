"""Open verdicts on a history say how many rows would decide, and how many days have so many."""

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from commands import run

import streammetrics as sm

START, ROWS = date(2026, 1, 1), 200


def day():
    """The rows of each day, so that all values stay."""
    random = np.random.default_rng(0)
    score = random.random(ROWS)
    return {
        "y": random.random(ROWS) < score,
        "p": score,
        "w": random.uniform(0.5, 1.5, ROWS),
    }


@pytest.fixture(scope="module", params=[{}, {"sample_weight": "w"}], ids=["rows", "weights"])
def store(request, tmp_path_factory):
    rows, days = pl.DataFrame(day()), 90
    acc = sm.binary(y_true="y", y_score="p", by="day", **request.param)
    every = [rows.with_columns(pl.lit(START + timedelta(i)).alias("day")) for i in range(days)]
    store = sm.MetricStore(tmp_path_factory.mktemp("history"))
    store.append(acc.update(pl.concat(every)), batch_id="all")
    return store


def verdict(store, rule, days):
    return sm.check(store, rule, until=START + timedelta(days)).frame.row(0, named=True)


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc", "log_loss", "precision"])
@pytest.mark.parametrize("always", [None, 2_000, 50_000])
@pytest.mark.parametrize("gap", [-0.03, 0.03])
def test_so_many_rows_decide_a_steady_stream(store, metric, always, gap):
    value = verdict(store, sm.Rule(f"{metric} >= 0"), 1)["value"]

    def after(days):
        options = {"always": always} if always else {"over": f"{days}d"}
        return verdict(store, sm.Rule(f"{metric} >= {value + gap * (0.6 if always is None else 1)}", **options), days)

    first = after(2)
    assert (first["verdict"], first["rows"]) == ("open", 2 * ROWS)
    days, tolerance = first["days_needed"], 0.2
    assert days == np.ceil(first["rows_needed"] / ROWS)
    assert after(int(days * (1 - tolerance)))["verdict"] == "open"
    assert after(int(np.ceil(days * (1 + tolerance))))["verdict"] != "open"


def test_rules_that_depend_on_more_than_their_rows_say_nothing(store):
    value = verdict(store, sm.Rule("accuracy >= 0"), 1)["value"]
    for options in ({"alarm": "1 per year"}, {"against": "2d"}):
        limit = value + 0.001 if "alarm" in options else -0.001
        found = verdict(store, sm.Rule(f"accuracy >= {limit}", **options), 10)
        assert found["verdict"] == "open"
        assert (found["rows_needed"] is None) == ("alarm" in options)
    found = sm.check(store, [sm.Rule("rows >= 1e6", over="200d"), sm.Rule("psi(of='y_score') <= 1e-9", against="2d")])
    assert found.frame["rows_needed"].to_list() == [None, None]


def test_verdicts_say_it_in_words(tmp_path):
    acc = sm.binary(y_true="y", y_score="p", by="hour")
    rows = pl.DataFrame(day()).drop("w")
    hours = pl.datetime_range(pl.datetime(2026, 1, 1), pl.datetime(2026, 1, 1, 5), "1h", eager=True)
    store = sm.MetricStore(tmp_path / "history")
    store.append(acc.update(rows.join(hours.to_frame("hour"), how="cross")), batch_id="all")
    rules = tmp_path / "rules.toml"
    rules.write_text("[[rule]]\nrequire = 'accuracy >= 0.78'\nover = '2h'")
    found = sm.check(store, sm.read_rules(rules))
    needed = found.frame["rows_needed"].item()
    assert f"open: about {needed:,} rows would decide ({np.ceil(needed / ROWS):.0f} hours)" in str(found)
    told, page = f", about {needed:,} rows would decide).", tmp_path / "page.html"
    assert told in " ".join(run("store", "check", tmp_path / "history", rules, COLUMNS="200").split())
    run("store", "page", tmp_path / "history", rules, "-o", page)
    assert told in page.read_text(encoding="utf-8")
    single = sm.MetricStore(tmp_path / "single")
    single.append(acc.empty().update(rows.with_columns(hour=hours[0])), batch_id="all")
    assert str(sm.check(single, sm.Rule("accuracy >= 0.78"))).rstrip().endswith("rows would decide")
