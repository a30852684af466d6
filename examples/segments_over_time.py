"""Evaluate a model by day and country, roll up to weeks, list the worst segments, and plot them."""

from datetime import date, timedelta

import numpy as np
import polars as pl

import streammetrics as sm

random = np.random.default_rng(3)
rows = 200_000
day = random.integers(0, 56, rows)
country = random.choice(["DE", "FR", "IN", "JP", "US"], rows, p=[0.3, 0.2, 0.1, 0.1, 0.3])
logit = random.normal(-2, 1.2, rows)
noise = np.where((country == "IN") & (day >= 35), 1.5, 0.1)  # noisy scores in India from the sixth week on
scores = pl.DataFrame(
    {
        "day": pl.Series([date(2026, 1, 5) + timedelta(days=n) for n in range(56)]).gather(day),
        "country": country,
        "bought": random.random(rows) < 1 / (1 + np.exp(-logit)),
        "p_buy": 1 / (1 + np.exp(-(logit + random.normal(0, 1, rows) * noise))),
    }
)

daily = sm.binary(y_true="bought", y_score="p_buy", by=["day", "country"]).update(scores)
weekly = daily.rollup(pl.col("day").dt.truncate("1w").alias("week"), "country")  # does not read the rows again
report = weekly.finalize(["roc_auc", "log_loss", "rows"], confidence=0.95)

with pl.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=3):
    print("The five worst combinations of country and week, by the better interval endpoint:")
    worst = report.worst("roc_auc", n=5, by_bound=True)
    print(worst.select("week", "country", "rows", "value", "ci_lower", "ci_upper"))
    print("Differences between the best and the worst country in each week:")
    print(report.gaps("roc_auc", over="country").select("week", "highest", "lowest", "max", "min", "difference"))

report.save_html("segments.html", title="Purchases by country and week")
print("segments.html has charts and a sortable table of all groups.")
