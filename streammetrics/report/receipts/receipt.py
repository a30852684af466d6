"""A receipt: what was evaluated, and what the result was, small enough to sign."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl

from streammetrics.base import (
    LIMITS,
    METRIC,
    VALUE,
    cell,
    keys_of,
    near_paths,
    pa,
    publish,
    read_file,
    reason,
    write_file,
)
from streammetrics.errors import Argument, SpecificationError, StateError
from streammetrics.report.report import Report
from streammetrics.report.verdicts import Verdicts
from streammetrics.statistics import (
    ROW,
    TRUTH,
    RowFingerprint,
    Saved,
    digest,
    fingerprints_of_models,
    plain_number,
)
from streammetrics.version import __version__

FORMAT = 3
LARGEST = 4_096  # bytes
DIGITS = 12  # of numbers
DEEPEST = 16  # nested fields
KINDS: dict[str, type] = (
    dict.fromkeys(("specification", "metrics", "verdicts"), dict)
    | dict.fromkeys(("rows", "dropped", "groups"), int)
    | dict.fromkeys(("digest", "version"), str)
    | {"confidence": float}
)
"""Types of fields in JSON."""


@dataclass(frozen=True)
class Receipt:
    """What was evaluated, and what the result was, in at most 4 kB of JSON. See `Accumulator.receipt` and `verify`.

    - ``specification``: columns, statistics with their options, and metrics; its SHA-256 if it is long;
    - ``rows``, ``dropped``, ``groups``: their numbers;
    - ``fingerprints``: of each model, those of the ``truth`` and of the whole ``row`` (see `RowFingerprint`);
    - ``digest``: the SHA-256 of all groups and exact numbers of the state;
    - ``confidence``, ``metrics``: metrics of all rows, with bounds unless they are exact, and intervals;
    - ``verdicts``: for each requirement, the number of groups by verdict;
    - ``version``: of streammetrics.

    A receipt is not a signature. Sign its file with a tool for signatures.

    >>> import streammetrics as sm
    >>> acc = sm.binary(y_true="y", y_score="p", fingerprint=True).update({"y": [1, 0], "p": [0.9, 0.2]})
    >>> receipt = acc.receipt(require=["accuracy >= 0.5"])
    >>> receipt.rows, receipt.verdicts
    (2, {'accuracy >= 0.5': {'open': 1}})
    """

    specification: Mapping[str, Any]
    rows: int
    dropped: int
    groups: int
    fingerprints: Mapping[str, Mapping[str, str]]
    digest: str
    confidence: float
    metrics: Mapping[str, Any]
    verdicts: Mapping[str, Mapping[str, int]]
    version: str = __version__

    def __str__(self) -> str:
        """The JSON, one line per field."""
        parts = {"receipt": FORMAT} | asdict(self)
        lines = [f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in parts.items()]
        return "{\n" + ",\n".join(lines) + "\n}\n"

    def save(self, path: str | Path) -> None:
        """Write the receipt to a JSON file, atomically."""
        write_file(path, str(self).encode(), StateError)

    @classmethod
    def load(cls, path: str | Path) -> Receipt:
        """Read a receipt.

        Raises:
            StateError: If the file cannot be read, or is not a receipt.
        """
        try:
            content = json.loads(read_file(path, StateError), object_pairs_hook=_unique)
        except FileNotFoundError as error:
            raise StateError(f"Cannot read {str(path)!r}: file not found.{near_paths(path)}") from error
        except OSError as error:
            raise StateError(f"Cannot read {str(path)!r}: {reason(error)}.") from error
        except (ValueError, RecursionError) as error:
            raise StateError(f"{str(path)!r} is not a receipt: it is not JSON with unique names.") from error
        names = {f.name for f in fields(cls)}
        if _is_deep(content):
            raise StateError(f"{str(path)!r} is not a receipt: its fields are nested too deeply.")
        if not isinstance(content, dict) or type(content.get("receipt")) is not int:
            raise StateError(f"{str(path)!r} is not a receipt: it has no field 'receipt'.")
        if content["receipt"] != FORMAT:
            raise StateError(
                f"{str(path)!r} has format {content['receipt']}. Version {__version__} reads format {FORMAT}. "
                "Write it again."
            )
        if set(content) - {"receipt"} != names:
            wrong = min(names.symmetric_difference(set(content) - {"receipt"}))
            raise StateError(f"{str(path)!r} is not a receipt: the field {wrong!r} is missing or unknown.")
        prints = content["fingerprints"].values() if isinstance(content["fingerprints"], dict) else [None]
        sound = {name: type(content[name]) is kind for name, kind in KINDS.items()}
        sound["specification"] = sound["specification"] and _is_specification(content["specification"])
        sound["fingerprints"] = all(isinstance(each, dict) and {*each} == {TRUTH, ROW} for each in prints)
        if invalid := [name for name, is_sound in sound.items() if not is_sound]:
            raise StateError(f"{str(path)!r} is not a receipt: the field {invalid[0]!r} has an invalid type.")
        return cls(**{name: content[name] for name in names})

    def no_rows(self) -> pa.Table:
        """The state without rows of this specification.

        Raises:
            StateError: If the receipt has only the SHA-256 of it, or it is invalid.
        """
        if "sha256" in self.specification:
            raise StateError("The specification of this receipt is too long to be in it. Verify the saved state.")
        return Saved.without_rows(self.specification).to_arrow()


def receipt_of(saved: Saved, total: Report, confidence: float, verdicts: Verdicts | None) -> Receipt:
    """Return the receipt of a state, of which a report has the metrics of all rows."""
    if saved.state.find(RowFingerprint) is None:
        raise SpecificationError(
            "A receipt requires a fingerprint of the rows. Evaluate with ",
            Argument("fingerprint"),
            ", a column that identifies a row.",
        )
    rows, dropped, groups = saved.size
    receipt = Receipt(
        specification=_specification(saved),
        rows=rows,
        dropped=dropped,
        groups=groups,
        fingerprints=fingerprints_of_models(saved.state),
        digest=digest(saved.state),
        confidence=confidence,
        metrics=_numbers(total.frame),
        verdicts={} if verdicts is None else _counted(verdicts),
    )
    if len(str(receipt).encode()) > LARGEST:
        text = json.dumps(receipt.specification, ensure_ascii=False, sort_keys=True)
        receipt = replace(receipt, specification={"sha256": sha256(text.encode()).hexdigest()})
    if len(str(receipt).encode()) > LARGEST:
        raise SpecificationError(
            f"A receipt has at most {LARGEST:,} bytes. Pass fewer ",
            Argument("metrics"),
            " or ",
            Argument("require"),
            ".",
        )
    return receipt


def _specification(saved: Saved) -> dict[str, Any]:
    header = json.loads(saved.header)
    return {name: header[name] for name in ("columns", "statistics")}


def _is_specification(specification: dict[str, Any]) -> bool:
    columns, statistics = specification.get("columns"), specification.get("statistics")
    parts = isinstance(columns, dict) and isinstance(statistics, list) and all(isinstance(s, dict) for s in statistics)
    return parts or "sha256" in specification


def _is_deep(value: Any, levels: int = DEEPEST) -> bool:
    """Whether values are nested so deeply that other functions would fail on them."""
    if not isinstance(value, dict | list):
        return False
    return not levels or any(_is_deep(v, levels - 1) for v in (value.values() if isinstance(value, dict) else value))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of an object. Of a repeated one, other programs could read another value than this."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name is repeated")
    return members


def _numbers(frame: pl.DataFrame) -> dict[str, Any]:
    """Numbers by metric, and by model, threshold, and label if it has any. Bounds of exact metrics are omitted."""
    numbers_by_metric: dict[str, dict[str, Any]] = {}
    for row in frame.iter_rows(named=True):
        place = ", ".join(f"{key} {_place(row[key])}" for key in keys_of(frame) if row[key] is not None)
        names = [*(VALUE[:1] if row["lower"] == row["upper"] else VALUE), *LIMITS]
        numbers = {name: row.get(name) for name in names}
        rounded = {name: float(f"{x:.{DIGITS}g}") for name, x in numbers.items() if x is not None and isfinite(x)}
        numbers_by_metric.setdefault(row[METRIC], {})[place] = rounded
    return {metric: of[""] if {*of} == {""} else of for metric, of in numbers_by_metric.items()}


def _place(value: Any) -> str:
    """A label or another key as text: the same for equal numbers and truth values, and in every time zone."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, Decimal) or (isinstance(value, float) and isfinite(value)):
        return plain_number(value)
    aware = isinstance(value, datetime) and value.tzinfo is not None
    return cell(value.astimezone(UTC) if aware else value)


def _counted(verdicts: Verdicts) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for rule, verdict, count in verdicts.frame.group_by("rule", "verdict").len().sort("rule", "verdict").iter_rows():
        counts.setdefault(rule, {})[verdict] = count
    return counts


publish("streammetrics", Receipt)
