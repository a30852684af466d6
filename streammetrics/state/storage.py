"""The saved form of a state: one Arrow table with a row per group and a nested column per statistic.

The metadata of its schema names the format, the library version, the columns, the statistics and the metrics shown, as
JSON. Loading takes a file as hostile: every field is checked, and nothing in it is executed.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from math import nan
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from streammetrics.errors import ColumnError, SpecificationError, StateError, StateWarning
from streammetrics.rows.folds import FOLDS
from streammetrics.rows.frames import group_column
from streammetrics.rows.roles import FOLD, LABEL, SINGLE, Roles
from streammetrics.state import checksums, missing
from streammetrics.state.tables import State, in_order, roll_up
from streammetrics.state.tally import no_state
from streammetrics.statistics import GROUP, STATISTICS, RowCounts, RowSums, Statistic
from streammetrics.statistics.row_counts import COUNTABLE
from streammetrics.statistics.statistic import ROUNDING, class_name
from streammetrics.system.foreign import translated
from streammetrics.system.lazy import pa, pq
from streammetrics.system.writing import write_file
from streammetrics.text import few
from streammetrics.version import __version__

FORMAT = 1
FILES = 1_000  # files that are read before they are added up
UNSAID = ("expressions", "inputs")  # fields of the columns that states do not have, or only some
KEY = b"streammetrics"
SPARK = b"org.apache.spark.sql.parquet.row.metadata"  # the schema of a data frame, as JSON
ROOM = 1 << 28  # bytes that any file may take in memory,
EXPANDING = 100  # or so many times its own size
IPC, PARQUET = b"ARROW1", b"PAR1"  # how files begin
PLAIN = (str, int, float, bool, type(None))  # what JSON holds
T = TypeVar("T")


@dataclass(frozen=True)
class Saved:
    """All that a saved state holds. Groups are ``named`` at most, if others are put into one group."""

    roles: Roles
    metrics: tuple[str, ...] | None
    state: State
    named: int | None = None


def to_arrow(saved: Saved) -> pa.Table:
    """The state as a table, in the one order that its content has.

    Raises:
        SpecificationError: If a ``positive`` or ``negative`` label cannot be written as JSON.
    """
    state = in_order(saved.state)
    frame = state.groups
    for statistic in state.statistics:
        name, table = statistic.name, _with_label(state, statistic)
        cells = table.group_by(GROUP).agg(pl.struct(pl.exclude(GROUP)).alias(name))
        frame = frame.join(cells, on=GROUP, how="left", maintain_order="left").with_columns(
            pl.col(name).fill_null(pl.lit([], dtype=cells.schema[name]))
        )
    frame = missing.nested(state.missing, frame)
    header = {
        "format": FORMAT,
        "version": __version__,
        "columns": {k: v for k, v in asdict(saved.roles).items() if k not in UNSAID or (v and k != "expressions")},
        "statistics": [_entry(s) for s in state.statistics],
        "metrics": saved.metrics,
    } | ({} if saved.named is None else {"named_groups": saved.named})
    try:
        text = json.dumps(header, default=_plain)
    except TypeError as error:
        raise SpecificationError(
            "Cannot save the state: positive= and negative= must be text, numbers, or booleans."
        ) from error
    table = frame.drop(GROUP).to_arrow()
    table = table.take(pa.array(range(table.num_rows), pa.int64()))  # a copy, whose bytes depend on the content alone
    return table.replace_schema_metadata({**(table.schema.metadata or {}), KEY: text.encode()})


def _entry(statistic: Statistic) -> dict[str, Any]:
    entry = {"name": statistic.name, "options": asdict(statistic)}
    return entry | {"class": class_name(type(statistic))} if isinstance(statistic, RowSums) else entry


def _plain(value: Any) -> Any:
    """What numpy's numbers are in JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError


