"""Models side by side in a state: the groups of one, and the tables of pairs of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from streammetrics import text
from streammetrics.errors import ReportError
from streammetrics.rows.roles import MODEL
from streammetrics.state.tables import State, roll_up, select
from streammetrics.statistics.paired import Paired


def of_model(state: State, name: str) -> State:
    """The groups of a model.

    Raises:
        ReportError: If there is no such model.
    """
    require_models(state, name)
    return roll_up(select(state, state.keys.filter(pl.col(MODEL) == name)), _without_model(state))


def pairs_of(state: State, a: str, b: str) -> State:
    """What statistics of pairs keep in the groups of two models, which become one."""
    of_both = select(state, state.keys.filter(pl.col(MODEL).is_in([a, b])))
    paired = tuple(s for s in of_both.statistics if isinstance(s, Paired))
    return roll_up(replace(of_both, statistics=paired), _without_model(state))


def require_models(state: State, *names: str) -> None:
    """Reject models that a state does not have.

    Raises:
        ReportError: If there is no such model.
    """
    known = state.keys[MODEL].unique(maintain_order=True).to_list() if MODEL in state.keys.columns else []
    for name in names:
        require_model(name, known)


def require_model(name: str, known: Sequence[str]) -> None:
    """Reject a model that is not one of some others.

    Raises:
        ReportError: If there is no such model.
    """
    if name not in known:
        raise ReportError(f"Unknown model {name!r}. Models: {text.few(known) or 'none'}.")


def _without_model(state: State) -> list[str]:
    return [c for c in state.keys.columns if c != MODEL]
