"""Compare three models on the same rows in one pass: metrics with paired intervals."""

import tempfile
from pathlib import Path

import polars as pl

import streammetrics as sm
from streammetrics.demo import write_predictions

score = pl.col("p_click")
scores = {
    "model": score,
    "rounded": score.round_sig_figs(1).alias("p_rounded"),  # rounded to one digit
    "bold": (score**1.2).alias("p_bold"),  # the same ranking, but probabilities too low
}
with tempfile.TemporaryDirectory() as folder:
    write_predictions(Path(folder), rows=300_000)
    report = sm.evaluate(f"{folder}/*.parquet", sm.binary(y_true="clicked", y_score=scores))

rounded, bold = (report.compare("model", name) for name in ("rounded", "bold"))
wanted = pl.col("metric").is_in(["roc_auc", "average_precision", "log_loss", "accuracy"])
shown = pl.col("metric", "a", "b", "difference", "ci_lower", "ci_upper", "better")
with pl.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, tbl_cols=-1, tbl_width_chars=120):
    print("The bold model (b) ranks rows like the model (a), so only its probabilities are worse:\n")
    print(bold.frame.filter(wanted).select(shown))
    print("\nRounding to one digit ties scores, which also makes the ranking worse:\n")
    print(rounded.frame.filter(wanted).select(shown))
