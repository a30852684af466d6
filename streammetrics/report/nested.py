"""A report as nested numbers, for experiment trackers."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

import polars as pl

from streammetrics.base import LIMITS, METRIC, VALUE, keys_of, supported, text
from streammetrics.errors import ReportError


def nested(frame: pl.DataFrame, by: list[str]) -> dict[str, Any]:
    """Return the numbers of a report's frame as nested dictionaries: groups, metrics, then value and bounds.

    Groups have keys such as ``"country=DE"``. Metrics with several thresholds or labels name them, as in
    ``"recall @ 0.5"``. Text that could be read as another value is quoted as in JSON: ``"null"`` is text, and
    ``null`` is null. Undefined and infinite numbers are omitted.
    """
    groups = frame.n_unique(by) if by else 1
    counted = frame.group_by(METRIC, maintain_order=True).len()
    several = set(counted.filter(pl.col("len") > groups)[METRIC])
    tree: dict[str, Any] = {}
    keys = [key for key in keys_of(frame) if key not in by]
    for row in supported(frame).iter_rows(named=True):  # names do not depend on other groups
        place = tree
        for column in by:
            place = place.setdefault(f"{column}={_key(row[column])}", {})
        values = {name: row.get(name) for name in (*VALUE, *LIMITS)}
        numbers = {name: number for name, number in values.items() if number is not None and isfinite(number)}
        if numbers:
            keys_as_text = {key: None if row[key] is None else _key(row[key]) for key in keys}
            place[text.named(row | keys_as_text, keys) if row[METRIC] in several else row[METRIC]] = numbers
    return tree


def _key(value: Any) -> str:
    r"""A value as part of a key, different for different values of a column.

    >>> print(_key(None), _key("null"), _key("DE"), _key(""), _key("two\nlines"))
    null "null" DE "" "two\nlines"
    """
    cell = text.cell(value)
    clear = not isinstance(value, str) or (cell == value and cell != text.cell(None) and not cell.startswith('"'))
    return cell if clear else json.dumps(value)


def as_json(frame: pl.DataFrame, by: list[str]) -> str:
    """Return the numbers of a report's frame as a JSON object."""
    return json.dumps(nested(frame, by), indent=2, ensure_ascii=False) + "\n"


def flat(tree: dict[str, Any], within: str = "") -> dict[str, float]:
    """Return the numbers of `nested` by path: a value has the path of its metric, a bound appends its name.

    >>> flat({"g=a": {"roc_auc": {"value": 1.0, "lower": 0.9}, "mse": {"lower": 2.0}}})
    {'g=a/roc_auc': 1.0, 'g=a/roc_auc.lower': 0.9, 'g=a/mse.lower': 2.0}
    """
    flattened: dict[str, float] = {}
    for name, content in tree.items():
        path = f"{within}/{name}" if within else name
        number_name = within if name == "value" else f"{within}.{name}"
        numbers = flat(content, path) if isinstance(content, dict) else {number_name: content}
        if same := flattened.keys() & numbers.keys():
            raise ReportError(f"Two numbers would have the name {min(same)!r}. Rename a label, model, or group.")
        flattened |= numbers
    return flattened
