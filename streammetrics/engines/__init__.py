"""Evaluate where the rows are: thin adapters for engines of many workers, which send home states and never rows.

Each engine has a module with the same functions, imported when it is used, such as `streammetrics.engines.dask`. For
any other engine, `partial` is what a worker does with its rows, `merge` what is done with the tables of workers, and
`evaluated` makes the report.
"""

from streammetrics.engines.tables import evaluated, merge, partial, restored
from streammetrics.system.public import publish

__all__ = ["evaluated", "merge", "partial", "restored"]

publish(__name__, evaluated, merge, partial, restored)
