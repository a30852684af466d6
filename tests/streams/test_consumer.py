"""Any source with offsets is read into a history, each row once."""

import re
import signal
import sys
import threading
from datetime import date
from pathlib import Path
from types import ModuleType, SimpleNamespace

import polars as pl
import pytest

import streammetrics as sm
from streammetrics.streams import Consumer

DAY = date(2026, 1, 31)


def task():
    return sm.Accumulator(sm.ScoreHistogram(), y_true="y", y_score="p", by="day")


def rows(numbers):
    return {"y": [n % 2 for n in numbers], "p": [n % 10 / 10 for n in numbers], "day": [DAY] * len(numbers)}


class Numbers:
    """A source of so many rows, in pieces; ``then`` is called once they have been read."""

    name = "numbers"

    def __init__(self, size, piece=10, then=lambda: None):
        self.size, self.piece, self.then, self.starts = size, piece, then, []

    def read(self, start, seconds):
        assert 0 < seconds <= 1
        self.starts.append(start)
        upto = min(start + self.piece, self.size)
        if upto == start:
            self.then()
            return [], start
        return [rows(range(start, upto))], upto


def consumer(folder, source, **options):
    return Consumer(source, task(), sm.MetricStore(folder / "history"), **options)


def test_a_batch_ends_after_so_many_rows(tmp_path):
    reader = consumer(tmp_path, Numbers(100), rows=25)
    assert reader.step() == 30
    assert reader.store.offset("numbers") == 30
    assert reader.step() == 30
    assert reader.store.query(every="1d").to_bytes() == task().update(rows(range(60))).to_bytes()


def test_a_batch_ends_after_a_time(tmp_path, monkeypatch):
    source = Numbers(100)
    reader = consumer(tmp_path, source, seconds=30)
    clock = iter([0.0, 1.0, 29.5, 30.5])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    with monkeypatch.context() as patch:
        patch.setattr(reader.store.__class__, "append", lambda *_, **origin: found.update(origin))
        found = {}
        assert reader.step() == 20
    assert found == {"source": "numbers", "start": 0, "upto": 20}


def test_without_rows_nothing_is_added(tmp_path):
    reader = consumer(tmp_path, Numbers(0, then=lambda: reader.stop()))
    assert reader.step() == 0
    assert not (tmp_path / "history").exists()


def test_the_next_consumer_goes_on_where_the_history_ends(tmp_path):
    for size in (20, 20, 50):
        source = Numbers(size)
        reader = consumer(tmp_path, source)
        source.then = reader.stop
        reader.run()
    assert source.starts[0] == 20
    assert reader.store.query().seen == 50


def test_a_bad_row_moves_no_offset(tmp_path):
    class Bad(Numbers):
        def read(self, start, seconds):
            return [rows(range(start, start + 5)), {"y": [3], "p": [0.5], "day": [DAY]}], start + 6

    reader = consumer(tmp_path, Bad(10))
    with pytest.raises(sm.DataError, match="labels other than 0 and 1"):
        reader.run()
    assert reader.store.offset("numbers") is None


def test_another_consumer_of_the_source_is_noticed(tmp_path):
    source = Numbers(100)
    reader = consumer(tmp_path, source, rows=10)
    reader.step()
    other = consumer(tmp_path, Numbers(100), rows=10)
    source.read = lambda start, seconds: (other.step(), Numbers(100, 20).read(start, seconds))[1]
    with pytest.raises(sm.DataError, match="history ends at offset 20"):
        reader.step()
    assert reader.store.query().seen == 20


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_run_after_what_was_read(kind, tmp_path):
    class Interrupted(Numbers):
        def read(self, start, seconds):
            if start == 30:
                signal.raise_signal(kind)
            return super().read(start, seconds)

    before = signal.getsignal(kind)
    reader = consumer(tmp_path, Interrupted(1_000))
    reader.run()
    assert reader.store.offset("numbers") == 40 == reader.store.query().seen
    assert signal.getsignal(kind) is before


def test_a_consumer_runs_in_a_thread(tmp_path):
    source = Numbers(50)
    reader = consumer(tmp_path, source)
    source.then = reader.stop
    thread = threading.Thread(target=reader.run)
    thread.start()
    thread.join()
    assert reader.store.query().seen == 50


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 0}, "rows= and seconds= must be positive, got 0 and 60.0"),
        ({"acc": 3}, "acc= must be of type Accumulator, got int"),
        ({"store": "history"}, "store= must be of type MetricStore, got str"),
    ],
)
def test_what_is_no_consumer(options, message, tmp_path):
    given = {"acc": task(), "store": sm.MetricStore(tmp_path)} | options
    with pytest.raises(sm.SpecificationError, match=message):
        Consumer(Numbers(1), **given)


# The example of the documentation, with a broker that has gaps between offsets


class Broker:
    """As much of confluent_kafka.Consumer as the example uses."""

    def __init__(self, values):
        self.messages, self.position = dict(zip(range(5, 5 + 2 * len(values), 2), values, strict=True)), None

    def assign(self, partitions):
        self.position = partitions[0].offset

    def consume(self, most, timeout):
        left = [offset for offset in self.messages if offset >= self.position][: min(most, 4)]
        self.position = left[-1] + 1 if left else self.position
        return [message(offset, self.messages[offset]) for offset in left]


def message(offset, value):
    return SimpleNamespace(offset=lambda: offset, value=lambda: value, error=lambda: None)


def test_the_kafka_source_of_the_documentation(tmp_path, monkeypatch):
    kafka = ModuleType("confluent_kafka")
    kafka.KafkaException = RuntimeError
    kafka.TopicPartition = lambda topic, partition, offset: SimpleNamespace(offset=offset)
    monkeypatch.setitem(sys.modules, "confluent_kafka", kafka)
    page = (Path(__file__).parents[2] / "docs" / "streams.md").read_text(encoding="utf-8")
    example = re.search(r"```py\n(import json.*?)```", page, re.DOTALL).group(1)
    names = {}
    exec(compile(example, "streams.md", "exec"), names)
    broker = Broker([f'{{"y": {n % 2}, "p": 0.5, "day": "2026-01-{n + 1:02}"}}' for n in range(9)])
    acc = sm.binary(y_true="y", y_score="p", by=pl.col("day").str.to_date())
    reader = Consumer(names["Partition"](broker, "clicks", 3), acc, sm.MetricStore(tmp_path / "history"), rows=6)
    assert [reader.step(), reader.store.offset("kafka/clicks/3")] == [8, 20]
    broker.position = 0
    again = Consumer(names["Partition"](broker, "clicks", 3), acc, reader.store, rows=1)
    assert again.step() == 1
    assert reader.store.query().seen == 9