def from_arrow(table: pa.Table) -> Saved:
    """The state that a table holds. Rows of the same group add up.

    Raises:
        StateError: If the table is not a state, is of a newer format, or breaks a rule of the format.
    """
    if not isinstance(table, pa.Table):  # which would lose the sizes of its buffers on the way
        table = _checked(lambda: pa.table(table))
    _checked(lambda: table.validate(full=True))
    header = _header(table.schema.metadata or {})
    roles, statistics, metrics = _specification(header)
    names = [s.name for s in statistics]
    if table.column_names not in ([*roles.group_columns, *names], [*roles.group_columns, *names, missing.COLUMN]):
        expected = ", ".join([*roles.group_columns, *names])
        raise StateError(f"The state must have the columns {expected}, got {', '.join(table.column_names)}.")
    if not roles.group_columns and not table.num_rows:
        raise StateError("The state has no groups and no row.")
    frame = _checked(lambda: pl.DataFrame(pl.from_arrow(table))).with_row_index(GROUP)
    tables = {s.name: _cells(frame, s, roles) for s in statistics}
    if tables[RowCounts.name][GROUP].n_unique() < frame.height:
        raise StateError("The state has groups without row counts.")
    lacking = missing.unnested(frame, names)
    _require_equal_rows(statistics, tables, roles, lacking)
    state = State(statistics, frame.select(GROUP).with_columns(_keys(frame, roles)), tables, roles.labels, lacking)
    named = header.get("named_groups")
    if named is not None and (type(named) is not int or named < 1):
        raise StateError("The state's field 'named_groups' is not a positive integer.")
    return Saved(roles, metrics, _checked(lambda: roll_up(state, roles.group_columns)), named)


def _specification(header: Mapping[str, Any]) -> tuple[Roles, tuple[Statistic, ...], tuple[str, ...] | None]:
    roles = _roles(_field(header, "columns", dict))
    statistics = tuple(_statistic(s) for s in _field(header, "statistics", list))
    metrics = header.get("metrics")
    if metrics is not None and not _all_text(metrics):
        raise StateError("The state's field 'metrics' is not a list of names.")
    _require_fitting(statistics, roles)
    return roles, statistics, None if metrics is None else tuple(metrics)


def write(saved: Saved, path: str | Path) -> None:
    """Write a state: Arrow IPC if the path ends in ``.arrow``, ``.ipc`` or ``.feather``, else Parquet.

    Raises:
        StateError: If the file cannot be written. The file that was there before is then as it was.
    """
    ipc = str(path).endswith((".arrow", ".ipc", ".feather"))
    write_file(path, _with_checksum(saved, _to_ipc_file if ipc else _to_parquet), StateError)


def to_bytes(saved: Saved) -> bytes:
    """The state as an Arrow IPC stream."""
    return _with_checksum(saved, _to_ipc_stream)


def _with_checksum(saved: Saved, form: Callable[[pa.Table, bytes, pa.NativeFile], None]) -> bytes:
    table, sink, mark = to_arrow(saved), pa.BufferOutputStream(), checksums.placeholder()
    form(table, mark, sink)
    return checksums.sealed(sink.getvalue().to_pybytes(), mark)


def _to_parquet(table: pa.Table, mark: bytes, sink: pa.NativeFile) -> None:
    with pq.ParquetWriter(sink, table.schema, compression="zstd") as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({checksums.KEY: mark})


def _to_ipc_file(table: pa.Table, mark: bytes, sink: pa.NativeFile) -> None:
    table = table.replace_schema_metadata({**table.schema.metadata, checksums.KEY: mark})
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def _to_ipc_stream(table: pa.Table, mark: bytes, sink: pa.NativeFile) -> None:
    table = table.replace_schema_metadata({**table.schema.metadata, checksums.KEY: mark})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def from_bytes(content: bytes) -> Saved:
    """The state of `to_bytes`.

    Raises:
        StateError: If the bytes are truncated, damaged, or not a state.
    """
    content = _checked(lambda: bytes(memoryview(content)))
    sealed = checksums.is_sealed(content)
    saved = from_arrow(_checked(lambda: pa.ipc.open_stream(content).read_all()))
    if not sealed:
        _warn("the state")
    return saved


def read(sources: Sequence[str | Path]) -> Iterator[Saved]:
    """Read states that `write` or Spark wrote: files, folders and globs.

    Those of one specification come together, added up, a thousand files at a time.

    Raises:
        StateError: If a file is missing, truncated, damaged, or not a state.
    """
    paths = [path for source in sources for path in _files(source)]
    with ThreadPoolExecutor() as pool:
        for start in range(0, len(paths), FILES):
            batch = paths[start : start + FILES]
            alike: dict[bytes, list[tuple[Path, pa.Table]]] = {}
            bare = []
            for path, (table, sealed) in zip(batch, pool.map(_read, batch), strict=True):
                alike.setdefault(table.schema.serialize().to_pybytes(), []).append((path, table))
                bare += [] if sealed else [str(path)]
            for tables in alike.values():
                yield _together(tables)
            if bare:
                _warn(few(bare))


