"""Named checks, and known gaps: checks that fail now, and raise as soon as they pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from streammetrics.base import few
from streammetrics.errors import SpecificationError


@dataclass(frozen=True)
class Check:
    """One guarantee to check. A call raises an error if it is violated.

    Its text is its name, which a test runner shows: ``pytest.mark.parametrize("check", checks(thing), ids=str)``.

    >>> Check("one is one", lambda: None)
    Check('one is one')
    """

    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        """Run the check."""
        self.run()

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Check({self.name!r})"


def require(law: bool, broken: str) -> None:
    """Assert a condition, even if Python runs without assertions."""
    if not law:
        raise AssertionError(broken)


def with_gaps(checks: Iterable[Check], gaps: Mapping[str, str]) -> list[Check]:
    """Return the checks with those of known gaps inverted: they pass as long as the check fails."""
    found = list(checks)
    if unknown := [name for name in gaps if name not in {check.name for check in found}]:
        raise SpecificationError(f"Unknown check {unknown[0]!r}. Checks: {few([c.name for c in found])}.")
    return [_gap(check, gaps[check.name]) if check.name in gaps else check for check in found]


def _gap(check: Check, reason: str) -> Check:
    def run() -> None:
        try:
            check()
        except Exception:
            return
        raise AssertionError(f"{check.name!r} passes now. Remove it from the known gaps ({reason}).")

    return replace(check, run=run)


def run_all(checks: Iterable[Check]) -> None:
    """Run every check. The error names all that fail, and describes the first failure."""
    failed = list(_failed(checks))
    if failed:
        names = "; ".join(name for name, _ in failed)
        raise AssertionError(f"{len(failed)} failed: {names}.\n{failed[0][1]}") from failed[0][1]


def _failed(checks: Iterable[Check]) -> Iterator[tuple[str, Exception]]:
    for check in checks:
        try:
            check()
        except Exception as error:
            yield check.name, error
