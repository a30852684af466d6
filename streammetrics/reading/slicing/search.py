"""Search for slices that are worse, and not explained by larger or worse slices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streammetrics.core import Floats
from streammetrics.metrics import discoveries, ecce_p_value
from streammetrics.reading.slicing.candidates import Candidates, Columns, Numbers
from streammetrics.reading.slicing.remainders import Remainders


def miscalibrated(remainders: Remainders, candidates: Candidates, fdr: float) -> tuple[Numbers, Floats]:
    """Return the slices whose labels contradict their scores, and all p-values, which are upper bounds."""
    p = np.full(len(candidates.rows), np.nan)
    for columns, numbers in candidates.numbers.items():
        if columns:
            slices = candidates.slices_by(columns)
            estimates = remainders.estimates(ecce_p_value, np.maximum(numbers - slices[0], -1), len(slices))
            p[slices] = estimates["upper"].fill_null(np.nan)
    return _discovered(p, fdr), p


def worse(remainders: Remainders, candidates: Candidates, fdr: float) -> tuple[Numbers, Floats]:
    """Return the slices that are worse, and not explained by other slices, and all p-values.

    The p-value of a slice is the largest of the comparisons with all other rows and with those of each larger slice.
    """
    count = len(candidates.rows)
    tables = remainders.tables(candidates.numbers.values(), count)
    overall = remainders.compare(tables, np.arange(1, count), tables, np.zeros(count - 1, np.int64))
    p = np.append(np.nan, overall["p_value"].fill_null(np.nan))
    for columns in candidates.numbers:
        slices = candidates.slices_by(columns)
        near = slices[p[slices] <= fdr]
        for parent in candidates.parents(columns) if len(columns) > 1 else ():
            owners = candidates.numbers[parent][candidates.first[near]]
            among_parent = remainders.compare(tables, near, tables, owners)["p_value"].fill_null(1)
            p[near] = np.maximum(p[near], among_parent)
    failing = _discovered(p, fdr)
    effect = np.append(0, overall["difference"].fill_null(0).abs())
    order = failing[np.argsort(-effect[failing], kind="stable")]
    ranks = np.zeros(count + 1)  # the largest is the worst; the last is that of groups without a slice
    ranks[order] = np.arange(len(order), 0, -1)
    explained = [_explained(remainders, candidates, columns, ranks, fdr) for columns in candidates.numbers]
    return np.setdiff1d(failing, np.concatenate(explained)), p


def _explained(
    remainders: Remainders, candidates: Candidates, columns: Columns, ranks: Floats, fdr: float
) -> NDArray[np.integer]:
    """The failing slices by some columns that are not worse without the rows that they share with worse ones."""
    numbers, count = candidates.numbers[columns], len(candidates.rows)
    others = [ranks[slices] for other, slices in candidates.numbers.items() if not {*other} <= {*columns}]
    worst = np.max([np.zeros(len(numbers)), *others], axis=0)
    shared = worst > ranks[numbers]
    slices = np.unique(numbers[shared & (ranks[numbers] > 0)])
    is_worse = np.ones(len(slices), bool)
    left = np.where(shared | (ranks[numbers] == 0), -1, numbers)
    for parent in dict.fromkeys([(), *candidates.parents(columns)]) if len(slices) else ():
        larger = candidates.numbers[parent]
        tables = remainders.tables([left], count)
        besides = remainders.tables([np.where((worst > 0) & (left < 0), -1, larger)], count)
        owners = larger[candidates.first[slices]]
        p = remainders.compare(tables, slices, besides, owners)["p_value"]
        is_worse &= p.fill_null(1).to_numpy() <= fdr
    return slices[~is_worse]


def _discovered(p: Floats, fdr: float) -> Numbers:
    """The discoveries among tested slices, which are those with a p-value."""
    tested = np.flatnonzero(~np.isnan(p))
    return tested[discoveries(p[tested], fdr)]
