"""Named checks, and known gaps: checks that fail now, and raise as soon as they pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from streammetrics.base import few
from streammetrics.errors import SpecificationError

T = TypeVar("T")


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


def checks_of(laws: Iterable[Callable[[T], None]], case: T, variant: str = "") -> Iterator[Check]:
    """Return the checks of laws for a case, named like their functions."""
    for law in laws:
        name = law.__name__.replace("_", " ")
        yield Check(f"{name} ({variant})" if variant else name, partial(law, case))


def with_gaps(checks: Iterable[Check], gaps: Mapping[str, str]) -> list[Check]:
    """Return the checks with those of known gaps inverted: they pass as long as the check fails."""
    by_name = {check.name: check for check in checks}
    if unknown := [name for name in gaps if name not in by_name]:
        raise SpecificationError(f"Unknown check {unknown[0]!r}. Checks: {few(list(by_name))}.")
    return [_gap(check, gaps[name]) if name in gaps else check for name, check in by_name.items()]


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
    failures: dict[str, Exception] = {}
    for check in checks:
        try:
            check()
        except Exception as error:
            failures[check.name] = error
    if failures:
        first = next(iter(failures.values()))
        raise AssertionError(f"{len(failures)} failed: {'; '.join(failures)}.\n{first}") from first
