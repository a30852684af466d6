"""Evaluate where the rows are: thin adapters for engines of many workers, which send home states and never rows.

Each engine has a module with the same functions, imported when it is used, such as `streammetrics.engines.dask`. For
any other engine, `partial` is what a worker does with its rows, and `merge` what is done with the tables of workers.
"""

from streammetrics.engines.tables import merge, partial, restored

__all__ = ["merge", "partial", "restored"]
