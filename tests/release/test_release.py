"""What is released says the same everywhere: the version, dependencies, and extras."""

import re
import tomllib
from pathlib import Path

import pytest
import rehearsal
from features import FEATURES

import streammetrics as sm

ROOT = Path(__file__).parents[2]
RECIPE, CITATION = ROOT / ".github" / "conda" / "recipe.yaml", ROOT / "CITATION.cff"
checkout = pytest.mark.skipif(not RECIPE.exists(), reason="the source distribution does not hold these files")


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@checkout
def test_the_version_is_the_same_everywhere():
    assert re.search(r"^version: (.*)$", CITATION.read_text(encoding="utf-8"), re.MULTILINE)[1] == sm.__version__
    assert re.search(r'^  version: "(.*)"$', RECIPE.read_text(encoding="utf-8"), re.MULTILINE)[1] == sm.__version__


@checkout
def test_the_recipe_has_the_dependencies_of_the_package():
    run = RECIPE.read_text(encoding="utf-8").partition("  run:\n")[2].partition("\n\n")[0]
    listed = [line.strip().removeprefix("- ").replace(" ", "") for line in run.splitlines()]
    assert listed == [f"python{project()['requires-python']}", *project()["dependencies"]]


def test_the_rehearsal_knows_every_extra():
    assert {*project()["optional-dependencies"]} == {*FEATURES, *rehearsal.NO_FEATURE}


def test_the_rehearsal_runs_files_that_are_there():
    assert all((ROOT / path).exists() for path in rehearsal.QUICK)
