"""The site builds without a warning, with every page as text for language models."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
MADE = runpy.run_path(str(ROOT / "docs" / "llms.py"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocstrings", reason="the docs extra is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", f"--site-dir={folder}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={"NO_MKDOCS_2_WARNING": "1"})
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.thorough
def test_the_site_builds_and_has_all_pages_as_text(site):
    listed, full = ((site / name).read_text("utf-8") for name in ("llms.txt", "llms-full.txt"))
    links = re.findall(r"^- \[.+\]\((.*/)\): .+\.$|^- \[.+\?\]\((.*/)\): .+\.$", listed, re.MULTILINE)
    assert len(links) == len(PAGES)
    assert all((site / link[0] / "index.html").is_file() for link in links)
    for page in PAGES:
        assert re.search(r"^# .*", page.read_text("utf-8"), re.MULTILINE)[0] in full
    assert "\n::: " not in full
    assert "### Accumulator.finalize(self, metrics=None, " in full
    assert "### recall {" in full


@pytest.mark.thorough
def test_examples_of_docstrings_are_blocks_of_code(site):
    page = (site / "reference/accumulator/index.html").read_text("utf-8")
    assert "<blockquote>" not in page
    assert "# doctest:" not in page


def test_each_page_begins_with_a_sentence_about_it():
    for page in PAGES:
        text = re.sub(r"\A---\n.*?\n---\n", "", page.read_text("utf-8"), flags=re.DOTALL)
        assert re.fullmatch(r"[A-Z`].*[.]", MADE["summary"](text)), page


@pytest.mark.browser
def test_no_code_is_cut_and_no_page_is_wider_than_the_window_or_longer_than_ten_of_them(site, browser):
    """Or fourteen in the reference, in which names are looked up."""
    window = browser.new_page(viewport={"width": 1280, "height": 1000})
    overflowing = (
        "most => [...document.querySelectorAll('.md-content pre code')].some(e => e.scrollWidth > e.clientWidth + 1)"
        " || document.documentElement.scrollWidth > innerWidth"
        " || document.documentElement.scrollHeight > most * innerHeight"
    )
    found = []
    for page in sorted(site.rglob("index.html")):
        folder = page.parent.relative_to(site)
        window.goto(page.as_uri(), wait_until="load")
        if window.evaluate(overflowing, 14 if folder.parts[:1] in (("metrics",), ("reference",)) else 10):
            found.append(folder)
    window.close()
    assert found == []
