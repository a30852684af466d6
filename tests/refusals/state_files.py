"""Paths from which no state can be read, and to which no file can be written."""

from states import DATA, state

import streammetrics as sm

ACC = state("grouped", DATA[:40])
WRITES = {"state": (ACC.save, sm.StateError, "a.state"), "page": (ACC.finalize().save_html, sm.SourceError, "a.html")}


def _with_state(folder):
    """A folder with a state, of each call alone."""
    folder.mkdir()
    ACC.save(folder / "a.state")
    return folder


def _twice(*sources):
    """Sources that name a file twice, which has a link beside it."""

    def call(folder):
        of_call = _with_state(folder / f"twice {sources[-1].strip('*')}{len(sources)}")
        (of_call / "link").symlink_to(of_call / "a.state")
        sm.Accumulator.load(*(of_call / source for source in sources))

    return (call, sm.StateError, "a.state", "2 times")


def _gone(pattern):
    def call(folder):
        of_call = _with_state(folder / f"gone {len(pattern)}")
        (of_call / "b.state").symlink_to("gone")
        sm.Accumulator.load(of_call / pattern)

    return (call, sm.StateError, "b.state")


def _blocked(save, name, place):
    """A file in a folder that is missing, or that is a file, or in place of a folder."""

    def call(folder):
        (folder / name).mkdir(exist_ok=True)
        (folder / "file").touch()
        save(folder / place / name)

    return call


REFUSALS = {
    "a file twice": _twice("a.state", "a.state"),
    "a file and a pattern that matches it": _twice("a.state", "*.state"),
    "a folder of a file and a link to it": _twice(""),
    "a file and a link to it": _twice("a.state", "link"),
    "a folder with a link to a file that is gone": _gone(""),
    "a pattern that matches a link to a file that is gone": _gone("*.state"),
    "an empty path": (lambda: sm.Accumulator.load(""), sm.StateError, "'.'"),
    "no files": (lambda: sm.Accumulator.load(), sm.MergeError),
    "a file that is not there": (lambda folder: sm.Accumulator.load(folder / "no" / "file"), sm.StateError, "no/file"),
    "a pattern that matches nothing": (
        lambda folder: sm.Accumulator.load(folder / "no*such"),
        sm.StateError,
        "no*such",
    ),
    **{
        f"a {what} in {where}": (_blocked(save, name, place), error, name)
        for what, (save, error, name) in WRITES.items()
        for where, place in (
            *(("a folder that is missing", "no/dir"), ("place of a folder", "")),
            ("a folder that is a file", "file"),
        )
    },
}
