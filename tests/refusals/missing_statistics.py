"""Metrics whose statistic an accumulator lacks: what to add, or which task or labels they need."""

import streammetrics as sm

BINARY = sm.binary(y_true="y", y_score="p")
LABELS = {"a": "p_a", "b": "p_b"}
REGRESSION = sm.regression(y_true="v", y_pred="p")


def _of_a_custom_statistic():
    class SpreadOfForecasts(sm.statistics.RowSums):
        inputs = ("y_true", "spread")

        def of_rows(self, y_true, spread):
            return {"spread_sum": spread, "spread_rows": 1}

    @sm.metric(range=(0, 1))
    def mean_spread(spread_sum, spread_rows):
        return spread_sum / spread_rows

    return REGRESSION.finalize(["mean_spread"])


def _of_no_statistic():
    @sm.metric(range=(0, 1))
    def of_no_statistic(first_unknown, second_unknown):
        return first_unknown / second_unknown

    return REGRESSION.finalize(["of_no_statistic"])


def _lacking(acc, metric, *names):
    return (lambda: acc.finalize([metric]), metric, *names)


REFUSALS = {
    "a metric of pairs": _lacking(
        sm.multiclass(y_true="c", y_score=LABELS), "roc_auc_ovo", "PairHistograms", "one_vs_one=True"
    ),
    "a metric of scores": _lacking(sm.binary(y_true="y", y_pred="z"), "auroc", "ScoreHistogram", "y_score="),
    "a metric of a family": _lacking(REGRESSION, "d2_gamma", "ErrorMoments", "families='gamma'"),
    "a metric of a digest": _lacking(BINARY, "digest_quantile", "TDigest(of='y_score')", "Accumulator"),
    "a metric of another task": _lacking(BINARY, "mae", "regression", "binary"),
    "an average without labels": _lacking(BINARY, "f1(average=macro)", "labels"),
    "a metric of a custom statistic": (_of_a_custom_statistic, "SpreadOfForecasts", "spread="),
    "a metric of no statistic": (_of_no_statistic, "first_unknown", "second_unknown"),
}
