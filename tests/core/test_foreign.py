"""Errors of other libraries come out as the library's own, and nothing else does."""

import deltalake
import polars as pl
import pyarrow as pa
import pytest

import streammetrics as sm
from streammetrics.base.foreign import translated

ERRORS = [
    pl.exceptions.ComputeError("it is\nbroken"),
    pl.exceptions.PanicException("it is"),
    deltalake.exceptions.DeltaError("it is."),
    deltalake.exceptions.CommitFailedError("it is"),
    type("PanicException", (BaseException,), {})("it is"),  # each compiled library has one of its own
    pa.ArrowInvalid("it is"),
    pa.ArrowKeyError("it is"),
    OSError(5, "it is"),
    OSError("it is"),
    RecursionError("it is"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_of_other_libraries_become_one_line(error):
    with (
        pytest.raises(sm.errors.SourceError, match=r"^Cannot read 'x': '?it is'?\.$") as caught,
        translated(sm.errors.SourceError, "Cannot read 'x'"),
    ):
        raise error
    assert caught.value.__cause__ is error


def test_the_causes_of_an_error_of_delta_lake_are_told():
    arrow = "\n      \x1b[31m↳\x1b[0m "
    said = (
        f"Generic LocalFileSystem error{arrow}Unable to copy data to file{arrow}No space left on device (os error 28)\n"
    )
    with (
        pytest.raises(
            sm.errors.StateError,
            match=r"error: Unable to copy data to file: No space left on device \(os error 28\)\.$",
        ),
        translated(sm.errors.StateError, "Cannot write the table"),
    ):
        raise deltalake.exceptions.DeltaError(said)


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, SystemExit, MemoryError, AssertionError, sm.errors.DataError("own")]
)
def test_all_others_pass(error):
    with (
        pytest.raises(error if isinstance(error, type) else type(error)),
        translated(sm.errors.StateError, "Cannot read"),
    ):
        raise error
