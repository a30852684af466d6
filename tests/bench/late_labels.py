"""How long labels take to find their scores among millions that wait: python tests/bench/late_labels.py [days]."""

import sys
import tempfile
import time
from datetime import date, timedelta

import numpy as np
import polars as pl

import streammetrics as sm

ROWS, LABELS = 225_000, 100_000


def scores(number, text):
    ids = pl.Series(np.arange(number * ROWS, (number + 1) * ROWS))
    random = np.random.default_rng(number)
    columns = {"score": random.random(ROWS), "source": random.choice(["web", "app", "mail"], ROWS)}
    day = pl.lit(date(2026, 1, 1) + timedelta(days=number)).alias("day")
    return pl.DataFrame({"id": named(ids) if text else ids, **columns}).with_columns(day)


def named(ids):
    """Texts of 36 characters without order, as UUIDs."""
    return pl.Series(ids.hash(1).cast(pl.String).str.zfill(20) + ids.hash(2).cast(pl.String).str.head(16))


def timed(text, act):
    start, cpu = time.perf_counter(), time.process_time()
    found = act()
    print(f"{text}: {time.perf_counter() - start:.1f} s, CPU {time.process_time() - cpu:.1f} s  {found}", flush=True)


def run(days, text):
    task = sm.binary(y_true="bought", y_score="score", by=["day", "source"])
    with tempfile.TemporaryDirectory() as folder:
        joiner = sm.Joiner(sm.MetricStore(folder), task, key="id", expires="45d")
        for number in range(days - 1):
            joiner.add_scores(scores(number, text))
        timed("scores of a day", lambda: joiner.add_scores(scores(days - 1, text)))
        random = np.random.default_rng(0)
        for _ in range(2):
            ids = pl.Series(random.choice(days * ROWS, LABELS, replace=False))
            bought = pl.DataFrame({"id": named(ids) if text else ids, "bought": random.random(LABELS) < 0.5})
            timed("labels", lambda bought=bought: joiner.add_labels(bought))
        timed("corrections", lambda: joiner.add_labels(bought.with_columns(~pl.col("bought")), correct=True))
        timed("coverage", lambda: joiner.coverage().height)
        timed("compact", joiner.compact)
        timed("labels, compacted", lambda: joiner.add_labels(bought))
        timed("scores of a day, and a day expires", lambda: joiner.add_scores(scores(days + 1, text)))


if __name__ == "__main__":
    for text in (False, True):
        print("texts" if text else "integers")
        run(int(sys.argv[1]) if len(sys.argv) > 1 else 45, text)
