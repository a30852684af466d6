"""Kinds of files and tables, by suffix or by content."""

from __future__ import annotations

from pathlib import Path

PARQUET = (".parquet", ".pq")
CSV = (".csv", ".tsv")
NDJSON = (".ndjson", ".jsonl")
IPC = (".arrow", ".arrows", ".ipc", ".feather")
FILES = (*PARQUET, *CSV, *NDJSON, *IPC)
COMPRESSED = (".gz", ".zst")  # CSV or NDJSON
TABLES = {"_delta_log": "Delta", "metadata/*.metadata.json": "Iceberg", ".hoodie": "Hudi"}  # by what their folders have
KINDS = (*FILES, *TABLES.values())
SUPPORTED = f"Supported: {', '.join(FILES)}. CSV and NDJSON files can be compressed ({', '.join(COMPRESSED)})."
BEGINNINGS = {b"PAR1": ".parquet", b"ARROW1": ".arrow"}  # of files without a suffix


def kind_of(path: Path) -> str:
    """Return the kind of a table, or the suffix of a file, without the suffix of its compression.

    A file without a suffix has the suffix of its content, if that is Parquet or Arrow IPC.

    >>> kind_of(Path("a.PARQUET")), kind_of(Path("a.csv.gz")), kind_of(Path("a.parquet.gz"))
    ('.parquet', '.csv', '.gz')
    """
    if kind := table_of(path):
        return kind
    suffix = path.suffix.lower()
    if suffix in FILES:  # most files
        return suffix
    inner = Path(path.stem).suffix.lower()
    if not suffix and path.is_file():
        begins = beginning(path)
        return next((kind for magic, kind in BEGINNINGS.items() if begins.startswith(magic)), suffix)
    return inner if suffix in COMPRESSED and inner in (*CSV, *NDJSON) else suffix


def table_of(folder: Path) -> str | None:
    """Return the kind of table that a folder is, if it is one."""
    if not folder.is_dir():
        return None
    return next((kind for sign, kind in TABLES.items() if any(folder.glob(sign))), None)


def beginning(path: Path) -> bytes:
    """Return the bytes of a file that tell its format."""
    with path.open("rb") as file:
        return file.read(8)
