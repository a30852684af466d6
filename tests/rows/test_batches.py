"""Batches, and the pieces of them that are counted at once."""

from itertools import pairwise

import polars as pl
import pytest

from streammetrics.rows.batches import Batch, Field


@pytest.mark.parametrize("chunks", [[5_000], [1_000] * 5, [999, 1, 2_600, 1_400], [700] * 7 + [100]])
@pytest.mark.parametrize("rows", [300, 1_000, 2_499, 2_500, 5_000, 9_000])
def test_no_piece_is_shorter_than_asked_for_unless_the_batch_is(chunks, rows):
    score = pl.concat([pl.Series([0.5] * n) for n in chunks], rechunk=False)
    batch = Batch(5_000, [], {Field("score"): score}, pl.Schema())
    ends = [0]
    while ends[-1] < batch.height:
        ends.append(batch.end_of_piece(ends[-1], rows))
    sizes = [end - start for start, end in pairwise(ends)]
    assert sum(sizes) == batch.height
    assert min(sizes) >= min(rows, batch.height)
    assert max(sizes) < 2 * rows


def test_pieces_end_with_chunks_of_memory():
    score = pl.concat([pl.Series([0.5] * 1_100)] * 4, rechunk=False)
    batch = Batch(4_400, [], {Field("score"): score}, pl.Schema())
    assert batch.end_of_piece(0, 1_000) == 1_100
    assert batch.end_of_piece(1_100, 1_000) == 2_200
