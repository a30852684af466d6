"""Header of a saved state: format, columns, and statistics with their options, as JSON.

The header is not trusted: every field is validated, and nothing is executed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from streammetrics.base import translated
from streammetrics.data import Roles
from streammetrics.errors import Argument, SpecificationError, StateError
from streammetrics.statistics import STATISTICS, RowCounts, RowSums, ScoreHistogram, Statistic
from streammetrics.statistics.statistic import class_name
from streammetrics.version import __version__

FORMAT = 3
KEY = b"streammetrics"
PLAIN = (str, int, float, bool, type(None))  # JSON types
T = TypeVar("T")


def to_json(roles: Roles, statistics: Sequence[Statistic], metrics: Sequence[str] | None) -> bytes:
    """The header of a state."""
    header = {
        "format": FORMAT,
        "version": __version__,
        "columns": {k: v for k, v in asdict(roles).items() if k != "expressions"},
        "statistics": [_entry(s) for s in statistics],
        "metrics": metrics,
    }
    try:
        return json.dumps(header, default=_plain).encode()
    except TypeError as error:
        raise SpecificationError(
            "Cannot save the state: ",
            Argument("positive"),
            " and ",
            Argument("negative"),
            " must be strings, numbers, or Booleans.",
        ) from error


def _entry(statistic: Statistic) -> dict[str, Any]:
    entry = {"name": statistic.name, "options": asdict(statistic)}
    return entry | {"class": class_name(type(statistic))} if isinstance(statistic, RowSums) else entry


def _plain(value: Any) -> Any:
    """NumPy numbers as JSON numbers."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError


class NotAState(StateError):
    """The content is something else, not a damaged state."""


def checked(step: Callable[[], T]) -> T:
    """Run a step on untrusted content. Any failure is an error of the content."""
    with translated(StateError, "The content cannot be read"):
        return step()


def read_header(metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    """Return the header from the metadata of a schema."""
    if KEY not in metadata:
        raise NotAState(
            "Not a streammetrics state: the schema metadata has no state header. To evaluate rows, use evaluate."
        )
    header = checked(lambda: json.loads(metadata[KEY]))
    if not isinstance(header, dict) or type(header.get("format")) is not int:
        raise StateError("The state's metadata has no format.")
    if header["format"] != FORMAT:
        raise StateError(
            f"The state has format {header['format']}, written by streammetrics {header.get('version', '?')}. Version "
            f"{__version__} reads format {FORMAT}."
        )
    return header


def specification(header: Mapping[str, Any]) -> tuple[Roles, tuple[Statistic, ...], tuple[str, ...] | None]:
    """Return the columns, the statistics, and the metrics shown."""
    roles = _roles(_field(header, "columns", dict))
    statistics = tuple(_statistic(s) for s in _field(header, "statistics", list))
    metrics = header.get("metrics")
    if metrics is not None and not (isinstance(metrics, list) and all(isinstance(m, str) for m in metrics)):
        raise StateError("The state's field 'metrics' is not a list of names.")
    _require_fitting(statistics, roles)
    return roles, statistics, None if metrics is None else tuple(metrics)


def _field(header: Mapping[str, Any], name: str, kind: type[T]) -> T:
    value = header.get(name)
    if not isinstance(value, kind):
        raise StateError(f"The state's field {name!r} is missing or has an invalid type.")
    return value


def _roles(columns: dict[str, Any]) -> Roles:
    types = get_type_hints(Roles)
    names = [field.name for field in fields(Roles) if field.name != "expressions"]
    try:
        if len(columns) != len(names):
            raise TypeError
        values = {name: _value(columns[name], types[name]) for name in names}
    except (KeyError, TypeError) as error:
        raise StateError("The state's field 'columns' is invalid.") from error
    return _specified(lambda: Roles(**values))


def _value(value: Any, kind: Any) -> Any:
    """A value of JSON in a type of the specification, with tuples in place of lists."""
    form, parts = get_origin(kind), get_args(kind)
    if form is tuple and isinstance(value, list):
        return tuple(_value(part, parts[0]) for part in value)
    if form is dict and isinstance(value, dict):
        return {key: _value(part, parts[1]) for key, part in value.items()}
    plain = PLAIN if kind is Any else (str,) if form is Literal else parts or (kind,)
    if form in (tuple, dict) or type(value) not in plain:
        raise TypeError
    return value


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
    if not any(isinstance(s, RowCounts) for s in statistics):
        raise StateError("The state has no row_counts.")
    misfits = [f"{s.name} {misfit}" for s in statistics if (misfit := s.misfit(roles))]
    if roles.probability != any(s.probabilities for s in statistics):
        misfits.append("'probability' does not match the domain of the scores")
    if roles.rounding != next((s.rounding for s in statistics if isinstance(s, ScoreHistogram)), None):
        misfits.append("'rounding' is not that of the scores")
    if misfits:
        raise StateError(f"The state's statistics contradict its field 'columns': {misfits[0]}.")


def _specified(make: Callable[[], T]) -> T:
    try:
        return make()
    except (SpecificationError, TypeError, ValueError, OverflowError) as error:
        raise StateError(f"The state's specification is invalid: {error}") from error
