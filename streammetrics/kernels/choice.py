"""The choice between a numpy kernel and the compiled kernel of the same name."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from typing import Any, Final, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

COMPILED = ("compiled", "compiled_bins", "compiled_classes", "compiled_pairs")
LARGE = 262_144  # number of rows from which loading compiled code saves time
log: Final = logging.getLogger("streammetrics")


def fastest(kernel: Callable[P, T]) -> Callable[P, T]:
    """Return a function that runs the compiled kernel for many rows if numba works, and else the numpy kernel."""
    name = kernel.__name__

    @wraps(kernel)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        rows = len(cast(Any, args[0][0] if isinstance(args[0], tuple) else args[0]))
        twin = _twins().get(name) if rows >= LARGE else None
        if twin is None:
            return kernel(*args, **kwargs)
        try:
            return cast(T, twin(*args, **kwargs))
        except Exception as error:  # numba cannot compile on this machine
            _twins().clear()
            log.debug("compiled kernels failed, using numpy instead: %s", error)
            return kernel(*args, **kwargs)

    return run


@cache
def _twins() -> dict[str, Callable[..., Any]]:
    try:
        modules = [import_module(f"streammetrics.kernels.{name}") for name in COMPILED]
        return {name: twin for module in modules for name, twin in vars(module).items()}
    except Exception as error:  # numba is missing or incompatible with numpy or Python
        log.debug("compiled kernels are not available, using numpy instead: %s", error)
        return {}
