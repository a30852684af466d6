"""Reported breaches in a table beside the history, so that each is reported once and not at every check.

A row is a reported breach that has not ended: its rule, its segment, and the newest window at the time of the report.
An alarm that began after this window is a new one. A rule without alarms is reported again if it has held in between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from streammetrics.history.store import MetricStore, history_of
from streammetrics.history.table import Table, deltalake, write
from streammetrics.report.verdicts import Verdicts

FOLDER = "_told"
KEYS = ("name", "rule", "where")
WINDOW = "window"
SCHEMA = dict.fromkeys((*KEYS, WINDOW), pl.String())


def tell(store: MetricStore, verdicts: Verdicts, report: Callable[[pl.DataFrame], None]) -> None:
    """Report new breaches of a history, and store them. If reporting fails, the next check reports them again.

    ``report`` is called with the rows of ``verdicts.frame`` to report, if there are any.
    """
    place = table_of(store)
    told = reported(place, place.find())
    new = unknown(told, verdicts.frame)
    if new.height:
        report(new)
    if remembered(told, verdicts.frame).equals(told):
        return
    if place.find() is None:
        place.create(told.to_arrow().schema, {})

    def remember(table: Any) -> None:
        mark = deltalake().Transaction(app_id=FOLDER, version=table.version() + 1)  # end of a complete commit
        rows = remembered(reported(place, table), verdicts.frame)
        write(table, rows.to_arrow(), mode="overwrite", transactions=[mark])

    place.commit(remember)


def table_of(store: MetricStore) -> Table:
    """Return the table of the reported breaches of a history."""
    return history_of(store).table.beside(FOLDER)


def reported(place: Table, table: Any) -> pl.DataFrame:
    """Return the reported breaches of a version of their table. Without a version, none were reported yet."""
    if table is None:
        return pl.DataFrame(schema=SCHEMA)
    with place.reading():
        return place.scan(table).select(SCHEMA.keys()).collect()


def unknown(told: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """Return breached verdicts that were not reported, and those of alarms that began after the last report."""
    breached = frame.filter(pl.col("verdict") == "breached")
    both = breached.join(told, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    later = (pl.col("since") > pl.col(WINDOW)).fill_null(False)
    return both.filter(pl.col(WINDOW).is_null() | later).select(frame.columns)


def remembered(told: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the reported breaches that last, including newly reported ones."""
    new = unknown(told, frame).with_columns(pl.col("windows").str.split(" to ").list.last().alias(WINDOW))
    new = new.group_by(KEYS, maintain_order=True).agg(pl.col(WINDOW).max())
    breached, held = (frame.filter(pl.col("verdict") == verdict).select(KEYS) for verdict in ("breached", "holds"))
    ended = held.join(breached, on=KEYS, how="anti", nulls_equal=True)
    lasting = told.join(pl.concat([ended, new.select(KEYS)]), on=KEYS, how="anti", nulls_equal=True)
    return pl.concat([lasting, new])