def _warn(what: str) -> None:
    warnings.warn(
        f"No checksum in {what}: damage to it cannot be detected. To add one, load and save it.",
        StateWarning,
        stacklevel=2,
    )


def _files(source: str | Path) -> list[Path]:
    """The files of a path, a folder or a glob, but for names that begin with an underscore or a dot."""
    try:
        path = Path(source).expanduser()
        if path.is_dir():
            found = path.rglob("*")
        elif path.exists() or not any(c in str(source) for c in "*?["):
            return [path]
        else:
            found = Path(path.anchor).glob(str(path.relative_to(path.anchor)))
        files = sorted(p for p in found if p.is_file() and not _is_hidden(p, path))
    except (TypeError, ValueError, OSError, NotImplementedError) as error:
        raise StateError(f"Cannot read {source!r}: {error}.") from error
    if not files:
        raise StateError(f"Cannot read {str(source)!r}: no files found.")
    return files


def _is_hidden(path: Path, given: Path) -> bool:
    return any(part.startswith(("_", ".")) for part in path.parts if part not in given.parts)


def _read(path: Path) -> tuple[pa.Table, bool]:
    """The table of a file, and whether it has a checksum."""
    try:
        content = _content(path)
        sealed = checksums.is_sealed(content)
        table = _checked(lambda: _table(content))
        if KEY not in (table.schema.metadata or {}) and (header := _header_of_spark(table)):
            return _checked(lambda: restored(_with_zones(table), _schema(header))), True
    except FileNotFoundError as error:
        raise StateError(f"Cannot read {str(path)!r}: file not found.") from error
    except (OSError, ValueError) as error:
        raise StateError(f"Cannot read {str(path)!r}: {getattr(error, 'strerror', None) or error}.") from error
    except StateError as error:
        raise StateError(f"Cannot read {str(path)!r}: {error}") from error
    kept = {key: value for key, value in (table.schema.metadata or {}).items() if key != checksums.KEY}
    return table.replace_schema_metadata(kept), sealed


def _header_of_spark(table: pa.Table) -> bytes | None:
    """The header that Spark keeps with the first column of a table of states, which has no checksum of ours."""
    found = json.loads((table.schema.metadata or {}).get(SPARK, b"null"))
    header = found["fields"][0]["metadata"].get(KEY.decode()) if found else None
    return header.encode() if header else None


def _with_zones(table: pa.Table) -> pa.Table:
    """A table of Spark's with the zone of its times, which it may write as times of UTC without a word."""
    for i, field in enumerate(json.loads(table.schema.metadata[SPARK])["fields"]):
        kind = table.schema.field(i).type
        if field["type"] == "timestamp" and pa.types.is_timestamp(kind) and kind.tz is None:
            table = table.set_column(i, field["name"], table.column(i).cast(pa.timestamp("us", tz="UTC")))
    return table


def _schema(header: bytes) -> pa.Schema:
    """The schema of a state, as far as its header tells it."""
    roles, statistics, metrics = _specification(_header({KEY: header}))
    schema = to_arrow(Saved(roles, metrics, no_state(roles, statistics))).schema
    return schema.with_metadata({KEY: header})


