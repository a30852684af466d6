"""Verdicts: bounds and intervals together, too few rows, what fails a check, and how many rows would decide."""

import re
from datetime import timedelta

import numpy as np
import polars as pl
import pytest
from data import CLICKS, FIRST_DAY, clicks
from stores import history

import streammetrics as sm

DAYS = [FIRST_DAY + timedelta(days=n) for n in range(90)]
FEW = "no interval: too few rows of a class"


def rows(right, wrong, day=FIRST_DAY, **columns):
    """Right and wrong predictions."""
    count = right + wrong
    return pl.DataFrame({"day": [day] * count, "y": [True] * count, "p": [1.0] * right + [0.0] * wrong, **columns})


def accuracy(*by, **options):
    return sm.binary(y_true="y", y_score="p", by=["day", *by], **options)


def checked(store, rule, **options):
    return sm.check(store, rule, **options).frame.row(0, named=True)


@pytest.fixture(scope="module")
def eighty(tmp_path_factory):
    """Of 80 right and 20 wrong predictions."""
    return history(tmp_path_factory.mktemp("eighty"), accuracy(), rows(80, 20))


def test_verdicts_are_those_of_the_interval_widened_by_the_bounds(tmp_path):
    """Also on its ends, where only the comparison that includes the limit is certain. Here bins are wide."""
    coarse = history(tmp_path, sm.binary(by="day", capacity=8, **CLICKS), clicks())
    found = checked(coarse, sm.Rule("roc_auc >= 0", over="5d"))
    lower = found["ci_lower"] - (found["value"] - found["lower"])
    upper = found["ci_upper"] + (found["upper"] - found["value"])
    assert min(found["value"] - found["lower"], found["value"] - found["ci_lower"]) > 0.01
    expected = {}
    for sign, other in ((">", "holds breached"), ("<", "breached holds")):
        low, high = other.split()
        for strict, comparison in ((True, sign), (False, sign + "=")):
            at_lower = ("open" if strict else "holds") if sign == ">" else ("breached" if strict else "open")
            at_upper = ("breached" if strict else "open") if sign == ">" else ("open" if strict else "holds")
            for limit, verdict in (
                *((lower - 1e-3, low), ((lower + upper) / 2, "open"), (upper + 1e-3, high)),
                *((lower, at_lower), (upper, at_upper)),
            ):
                expected[sm.Rule(f"roc_auc {comparison} {limit!r}", over="5d")] = verdict
    verdicts = sm.check(coarse, [*expected])
    assert dict(zip(map(str, expected), verdicts.frame["verdict"], strict=True)) == {
        str(rule): verdict for rule, verdict in expected.items()
    }


def test_a_limit_at_the_true_value_is_rarely_decided(tmp_path):
    """One-sided: at most in 5 of 100 segments, and about that often."""
    right = np.random.default_rng(0).binomial(500, 0.8, 400)
    parts = pl.concat([rows(k, 500 - k, shop=n) for n, k in enumerate(right.tolist())])
    verdicts = sm.check(history(tmp_path, accuracy("shop"), parts), sm.Rule("accuracy >= 0.8", by="shop")).frame[
        "verdict"
    ]
    assert 0.02 <= (verdicts == "breached").mean() <= 0.07
    assert 0.02 <= (verdicts == "holds").mean() <= 0.08


@pytest.mark.whole
@pytest.mark.parametrize(
    ("require", "fields", "verdict", "hold"),
    [
        ("accuracy >= 0.5", {}, "holds", True),
        ("accuracy >= 0.8", {}, "open", True),
        ("accuracy >= 0.8", {"open": "fail"}, "open", False),
        ("accuracy >= 0.8", {"open": "fail", "severity": "warn"}, "open", True),
        ("accuracy >= 0.99", {}, "breached", False),
        ("accuracy >= 0.99", {"severity": "warn"}, "breached", True),
        ("accuracy >= 0.99", {"min_rows": 100}, "breached", False),
        ("accuracy >= 0.99", {"min_rows": 101}, "too few rows", True),
        ("accuracy >= 0.99", {"min_rows": 101, "open": "fail"}, "too few rows", False),
        ("rows >= 100", {}, "holds", True),
        ("rows >= 101", {}, "breached", False),
        ("roc_auc >= 0.5", {}, "undefined", False),
        ("roc_auc <= 0.5", {}, "undefined", False),
    ],
)
def test_what_fails_a_check(require, fields, verdict, hold, eighty):
    found = sm.check(eighty, [sm.Rule("rows >= 1"), sm.Rule(require, **fields)])
    row = found.frame.row(1, named=True)
    assert (row["verdict"], row["passes"], found.hold) == (verdict, hold, hold)
    assert row["note"] == {"rows": "no interval: a count", "roc_auc": "no negatives"}.get(
        require.split()[0], row["note"]
    )
    assert (row["rows"], row["severity"]) == (100, fields.get("severity", "page"))


