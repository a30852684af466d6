"""Well-known metrics that the library does not have, and where to find them."""

from __future__ import annotations

import re

FAMILIES = {  # names, and where to find them, by family
    "Ranking metrics per query": ("ndcg dcg map mrr hit_rate hit_ratio hits_at_k", "ranx or torchmetrics.retrieval"),
    "Uplift metrics": ("qini auuc uplift uplift_at_k", "scikit-uplift or causalml"),
    "Metrics of forecast distributions": (
        "crps interval_score winkler_score winkler energy_score",
        "scoringrules, or pinball_loss for one quantile",
    ),
    "Clustering metrics": (
        "silhouette davies_bouldin calinski_harabasz adjusted_rand ari rand adjusted_mutual_info nmi v_measure "
        "homogeneity completeness fowlkes_mallows normalized_mutual_info mutual_info",
        "sklearn.metrics",
    ),
    "Text metrics": (
        "bleu sacrebleu rouge rouge1 rouge2 rougel meteor chrf bertscore bert_score wer cer perplexity",
        "torchmetrics.text or Hugging Face evaluate",
    ),
    "Survival metrics": ("c_index concordance_index integrated_brier_score", "scikit-survival or lifelines"),
}
ENDING = re.compile(r"(_score|_samples|@\w+|_at_(k|\d+))+$")  # such as ndcg@10, ndcg_at_10, or silhouette_score
CUT = re.compile(r"(precision|recall)(@\w+|_at_(k|\d+))$")  # of the first results per query


def not_supported(name: str) -> str:
    """Return the family of a metric that is not supported and where to find it, after a space, or nothing.

    >>> not_supported("ndcg@10")
    ' Ranking metrics per query are not supported. See ranx or torchmetrics.retrieval.'
    """
    name = name.strip().lower()
    for family, (names, where) in FAMILIES.items():
        if {name, ENDING.sub("", name)}.intersection(names.split()) or (CUT.match(name) and family.endswith("query")):
            return f" {family} are not supported. See {where}."
    return ""
