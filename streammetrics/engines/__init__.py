"""Adapters for distributed engines. Workers evaluate their rows and return states, never rows.

Each engine has a module with the same functions, such as `streammetrics.engines.dask`. For any other engine, call
`partial` on each worker, `merge` on the tables that the workers return, and `evaluated` for the report.
"""

from streammetrics.base import publish
from streammetrics.engines.base import evaluated, merge, partial, restored

__all__ = ["evaluated", "merge", "partial", "restored"]

publish(__name__, evaluated, merge, partial, restored)