def test_no_rows_are_not_too_few(eighty):
    row = checked(eighty, sm.Rule("accuracy >= 0.8", min_rows=50), until=FIRST_DAY)
    assert (row["verdict"], row["passes"]) == ("undefined", False)


@pytest.mark.thorough
def test_the_reference_needs_as_many_rows(tmp_path):
    store = history(tmp_path, accuracy(), pl.concat([rows(30, 10), rows(300, 100, day=DAYS[1])]))
    for require in ("psi(of='y_score') <= 0.2", "accuracy >= -0.5"):
        few, enough = (checked(store, sm.Rule(require, against="1d", min_rows=n)) for n in (41, 40))
        assert (few["verdict"], few["rows"], enough["verdict"]) == ("too few rows", 40, "holds")


def test_every_segment_must_hold(shared):
    size = clicks().filter(day=DAYS[9]).group_by("country").len().sort("len")
    found = sm.check(shared, sm.Rule(f"rows >= {size['len'][1]}", by="country"))
    assert dict(found.frame.select("where", "verdict").iter_rows()) == {
        f"country {country}": verdict
        for country, verdict in zip(size["country"], ("breached", "holds", "holds"), strict=True)
    }
    assert not found.hold


@pytest.mark.whole
@pytest.mark.parametrize(("positives", "constant", "verdict"), [(2, False, "open"), (200, True, "breached")])
def test_too_few_rows_of_a_class_decide_nothing(positives, constant, verdict, tmp_path):
    """Scores that do not vary decide, in contrast: they can be those of a model that fails."""
    y = np.arange(2_000) < positives
    p = np.full(2_000, 0.3) if constant else np.where(y, 0.6, np.random.default_rng(0).random(2_000))
    store = history(tmp_path, accuracy(), pl.DataFrame({"day": [FIRST_DAY] * 2_000, "y": y, "p": p}))
    row = checked(store, sm.Rule("average_precision >= 0.9"))
    assert (row["verdict"], "too few rows of a class" in (row["note"] or "")) == (verdict, verdict == "open")
    assert store.query().finalize().check("average_precision >= 0.9").frame["verdict"].item() == verdict


@pytest.mark.whole
@pytest.mark.parametrize(
    ("rule", "positives", "weight", "verdict"),
    [
        ("average_precision <= 0.2", 30, 10, "open"),
        ("average_precision <= 0.2", 100, 10, "open"),
        ("average_precision <= 0.2", 300, 5, "breached"),
        ("log_loss_skill >= 0.99", 60, 10, "open"),
        ("recall <= 0.1", 2, 10, "open"),
        ("accuracy >= 0.99", 2, 10, "open"),
    ],
)
def test_a_few_rows_of_large_weight_decide_nothing(rule, positives, weight, verdict):
    """Their weights counted as hundreds of rows, and decided rules although there is no interval."""
    random, y = np.random.default_rng(1), np.arange(1_000) < positives
    p = 1 / (1 + np.exp(-random.normal(2 * y - 1, 1)))
    acc = sm.binary(y_true="y", y_score="p", sample_weight="w").update({"y": y, "p": p, "w": np.where(y, weight, 1.0)})
    row = acc.finalize(rule.split()[0], confidence=0.95).check(rule).frame.row(0, named=True)
    assert (row["verdict"], row["note"] == FEW) == (verdict, verdict == "open")


