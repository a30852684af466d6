"""Streams of a real Redis server: rows, tables, consumers that are killed and stopped."""

import random
import re
import signal
import time
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow as pa
import pytest
from processes import start

import streammetrics as sm
from streammetrics.streams import Consumer, RedisStream

SCHEMA = {"y": pl.Boolean, "p": pl.Float64, "day": pl.Date}


def task():
    return sm.Accumulator(sm.ScoreHistogram(), y_true="y", y_score="p", by="day")


def rows(numbers):
    return pl.DataFrame(
        {
            "y": [n % 3 == 0 for n in numbers],
            "p": [n % 10 / 10 for n in numbers],
            "day": [date(2026, 1, 1 + n % 2) for n in numbers],
        }
    )


def fields(number):
    row = rows([number]).row(0, named=True)
    return {"y": str(row["y"]), "p": row["p"], "day": str(row["day"])}


def table(frame):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, (content := frame.to_arrow()).schema) as writer:
        writer.write_table(content)
    return {"arrow": sink.getvalue().to_pybytes()}


def stream(client, **options):
    return RedisStream(client, "predictions", **({"schema": SCHEMA} | options))


def test_entries_are_rows_or_tables(client, tmp_path):
    for n in range(10):
        client.xadd("predictions", fields(n))
    client.xadd("predictions", table(rows(range(10, 60))))
    client.xadd("predictions", table(rows(range(60, 80))))
    client.xadd("predictions", table(rows(range(80, 100)).select("p", "y", "day")))
    client.xadd("predictions", fields(100))
    consumer = Consumer(stream(client, count=7), task(), sm.MetricStore(tmp_path / "history"), rows=101)
    assert consumer.step() == 101
    assert consumer.store.query(every="1d").to_bytes() == task().update(rows(range(101))).to_bytes()
    last = client.xrevrange("predictions", count=1)[0][0].decode()
    assert RedisStream.entry_id(consumer.store.offset("redis/predictions")) == last


def test_a_stream_goes_on_after_the_offset(client):
    source, ids = stream(client), [f"{moment}-{n}" for moment in (1, 1_795_361_784_781) for n in (1, 2)]
    offsets = []
    for n, entry in enumerate(ids):
        client.xadd("predictions", fields(n), id=entry)
        (found,), upto = source.read(offsets[-1] if offsets else 0, 0.5)
        assert found.equals(rows([n]))
        offsets.append(upto)
    assert offsets == sorted({*offsets})
    assert source.read(offsets[-1], 0.01) == ([], offsets[-1])


def test_fields_have_the_types_of_the_schema(client):
    types = {"i": pl.Int64, "f": pl.Float32, "b": pl.Boolean, "d": pl.Date, "t": pl.Datetime("us"), "s": pl.String}
    first = {"i": "-3", "f": "0.5", "b": "TRUE", "d": "2026-01-31", "t": "2026-01-31T10:00:00", "s": "å", "other": "x"}
    client.xadd("predictions", first)
    client.xadd("predictions", {"b": "0"})
    (found,), _ = stream(client, schema=types).read(0, 0.5)
    assert found.schema == types
    assert found.rows() == [
        (-3, 0.5, True, date(2026, 1, 31), datetime(2026, 1, 31, 10), "å"),
        (None, None, False, None, None, None),
    ]


def test_times_without_a_zone_are_utc(client):
    client.xadd("predictions", {"t": "2026-01-31T10:00:00", "z": "2026-01-31T10:00:00"})
    types = {"t": pl.Datetime("us"), "z": pl.Datetime("us", "Asia/Tokyo")}
    (found,), _ = stream(client, schema=types).read(0, 0.5)
    assert found.row(0) == (datetime(2026, 1, 31, 10), datetime(2026, 1, 31, 19, tzinfo=ZoneInfo("Asia/Tokyo")))


@pytest.mark.parametrize(
    ("entry", "options", "error", "message"),
    [
        (
            {"y": "1", "p": "high", "day": "2026-01-01"},
            {},
            sm.DataError,
            r"Field 'p' of entries \d+-0 to \d+-0 cannot be",
        ),
        (
            {"y": "yes", "p": "1", "day": "2026-01-01"},
            {},
            sm.DataError,
            "Field 'y' .* cannot be parsed as Boolean: 'yes' is not 1, 0, true, or false",
        ),
        ({"arrow": b"PAR1"}, {}, sm.DataError, r"Field 'arrow' of entry \d+-0 is not an Arrow IPC stream"),
        ({"y": "1"}, {"schema": None}, sm.ColumnError, "has no field 'arrow'. If each entry is one row, pass schema="),
    ],
)
def test_entries_that_cannot_be_read(entry, options, error, message, client):
    client.xadd("predictions", entry)
    with pytest.raises(error, match=message):
        stream(client, **options).read(0, 0.5)


def test_what_is_no_stream(client, server):
    import redis

    client.set("predictions", "1")
    with pytest.raises(sm.SourceError, match="Cannot read the Redis stream 'predictions': WRONGTYPE"):
        stream(client).read(0, 0.01)
    with pytest.raises(sm.SpecificationError, match="decode_responses=False"):
        stream(redis.Redis(unix_socket_path=server, decode_responses=True))
    client.delete("predictions")
    client.xadd("predictions", fields(0), id=f"1-{1 << 20}")
    with pytest.raises(sm.SourceError, match="Entry ID 1-1048576 is too large for an offset"):
        stream(client).read(0, 0.5)


# Entries that are lost


def added(client, *ids, **options):
    for entry in ids:
        client.xadd("predictions", fields(0), id=entry, **options)


def offset(entry):
    moment, number = map(int, entry.split("-"))
    return moment << 20 | number


