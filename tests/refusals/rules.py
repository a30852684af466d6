"""Rules of histories: their fields and their files."""

from functools import partial

import streammetrics as sm
from streammetrics.errors import SpecificationError

INF, NAN = float("inf"), float("nan")
LIMIT = {"require": "roc_auc >= 0.8"}
ALARM, BEFORE = LIMIT | {"by": "a", "alarm": "1 per year"}, LIMIT | {"before_labels": True}


def _call(function, *arguments, **options):
    return lambda: function(*arguments, **options)


def _in_short(function, *arguments, **options):
    """Call a function, and leave out of its message what comes from Python or Polars."""
    try:
        return function(*arguments, **options)
    except SpecificationError as error:
        raise SpecificationError(str(error).partition(": ")[0]) from None


def _rules(*cases):
    """Refusals of fields: each case has fields of a rule, and the names of the message."""
    return {str(fields): (_call(sm.Rule, **LIMIT | fields), *names) for fields, *names in cases}


FIELDS = _rules(
    *(({name: value}, f"'{name}'", repr(value)) for name, value in (("require", 3), ("name", 0), ("model", 7))),
    *(({name: 7}, f"'{name}'", "7") for name in ("over", "against")),
    *(({"by": value}, "'by'") for value in ([1], {"a": 1}, True)),
    ({"description": ["a"]}, "'description'"),
    ({"alarm": 1}, "'alarm'"),
    ({"severity": "error"}, "'severity'", "'page'", "'warn'", "'error'"),
    ({"open": True}, "'open'", "'pass'", "'fail'", "True"),
    *(({"confidence": value}, "'confidence'", f"{value}") for value in (0.5, 1, 95, "95 %")),
    *(({"min_rows": value}, "'min_rows'", f"{value}") for value in (0, 1.5, True)),
    *(
        ({"alarm": value}, "'alarm'", repr(value))
        for value in ("yearly", "1 per years", "0 per year", "-1 per year", "")
    ),
    *((ALARM | {"segments": value}, "'segments'", f"{value}") for value in ("5 %", 1, "fdr 100 %", 0, "fdr 0 %", True)),
    *((fields | {"segments": 0.05}, "'segments'", "'alarm'", "'by'") for fields in (ALARM | {"by": ()}, {"by": "a"})),
    *(({"always": value}, "always", f"{value}") for value in (True, 0, 1.5)),
    *(
        ({"always": 100} | fields, "'always'", "'over'", "'against'", "'alarm'")
        for fields in ({"over": "7d"}, {"against": "7d"}, {"alarm": "1 per year"})
    ),
    ({"by": ["g", "model"], "model": "new"}, "'by'", "'model'"),
    ({"odds": 2}, "'odds'", "'before_labels'"),
    ({"before_labels": 1}, "'before_labels'", "1"),
    *((BEFORE | {"odds": value}, "'odds'", f"{value}") for value in (0.9, INF, NAN, True, "2")),
    *((BEFORE | fields, "'before_labels'", "'always'") for fields in ({"alarm": "1 per year"}, {"always": 100})),
    (BEFORE | {"require": "ks >= 0.2"}, "ks", "roc_auc"),
    *(({"coverage": value}, "'coverage'", f"{value}") for value in (1.1, -0.1, NAN, True, "0.9", None)),
)
LENGTHS = _rules(
    *(
        ({"require": "rows >= 1", "over": length}, "7d")
        for length in ("week", "7", "٣d", "7d\n", "0d", "-7d", "7 days", "1i", "-", "", "d", "1.5d")
    ),
    *(
        ({"require": "rows >= 1", key: length}, length)
        for key in ("over", "against")
        for length in ("2600000h", "9223372036854775807d", "300000y", "1d9999999999m")
    ),
    ({"require": "rows >= 1", "against": "0d"}, "'0d'"),
)
REQUIREMENTS = _rules(
    ({"require": "psi(of='y_score') <= 0.2"}, "psi", "against"),
    ({"require": "psi <= 0.2", "against": "28d"}, "psi(of='y_score')"),
    ({"require": "wasserstein <= 1"}, "wasserstein"),
    ({"require": "psi(of='p', n=5) <= 1", "against": "1d"}, "'n'", "of", "bins"),
    ({"require": "js(of=['a', 'b']) <= 1", "against": "1d"}, "js", "of='y_score'"),
    ({"require": "wasserstein(of='p') <= 1", "against": "7d", "alarm": "1 per year"}, "'alarm'", "wasserstein"),
    ({"require": "roc_auc >= 0.79", "against": "28d"}, "roc_auc >= -0.02", "'against'"),
    ({"require": "roc_auc > 0", "against": "28d"}, "roc_auc > -0.02"),
    ({"require": "ece < 0", "against": "28d"}, "ece < 0.02"),
) | _rules(
    *(({"require": text}, f"'{text}'") for text in ("roc_auc", "roc_auc >= high", "roc_auc => 0.8")),
    ({"require": "roc auc >= 0.8"}, "'roc auc'"),
)


def _read(text, folder):
    path = folder / "rules.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return sm.read_rules(path)


RULE = "[[rule]]\nrequire = 'rows >= 1'\n"
FILES = {
    **{
        f"a file of other tables: {text!r}": (partial(_read, text), "rules.toml", "[[rule]]")
        for text in (
            "",
            RULE.replace("[[rule]]", "[rule]"),
            RULE.replace("rule", "rules"),
            *("rule = ['rows >= 1']", "rule = 'rows >= 1'"),
            "strict = true\n" + RULE,
            RULE + "[other]",
        )
    },
    "a file without rules": (partial(_read, "rule = []"), "rules.toml"),
    "a rule without a requirement": (partial(_read, "[[rule]]\nover = '7d'"), "'require'"),
    "an unknown field": (partial(_read, RULE + "metric = 'rows'"), "'metric'", "require, over"),
    "a field of a wrong type in a file": (partial(_read, RULE + "over = 7"), "rules.toml", "'over'"),
    "an invalid requirement in a file": (partial(_read, "[[rule]]\nrequire = 'rows'"), "rules.toml", "'rows'"),
    **{
        f"a file that is not TOML: {str(text)[:8]!r}": (partial(_in_short, _read, text), "rules.toml", "TOML")
        for text in ("rule = " + "[" * 20_000, 'x = {"a" = ' * 20_000, "[[rule]", b"\xff\xfe")
    },
    **{f"a file named {name!r}": (_call(_in_short, sm.read_rules, name), "read") for name in (None, 5, "a\0b", ".")},
    "no file": (lambda folder: sm.read_rules(folder / "no.toml"), "no.toml"),
}
PERIODS = {
    "an alarm of periods of two units": (_call(_in_short, sm.Rule, **ALARM | {"over": "1mo1d"}), *("'over'", "'1mo1d'"))
}
REFUSALS = {**FIELDS, **PERIODS, **LENGTHS, **REQUIREMENTS, **FILES}