@pytest.mark.whole
@pytest.mark.parametrize("weight", [8, 1, 3, 30])
def test_metrics_of_all_labels_are_open_if_few_rows_carry_a_label(weight):
    random, names = np.random.default_rng(2), ["mcc", "kappa", "f1(average=macro)", "precision(average=weighted)"]
    y = np.repeat([0, 1, 2], [200, 95, 5])
    z = np.where(random.random(300) < 0.8, y, random.integers(0, 2, 300))
    acc = sm.multiclass(y_true="y", y_pred="z", sample_weight="w")
    report = acc.update({"y": y, "z": z, "w": np.where(y == 2, float(weight), 1.0)}).finalize(names, confidence=0.95)
    found = report.check([f"{name} >= 0.05" for name in names]).frame
    few = (295 + 5 * weight) / weight < 50
    carried = [few or name == "f1(average=macro)" for name in names]  # by five rows
    assert found["verdict"].to_list() == ["open" if each else "holds" for each in carried]
    notes = found["note"].fill_null("")
    assert notes.str.contains("effective rows; 10 decide").to_list() == [each and not few for each in carried]
    assert notes.str.ends_with(FEW).to_list() == [few] * len(names)


def test_proportions_of_weighted_rows_of_one_class_are_open(tmp_path):
    store = history(tmp_path, accuracy(sample_weight="w"), rows(80, 20).with_columns(w=0.5))
    found = sm.check(store, [sm.Rule(r) for r in ("accuracy >= 0.79", "accuracy >= 0.81", "recall >= 0.79")]).frame
    assert found.select("verdict", "note").rows() == [("open", FEW)] * 3


def test_correlated_rows_change_the_interval_and_not_the_value(tmp_path):
    parts = pl.concat([rows(90 - 5 * (u % 3), 10 + 5 * (u % 3), user=u) for u in range(40)])
    plain, units = (history(tmp_path / f"{unit}", accuracy(unit=unit), parts) for unit in (None, "user"))
    for rule in (sm.Rule("accuracy >= 0.8"), sm.Rule("accuracy >= 0.8", alarm="1 per year")):
        one, other = checked(plain, rule), checked(units, rule)
        assert one["ci_upper"] - one["ci_lower"] != other["ci_upper"] - other["ci_lower"]
        assert (other["value"], other["verdict"]) == (one["value"], "holds")


def of_few_positives(positives, day=FIRST_DAY):
    """Scores that rank well, of few positives."""
    y, random = np.arange(2_000) < positives, np.random.default_rng(day.toordinal() + positives)
    p = 1 / (1 + np.exp(-random.normal(np.where(y, 1.0, -1.0), 1.5)))
    return pl.DataFrame({"day": [day] * 2_000, "y": y, "p": p, "unit": np.arange(2_000)})


@pytest.mark.parametrize("unit", [None, "unit"])
def test_rules_are_open_on_few_effective_rows(unit, tmp_path):
    """Like the check of a report; but alarms and intervals of every look are not."""
    few, many = (
        history(tmp_path / f"{n}", accuracy(unit=unit), pl.concat([of_few_positives(n, day) for day in DAYS[:2]]))
        for n in (6, 400)
    )
    for require, against in (("roc_auc >= 0.6", None), ("roc_auc <= 0.6", None), ("roc_auc >= -0.9", "1d")):
        row, decided = (checked(store, sm.Rule(require, against=against)) for store in (few, many))
        assert (row["verdict"], row["ci_lower"] is None) == ("open", False)
        enough = 15 if unit else 10
        assert re.search(rf"too few rows \(about \d effective rows; {enough} decide\)", row["note"])
        assert row["rows_needed"] > row["rows"]
        assert (decided["verdict"], "effective" in (decided["note"] or "")) == (
            "breached" if "<=" in require else "holds",
            False,
        )
    for options in ({"always": 1_000}, {"alarm": "1 per year"}):
        assert "decide" not in (checked(few, sm.Rule("roc_auc >= 0.3", **options))["note"] or "")


def adverse(count, seed, capacity=32):
    """Positives at the lower ends of the bins of a histogram, and negatives at their upper ends."""
    wide = sm.predictions(y_score="p", capacity=32).update({"p": np.linspace(0.3, 0.7, 10_000)}).finalize(["rows"])
    low, high = wide.curve("scores").select("lowest", "highest").to_numpy().T
    rng = np.random.default_rng(seed)
    cell = rng.integers(0, len(low), count)
    y = rng.random(count) < 0.3 + 0.4 * cell / len(low)
    inside = (high - low)[cell] * rng.uniform(0.01, 0.1, count)
    score = np.where(y, low[cell] + inside, high[cell] - inside)
    return sm.binary(y_true="y", y_score="p", capacity=capacity).update({"y": y, "p": score})


