"""The forms of the loops over rows, for tests that hold them to one another."""

from importlib import import_module

import pytest

from streammetrics.core import compiled


def compiled_forms():
    """The loops compiled for all processors and for those with AVX2."""
    if compiled is None:
        return []
    baseline = import_module("streammetrics.core._baseline")
    return [baseline, *([import_module("streammetrics.core._avx2")] if baseline.has_avx2() else [])]


def each_form(*definitions):
    """Run a test with the definition and with each compiled form."""
    forms = [*definitions, *compiled_forms()]
    return pytest.mark.parametrize("form", forms, ids=lambda module: module.__name__.rpartition(".")[2])
