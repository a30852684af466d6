"""The reference has every public name and every metric, each once, and the navigation has every page."""

import re
import runpy
from pathlib import Path

import streammetrics as sm
from streammetrics import engines, errors, export, statistics, testing

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ENTRIES = [
    name
    for page in sorted((DOCS / "reference").glob("*.md"))
    for name in re.findall(r"^::: (\S+)", page.read_text(), re.M)
]
MODULES = {"engines", "errors", "export", "metrics", "statistics", "testing", "__version__"}


def test_each_public_name_has_one_entry():
    of_the_package = {f"streammetrics.{name}" for name in sm.__all__ if name not in MODULES}
    of_modules = {f"{m.__name__}.{name}" for m in (engines, export, statistics, testing) for name in m.__all__}
    of_modules |= {f"streammetrics.errors.{name}" for name in errors.__all__ if name not in sm.__all__}
    adapters = {f"streammetrics.engines.{path.stem}" for path in (ROOT / "streammetrics/engines").glob("[!_]*.py")}
    charts = {f"streammetrics.show.charts.plot.{kind}" for kind in ("Plot", "ComparisonPlot", "VerdictsPlot")}
    others = [name for name in ENTRIES if not name.startswith("streammetrics.Report.")]
    assert sorted(others) == sorted((of_the_package | of_modules | adapters) - {"streammetrics.engines.base"} | charts)


def test_each_method_of_a_report_has_one_entry():
    listed = re.search(r"members: \[(.*?)\]", (DOCS / "reference/report.md").read_text(), re.S)[1].split(",")
    of_pages = [name.removeprefix("streammetrics.Report.") for name in ENTRIES if "Report." in name]
    api = re.findall(r"^streammetrics\.Report\.(\w+)", (ROOT / "tests/public_api.txt").read_text(), re.M)
    assert sorted([*map(str.strip, listed), *of_pages]) == sorted(api)


def test_each_metric_is_on_one_page():
    made = runpy.run_path(str(DOCS / "metric_reference.py"))
    pages = [page.read_text() for page in (DOCS / "metrics").glob("*.md")]
    themes = [theme for page in pages for theme in made["MARK"].findall(page)]
    assert sorted(themes) == sorted(made["THEMES"])
    text = "\n".join(line for theme in themes for line in made["reference"](theme))
    assert text.count("\n### ") == len(made["declared"]())
    assert "2 * tp / (2 * tp + fp + fn)" in text
    assert "- Computed from `ErrorMoments(families=('poisson',))`: `weight`, `poisson_deviance_sum`" in text
    assert "Computed from :" not in text
    assert "    Bounded(" not in text
    anchors = re.findall(r"\{ #(\S+) \}", text)
    assert sorted(re.findall(r"\.md#([^)]+)\)", "\n".join(made["names"]()))) == sorted(anchors)


def test_the_navigation_has_every_page():
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]
    pages = [page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")]
    assert sorted(re.findall(r"(\S+\.md)$", nav, re.M)) == sorted(pages)
