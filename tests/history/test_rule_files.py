"""Rules as they are written, and files of them."""

import pytest

import streammetrics as sm


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        ({"require": "roc_auc"}, sm.MetricError, "'roc_auc' as a requirement. Write one such as 'roc_auc >= 0.8' or"),
        ({"require": "roc_auc >= high"}, sm.MetricError, "as a requirement"),
        ({"require": "roc_auc => 0.8"}, sm.MetricError, "as a requirement"),
        ({"require": "roc auc >= 0.8"}, sm.MetricError, "'roc auc' as a metric"),
        (
            {"require": "psi(of='y_score') <= 0.2"},
            sm.SpecificationError,
            "requires a reference, such as against = '28d'",
        ),
        ({"require": "psi <= 0.2", "against": "28d"}, sm.SpecificationError, r"Write one, such as psi\(of='y_sco"),
        ({"require": "wasserstein <= 1"}, sm.SpecificationError, "names no distribution"),
        ({"require": "psi(of='p', n=5) <= 1", "against": "1d"}, sm.SpecificationError, "Unknown option 'n' of psi"),
        ({"require": "js(of=['a', 'b']) <= 1", "against": "1d"}, sm.SpecificationError, "must name one distribution"),
        (
            {"require": "roc_auc >= 0.79", "against": "28d"},
            sm.SpecificationError,
            "'roc_auc >= 0.79' requires a rise. Allow a change, such as 'roc_auc >= -0.02', or remove 'against'",
        ),
        ({"require": "ece < 0", "against": "28d"}, sm.SpecificationError, "requires a fall. .* such as 'ece < 0.02'"),
        ({"require": 3}, sm.SpecificationError, "'require' must be a string, got 3"),
        ({"require": "rows >= 1", "over": 7}, sm.SpecificationError, "'over' must be a string"),
        ({"require": "rows >= 1", "against": 7}, sm.SpecificationError, "'over' must be a string"),
        ({"require": "rows >= 1", "by": [1]}, sm.SpecificationError, "'by' must be a string"),
        ({"require": "rows >= 1", "by": {"a": 1}}, sm.SpecificationError, "'by' must be a string"),
        ({"require": "rows >= 1", "by": True}, sm.SpecificationError, "'by' must be a string"),
        *(
            ({"require": "roc_auc >= 0.8", "by": "a", **fields}, sm.SpecificationError, message)
            for fields, message in (
                ({"model": 7}, "'model' must be a string"),
                ({"name": 7}, "'name' must be a string"),
                ({"by": ["g", "model"], "model": "new"}, "'by' cannot contain 'model': each model always has its own"),
                ({"name": 0}, "'name' must be a string"),
                ({"description": ["a"]}, "'description' must be a string"),
                ({"alarm": 1}, "'alarm' must be a string"),
                ({"severity": "error"}, "'severity' must be 'page' or 'warn', got 'error'"),
                ({"open": True}, "'open' must be 'pass' or 'fail', got True"),
                ({"confidence": 0.5}, "'confidence' must be between 0.5 and 1, got 0.5"),
                ({"confidence": 95}, "'confidence' must be between 0.5 and 1, got 95"),
                ({"confidence": "95 %"}, "'confidence' must be between"),
                ({"min_rows": 0}, "'min_rows' must be an integer of at least 1, got 0"),
                ({"min_rows": 1.5}, "'min_rows' must be an integer of at least 1"),
                ({"min_rows": True}, "'min_rows' must be an integer of at least 1"),
                ({"alarm": "yearly"}, "'alarm' must be a rate such as '1 per year', got 'yearly'"),
                ({"alarm": "1 per years"}, "'alarm' must be a rate"),
                ({"alarm": "0 per year"}, "'alarm' must be a rate"),
                ({"alarm": "-1 per year"}, "'alarm' must be a rate"),
                ({"alarm": ""}, "'alarm' must be a rate"),
                ({"alarm": "1 per year", "segments": "5 %"}, "'segments' must be 'fdr 5 %' or a share, got '5 %'"),
                ({"alarm": "1 per year", "segments": 1}, "'segments' must be"),
                ({"alarm": "1 per year", "segments": "fdr 100 %"}, "'segments' must be"),
                ({"alarm": "1 per year", "segments": 0.05, "by": ()}, "'segments' requires 'alarm' and 'by'"),
                ({"segments": 0.05}, "'segments' requires 'alarm' and 'by'"),
                ({"alarm": "1 per year", "over": "1mo1d"}, "'over' must have a single unit of time with 'alarm'"),
                ({"always": True}, "must be a positive integer, .* number of rows at which the interval is tightest"),
                ({"always": 0}, "number of rows at which the interval is tightest"),
                ({"always": 100, "over": "7d"}, "'always' applies to all windows"),
                ({"always": 100, "against": "7d"}, "'always' applies to all windows"),
                ({"always": 100, "alarm": "1 per year"}, "'always' applies to all windows"),
            )
        ),
        (
            {"require": "wasserstein(of='y_score') <= 1", "against": "7d", "alarm": "1 per year"},
            sm.SpecificationError,
            "'alarm' requires a metric with confidence intervals, unlike wasserstein",
        ),
        *(
            ({"require": "rows >= 1", key: length}, sm.SpecificationError, "rite one (such as|like) '7d'")
            for length in (
                "week",
                "7",
                "9" * 400 + "d",
                "٣d",
                "7d\n",
                "0d",
                "-7d",
                "7 days",
                "1i",
                "-",
                "",
                "d",
                "1.5d",
            )
            for key in ("over", "against")
        ),
        *(
            ({"require": "rows >= 1", key: length}, sm.SpecificationError, "is too long. Maximum")
            for length in (
                "10000000000000s",
                "2600000h",
                "100000000d",
                "9223372036854775807d",
                "300000y",
                "1d9999999999m",
            )
            for key in ("over", "against")
        ),
    ],
)
def test_rules_that_cannot_be_read(rule, error, message):
    with pytest.raises(error, match=message):
        sm.Rule(**rule)


