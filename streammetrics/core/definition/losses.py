"""Log loss and Brier loss by label."""

from __future__ import annotations

import numpy as np

from streammetrics.core.definition.runs import CLIP, Floats, Labels, Runs, add_each


def sum_losses(label: Labels, score: Floats, weight: Floats | None, runs: Runs, out: Floats) -> None:
    """Sum weight, log loss, its square, Brier loss, and its square by label: ``out`` is (groups, 2, 5); 4 to 18 ns."""
    for block, group in runs.blocks():
        scores = score[block]
        values, classes = np.empty((5, len(scores))), np.empty((2, len(scores)))
        classes[1] = label[block]
        np.subtract(1.0, classes[1], out=classes[0])
        values[0] = 1.0 if weight is None else weight[block]
        clipped = np.minimum(np.maximum(scores, CLIP), 1.0 - CLIP)
        np.log(np.abs(clipped - classes[0]), out=values[1])  # log of the exact probability of the true class
        np.square(values[1], out=values[2])
        np.negative(values[1], out=values[1])
        np.square(scores - classes[1], out=values[3])
        np.square(values[3], out=values[4])
        if weight is not None:
            values[1:] *= values[0]
        if isinstance(group, int):
            out[group] += classes @ values.T  # for two cells, faster than bincount
        else:
            add_each(out, group * 2 + label[block], values)
