"""What happens around the steps of a writer: crashes, and other writers."""

import contextlib
from unittest.mock import patch

import deltalake

WRITES = [(deltalake, "write_deltalake"), *((deltalake.DeltaTable, name) for name in ("delete", "vacuum"))]
"""What writes to a table that exists."""


@contextlib.contextmanager
def around(steps, before, after=lambda: None):
    """Call a function before each of some steps, which are named by their place and name, and another one after it."""

    def surrounded(step):
        def called(*arguments, **options):
            before()
            done = step(*arguments, **options)
            after()
            return done

        return called

    with contextlib.ExitStack() as stack:
        for place, name in steps:
            stack.enter_context(patch.object(place, name, surrounded(getattr(place, name))))
        yield


def rival(act, *steps):
    """Another writer that acts once, before the first of some steps."""
    acts = iter([act])
    return around(steps, lambda: next(acts, lambda: None)())


class Killed(BaseException):
    """The process has gone."""


@contextlib.contextmanager
def killed(moment, steps=WRITES):
    """The process ends at one of the moments before and after each of some steps."""
    passed = iter(range(1000))

    def act():
        if next(passed) == moment:
            raise Killed

    with contextlib.suppress(Killed), around(steps, act, act):
        yield
