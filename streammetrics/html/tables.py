"""Reports as HTML tables. Everything that comes from data is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from streammetrics import text
from streammetrics.frame import KEPT, of_labels_once, told_apart
from streammetrics.html.document import embedded
from streammetrics.text import escaped
from streammetrics.text.decimals import alike, bound, bounds, interval, typical_of
from streammetrics.text.markup import markup

Row = dict[str, Any]

WIDE = 12  # columns that fit a printed page, as in page.css
LARGEST = 1e300
OPTIONAL = ("interval", "better", "note", "what it is")  # columns
CERTIFIED = "± or “certified”"  # marks of bounds below a value
UNSTYLED = '<br><small style="white-space: nowrap">'
PROSE = 34  # characters from which a text can be wrapped


@dataclass(frozen=True)
class Cell:
    """A table cell: a text, the number to sort by, and a smaller text below."""

    text: str
    number: float | None = None
    below: str = ""
    head: bool = False

    @property
    def order(self) -> float | None:
        """The number as scripts read it, in JSON, which has no infinity."""
        return None if self.number is None else float(f"{max(-LARGEST, min(self.number, LARGEST)):.10g}")

    def html(self, styled: bool) -> str:
        """The cell as HTML; heads of rows are headers. Without a style sheet, it breaks the line itself."""
        tag = 'th scope="row"' if self.head else "td"
        number = "" if self.number is None else f' data-v="{self.order:.10g}"'
        number += ' class="prose"' if len(self.text) > PROSE else ""
        small = f"{'<small>' if styled else UNSTYLED}{markup(self.below)}</small>" if self.below else ""
        return f"<{tag}{number}>{markup(self.text)}{small}</{tag.split()[0]}>"


def table(
    header: Sequence[str], rows: Iterable[Sequence[Cell]], caption: str, sortable: bool = False, styled: bool = True
) -> str:
    """A table with a caption, without empty `OPTIONAL` columns. If it can be sorted, headers are buttons.

    A styled table is on a page with a style sheet, also for paper.
    """
    whole = list(rows)
    shown = [i for i, name in enumerate(header) if name not in OPTIONAL or any(row[i].text for row in whole)]
    names, listed = [markup(header[i]) for i in shown], [[row[i] for i in shown] for row in whole]
    heads = [f'<button type="button">{name}</button>' for name in names] if sortable else names
    head = "".join(f'<th scope="col"{SORT if sortable else ""}>{name}</th>' for name in heads)
    at_once, later = (listed[:AT_ONCE], listed[AT_ONCE:]) if sortable else (listed, [])
    body = "\n".join(f"<tr>{''.join(cell.html(styled) for cell in row)}</tr>" for row in at_once)
    wide = styled and len(shown) > WIDE
    kinds = ["sortable"] * sortable + ["wide"] * wide
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    return (
        f"<table{kind}><caption>{markup(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        + (_later(later) if later else "")
        + (f'<p class="printed">Printed: the first {WIDE} of {len(shown)} columns.</p>' if wide else "")
    )


def _later(rows: Sequence[Sequence[Cell]]) -> str:
    """Rows that a script adds to the table when they become visible, as JSON that cannot end its element."""
    cells = [[[escaped(c.text), c.order, escaped(c.below), c.head] for c in row] for row in rows]
    return (
        f'<script type="application/json">{embedded(cells)}</script>'
        f"<noscript><p>{len(rows):,} more rows need scripts.</p></noscript>"
    )


AT_ONCE = 200  # rows in the document; a script shows further ones when visible
SORT = ' aria-sort="none"'


def metrics_table(frame: pl.DataFrame, meaning: dict[str, str], caption: str, sortable: bool = False) -> str:
    """Return one row per metric, with its keys, bounds, and description, if it has a meaning."""
    frame = of_labels_once(frame)
    keys = told_apart(frame)
    header = ["metric", *keys, "value", "certified bounds", "interval", "note", "what it is"]
    found, of_metric = list(text.rows(frame)), dict[str, list[Row]]()
    for row in found:
        of_metric.setdefault(row["metric"], []).append(row)
    typical = typical_of(found)
    values = {metric: iter(alike(own, typical)) for metric, own in of_metric.items()}
    rows = []
    for row in found:
        name, sampled = row["metric"], interval(row.get("ci_lower"), row.get("ci_upper"))
        value = next(values[name])
        rows.append(
            [
                Cell(name, head=True),
                *(Cell("") if row[k] is None and k in KEPT else key_cell(row[k]) for k in keys),
                *(Cell(value, row["value"]), Cell(bounds(row["lower"], row["upper"], value))),
                *map(Cell, (sampled, row["note"] or "", meaning.get(name, ""))),
            ]
        )
    return table(header, rows, caption, sortable, styled=sortable)


def groups_table(frame: pl.DataFrame, by: Sequence[str], caption: str, sortable: bool = False) -> str:
    """Return one row per group and one column per metric, with bounds or interval below the value."""
    frame = of_labels_once(frame)
    keys = [k for k in told_apart(frame) if k not in by]
    columns, typical = dict[str, list[Row]](), typical_of(text.rows(frame))
    for row in text.rows(frame):
        columns.setdefault(text.named(row, keys), []).append(row)
    groups: dict[tuple[Any, ...], dict[str, Cell]] = {tuple(row[c] for c in by): {} for row in text.rows(frame)}
    for name, of_column in columns.items():
        for row, value in zip(of_column, alike(of_column, typical), strict=True):
            groups[tuple(row[c] for c in by)][name] = Cell(value, row["value"], uncertainty(row))
    nothing = Cell("–")
    rows = [
        [*(key_cell(k, head=not i) for i, k in enumerate(group)), *(cells.get(c, nothing) for c in columns)]
        for group, cells in groups.items()
    ]
    return table([*by, *columns], rows, caption, sortable, styled=sortable)


def of_all_labels(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of metrics over all labels."""
    return frame.filter(pl.col("label").is_null()).drop("label") if "label" in frame.columns else frame


def key_cell(value: Any, head: bool = False) -> Cell:
    """A value of a key column."""
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    return Cell(text.cell(value), number, head=head)


def uncertainty(row: Row) -> str:
    """Return the confidence interval, else the certified bounds."""
    if row.get("ci_lower") is not None or row.get("ci_upper") is not None:
        return interval(row["ci_lower"], row["ci_upper"])
    return certified(row["value"], row["lower"], row["upper"])


def certified(value: float | None, lower: float | None, upper: float | None) -> str:
    """Return certified bounds as text that cannot be mistaken for a confidence interval; empty if exact.

    >>> certified(0.5, 0.4, 0.6), certified(0.4, 0.4, 0.6), certified(0.5, 0.5, 0.5)
    ('± 0.1', 'certified 0.40 to 0.60', '')
    """
    shown = bound(value, lower, upper).replace("exact", "")
    return f"certified {shown}" if " to " in shown else shown
