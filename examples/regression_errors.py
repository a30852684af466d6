"""Evaluate forecast errors by region: MAD and quantiles with bounds, and intervals that account for correlated rows."""

import numpy as np
import polars as pl

import streammetrics as sm

REGIONS = ["north", "south", "coast"]
ROWS = 100_000
random = np.random.default_rng(0)


def batch(week: int) -> pl.DataFrame:
    """Return a week of demand forecasts. Each day has its own bias, and one row in a hundred has a large error."""
    day = random.integers(0, 7, ROWS) + 7 * week
    region = random.integers(0, len(REGIONS), ROWS)
    demand = random.gamma(4.0, 25.0, ROWS)
    of_day = np.random.default_rng(week).normal(0.0, 3.0, 7)[day % 7]
    error = of_day + random.normal(0.0, 1.0 + region, ROWS) * np.where(random.random(ROWS) < 0.01, 40.0, 4.0)
    return pl.DataFrame(
        {"day": day, "region": pl.Series(REGIONS).gather(region), "demand": demand, "forecast": demand + error}
    )


acc = sm.regression(y_true="demand", y_pred="forecast", by="region", unit="day", capacity=8_192)
for week in range(8):
    acc.update(batch(week))

shown = ["mae", "rmse", "bias", "r2", "mad", "absolute_error_quantile(q=0.99)", "within(x=10)"]
report = acc.finalize(shown, confidence=0.95)
print(report)

print("\nThe large errors of one row in a hundred raise RMSE far above MAD. With bounds and intervals:\n")
with pl.Config(tbl_rows=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=4):
    wanted = pl.col("metric").is_in(["rmse", "mad", "bias"])
    print(report.frame.filter(wanted).drop("note"))

print("\nAll regions:", acc.rollup().finalize()["absolute_error_quantile(q=0.99)"])
