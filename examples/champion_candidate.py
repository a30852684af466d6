"""Decide whether a candidate may replace the champion: exit code 0 if it may, 1 if not, 3 if the rows do not suffice.

Copy it into a pipeline: replace the source and the columns, and set the margins before you see results.
If rows of a user are correlated, also pass unit=, such as unit="user_id".
"""

import sys
import tempfile
from pathlib import Path

import polars as pl

import streammetrics as sm
from streammetrics.demo import write_predictions

score = pl.col("p_click")
SCORES = {
    "champion": score,
    "candidate": (score**0.93).round_sig_figs(2).alias("p_candidate"),  # the champion predicts too few clicks
}
NOT_WORSE = {"roc_auc": 0.002, "average_precision": "3%"}  # what the candidate may lose, in all rows
NOT_WORSE_BY_COUNTRY = {"log_loss": "1%"}  # and in every country
BETTER = ["log_loss"]  # what it must gain, in all rows

with tempfile.TemporaryDirectory() as folder:
    write_predictions(Path(folder), rows=300_000)
    acc = sm.evaluate(f"{folder}/*.parquet", sm.binary(y_true="clicked", y_score=SCORES, by="country"))

comparison = sm.compare(acc, models=("champion", "candidate"))
overall = comparison.rollup().check(not_worse=NOT_WORSE, better=BETTER)
by_country = comparison.check(not_worse=NOT_WORSE_BY_COUNTRY)
print(overall, by_country, sep="\n\n")

if overall.hold and by_country.hold:
    print("\nThe candidate may replace the champion.")
else:
    verdicts = pl.concat([overall.frame, by_country.frame]).filter(~pl.col("passes"))["verdict"]
    sys.exit(3 if verdicts.is_in(["open", "too few rows"]).all() else 1)