def restored(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table of states in the order, the types and with the metadata of a schema. An engine may have changed them.

    Raises:
        KeyError: If a column is missing.
        pyarrow.ArrowException: If a column holds values that its type cannot.
    """
    columns = [table[name].combine_chunks() for name in schema.names]
    typed = [column.cast(_typed(column.type, kind)) for column, kind in zip(columns, schema.types, strict=True)]
    return pa.table(typed, names=schema.names).replace_schema_metadata(schema.metadata)


def _typed(found: pa.DataType, declared: pa.DataType) -> pa.DataType:
    """The declared type, with those that come from the data, of groups and labels, as they are found."""
    if pa.types.is_null(declared):
        return found
    if pa.types.is_large_list(declared):
        return pa.large_list(_typed(found.value_type, declared.value_type))
    if pa.types.is_struct(declared):
        there = [f for f in declared if found.get_field_index(f.name) >= 0]  # others may have been added later
        return pa.struct([(f.name, _typed(found.field(f.name).type, f.type)) for f in there])
    return declared


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        if not file.read(6).startswith((IPC, PARQUET)):
            raise StateError("it is neither a Parquet nor an Arrow IPC file.")
        file.seek(0)
        return file.read()


def _table(content: bytes) -> pa.Table:
    if content.startswith(IPC):
        return pa.ipc.open_file(content).read_all()
    file = pq.ParquetFile(pa.BufferReader(content))
    _require_small(file.metadata, len(content))
    return file.read(use_threads=False)


def _require_small(metadata: pq.FileMetaData, size: int) -> None:
    """Refuse a small file that would fill the memory: in Parquet, a few bytes may stand for any number of values."""
    columns = [
        metadata.row_group(i).column(j) for i in range(metadata.num_row_groups) for j in range(metadata.num_columns)
    ]
    needed = sum(max(column.total_uncompressed_size, 8 * column.num_values) for column in columns)
    if needed > max(ROOM, EXPANDING * size):
        raise StateError(f"it has {size:,} bytes and would take {needed:,} in memory.")


def _together(tables: Sequence[tuple[Path, pa.Table]]) -> Saved:
    """The state of tables of one schema."""
    try:
        return from_arrow(pa.concat_tables(table for _, table in tables))
    except StateError:
        for path, table in tables:
            try:
                from_arrow(table)
            except StateError as error:
                raise StateError(f"Cannot read {str(path)!r}: {error}") from error
        raise


def _checked(step: Callable[[], T]) -> T:
    """Run a step on foreign content; whatever it cannot take is an error of the content."""
    with translated(StateError, "the content cannot be read"):
        return step()


def _header(metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    if KEY not in metadata:
        raise StateError("Not a streammetrics state: the schema metadata has no state header.")
    header = _checked(lambda: json.loads(metadata[KEY]))
    if not isinstance(header, dict) or not isinstance(header.get("format"), int) or header["format"] < 1:
        raise StateError("The state's metadata has no format.")
    if header["format"] > FORMAT:
        raise StateError(
            f"the state is of format {header['format']}, written by streammetrics {header.get('version', '?')}; "
            f"this is {__version__}, which reads up to format {FORMAT}: upgrade it."
        )
    return header


def _field(header: Mapping[str, Any], name: str, kind: type[T]) -> T:
    value = header.get(name)
    if not isinstance(value, kind):
        raise StateError(f"The state's field {name!r} is missing or has an invalid type.")
    return value


def _roles(columns: dict[str, Any]) -> Roles:
    columns = {"inputs": {}} | columns
    mappings = [columns.get("y_pred"), columns.get("y_score")]
    sound = (
        set(columns) == {f.name for f in fields(Roles)} - {"expressions"}
        and all(isinstance(columns[k], (str, type(None))) for k in ("sample_weight", "unit"))
        and all(isinstance(v, dict) and all(map(_all_text, v.values())) for v in mappings)
        and all(map(_all_text, (columns["y_true"], columns["by"])))
        and isinstance(columns["inputs"], dict)
        and _all_text(list(columns["inputs"].values()))
        and isinstance(columns["labels"], list)
        and all(isinstance(v, PLAIN) for v in (*columns["labels"], columns["positive"], columns["negative"]))
        and all(isinstance(columns[k], bool) for k in ("probability", "renormalize"))
    )
    if not sound:
        raise StateError("The state's field 'columns' is invalid.")
    tuples = {k: tuple(columns[k]) for k in ("y_true", "by", "labels")}
    by_model = {k: {m: tuple(names) for m, names in columns[k].items()} for k in ("y_pred", "y_score")}
    return _specified(lambda: Roles(**columns | tuples | by_model))


def _statistic(entry: Any) -> Statistic:
    kind = STATISTICS.get(str(entry.get("name"))) if isinstance(entry, dict) else None
    options = entry.get("options") if kind else None
    if kind is None and isinstance(entry, dict) and isinstance(entry.get("class"), str):
        raise StateError(
            f"The state has the custom statistic {entry['name']!r} ({entry['class']}). Import its module first."
        )
    if kind is None or not isinstance(options, dict):
        raise StateError(f"The state has an unknown statistic: {entry!r}.")
    return _specified(lambda: kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}))


def _require_fitting(statistics: Sequence[Statistic], roles: Roles) -> None:
    """Refuse statistics that the columns cannot feed."""
    if not any(isinstance(s, RowCounts) for s in statistics):
        raise StateError("The state has no row_counts.")
    misfits = [f"{s.name} {''.join(map(str, misfit))}" for s in statistics if (misfit := s.misfit(roles))]
    if roles.probability != any(s.needs_probabilities() for s in statistics):
        misfits.append("whether scores are probabilities is said wrongly")
    if misfits:
        raise StateError(f"The state's statistics contradict its field 'columns': {misfits[0]}.")


def _keys(frame: pl.DataFrame, roles: Roles) -> list[pl.Series]:
    """The group columns, in the types that batches give them."""
    keys = [_group_column(frame[c]) for c in roles.group_columns]
    if roles.unit is not None and not _are_folds(frame[FOLD]):
        raise StateError(f"The state's folds are not numbers from 0 to {FOLDS - 1}.")
    if roles.models != (SINGLE,) and not set(keys[-1]) <= set(roles.models):
        raise StateError("The state's groups have a model that its field 'columns' lacks.")
    return keys


def _are_folds(column: pl.Series) -> bool:
    return column.dtype.is_integer() and bool(column.is_between(0, FOLDS - 1).fill_null(False).all())


def _group_column(column: pl.Series) -> pl.Series:
    try:
        return group_column(column)
    except ColumnError as error:
        raise StateError(f"The state's groups or labels are invalid: {error}") from error


def _specified(make: Callable[[], T]) -> T:
    try:
        return make()
    except (SpecificationError, TypeError, ValueError, OverflowError) as error:
        raise StateError(f"The state's specification is invalid: {error}") from error


def _with_label(state: State, statistic: Statistic) -> pl.DataFrame:
    """The table of a statistic; if it keeps labels apart, their number becomes its first key."""
    table, labels = state.tables[statistic.name], len(state.labels_of(statistic))
    if not labels:
        return table
    label = (pl.col(GROUP) % labels).alias(LABEL)
    return table.select(pl.col(GROUP) // labels, label, pl.exclude(GROUP))


def _cells(frame: pl.DataFrame, statistic: Statistic, roles: Roles) -> pl.DataFrame:
    """The table of a statistic, unnested and checked."""
    labels = len(roles.labels) if statistic.of_label else 0
    keys = {LABEL: pl.UInt32()} if labels else {}
    found = _field_types(frame, statistic.name)
    schema = statistic.typed(statistic.schema(roles.sample_weight is not None), found)
    cell = keys | {name: kind for name, kind in schema.items() if name != GROUP}
    if frame.schema[statistic.name] != pl.List(pl.Struct(_as_found(cell, found, statistic))):
        raise StateError(
            f"The state's column {statistic.name!r} is of type {frame.schema[statistic.name]}, not {pl.Struct(cell)}."
        )
    table = (
        frame.select(GROUP, statistic.name)
        .filter(pl.col(statistic.name).list.len() > 0)
        .explode(statistic.name)
        .unnest(statistic.name)
    )
    table = _as_today(table, cell, statistic)
    table = table.with_columns(_keys_from_data(table, statistic, roles))
    squares = [  # NaN in states of earlier versions
        pl.col(twin) >= 0 for c, twin in statistic.twins.items() if twin in cell and c not in statistic.signed
    ]
    valid = pl.all_horizontal(statistic.valid(), statistic.valid_for(roles.labels), *squares)
    if labels:
        valid &= pl.col(LABEL) < labels
    wrong = table.filter(~valid.fill_null(False))
    if wrong.height:
        raise StateError(
            f"The state's column {statistic.name!r} contains {wrong.height} invalid cells (first: {wrong.row(0)})."
        )
    return table.with_columns(pl.col(GROUP) * labels + pl.col(LABEL)).drop(LABEL) if labels else table


def _as_found(cell: Mapping[str, Any], found: Mapping[str, Any], statistic: Statistic) -> dict[str, Any]:
    """The fields that a cell must have: counts may be stored as floats, and those added later be missing."""
    floats: dict[str, Any] = {c: pl.Float64() for c in statistic.counts if found.get(c) == pl.Float64()}
    return {c: floats.get(c, kind) for c, kind in cell.items() if c in found or c not in _later(statistic)}


def _later(statistic: Statistic) -> dict[str, float]:
    """Fields that states of earlier versions do not have, and what they are there."""
    return {**statistic.added, **dict.fromkeys(statistic.twins.values(), nan)}


def _as_today(table: pl.DataFrame, cell: Mapping[str, Any], statistic: Statistic) -> pl.DataFrame:
    """Cells in the types and with the fields of today; earlier versions may have saved them in others."""
    for name in (c for c, kind in cell.items() if kind == pl.Int64() and table.schema.get(c) == pl.Float64()):
        whole = table[name].cast(pl.Int64(), strict=False)
        parts = table.filter(whole.cast(pl.Float64()).ne_missing(table[name]))
        if parts.height:
            raise StateError(
                f"the state's column {statistic.name!r} counts rows without weights, and its field {name!r} is not "
                f"whole in {parts.height} cells (first: {parts[name][0]!r})."
            )
        table = table.with_columns(whole)
    later = {c: value for c, value in _later(statistic).items() if c in cell}
    missing = [pl.lit(None, pl.Float64()).alias(c) for c in later if c not in table.columns]
    filled = [pl.col(c).fill_null(value) for c, value in later.items()]
    return table.with_columns(missing).select(GROUP, *cell).with_columns(filled)


def _require_equal_rows(
    statistics: Sequence[Statistic], tables: Mapping[str, pl.DataFrame], roles: Roles, lacking: pl.DataFrame
) -> None:
    """Refuse tables that hold more or fewer rows of a group than were counted, where the group does not lack them.

    Weighted ones hold sums of weights: equal in all tables, rounding aside, and greater than 0 if there are rows.
    """
    counts = tables[RowCounts.name]
    rows, dropped = (counts[name].cast(pl.Float64).to_numpy() for name in ("rows", "dropped"))
    if rows.sum() + dropped.sum() > COUNTABLE:
        raise StateError(f"The state counts more than {COUNTABLE:,} rows.")
    total = np.bincount(counts[GROUP].to_numpy(), weights=rows)
    known, rounding = np.full(len(total), roles.sample_weight is None), ROUNDING * (roles.sample_weight is not None)
    for statistic in (s for s in statistics if s.held):
        held, (fewest, most) = statistic.rows_held(tables[statistic.name]), np.zeros((2, len(total)))
        if statistic.of_label and roles.labels:
            held = held.group_by(pl.col(GROUP) // len(roles.labels)).agg(pl.min("fewest"), pl.max("most"))
        groups = held[GROUP].to_numpy()
        fewest[groups], most[groups] = held["fewest"].to_numpy(), held["most"].to_numpy()
        counted = ~np.isin(np.arange(len(total)), missing.lacking(lacking, statistic))
        first = counted & ~known  # of the tables that hold the weight of a group
        total[first], known = np.where((total > 0) == (most > 0), most, np.nan)[first], known | counted
        low, high = total * (1 - rounding), total * (1 + rounding)
        if wrong := int((counted & ~((fewest >= low) & (most <= high))).sum()):
            raise StateError(f"The state's column {statistic.name!r} contradicts the row counts in {wrong} groups.")


def _keys_from_data(table: pl.DataFrame, statistic: Statistic, roles: Roles) -> list[pl.Series]:
    """The keys whose type comes from the data, in the types that batches give them."""
    keys = [_group_column(table[key]) for key, kind in statistic.keys.items() if kind == pl.Null()]
    declared = pl.Series(roles.labels).dtype
    for key in keys:
        if roles.labels and key.dtype != declared:
            raise StateError(f"The state's labels are of type {key.dtype} and declared as {declared}.")
    return keys


def _field_types(frame: pl.DataFrame, name: str) -> dict[str, pl.DataType]:
    """The types of the fields of a nested column, as far as it has any."""
    inner = getattr(frame.schema[name], "inner", None)
    return {f.name: f.dtype for f in getattr(inner, "fields", [])}


def _all_text(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(v, str) for v in values)
