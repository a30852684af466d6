"""Histories in an object store."""

import json
import subprocess
import sys
from datetime import date

import pytest

import streammetrics as sm

pytestmark = pytest.mark.engine

APPENDS = """
import json, sys
from datetime import date
import streammetrics as sm

uri, options, writer = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
history = sm.MetricStore(uri, storage_options=options)
task = sm.binary(y_true="y", y_score="p", by="day")
for n in range(6):
    batch = {"y": [1, 0], "p": [0.9, 0.2], "day": [date(2026, 1, 1 + n % 5)] * 2}
    history.append(task.empty().update(batch), batch_id=f"{writer} {n}")
"""


def test_a_history_in_an_object_store(options):
    history = sm.MetricStore("s3://histories/clicks", storage_options=options)
    task = sm.binary(y_true="y", y_score="p", by=["day", "country"])
    days = [
        {"y": [1, 0, 1], "p": [0.9, 0.2, 0.4], "day": [date(2026, 1, n)] * 3, "country": ["DE", "FR", "FR"]}
        for n in (1, 2, 3)
    ]
    states = [task.empty().update(day) for day in days]
    for n, state in enumerate(states):
        assert history.append(state, batch_id=str(n))
        assert not history.append(state, batch_id=str(n))
    together = task.empty().update(days[1]).update(days[2]).rollup("country")
    asked = history.query("2026-01-02", by="country")
    assert asked.finalize().frame.equals(together.finalize().frame)
    history.compact()
    assert history.query("2026-01-02", by="country").to_bytes() == asked.to_bytes()
    history.retain("2026-01-03")
    assert history.query().finalize()["rows"].value == 3


def test_writers_that_race_lose_nothing_and_double_nothing(options):
    uri = "s3://histories/race"
    commands = [[sys.executable, "-c", APPENDS, uri, json.dumps(options), writer] for writer in ("a", "b")]
    writers = [subprocess.Popen(command) for command in commands]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    assert sm.MetricStore(uri, storage_options=options).query().finalize()["rows"].value == 2 * 2 * 6