def read(folder, text):
    path = folder / "rules.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return sm.read_rules(path)


def test_forms_of_a_file(tmp_path):
    text = """
    # what the customer was promised
    [[rule]]
    require = "roc_auc >= 0.8"
    over = "7d"
    by = ["country", "device"]

    [[rule]]
    require = 'psi(of="y_score") <= 0.2'
    against = "28d"

    [[rule]]
    require = "psi(of='y_score')<=0.2"
    against = "28d"
    by = "country"

    [[rule]]
    require = "rows >= 1e3"
    """
    drift = {"require": "psi(of='y_score')<=0.2", "against": "28d"}
    assert read(tmp_path, text) == [
        sm.Rule("roc_auc >= 0.8", over="7d", by=("country", "device")),
        sm.Rule('psi(of="y_score") <= 0.2', against="28d"),
        sm.Rule(**drift, by=("country",)),
        sm.Rule("rows >= 1e3"),
    ]
    fields = """
    name = "ranking"
    description = "Ask the team of the app."
    severity = "warn"
    confidence = 0.99
    min_rows = 500
    open = "fail"
    by = "country"
    alarm = "2 per month"
    segments = "fdr 5%"
    """
    assert read(tmp_path, f"[[rule]]\nrequire = 'roc_auc >= 0.8'\n{fields}") == [
        sm.Rule(
            "roc_auc >= 0.8",
            by=("country",),
            name="ranking",
            description="Ask the team of the app.",
            severity="warn",
            confidence=0.99,
            min_rows=500,
            open="fail",
            alarm="2 per month",
            segments="fdr 5%",
        )
    ]
    assert read(tmp_path, "rule = [{require = 'accuracy >= 0.8', always = 100_000}]")[0].always == 100_000
    one, other = read(tmp_path, text)[1:3]
    assert one.measure == other.measure == ("psi", {"of": "y_score"})
    assert sm.read_rules(str(tmp_path / "rules.toml")) == read(tmp_path, text)
    assert read(tmp_path, 'rule = [{require = "rows >= 1", by = []}]') == [sm.Rule("rows >= 1")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[rule]\nrequire = 'rows >= 1'", r"rules\.toml is not valid TOML: "),
        ("require: rows >= 1", "is not valid TOML"),
        (b"\xff\xfe", "is not valid TOML"),
        ("", r"must contain \[\[rule\]\] tables only"),
        ("[rule]\nrequire = 'rows >= 1'", "must contain"),
        ("[[rules]]\nrequire = 'rows >= 1'", "must contain"),
        ("rule = ['rows >= 1']", "must contain"),
        ("rule = 'rows >= 1'", "must contain"),
        ("strict = true\n[[rule]]\nrequire = 'rows >= 1'", "must contain"),
        ("[[rule]]\nrequire = 'rows >= 1'\n[other]", "must contain"),
        ("rule = []", "has no rules"),
        ("[[rule]]\nover = '7d'", "has a rule without 'require'"),
        ("[[rule]]", "has a rule without 'require'"),
        (
            "[[rule]]\nrequired = 'rows >= 1'",
            "has an unknown rule field 'required'. Fields: require, over, against, by",
        ),
        ("[[rule]]\nrequire = 'rows >= 1'\nmetric = 'rows'", "has an unknown rule field 'metric'"),
        ("[[rule]]\nrequire = 'rows >= 1'\nover = 7", r"rules\.toml: Rule field 'over' must be a string"),
        ("[[rule]]\nrequire = 'rows >= 1'\nover = 2026-01-01", "'over' must be a string"),
        ("[[rule]]\nrequire = 5", "'require' must be a string"),
        ("[[rule]]\nrequire = 'rows >= 1'\nby = 1", "'by' must be a string"),
        ("[[rule]]\nrequire = 'rows >= 1'\nby = [['a']]", "'by' must be a string"),
        ("[[rule]]\nrequire = 'rows >= 1'\nover = 'a week'", r"rules\.toml: Cannot read 'a week' as a duration"),
        (
            "[[rule]]\nrequire = 'psi(of=\"p\") <= 0.2'",
            r"rules\.toml: .* requires a reference, such as against = '28d'",
        ),
    ],
)
def test_files_that_are_none(text, message, tmp_path):
    with pytest.raises(sm.SpecificationError, match=message):
        read(tmp_path, text)


