"""Every refusal is an exception of the library that names the fault, and a failed update leaves the state as it was."""

import pytest
from data import CLICKS, clicks
from refusals import SUBJECTS, refusals

import streammetrics as sm

CASES = [
    pytest.param(refusal, id=f"{subject}: {wrong}")
    for subject in SUBJECTS
    for wrong, refusal in refusals(subject).items()
]


@pytest.mark.whole
@pytest.mark.parametrize("refusal", CASES)
def test_the_message_names_the_fault(refusal, tmp_path):
    assert issubclass(refusal.error, sm.StreamMetricsError)
    message = refusal.message(tmp_path)
    assert [name for name in refusal.names if name not in message] == [], message


@pytest.mark.parametrize("column", ["clicked", "score"])
def test_a_failed_update_leaves_the_state_as_it_was(column):
    acc = sm.binary(by="country", **CLICKS).update(clicks())
    before = acc.to_bytes()
    bad = clicks().with_columns(clicks()[column].cast(float).scatter(3_999, 7))
    with pytest.raises(sm.DataError, match=column):
        acc.update(bad)
    assert acc.to_bytes() == before
