"""What p-values of ECCE of units are computed from: signs of folds."""

from itertools import product

import numpy as np
import pytest

from streammetrics.metrics.intervals.sign_flips import FoldSums


@pytest.mark.parametrize("seed", range(20))
def test_bounds_hold_for_all_orders_and_scores_in_a_bin(seed):
    """Ranges with each sign of three folds differ from those of the bins by at most what is hidden."""
    random = np.random.default_rng(seed)
    ends = np.array([(0.0, 0.125), (0.25, 0.4375), (0.5625, 1.0)])
    rows = [(b, f, y) for b in range(3) for f in range(3) for y in random.integers(0, 2, random.integers(0, 3))]
    neg, pos = (np.zeros((3, 3)), np.zeros((3, 3)))
    for b, f, y in rows:
        (neg, pos)[y][f, b] += 1
    sums = FoldSums.of(neg, pos, *ends.T)
    for _ in range(30):
        score = np.array(
            [random.uniform(*ends[b]) if random.random() < 0.5 else random.choice(ends[b]) for b, _, _ in rows]
        )
        order = np.lexsort((random.random(len(rows)), score))
        found = {}
        for signs in product([-1, 1], repeat=3):
            error = np.array([signs[f] * (y - s) for (_, f, y), s in zip(rows, score, strict=True)])[order]
            exact = np.insert(error.cumsum(), 0, 0)
            binned = np.insert(np.array(signs) @ sums.sums, 0, 0)
            found[signs] = np.ptp(exact), np.ptp(binned)
        size, of_bins = found[1, 1, 1]
        for one, other in found.values():
            assert abs((one - size) - (other - of_bins)) <= sums.hidden + 1e-12
