"""Pictures of the documentation show the numbers of their page."""

import re
import runpy
from pathlib import Path

import pytest

import streammetrics as sm
from streammetrics.show import ComparisonPlot, Plot, VerdictsPlot, page

DOCS = Path(__file__).parents[2] / "docs"
KINDS = [name for kind in (Plot, ComparisonPlot, VerdictsPlot) for name in vars(kind) if name[0] != "_"]
DRAWN = runpy.run_path(str(DOCS / "pictures" / "bounds_and_intervals.py"))


@pytest.mark.parametrize("name", DRAWN["PICTURES"])
def test_pictures_are_as_the_script_draws_them(name):
    assert (DOCS / "pictures" / name).read_text(encoding="utf-8") == DRAWN["PICTURES"][name]()


@pytest.mark.thorough
def test_the_picture_of_bounds_shows_the_numbers_of_its_page(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "pictures")
    drawn = runpy.run_path(str(DOCS / "pictures" / "why_bounds.py"))["why"]()
    assert (DOCS / "pictures" / "why_bounds.svg").read_text(encoding="utf-8") == drawn
    page = (DOCS / "uncertainty.md").read_text(encoding="utf-8")
    section = page.partition("\n## Why bounds?\n")[2].partition("\n## ")[0]
    numbers = [n for printed in re.findall(r"```text\n(.*?)\n```", section) for n in re.findall(r"\d\.\d+", printed)]
    assert len(numbers) == 4
    assert [number for number in numbers if number not in drawn] == []


def test_the_picture_of_rows_shows_the_numbers_of_its_page(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "pictures")
    made = runpy.run_path(str(DOCS / "pictures" / "decisions.py"))
    assert (DOCS / "pictures" / "rows.svg").read_text(encoding="utf-8") == made["rows"]()
    printed = re.search(
        r"log_loss better +BR +(\S+) +exact +\S+ to (\S+) +✗ open: about (\S+) rows would decide",
        (DOCS / "compare.md").read_text(encoding="utf-8"),
    )
    assert [float(n.replace(",", "")) for n in printed.groups()] == [made[n] for n in ("VALUE", "UPPER", "NEEDED")]


def test_their_numbers_are_those_of_the_page():
    """Which a test of the page holds to be those that it prints."""
    page = (DOCS / "uncertainty.md").read_text(encoding="utf-8")

    def shown(pattern):
        return [float(number) for number in re.search(pattern, page).groups()]

    assert shown(r"\nvalue ([\d.]+)\n") == [DRAWN["VALUE"]]
    assert tuple(shown(r"\ncertified bounds ([\d.]+) to ([\d.]+)\n")) == DRAWN["BOUNDS"]
    assert tuple(shown(r"\nconfidence interval ([\d.]+) to ([\d.]+)\n")) == DRAWN["INTERVAL"]
    for limit, verdict in DRAWN["LIMITS"].items():
        found = shown(rf"\nroc_auc >= {limit:g} .* ([\d.]+) to ([\d.]+) +\S {verdict}\b")
        assert tuple(found) == DRAWN["SIDE"]


def test_the_gallery_has_every_chart():
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert re.findall(r"^`(?:report|comparison|verdicts)\.plot\.(\w+)\(", page, re.MULTILINE) == KINDS
    assert re.findall(r"\(pictures/gallery/(\w+)\.svg\)", page) == KINDS
    pictures = sorted((DOCS / "pictures/gallery").iterdir())
    assert [path.stem for path in pictures] == sorted(KINDS)
    assert sum(path.stat().st_size for path in pictures) < 600_000


@pytest.fixture(scope="module")
def gallery():
    for package in ("sklearn", "vl_convert"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    return runpy.run_path(str(DOCS / "pictures" / "gallery.py"))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_the_pictures_of_the_gallery_are_current(gallery, kind):
    """After a change of charts: ``python docs/pictures/gallery.py``."""
    picture = (DOCS / "pictures/gallery" / f"{kind}.svg").read_text(encoding="utf-8")
    assert gallery["stamp"](gallery["PICTURES"][kind]()) in picture
    assert gallery["style"]() in picture


def test_figures_of_speed_are_the_measured_ones(monkeypatch):
    """The picture, its descriptions, and the comparison say what docs/performance.md has from the benchmarks."""
    monkeypatch.syspath_prepend(DOCS / "pictures")
    made = runpy.run_path(str(DOCS / "pictures" / "speed.py"))
    assert (DOCS / "pictures" / "speed.svg").read_text(encoding="utf-8") == made["speed"]()
    ratios = made["measured"]()
    readme, comparison, page = (
        path.read_text(encoding="utf-8")
        for path in (DOCS.parent / "README.md", DOCS / "migration.md", DOCS / "performance.md")
    )
    assert f"scikit-learn takes {ratios['scikit-learn']:.0f} times as long" in readme
    assert f"DuckDB {ratios['DuckDB']:.0f} times" in readme
    assert f"scikit-learn uses {ratios['scikit-learn']:.0f} times the CPU time" in comparison
    parquet, memory = re.search(r"\| streammetrics \| ([\d.]+) s \| [\d.]+ s \| ([\d.]+) s", page).groups()
    assert f"take {float(memory):.2f} s of CPU time in memory and {float(parquet):.2f} s from Parquet" in readme
    listed = ", ".join(f"{name} {ratio:.0f}" for name, ratio in ratios.items() if name != "streammetrics")
    described = re.search(r"relative to streammetrics: (.*)\.\]", page)[1]
    assert described.replace(" times", "").replace("and ", "") == listed


@pytest.mark.thorough
@pytest.mark.usefixtures("undrawn")
def test_each_section_of_a_report_is_explained():
    """After a change of the page: ``python docs/pictures/page.py`` photographs it again."""
    pytest.importorskip("vl_convert", reason="vl_convert is not installed")
    rows = {"y": [0, 1] * 200, "p": [0.1, 0.2, 0.15, 0.05] * 100, "country": ["DE", "FR", "FR", "DE"] * 100}
    report = sm.binary(y_true="y", y_score="p", by="country").update(rows).finalize(confidence=0.95)
    sections = re.findall(r"<h2[^>]*>([^<]+)</h2>", page(report))
    explained = (DOCS / "report.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)", explained, re.MULTILINE) == sections
