"""Settings of the whole suite."""

import ast
import doctest
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import settings

from streammetrics.metrics.metric import _registry
from streammetrics.statistics import STATISTICS

settings.register_profile("patient", deadline=None)  # a busy machine is no failure
settings.load_profile("patient")

collect_ignore = ["tests/benchmarks"]
elsewhere = doctest.DocTestFinder._from_module


@cache
def defined(path):
    """Names of the classes and functions of a file."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}


def of_file(finder, module, thing):
    """Whether a thing belongs to a file: public ones say where users find them, and not where they are defined."""
    name = getattr(thing, "__name__", None)
    if module is not None and module.__name__.startswith("streammetrics") and vars(module).get(name) is thing:
        return name in defined(module.__file__)
    return elsewhere(finder, module, thing)


doctest.DocTestFinder._from_module = of_file


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave all sets of parameters of a test but the first to the thorough run."""
    for _, own in groupby(items, key=lambda item: item.nodeid.partition("[")[0]):
        for case in list(own)[1:]:
            case.add_marker(pytest.mark.thorough)


@pytest.fixture
def forgotten():
    """Forget the metrics and statistics that a test declares."""
    statistics, metrics = dict(STATISTICS), {name: [*known] for name, known in _registry.items()}
    yield
    for known, before in ((STATISTICS, statistics), (_registry, metrics)):
        known.clear()
        known.update(before)
