"""Batches, and the pieces of them that are counted at once."""

import polars as pl
import pytest

from streammetrics.data.rows.batches import Batch, Field
from streammetrics.data.rows.roles import Roles


@pytest.mark.parametrize("chunks", [[5_000], [1_000] * 5, [999, 1, 2_600, 1_400], [700] * 7 + [100]])
@pytest.mark.parametrize("rows", [300, 1_000, 2_499, 2_500, 5_000, 9_000])
def test_no_piece_is_shorter_than_asked_for_unless_the_batch_is(chunks, rows):
    score = pl.concat([pl.Series([0.5] * n) for n in chunks], rechunk=False)
    batch = Batch(Roles(), 5_000, [], {Field("score"): score}, pl.Schema())
    pieces = [*batch.pieces(rows)]
    assert [piece.start for piece in pieces] == [0, *(piece.stop for piece in pieces[:-1])]
    sizes = [piece.stop - piece.start for piece in pieces]
    assert sum(sizes) == batch.height
    assert min(sizes) >= min(rows, batch.height)
    assert max(sizes) < 2 * rows


def test_pieces_end_with_chunks_of_memory():
    score = pl.concat([pl.Series([0.5] * 1_100)] * 4, rechunk=False)
    batch = Batch(Roles(), 4_400, [], {Field("score"): score}, pl.Schema())
    assert [piece.stop for piece in batch.pieces(1_000)] == [1_100, 2_200, 3_300, 4_400]