@pytest.mark.thorough
def test_coarse_bins_widen_the_interval_of_a_verdict():
    """Without that, a verdict at 95 % is wrong in half of all samples: here positives lie low in their bins."""
    exact = adverse(200_000, 0, capacity=1 << 20).finalize(["roc_auc"])["roc_auc"].value
    estimate = adverse(200_000, 0).finalize(["roc_auc"])["roc_auc"]
    assert estimate.lower <= exact < estimate.value - 0.01
    samples = [adverse(2_000, seed).finalize(["roc_auc"]) for seed in range(1, 41)]
    assert sum(s.check(f"roc_auc > {exact}", open="fail").hold for s in samples) <= 2
    assert all(s.check(f"roc_auc >= {estimate.lower - 0.1}", open="fail").hold for s in samples)


# Intervals of every look, and rows that would decide


@pytest.fixture(scope="module", params=[{}, {"sample_weight": "w"}], ids=["rows", "weights"])
def steady(request, tmp_path_factory):
    """The same 200 rows on each of 90 days, so that all values stay."""
    random = np.random.default_rng(0)
    score = random.random(200)
    day = {"y": random.random(200) < score, "p": score, "w": random.uniform(0.5, 1.5, 200)}
    every = pl.DataFrame(day).join(pl.DataFrame({"day": DAYS}), how="cross")
    return history(tmp_path_factory.mktemp("steady"), accuracy(**request.param), every)


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc", "log_loss", "precision"])
@pytest.mark.parametrize("always", [None, 2_000, 50_000])
@pytest.mark.parametrize("gap", [-0.03, 0.03])
def test_so_many_rows_decide_a_steady_stream(steady, metric, always, gap):
    value = checked(steady, sm.Rule(f"{metric} >= 0"))["value"]
    limit = value + gap * (0.6 if always is None else 1)

    def after(days):
        options = {"always": always} if always else {"over": f"{days}d"}
        return checked(steady, sm.Rule(f"{metric} >= {limit}", **options), until=FIRST_DAY + timedelta(days))

    first = after(2)
    assert (first["verdict"], first["rows"]) == ("open", 400)
    assert first["days_needed"] == np.ceil(first["rows_needed"] / 200)
    assert after(int(first["days_needed"] * 0.8))["verdict"] == "open"
    assert after(int(np.ceil(first["days_needed"] * 1.2)))["verdict"] != "open"


def test_rules_that_depend_on_more_than_their_rows_name_no_number(steady):
    value, until = checked(steady, sm.Rule("accuracy >= 0"))["value"], FIRST_DAY + timedelta(10)
    alarm, change, many, drift = (
        checked(steady, sm.Rule(require, **fields), until=until)
        for require, fields in (
            (f"accuracy >= {value + 0.001}", {"alarm": "1 per year"}),
            ("accuracy >= -0.001", {"against": "2d"}),
            ("rows >= 1e6", {"over": "200d"}),
            ("psi(of='y_score') <= 1e-9", {"against": "2d"}),
        )
    )
    assert (alarm["verdict"], change["verdict"]) == ("open", "open")
    assert [each["rows_needed"] is None for each in (alarm, change, many, drift)] == [True, False, True, True]


def test_an_interval_of_every_look_is_of_all_windows_and_tightest_at_the_number_of_rows_that_was_chosen(tmp_path):
    store = history(tmp_path, accuracy(), pl.concat([rows(80, 20, day=day) for day in DAYS[:5]]))
    found = [
        checked(store, sm.Rule("accuracy >= 0.7", **how))
        for how in ({"over": "5d"}, *({"always": n} for n in (500, 5_000, 50)))
    ]
    once, *every = (row["ci_upper"] - row["ci_lower"] for row in found)
    assert (found[1]["rows"], found[1]["windows"]) == (500, "2026-01-01 to 2026-01-05")
    assert every[0] == min(every)
    assert 1.3 < every[0] / once < 2


# Texts