LOST = "may be lost: 2-0, the last entry in the history, is missing, and"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda client: added(client, "7-0", maxlen=3, approximate=False),
            "the next entry is 5-0. So far, 4 entries were removed",
        ),
        (
            lambda client: client.xtrim("predictions", maxlen=0, approximate=False),
            "the stream is empty. So far, 6 entries",
        ),
        (
            lambda client: (client.delete("predictions"), added(client, "3-5", "9-0")),
            "the next entry is 3-5. The stream was created again",
        ),
    ],
)
def test_a_stream_that_was_trimmed_or_made_again_is_noticed(change, message, client):
    added(client, *(f"{n}-0" for n in range(1, 7)))
    change(client)
    source, left = stream(client), [key.decode() for key, _ in client.xrange("predictions")]
    with pytest.raises(sm.SourceError, match=rf"{LOST} {message}.* To continue, pass lost='warn'."):
        source.read(offset("2-0"), 0.01)
    source.lost = "warn"
    with pytest.warns(UserWarning, match=f"{LOST} {message}"):
        batches, upto = source.read(offset("2-0"), 0.01)
    assert sum(batch.height for batch in batches) == len(left)
    assert upto == offset((left or ["2-0"])[-1])


def test_entries_that_are_lost_while_a_consumer_runs_are_noticed(client, tmp_path):
    added(client, "1-0", "2-0")
    reader = Consumer(stream(client), task(), sm.MetricStore(tmp_path / "history"), seconds=0.2)
    assert reader.step() == 2
    added(client, "3-0", "4-0", maxlen=1, approximate=False)
    with pytest.raises(sm.SourceError, match=f"{LOST} the next entry is 4-0"):
        reader.run()
    reader.source.lost = "warn"
    with pytest.warns(UserWarning, match="So far, 3 entries were removed"):
        assert reader.step() == 1
    assert reader.store.offset(reader.source.name) == offset("4-0")


def test_a_stream_that_was_made_again_with_lower_ids_is_refused(client):
    added(client, "5-0")
    for lost in ("raise", "warn"):
        with pytest.raises(
            sm.SourceError, match="was created again: it ends at 5-0, but the history has entries up to 9-1"
        ):
            stream(client, lost=lost).read(offset("9-1"), 0.01)


def test_a_stream_without_entries_after_the_last_has_lost_none(client):
    source, start = stream(client), offset("2-0")
    assert source.read(start, 0.01) == ([], start)  # no stream
    added(client, "1-0", "2-0")
    assert source.read(start, 0.01) == ([], start)
    client.xtrim("predictions", maxlen=0, approximate=False)
    assert source.read(start, 0.01) == ([], start)
    client.delete("predictions")
    added(client, "5-0", "6-0", maxlen=1, approximate=False)
    assert source.read(0, 0.01)[1] == offset("6-0")  # a new consumer takes what there is


def test_what_is_lost_is_said_of_old_servers(client, monkeypatch):
    added(client, "7-0")
    parse = client.response_callbacks["XINFO STREAM"]

    def without(*given, **options):
        return {name: value for name, value in parse(*given, **options).items() if name != "entries-added"}

    client.set_response_callback("XINFO STREAM", without)
    with pytest.raises(
        sm.SourceError, match=f"{LOST} the next entry is 7-0. The stream was trimmed or created again. To continue"
    ):
        stream(client).read(offset("2-0"), 0.01)


def consumer(socket, folder, size):
    import redis

    source = stream(redis.Redis(unix_socket_path=socket), count=20)
    return Consumer(source, task(), sm.MetricStore(folder), rows=size, seconds=1 if size < 100 else 600)


def step(socket, folder, size, sender):
    reader = consumer(socket, folder, size)
    while True:
        sender.send(reader.step())


def run(socket, folder, size, sender):
    consumer(socket, folder, size).run()


@pytest.mark.thorough
def test_rows_of_killed_consumers_are_there_once(server, client, tmp_path):
    rng, store, last, kills = random.Random(0), sm.MetricStore(str(tmp_path / "history")), b"", 0
    for n in range(600):
        last = client.xadd("predictions", fields(n))
    while RedisStream.entry_id(store.offset("redis/predictions") or 0) != last.decode():
        process, receiver = start(step, server, store.uri, 50)
        receiver.poll(60)
        time.sleep(rng.uniform(0, 0.2))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        kills += 1
    assert kills > 1
    assert store.query(every="1d").to_bytes() == task().update(rows(range(600))).to_bytes()


@pytest.mark.thorough
def test_a_consumer_that_is_asked_to_stop_adds_what_it_has_read(server, client, tmp_path):
    store = sm.MetricStore(str(tmp_path / "history"))
    for n in range(100):
        client.xadd("predictions", fields(n))
    process, _ = start(run, server, store.uri, 10_000)
    while not any("b" in one["flags"] for one in client.client_list()):  # it waits for more
        assert process.is_alive()
        time.sleep(0.05)
    process.terminate()
    process.join()
    assert process.exitcode == 0
    assert store.query().seen == 100


@pytest.mark.thorough
def test_the_example_of_the_documentation(client, tmp_path, monkeypatch):
    def run(self):
        self.seconds = 1
        self.step()

    import redis

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(redis, "Redis", lambda: client)
    monkeypatch.setattr(Consumer, "run", run)
    page = (Path(__file__).parents[2] / "docs" / "streams.md").read_text(encoding="utf-8")
    names = {}
    for block in re.findall(r"```py\n(.*?)```", page.partition("## Kafka")[0], re.DOTALL):
        exec(compile(block, "streams.md", "exec"), names)
    assert client.xlen("predictions") == 2  # trimmed up to the first, and a table
    names["consumer"].run()
    assert sm.MetricStore("quality").query().seen == 3
