"""Pictures of the documentation show the numbers of their page."""

import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
DRAWN = runpy.run_path(str(DOCS / "pictures" / "decisions.py"))


@pytest.mark.parametrize("name", DRAWN["PICTURES"])
def test_pictures_are_as_the_script_draws_them(name):
    assert (DOCS / "pictures" / name).read_text(encoding="utf-8") == DRAWN["PICTURES"][name]()


@pytest.mark.thorough
def test_the_picture_of_bounds_shows_the_numbers_of_its_page(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "pictures")
    drawn = runpy.run_path(str(DOCS / "pictures" / "why_bounds.py"))["why"]()
    assert (DOCS / "pictures" / "why_bounds.svg").read_text(encoding="utf-8") == drawn
    page = (DOCS / "why-bounds.md").read_text(encoding="utf-8")
    for printed in re.findall(r"```text\n(.*?)\n```", page):
        for number in re.findall(r"\d\.\d+", printed):
            assert number in drawn


def test_their_numbers_are_those_of_the_page():
    """Which a test of the page holds to be those that it prints."""
    page = (DOCS / "decisions.md").read_text(encoding="utf-8")

    def shown(pattern):
        return [float(number) for number in re.search(pattern, page).groups()]

    assert shown(r"\nvalue ([\d.]+)\n") == [DRAWN["VALUE"]]
    assert tuple(shown(r"\ncertified bounds ([\d.]+) to ([\d.]+)\n")) == DRAWN["BOUNDS"]
    assert tuple(shown(r"\nconfidence interval ([\d.]+) to ([\d.]+)\n")) == DRAWN["INTERVAL"]
    for limit, verdict in DRAWN["LIMITS"].items():
        found = shown(rf"\nroc_auc >= {limit:g} .* ([\d.]+) to ([\d.]+) +{verdict}\n")
        assert tuple(found) == DRAWN["SIDE"]