def test_an_unreadable_requirement_names_the_file(tmp_path):
    with pytest.raises(sm.MetricError, match=r"rules\.toml: Cannot read 'rows' as a requirement"):
        read(tmp_path, "[[rule]]\nrequire = 'rows'")


def test_a_file_that_is_not_there(tmp_path):
    for path in (tmp_path / "nowhere.toml", tmp_path):
        with pytest.raises(sm.SpecificationError, match=r"Cannot read .*: .*\."):
            sm.read_rules(path)


@pytest.mark.parametrize("text", ["rule = " + "[" * 20_000, "rule = " + '{"a" = ' * 20_000])
def test_files_nested_without_end(text, tmp_path):
    with pytest.raises(sm.SpecificationError, match=r"rules\.toml is not valid TOML: "):
        read(tmp_path, text)


@pytest.mark.parametrize("path", [None, 5, "no/such.toml", "a\0b", "."])
def test_places_without_a_file(path):
    with pytest.raises(sm.SpecificationError, match="Cannot read"):
        sm.read_rules(path)


@pytest.mark.parametrize(
    ("alarm", "days"),
    [("1 per year", 365.25), ("2 per year", 365.25 / 2), ("0.5 per month", 365.25 / 6), ("1 per week", 7)],
)
def test_rates_of_alarms(alarm, days):
    assert 1 / sm.Rule("roc_auc >= 0.8", alarm=alarm).alarms_per_day == pytest.approx(days)


@pytest.mark.parametrize("segments", ["fdr 5 %", "fdr 5%", 0.05])
def test_shares_of_false_alarms(segments):
    assert sm.Rule("roc_auc >= 0.8", by="country", alarm="1 per year", segments=segments).fdr == pytest.approx(0.05)


def test_rules_show_what_is_not_usual():
    assert repr(sm.Rule("rows >= 1")) == "Rule(require='rows >= 1')"
    rule = sm.Rule("roc_auc >= 0.8", over="7d", severity="warn", min_rows=50)
    assert repr(rule) == "Rule(require='roc_auc >= 0.8', over='7d', severity='warn', min_rows=50)"
    assert eval(repr(rule), {"Rule": sm.Rule}) == rule
    assert str(sm.Rule("accuracy >= 0.8", always=1_000)) == "accuracy >= 0.8, always 1000"
