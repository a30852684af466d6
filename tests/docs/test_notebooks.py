"""Notebooks are executed when the site is built, and end in the decision that they state."""

import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def executed():
    for package in ("altair", "sklearn", "vl_convert"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    return runpy.run_path(str(DOCS / "notebooks.py"))["executed"]


def test_the_output_of_a_cell_follows_it(executed):
    made = executed("```python\nx = 1\nprint(x)\nx + 1\n```\n\nText.\n\n```python\ny = x\n```\n").split()
    assert made == "```python x = 1 print(x) x + 1 ``` ```text 1 ``` ```text 2 ``` Text. ```python y = x ```".split()
    frame = executed("```python\nimport polars as pl\npl.DataFrame({'a': [1]})\n```\n")
    assert re.search(r'^<div class="output">.*<table.*</div>$', frame, re.MULTILINE)


@pytest.mark.thorough
def test_the_decision_about_digits_is_that_of_the_outputs(executed):
    text = executed((DOCS / "notebooks/digits.md").read_text("utf-8").split("---\n", 2)[2])
    assert text.count("<svg ") == 2
    told = " ".join(re.sub(r"<style.*?</style>|<svg.*?</svg>|<[^>]*>", " ", text, flags=re.DOTALL).split())
    assert "accuracy forest 0.908 0.941" in told  # 6% of its readings are wrong
    assert "log_loss forest 0.59 0.41" in told
    assert "roc_auc 0.963" in told
    assert "predicted_positive_rate 0.823" in told
    verdicts = re.findall(r"(0\.\d+) \S+ to \S+ ✗ (\w+)", told)
    assert verdicts == [("0.27", "open"), ("0.9946", "open")]
