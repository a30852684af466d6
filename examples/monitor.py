"""Monitor a model that drifts on day 20. Predictions arrive daily, labels three days later. Rules find the segment."""

import sys
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl

import streammetrics as sm

DAYS = [date(2026, 1, 1) + timedelta(days=n) for n in range(30)]


def requests(day: date, rows: int = 6_000) -> pl.DataFrame:
    """Return the requests of a day with scores and purchases. A broken app is released on day 20."""
    random = np.random.default_rng(day.toordinal())
    source = random.choice(["web", "app", "mail"], rows, p=[0.6, 0.3, 0.1])
    logit, noise, lost = random.normal(-1.5, 1.5, rows), random.normal(0, 1, rows), random.random(rows)
    broken = (source == "app") & (day >= DAYS[19])
    score = 1 / (1 + np.exp(-np.where(broken, 0.4 * logit + noise, logit)))
    score[lost < np.where(broken, 0.03, 0.005)] = np.nan
    bought = random.random(rows) < 1 / (1 + np.exp(-logit))
    return pl.DataFrame({"id": range(rows), "day": [day] * rows, "source": source, "score": score, "bought": bought})


Path("scores.toml").write_text("""rule = [
    { require = "rows >= 5000" },
    { require = "dropped_rate <= 0.02", by = "source", alarm = "1 per year" },
    { require = "psi(of='y_score') <= 0.2", against = "28d", by = "source", min_rows = 100 },
]""")
Path("quality.toml").write_text('rule = [{ require = "roc_auc >= 0.78", by = "source", alarm = "1 per year" }]')
scores, quality = sm.MetricStore("scores"), sm.MetricStore("quality")  # without and with labels
unlabeled = sm.predictions(y_score="score", by=["day", "source"])
labeled = sm.binary(y_true="bought", y_score="score", by=["day", "source"], nulls="drop")
known: set[tuple[str, str]] = set()  # rules breached yesterday
for today, before in zip(DAYS, [None] * 3 + DAYS, strict=False):
    requests(today).drop("bought").write_parquet(f"predictions/{today}.parquet", mkdir=True)
    scores.append(sm.accumulate(f"predictions/{today}.parquet", unlabeled), batch_id=str(today))
    if before:  # labels of that day arrive
        requests(before).select("id", "bought").write_parquet(f"labels/{before}.parquet", mkdir=True)
        kept, come = (pl.scan_parquet(f"{folder}/{before}.parquet") for folder in ("predictions", "labels"))
        quality.append(sm.accumulate(kept.join(come, on="id"), labeled), batch_id=str(before))
    if today >= DAYS[14]:  # two weeks of reference data exist
        found = [sm.check(store, sm.read_rules(f"{store.uri}.toml")) for store in (scores, quality)]
        breached = pl.concat(each.frame for each in found).filter(verdict="breached").rows(named=True)
        for row in breached:
            if (row["rule"], row["where"]) not in known:
                print(f"{today}: {row['rule']} is breached for {row['where']}, at {row['value']:.3f}")
        known = {(row["rule"], row["where"]) for row in breached}

moved = sm.drift_over(scores.query(every="1d", by="source"), "day", reference=(DAYS[0], DAYS[14])).frame
psi = moved.filter(pl.col("day").is_between(DAYS[17], DAYS[21]), measure="psi")
with pl.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=3):
    print("\nPSI of each day against the first two weeks:", psi.pivot("source", index="day", values="value"), sep="\n")
    worst = quality.query(DAYS[19], by="source").finalize().worst("roc_auc")
    print("\nSince then:", worst.select("source", "rows", "value", "lower", "upper"), sep="\n")
print("\nToday:", *found, sep="\n\n")
sys.exit(not all(each.hold for each in found))