def test_the_frame_has_the_same_columns_in_any_case(shared):
    rules = [sm.Rule("rows >= 1", by=("country",)), sm.Rule("psi(of='y_score') <= 1", against="7d")]
    rules.append(sm.Rule("accuracy >= 0.5", alarm="1 per year"))
    schemas = {
        tuple(sm.check(shared, rule, until=until).frame.schema.items())
        for rule in rules
        for until in (None, "2027-01-01")
    }
    assert len(schemas) == 1
    assert [name for name, _ in schemas.pop()] == [
        *("rule", "name", "severity", "windows", "where", "rows", "value", "lower", "upper", "ci_lower", "ci_upper"),
        *("reference", "verdict", "passes", "since", "e_value", "note", "description", "rows_needed", "days_needed"),
        *("coverage", "limit", "comparison"),
    ]


def test_group_columns_may_have_the_names_of_the_verdicts(tmp_path):
    names = ["verdict", "alarm", "since", "name", "rows", "passes"]
    store = history(tmp_path, accuracy(*names), rows(80, 20).with_columns(pl.lit("x").alias(name) for name in names))
    for rule in (sm.Rule("accuracy >= 0.5", by=names), sm.Rule("accuracy >= 0.5", by=names, alarm="1 per year")):
        row = checked(store, rule)
        assert row["where"] == ", ".join([f"{name} x" for name in names] + ["threshold 0.5"])
        assert row["verdict"] == "holds"


def test_verdicts_print_as_a_table_with_names_warnings_and_rows_that_would_decide(eighty, shared):
    rules = [
        sm.Rule("accuracy >= 0.99", name="quality", severity="warn", description="Ask the team."),
        sm.Rule("accuracy >= 0.78"),
        sm.Rule("rows >= 101"),
    ]
    found = sm.check(eighty, rules)
    first = found.frame.row(0, named=True)
    assert (first["name"], first["description"]) == ("quality", "Ask the team.")
    lines = str(found).splitlines()
    assert lines[0].split() == ["rule", "windows", "where", "value", "bound", "interval", "verdict"]
    needed = found.frame["rows_needed"][1]
    for line, (start, end) in zip(
        lines[2:],
        [
            ("quality: accuracy >= 0.99", "breached (severity warn)"),
            ("accuracy >= 0.78", f"open: about {needed:,} rows would decide"),
            ("rows >= 101", "breached"),
            ("Failing: ", ""),
            *[("", "")] * (len(lines) - 6),
        ],
        strict=True,
    ):
        assert line.startswith(start), line
        assert line.rstrip().endswith(end), line
    one, several = (
        str(sm.check(shared, rules)).splitlines()
        for rules in ([sm.Rule("rows >= 1", by="country")], [sm.Rule("rows >= 1", by="country"), sm.Rule("rows >= 1")])
    )
    assert one[0].split() == ["rule", "windows", "country", "value", "bound", "verdict"]
    assert ("  DE  " in one[2], "  country DE  " in several[2]) == (True, True)


def test_rows_that_would_decide_are_said_in_windows_of_the_history(tmp_path):
    random = np.random.default_rng(0)
    score, hours = (
        random.random(200),
        pl.datetime_range(pl.datetime(2026, 1, 1), pl.datetime(2026, 1, 1, 5), "1h", eager=True),
    )
    frame = pl.DataFrame({"clicked": random.random(200) < score, "score": score}).join(
        hours.to_frame("hour"), how="cross"
    )
    found = sm.check(history(tmp_path, sm.binary(by="hour", **CLICKS), frame), sm.Rule("accuracy >= 0.78", over="2h"))
    needed = found.frame["rows_needed"].item()
    assert f"about {needed:,} rows would decide ({np.ceil(needed / 200):.0f} hours)" in str(found)


def test_of_many_rows_those_that_do_not_hold_are_printed(tmp_path):
    frame = pl.DataFrame({"day": [FIRST_DAY] * 100, "user": range(100), "p": 0.5})
    frame = pl.concat([frame, *([frame.tail(95)] * 2)])
    store = history(tmp_path, sm.predictions(y_score="p", by=["day", "user"]), frame)
    few, many = (str(sm.check(store, sm.Rule(f"rows {limit} 2", by="user"))).splitlines() for limit in (">=", "<="))
    assert all(line.endswith("breached") for line in few[2:7])
    assert [len(few), few[-1], len(many), many[-1]] == [9, "Failing: 5 of 100", 2 + 40 + 3, "Failing: 95 of 100"]
    assert [int(re.search(r"\d+", line)[0]) for line in (few[7], *many[-3:-1])] == [95, 55, 5]
