"""Settings of the whole suite."""

import doctest
import gc
import os
import re
import signal
import sys
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

import pytest

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # workers and processes of tests then compile each file once
sys.dont_write_bytecode = False

from streammetrics.metrics.metric import _registry  # noqa: E402
from streammetrics.statistics import STATISTICS  # noqa: E402

try:
    from hypothesis import settings
except ModuleNotFoundError:
    pass  # its tests are skipped
else:
    settings.register_profile("patient", deadline=None)  # a busy machine is no failure
    settings.load_profile("patient")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in jobs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

OPTIONAL = (  # modules of extras and of tests
    *("altair", "dask", "datafusion", "deltalake", "duckdb", "hypothesis", "matplotlib", "moto", "pandas"),
    *("playwright", "prometheus_client", "pyspark", "ray", "scipy", "sklearn", "starlette", "tqdm", "uvicorn"),
    *("vl_convert", "xdist"),
)
MISSING = {name for name in OPTIONAL if find_spec(name) is None}
collect_ignore = ["tests/bench"]
elsewhere = doctest.DocTestFinder._from_module


@cache
def defined(path):
    """Names of the classes and functions of a file."""
    return {*re.findall(r"^(?:class|def) (\w+)", Path(path).read_text(encoding="utf-8"), re.MULTILINE)}


def of_file(finder, module, thing):
    """Whether a thing belongs to a file: public ones say where users find them, and not where they are defined."""
    name = getattr(thing, "__name__", None)
    if module is not None and module.__name__.startswith("streammetrics") and vars(module).get(name) is thing:
        return name in defined(module.__file__)
    return elsewhere(finder, module, thing)


doctest.DocTestFinder._from_module = of_file


def missing(error):
    """The name of the module that is not installed, if an error comes of that."""
    seen = error
    while seen is not None:
        seen = seen.exc_info[1] if isinstance(seen, doctest.UnexpectedException) else seen
        name = (getattr(seen, "name", None) or "").partition(".")[0]
        if isinstance(seen, ModuleNotFoundError) and name in MISSING:
            return name
        seen = seen.__cause__ or seen.__context__
    return None


@contextmanager
def skipping():
    """Skip what needs a module that is not installed."""
    try:
        yield
    except Exception as error:
        if name := missing(error):
            pytest.skip(f"{name} is not installed", allow_module_level=True)
        raise


class Module(pytest.Module):
    """A file of tests, skipped if it imports an optional module that is not installed."""

    def collect(self):
        with skipping():
            return super().collect()


def pytest_pycollect_makemodule(module_path, parent):
    return Module.from_parent(parent, path=module_path)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    with skipping():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    with skipping():
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave all sets of parameters of a test but the first to the thorough run, unless all are quick and marked so."""
    for _, own in groupby(items, key=lambda item: item.nodeid.partition("[")[0]):
        for case in list(own)[1:]:
            if not case.get_closest_marker("whole"):
                case.add_marker(pytest.mark.thorough)


def pytest_collection_finish():
    gc.freeze()  # what is collected stays until the end


@pytest.fixture(autouse=True)
def forgotten():
    """Forget the metrics and statistics that a test or an example declares."""
    statistics, metrics = dict(STATISTICS), {name: [*known] for name, known in _registry.items()}
    yield
    for known, before in ((STATISTICS, statistics), (_registry, metrics)):
        known.clear()
        known.update(before)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
