"""How fast a Redis stream is read into a history: python tests/benchmarks/streams.py, with redis-server installed."""

import shutil
import subprocess
import tempfile
import time
from datetime import date

import numpy as np
import polars as pl
import pyarrow as pa
import redis

import streammetrics as sm
from streammetrics.streams import Consumer, RedisStream

SCHEMA = {"clicked": pl.Int8, "p": pl.Float64, "country": pl.String, "day": pl.Date}


def rows(count):
    random = np.random.default_rng(0)
    columns = {"clicked": random.integers(0, 2, count, dtype=np.int8), "p": random.random(count)}
    countries = random.choice(["DE", "FR", "US"], count)
    return pl.DataFrame({**columns, "country": countries, "day": [date(2026, 1, 31)] * count})


def add_rows(client, count):
    frame = rows(count).with_columns(pl.all().cast(pl.String))
    pipe = client.pipeline(transaction=False)
    for n, row in enumerate(frame.iter_rows(named=True)):
        pipe.xadd("predictions", row)
        if n % 10_000 == 9_999:
            pipe.execute()
    pipe.execute()


def add_tables(client, count, size=10_000):
    content = rows(size).to_arrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, content.schema) as writer:
        writer.write_table(content)
    for _ in range(count // size):
        client.xadd("predictions", {"arrow": sink.getvalue().to_pybytes()})


def run(client, add, count, most):
    client.flushall()
    add(client, count)
    with tempfile.TemporaryDirectory() as folder:
        acc = sm.binary(y_true="clicked", y_score="p", by=["day", "country"])
        stream = RedisStream(client, "predictions", schema=SCHEMA, count=most)
        consumer, read = Consumer(stream, acc, sm.MetricStore(folder), rows=count // 2), 0
        start, cpu = time.perf_counter(), time.process_time()
        while read < count:
            read += consumer.step()
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(f"{add.__name__}: {count / wall:,.0f} rows/s, {count / cpu:,.0f} rows for a second of CPU time", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        socket = f"{folder}/socket"
        command = [shutil.which("redis-server"), "--port", "0", "--unixsocket", socket, "--save", ""]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            time.sleep(1)
            client = redis.Redis(unix_socket_path=socket)
            for _ in range(2):
                run(client, add_rows, 200_000, 1_000)
                run(client, add_tables, 4_000_000, 50)
        finally:
            server.terminate()
            server.wait()
