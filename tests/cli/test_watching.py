"""The live view of an evaluation, on a pseudo terminal and in a log."""

import os
import re
import sys
from dataclasses import replace

import click
import polars as pl
import pytest
from click.testing import CliRunner
from commands import run

import streammetrics as sm
from streammetrics.cli import main, watching

pytest.importorskip("tqdm")
pty = pytest.importorskip("pty", reason="there are no pseudo terminals")

BATCHES = 4
SLOWLY = """
import sys, time
from dataclasses import replace
from streammetrics.cli import main, watching

def slow(batches):
    for batch in batches:  # small files may come together
        for part in batch.iter_slices(100):
            yield part
            time.sleep({pause})

opened = watching.open_stream
watching.EVERY = watching.SHARE = 0
watching.open_stream = lambda *a: (lambda s: replace(s, batches=slow(s.batches)))(opened(*a))
main()
"""


@pytest.fixture
def files(tmp_path):
    for i in range(BATCHES):
        rows = pl.DataFrame({"y": [1, 0] * 50, "p": [0.9, 0.2] * 40 + [0.3, 0.8] * 10, "g": [f"g{i}", "b"] * 50})
        rows.write_parquet(tmp_path / f"{i}.parquet")
    return ["evaluate", str(tmp_path), "--y-true", "y", "--y-score", "p", "--workers", "1"]


def on_terminal(command, size, pause=0.0, interrupt_after=None):
    """What a program prints on a terminal of some lines and columns, and its exit code."""
    child, terminal = pty.fork()
    if not child:
        os.environ["LINES"], os.environ["COLUMNS"] = map(str, size)
        os.execv(sys.executable, [sys.executable, "-c", SLOWLY.format(pause=pause), *command])
    printed = b""
    while True:
        try:
            more = os.read(terminal, 65_536)
        except OSError:  # the program has ended
            break
        printed += more
        if not more:
            break
        if interrupt_after and printed.count(b"%|") >= interrupt_after:
            os.write(terminal, b"\x03")
            interrupt_after = None
    os.close(terminal)
    return printed.decode(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def lines_of(printed):
    return re.sub(r"\x1b\[\d*[FJm]", "", printed).splitlines()


def screen(printed):
    """The lines that stand on a terminal, of which a look moves back and removes some."""
    lines = []
    for up, text in re.findall(r"(?:\x1b\[(\d+)F\x1b\[J)?([^\x1b]*)", printed):
        lines = lines[: len(lines) - int(up or 0)]
        lines += text.replace("\r\n", "\n").split("\n")[:-1]
    return lines


@pytest.mark.thorough
def test_a_terminal_shows_the_last_look_alone(files, tmp_path):
    size = (12, 40)
    printed, code = on_terminal([*files, "--watch", "--save", str(tmp_path / "all.state")], size)
    assert code == 0
    assert printed.count("%|") == BATCHES
    assert not [line for line in lines_of(printed) if len(line) > size[1]]
    looks = re.split(r"\x1b\[\d+F\x1b\[J", printed)
    assert [look.count("\n") for look in looks[:-1]] == [min(size[0] - 1, looks[-2].count("\n"))] * BATCHES
    assert "rows" in looks[0]
    assert any(line.startswith("metric") for line in screen(printed))
    assert sum(line.startswith(("roc_auc ", "metric  roc_auc")) for line in screen(printed)) == 1
    assert sm.Accumulator.load(tmp_path / "all.state").seen == 100 * BATCHES
    printed, code = on_terminal([*files, "--watch", "--by", "g", "--confidence", "0.95"], (24, 40))
    assert (code, max(map(len, lines_of(click.unstyle(printed)))) <= 40) == (0, True)


@pytest.mark.thorough
def test_an_interrupt_saves_the_rows_so_far(files, tmp_path):
    saved = tmp_path / "some.state"
    printed, code = on_terminal([*files, "--watch", "--save", str(saved)], (24, 80), pause=0.5, interrupt_after=1)
    assert code == 130
    seen = sm.Accumulator.load(saved).seen
    assert 100 <= seen < 100 * BATCHES
    assert f"Saved the rows so far: {saved}: binary task, " in "".join(screen(printed))
    assert screen(printed)[-1].endswith("Interrupted.")


@pytest.mark.thorough
def test_a_log_has_looks_below_each_other(files, monkeypatch):
    result = CliRunner().invoke(main, [*files, "--watch"])
    assert result.exit_code == 0
    assert "\x1b" not in result.stderr
    assert result.stderr.count("rows/s") == 1
    assert result.stdout == CliRunner().invoke(main, files).stdout
    for name in ("LOGGED", "SHARE"):
        monkeypatch.setattr(watching, name, 0)
    opened = watching.open_stream

    def in_parts(*arguments):
        stream = opened(*arguments)
        return replace(stream, batches=(part for batch in stream.batches for part in batch.iter_slices(100)))

    monkeypatch.setattr(watching, "open_stream", in_parts)
    assert CliRunner().invoke(main, [*files, "--watch"]).stderr.count("rows/s") == BATCHES


def test_an_error_ends_the_view_in_one_line(files, tmp_path, monkeypatch):
    """Also that of a missing extra."""
    pl.DataFrame({"y": [2, 0], "p": [0.5, 0.6], "g": "a"}).write_parquet(tmp_path / "9.parquet")
    watch = [*files, "--watch", "--save", str(tmp_path / "none.state")]
    assert run(*watch, code=2).splitlines()[-1].startswith("Error: Column 'y'")
    assert not (tmp_path / "none.state").exists()
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert "--watch requires the 'progress' extra" in run(*watch, code=2)


@pytest.mark.thorough
def test_a_terminal_is_told_what_was_done(files, tmp_path):
    saved = tmp_path / "all.state"
    printed, code = on_terminal([*files, "--save", str(saved)], (50, 400))
    assert code == 0
    size = round(saved.stat().st_size / 1_000)
    assert re.search(rf"Evaluated 400 rows in \d+\.\d s\. Wrote {re.escape(str(saved))} \({size} kB\)\.\s*$", printed)
    assert "Evaluated" not in CliRunner().invoke(main, files).output
    printed, code = on_terminal(["check", str(saved), "--require", "rows >= 400"], (50, 400))
    assert code == 0
    assert printed.endswith("Passed: 1 of 1 hold.\r\n")
