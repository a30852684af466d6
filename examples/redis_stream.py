"""Add the entries of a Redis stream to a history, each once. Arguments: URL, stream, and history."""

import sys
import time

import polars as pl
import redis

import streammetrics as sm

FIELDS = dict.fromkeys(("clicked", "p", "country", "day"), pl.String)
COLUMNS = [pl.col("clicked").cast(pl.Int8), pl.col("p").cast(pl.Float64), "country", pl.col("day").str.to_date()]
ENTRIES = 100_000  # per commit, at most
SECONDS = 60  # between commits


def offset(entry_id: str) -> int:
    """Return an entry ID as one number: its milliseconds, and 20 bits for its number within the millisecond."""
    milliseconds, number = map(int, entry_id.split("-"))
    return milliseconds << 20 | number


def entry_id(offset: int) -> str:
    return f"{offset >> 20}-{offset & (1 << 20) - 1}"


def add(client: redis.Redis, stream: str, store: sm.MetricStore, acc: sm.Accumulator) -> int:
    """Add the entries after those in the history in one commit, which also stores the offset. Return their number."""
    source = f"redis/{stream}"
    start = store.offset(source) or 0
    entries = client.xrange(stream, f"({entry_id(start)}", count=ENTRIES)
    if entries:
        rows = pl.DataFrame([fields for _, fields in entries], schema=FIELDS).select(COLUMNS)
        store.append(acc.empty().update(rows), source=source, start=start, upto=offset(entries[-1][0]))
    return len(entries)


if __name__ == "__main__":
    url, stream, history = sys.argv[1:]
    client, store = redis.Redis.from_url(url, decode_responses=True), sm.MetricStore(history)
    acc = sm.binary(y_true="clicked", y_score="p", by=["day", "country"])
    while True:
        if add(client, stream, store, acc) < ENTRIES:
            time.sleep(SECONDS)
