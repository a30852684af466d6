"""Paths from which no state can be read, and to which no file can be written."""

import pyarrow as pa
import pyarrow.parquet as pq
from states import DATA, state

import streammetrics as sm

ACC = state("grouped", DATA[:40])
WRITES = {"state": (ACC.save, "a.state"), "page": (sm.Accumulator(y_true="y").finalize().save_html, "a.html")}


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

    return (call, "a.state", "2 times")


def _gone(pattern):
    def call(folder):
        of_call = _with_state(folder / f"gone {len(pattern)}")
        (of_call / "b.state").symlink_to("gone")
        sm.Accumulator.load(of_call / pattern)

    return (call, "b.state")


def _blocked(save, name, place):
    """A file in a folder that is missing, or that is a file, or in place of a folder."""

    def call(folder):
        (folder / name).mkdir(exist_ok=True)
        (folder / "file").touch()
        save(folder / place / name)

    return call


def _among_others(folder):
    """A state in a folder of other files."""
    DATA.write_csv(_with_state(folder / "states") / "rows.csv")
    sm.Accumulator.load(folder / "states")


def _nested(folder):
    """A Parquet file of a deeply nested column."""
    kind = pa.int64()
    for _ in range(30):
        kind = pa.struct([("x", kind)])
    pq.write_table(pa.table({"x": pa.array([None], kind)}), folder / "nested")
    return sm.Accumulator.load(folder / "nested")


def _in_short(act, path):
    """Read or write a file, and leave out of the message what other libraries say."""
    try:
        return act(path)
    except sm.StreamMetricsError as error:
        raise type(error)(f"{error}".partition(": ")[0]) from None


def _no_state(write, name):
    """A call that loads a file without a state."""

    def call(folder):
        write(folder / name)
        _in_short(sm.Accumulator.load, folder / name)

    return (call, name)


def _refused(act, path, name="read"):
    return (lambda: _in_short(act, path), name)


NO_STATES = {
    "a folder": lambda path: path.mkdir(),
    "an empty file": lambda path: path.touch(),
    "a text": lambda path: path.write_text("a,b\n1,2\n"),
    "a foreign Parquet file": DATA.write_parquet,
    "a foreign Arrow file": DATA.write_ipc,
    "a file that was cut": lambda path: (ACC.save(path), path.write_bytes(path.read_bytes()[:-100])),
    **{
        f"a header of nothing, {content[4:7]!r}": lambda path, content=content: path.write_bytes(content)
        for content in (
            *(
                b"PAR1" + byte * 100_000 + (100_000).to_bytes(4, "little") + b"PAR1"
                for byte in (b"\x00", b"\x1c", b"\x19")
            ),
            b"PAR1\xff\xff\xff\x7fPAR1",
            b"ARROW1" + b"\xff" * 64 + b"ARROW1",
            b"ARROW1" + b"\x00" * 64 + b"ARROW1",
        )
    },
}
REFUSALS = {
    **{f"{what} in place of a state": _no_state(write, "a.file") for what, write in NO_STATES.items()},
    "columns that are nested too deeply": (_nested, "nested"),
    "a folder of states and other files": (_among_others, "rows.csv", "states/*.state"),
    **{
        f"{read.__name__} of {source!r}": _refused(read, source)
        for read, sources in (
            (sm.Accumulator.from_bytes, ("no bytes", b"", None, 3)),
            (sm.Accumulator.from_arrow, ("no table", b"", None, 3)),
            (sm.Accumulator.load, (None, 5, "a\0b")),
        )
        for source in sources
    },
    **{
        f"a {what} written to {place!r}": _refused(save, place, "write")
        for what, (save, _) in WRITES.items()
        for place in (None, 5, "a\0b")
    },
    "a file twice": _twice("a.state", "a.state"),
    "a file and a pattern that matches it": _twice("a.state", "*.state"),
    "a folder of a file and a link to it": _twice(""),
    "a file and a link to it": _twice("a.state", "link"),
    "a folder with a link to a file that is gone": _gone(""),
    "a pattern that matches a link to a file that is gone": _gone("*.state"),
    "an empty path": (lambda: sm.Accumulator.load(""), "'.'"),
    "no files": (lambda: sm.Accumulator.load(),),
    "a file that is not there": (lambda folder: sm.Accumulator.load(folder / "no" / "file"), "no/file"),
    "a pattern that matches nothing": (lambda folder: sm.Accumulator.load(folder / "no*such"), "no*such"),
    **{
        f"a {what} in {where}": (_blocked(save, name, place), name)
        for what, (save, name) in WRITES.items()
        for where, place in (
            ("a folder that is missing", "no/dir"),
            ("place of a folder", ""),
            ("a folder that is a file", "file"),
        )
    },
}
