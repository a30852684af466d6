"""States as earlier versions saved them."""

import json

import polars as pl

KEY = b"streammetrics"


def of_format_1(table):
    """The table of a state in format 1, in which decimals are floats."""
    frame = pl.DataFrame(table)
    columns = [pl.col(name).cast(with_floats(kind)) for name, kind in frame.schema.items()]
    header = json.loads(table.schema.metadata[KEY]) | {"format": 1}
    return frame.select(columns).to_arrow().replace_schema_metadata({KEY: json.dumps(header).encode()})


def with_floats(kind):
    """A type of a nested column with floats in place of decimals."""
    if not isinstance(kind, pl.List):
        return kind
    fields = {f.name: pl.Float64() if f.dtype == pl.Decimal(38, 18) else f.dtype for f in kind.inner.fields}
    return pl.List(pl.Struct(fields))
