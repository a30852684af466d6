"""NDJSON files, read by Polars in blocks of lines. Each block has its own types."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass

import polars as pl

from streammetrics.base import AnyPath, translated
from streammetrics.data.rows.series import EXACT
from streammetrics.data.sources.delimited import beyond_floats, not_a_float
from streammetrics.data.sources.kinds import decompressed
from streammetrics.errors import SourceError

BLOCK = 1 << 24  # bytes
FIRST_ROWS = 1_000  # that tell the types of most files
FAILURES = (pl.exceptions.PolarsError, pl.exceptions.PanicException)


@dataclass(frozen=True)
class NdJson:
    """A file in which each line is a JSON object."""

    path: AnyPath

    def schema(self, names: Sequence[str] = ()) -> pl.Schema:
        """The columns of the first lines, and of as many others as needed to find some names."""
        schema: dict[str, pl.DataType] = {}
        for line, block in self._blocks():
            for rows in (FIRST_ROWS, None):
                try:
                    schema = {**_types(block, rows), **schema}
                except FAILURES as error:
                    raise self._fault(line, block, ()) from error
                if {*names} <= {*schema}:
                    return pl.Schema(schema)
        return pl.Schema(schema)

    def batches(self, columns: Sequence[str], names: Sequence[Set[str]] = ()) -> Iterator[pl.DataFrame]:
        """Batches of some columns, or of the first one. A column that a batch does not have is null.

        Sets of ``names`` are text if a 64-bit float does not hold an integer in one of them.
        """
        types: Mapping[str, pl.DataType] = {}
        for line, block in self._blocks():
            frame = self._frame(line, block, columns, types)
            for name in frame.columns:
                if frame[name].dtype != pl.Float64 or not (frame[name].abs() >= EXACT).any():
                    continue
                texts = _read(block, {name: pl.String()})[name]
                if (row := beyond_floats(texts, frame[name])) is not None:
                    set_of_names = next((each for each in names if name in each), None)
                    if set_of_names is None:
                        raise not_a_float(name, texts[row], f"line {line + row} of {self.path}")
                    frame = frame.with_columns(_read(block, dict.fromkeys(set_of_names, pl.String())))
            types = frame.schema
            yield frame

    def _frame(self, line: int, block: bytes, columns: Sequence[str], types: Mapping[str, pl.DataType]) -> pl.DataFrame:
        if types:
            with suppress(*FAILURES):
                return _read(block, types)
        with suppress(*FAILURES):
            return _typed(block, columns, FIRST_ROWS)
        try:
            return _typed(block, columns, None)
        except FAILURES as error:
            raise self._fault(line, block, columns) from error

    def _fault(self, line: int, block: bytes, columns: Sequence[str]) -> SourceError:
        """The error of the first line up to which a block cannot be read."""
        lines = block.split(b"\n")
        readable, unreadable = 0, len(lines)
        while unreadable - readable > 1:
            middle = (readable + unreadable) // 2
            try:
                _typed(b"\n".join(lines[:middle]), columns, None)
                readable = middle
            except FAILURES:
                unreadable = middle
        return SourceError(
            f"Cannot read {self.path}: line {line + readable} is not a JSON object, or has a value of another type "
            "than the lines before. Fix or remove the line, or write the file again."
        )

    def line(self, row: int) -> int:
        """Return the line of a row."""
        for line, block in self._blocks():
            lines = [number for number, content in enumerate(block.split(b"\n"), line) if content.strip()]
            if row < len(lines):
                return lines[row]
            row -= len(lines)
        raise IndexError(row)

    def _blocks(self) -> Iterator[tuple[int, bytes]]:
        """Blocks of whole lines, each with the number of its first line."""
        with translated(SourceError, f"Cannot read {self.path}"), decompressed(self.path) as file:
            beginning: bytes = file.read(len(codecs.BOM_UTF8))
            if not beginning:
                raise SourceError(f"Cannot read {self.path}: the file is empty.")
            line, remainder = 1, beginning.removeprefix(codecs.BOM_UTF8)
            while content := file.read(BLOCK):
                end = content.rfind(b"\n") + 1
                block, remainder = (remainder + content[:end], content[end:]) if end else (b"", remainder + content)
                if block.strip():
                    yield line, block
                line += block.count(b"\n")
            if remainder.strip():
                yield line, remainder


def _read(block: bytes, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    return pl.scan_ndjson(block, schema=pl.Schema(types)).collect()


def _typed(block: bytes, columns: Sequence[str], rows: int | None) -> pl.DataFrame:
    types = _types(block, rows)
    return _read(block, {name: types.get(name, pl.Null()) for name in columns or [*types][:1]})


def _types(block: bytes, rows: int | None) -> pl.Schema:
    return pl.scan_ndjson(block, infer_schema_length=rows).collect_schema()
