"""What tells whether two states have the same content: fingerprints of their rows, and a digest of their tables."""

from __future__ import annotations

from decimal import Decimal
from hashlib import sha256

import polars as pl

from streammetrics.data import MODEL
from streammetrics.statistics import GROUP, RowFingerprint, Statistic
from streammetrics.statistics.exact_sums import DECIMAL
from streammetrics.statistics.state.tables import State

TRUTH, ROW = "truth", "row"
MODULUS = 1 << 64  # of sums of hashes, which are stored as signed integers
KINDS: dict[type[pl.DataType], str] = {  # of keys, all others of which are numbers
    pl.String: "text",
    pl.Binary: "bytes",
    pl.Date: "time",
    pl.Datetime: "time",
    pl.Time: "time of day",
    pl.Duration: "duration",
}


def identifies_rows(state: State, unit: str | None) -> bool:
    """Whether equal fingerprints of the truth mean equal rows: labels alone would only say how many there are."""
    statistic = state.find(RowFingerprint)
    return statistic is not None and bool(statistic.columns or unit)


def fingerprints(state: State) -> pl.DataFrame:
    """Group columns, and the fingerprints ``truth`` and ``row`` of each group: 32 hexadecimal digits, or null."""
    table = state.tables[RowFingerprint.name]
    texts = {
        kind: [
            f"{a % MODULUS:016x}{b % MODULUS:016x}" for a, b in table.select(f"{kind}_first", f"{kind}_second").rows()
        ]
        for kind in (TRUTH, ROW)
    }
    columns = table.select(GROUP, *(pl.Series(kind, text, pl.String) for kind, text in texts.items()))
    return state.groups.join(columns, on=GROUP, how="left", maintain_order="left").drop(GROUP)


def fingerprints_of_models(state: State) -> dict[str, dict[str, str]]:
    """The fingerprints of all rows, by model. A single model has an empty name."""
    alone = State((RowFingerprint(),), state.groups, {RowFingerprint.name: state.tables[RowFingerprint.name]})
    models = fingerprints(alone.roll_up([MODEL] if MODEL in state.groups.columns else []))
    return {row.get(MODEL, ""): {TRUTH: row[TRUTH], ROW: row[ROW]} for row in models.iter_rows(named=True)}


def digest(state: State) -> str:
    """Return the SHA-256 of the groups and of all exact numbers of the tables, in 64 hexadecimal digits.

    It does not depend on the order of rows and merges. Sums of floats do, by rounding, so it does not cover them, and
    neither statistics that depend on the order, such as a sketch. Groups and labels that are equal in different types
    have the same digest.
    """
    state = state.sorted()
    keys = state.keys.with_columns(map(canonical, state.keys.iter_columns()))
    parts = [keys, *(_exact(s, state.tables[s.name]) for s in state.statistics if not s.depends_on_order)]
    hashed = sha256()
    for part in parts:
        hashed.update(repr(part.columns).encode())
        hashed.update(_plain(part).write_ndjson().encode())
    return hashed.hexdigest()


def canonical(keys: pl.Series) -> pl.Series:
    """Return keys as text by their value, which does not depend on the type that a source has for it.

    Numbers are equal as integers, floats, and decimals of any scale, and times as moments in any time zone.

    >>> canonical(pl.Series([1.0, 0.5])).to_list(), canonical(pl.Series([1, None])).to_list()
    (['number 1', 'number 0.5'], ['number 1', None])
    """
    dtype = keys.dtype
    if dtype.is_float() or dtype.is_decimal():
        texts = pl.Series(keys.name, [None if value is None else plain_number(value) for value in keys], pl.String)
    elif dtype == pl.Binary:
        texts = keys.bin.encode("hex")
    elif dtype == pl.Boolean:
        texts = keys.cast(pl.UInt8).cast(pl.String)
    elif dtype == pl.Date:
        texts = keys.cast(pl.Datetime("us")).to_physical().cast(pl.String)
    else:
        texts = (keys.to_physical() if dtype.is_temporal() else keys).cast(pl.String)
    return (KINDS.get(dtype.base_type(), "number") + " " + texts).alias(keys.name)


def plain_number(value: float | Decimal) -> str:
    """Return a number as text, without an exponent and without zeros at the end of a fraction.

    >>> plain_number(1e3), plain_number(Decimal("0.50"))
    ('1000', '0.5')
    """
    text = f"{Decimal(repr(value) if isinstance(value, float) else value):f}" if value else "0"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _exact(statistic: Statistic, table: pl.DataFrame) -> pl.DataFrame:
    """The keys of a table, and its columns that are not sums of floats."""
    keys = {GROUP, *statistic.keys}
    exact = table.select(c for c in table.columns if c in keys or not table.schema[c].is_float())
    return exact.with_columns(canonical(exact[key]) for key, kind in statistic.keys.items() if kind == pl.Null())


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Floats as their bits, and decimals as text, whose form depends on no version of a library."""

    def plain(column: pl.Series) -> pl.Series:
        if column.dtype.is_float():
            bits = (column.cast(pl.Float64).fill_null(float("nan")).to_numpy() + 0.0).view("i8")
            return pl.Series(column.name, bits)
        return column.cast(pl.String) if column.dtype == DECIMAL or column.dtype.is_temporal() else column

    return pl.DataFrame([plain(column) for column in frame.iter_columns()])
