"""Expected metrics beside those that labels showed, on baseball games: each season, and month, from earlier seasons.

    STREAMMETRICS_REAL_DATA=folder python tests/bench/before_labels.py

NannyML (0.13.1, with statsmodels) takes part where it is installed; its usage logging is switched off.
"""

import os
import sys
from pathlib import Path

import polars as pl

import streammetrics as sm

os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"
FACTORS = (1.25, 1.5, 2.0)
METRICS = ("roc_auc", "average_precision", "log_loss", "brier_score", "accuracy", "precision", "recall", "f1")
OF_NANNYML = [m for m in METRICS if m not in ("log_loss", "brier_score")]
SEASONS = range(2017, 2023)


def games():
    """All games but one that ended in a tie."""
    path = Path(os.environ["STREAMMETRICS_REAL_DATA"], "mlb_games.csv")
    rows = pl.read_csv(path, infer_schema_length=None).filter(pl.col("prob1_outcome") != 0.5)
    month = pl.col("date").str.to_date().dt.truncate("1mo")
    return rows.select("season", month.alias("month"), p="prob1", y=pl.col("prob1_outcome").cast(int))


def expected(rows, window):
    """Of each window the metrics that labels showed, those expected, those of the season before, and what held."""
    acc = sm.binary(y_true="y", y_score="p", by=["season", "month"]).update(rows)
    found = []
    for season in SEASONS:
        reference = acc.filter(pl.col("season") < season).rollup()
        current = acc.filter(pl.col("season") == season).rollup(window)
        report, before = current.finalize(), acc.filter(pl.col("season") == season - 1).rollup().finalize()
        frames = {odds: sm.expect(current, reference, odds=odds, metrics=METRICS) for odds in (1.0, *FACTORS)}
        limits = sm.expect(current, reference, metrics=METRICS, confidence=0.95)
        for row in limits.frame.iter_rows(named=True):
            name, keys = row["metric"], {window: row[window]}
            truth = report.get(name, **keys).value
            if truth is None:
                continue
            bounds = {odds: frames[odds].get(name, **keys) for odds in FACTORS}
            found.append(
                {"season": season, "metric": name, "shown": truth, "expected": row["value"]}
                | {"season before": before[name].value, "interval": row["ci_lower"] <= truth <= row["ci_upper"]}
                | {f"odds {odds}": bound.lower <= truth <= bound.upper for odds, bound in bounds.items()}
                | {f"width {odds}": bound.upper - bound.lower for odds, bound in bounds.items()}
            )
    return pl.DataFrame(found)


def of_nannyml(rows):
    """Estimates by CBPE with its own calibration, of each season; None where it is not installed."""
    try:
        import nannyml
    except ImportError:
        return None
    table = rows.with_columns(z=(pl.col("p") >= 0.5).cast(int)).drop("month").to_pandas()
    names = {"y_pred": "z", "y_pred_proba": "p", "y_true": "y", "problem_type": "classification_binary"}
    found = []
    for season in SEASONS:
        current = table[table["season"] == season]
        cbpe = nannyml.CBPE(**names, metrics=OF_NANNYML, chunk_size=len(current)).fit(table[table["season"] < season])
        estimates = cbpe.estimate(current).to_df()
        found += [{"season": season, "metric": m, "nannyml": float(estimates[m, "value"].iloc[-1])} for m in OF_NANNYML]
    return pl.DataFrame(found)


def summary(found):
    """Mean absolute errors and shares of windows, by metric."""
    others = [c for c in ("expected", "nannyml", "season before") if c in found.columns]
    errors = [(pl.col(c) - pl.col("shown")).abs().mean().round(4) for c in others]
    shares = [pl.col(c).mean().round(3) for c in found.columns if c.startswith(("interval", "odds", "width"))]
    return found.group_by("metric", maintain_order=True).agg(*errors, *shares, windows=pl.len())


if __name__ == "__main__":
    rows = games()
    seasons, peer = expected(rows, "season"), of_nannyml(rows)
    if peer is not None:
        seasons = seasons.join(peer, on=["season", "metric"], how="left", maintain_order="left")
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=200, tbl_hide_dataframe_shape=True):
        for found in (seasons, expected(rows, "month")):
            sys.stdout.write(f"{summary(found)}\n")
