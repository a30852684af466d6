"""Kinds of files and tables, by suffix or by content."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from streammetrics.base import AnyPath, ObjectPath, pa

PARQUET = (".parquet", ".pq")
CSV = (".csv", ".tsv")
NDJSON = (".ndjson", ".jsonl")
TEXT = (*CSV, *NDJSON)
IPC = (".arrow", ".arrows", ".ipc", ".feather")
FILES = (*PARQUET, *TEXT, *IPC)
COMPRESSED = (".gz", ".zst")  # CSV or NDJSON
TABLES = {"_delta_log": "Delta", "metadata/*.metadata.json": "Iceberg", ".hoodie": "Hudi"}  # by what their folders have
KINDS = (*FILES, *TABLES.values())
SUPPORTED = f"Supported: {', '.join(FILES)}. CSV and NDJSON files can be compressed ({', '.join(COMPRESSED)})."
BEGINNINGS = {b"PAR1": ".parquet", b"ARROW1": ".arrow"}  # of files without a suffix, or with the suffix of text
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"  # the first bytes of compressed files


def kind_of(path: AnyPath) -> str:
    """Return the kind of a table, or the suffix of a file, without the suffix of its compression.

    The content decides the kind of a file without a suffix, or with the suffix of text.

    >>> kind_of(Path("a.PARQUET")), kind_of(Path("a.csv.gz")), kind_of(Path("a.parquet.gz"))
    ('.parquet', '.csv', '.gz')
    """
    if kind := table_of(path):
        return kind
    kind = suffix = path.suffix.lower()
    if suffix in COMPRESSED and (inner := Path(path.stem).suffix.lower()) in TEXT:
        kind = inner
    if (kind in TEXT or not kind) and (isinstance(path, ObjectPath) or path.is_file()):
        begins = beginning(path)
        return next((other for magic, other in BEGINNINGS.items() if begins.startswith(magic)), kind)
    return kind


def table_of(folder: AnyPath) -> str | None:
    """Return the kind of table that a folder is, if it is one."""
    if isinstance(folder, ObjectPath):
        return "Delta" if folder.is_table else None
    if not folder.is_dir():
        return None
    return next((kind for sign, kind in TABLES.items() if any(folder.glob(sign))), None)


def beginning(path: AnyPath) -> bytes:
    """Return the bytes of a file that tell its format."""
    with path.open("rb", buffering=0) as file:
        return bytes(file.read(8))


def decompressed(path: AnyPath) -> Any:
    """Open a file of text, which can be compressed, for reading its bytes."""
    begins = beginning(path)
    file: Any = path.open("rb") if isinstance(path, ObjectPath) else path
    if begins.startswith(GZIP):
        return gzip.open(file)
    if begins.startswith(ZSTD):
        return pa.CompressedInputStream(file, "zstd")
    return path.open("rb")
