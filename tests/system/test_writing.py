"""Files are written whole or not at all, whatever happens while they are written."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import run

import streammetrics as sm
from streammetrics.demo import write_predictions

ROWS = {"y": [1, 0, 1, 0], "p": [0.9, 0.2, 0.4, 0.6]}


@pytest.fixture
def acc():
    return sm.binary(y_true="y", y_score="p").update(ROWS)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def fail(monkeypatch, number):
    def fsync(file):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fsync)


@pytest.mark.usefixtures("undrawn")
def test_a_full_disk_leaves_the_file_as_it_was(acc, tmp_path, monkeypatch):
    saves = {"a.state": lambda path: acc.save(path), "b.html": lambda path: acc.finalize().save_html(path)}
    for name, save in saves.items():
        save(tmp_path / name)
    before = {name: (tmp_path / name).read_bytes() for name in saves}
    acc.update(ROWS)
    fail(monkeypatch, errno.ENOSPC)
    for name, save in saves.items():
        with pytest.raises(sm.StreamMetricsError, match=rf"{name}.*no space left"):
            save(tmp_path / name)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(acc, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(sm.errors.StateError, match="permission denied"):
        acc.save(tmp_path / "a.state")


def test_an_interrupt_leaves_no_temporary_file(acc, tmp_path, monkeypatch):
    def fsync(file):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(KeyboardInterrupt):
        acc.save(tmp_path / "a.state")
    assert names(tmp_path) == []


def test_links_modes_and_devices_stay_what_they_are(acc, tmp_path):
    path, link, long = tmp_path / "a", tmp_path / "link", tmp_path / ("n" * 255)
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    acc.save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    acc.save(long)
    assert sm.Accumulator.load(path).seen == sm.Accumulator.load(long).seen == 4
    acc.save(os.devnull)
    assert not Path(os.devnull).is_file()
    mask = os.umask(0o022)
    os.umask(mask)
    assert long.stat().st_mode & 0o777 == 0o666 & ~mask


def test_files_of_the_command_line_and_of_the_demo(acc, tmp_path, monkeypatch):
    acc.save(tmp_path / "a.state")
    fail(monkeypatch, errno.ENOSPC)
    out = tmp_path / "out"
    out.write_text("old")
    for form in ("parquet", "table"):
        assert "no space left" in run("show", tmp_path / "a.state", "--format", form, "--output", out, code=2)
        assert out.read_text() == "old"
    with pytest.raises(sm.errors.SourceError, match="no space left"):
        write_predictions(tmp_path / "demo", rows=60)
    assert names(tmp_path / "demo") == []


SAVER = """
import sys
import streammetrics as sm
small = sm.binary(y_true="y", y_score="p").update({"y": [1, 0], "p": [0.9, 0.2]})
large = small.copy().update({"y": [0, 1] * 2000, "p": [i / 4000 for i in range(4000)]})
print("ready", flush=True)
while True:
    small.save(sys.argv[1])
    large.save(sys.argv[1])
"""


@pytest.mark.thorough
@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.long)])
def test_a_process_killed_while_it_saves_leaves_an_old_or_a_new_file(kills, acc, tmp_path):
    path = tmp_path / "a.state"
    acc.save(path)
    for kill in range(kills):
        process = subprocess.Popen([sys.executable, "-c", SAVER, str(path)], stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(0.03 + 0.011 * kill)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert sm.Accumulator.load(path).seen in (2, 4, 4002)
    left = [name for name in names(tmp_path) if name != "a.state"]
    assert all(name.startswith(".") for name in left)  # which no folder of states is read with


@pytest.mark.thorough
def test_files_of_killed_saves_are_deleted_an_hour_later(acc, tmp_path):
    code = f"""
import os, signal
import streammetrics as sm
os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)
sm.binary(y_true="y", y_score="p").save({str(tmp_path / "a.state")!r})
"""
    subprocess.run([sys.executable, "-c", code])
    (left,) = names(tmp_path)
    mine = tmp_path / ".cache.tmp"  # of another program
    mine.write_text("")
    acc.save(tmp_path / "b.state")
    assert names(tmp_path) == sorted([left, ".cache.tmp", "b.state"])
    for path in (tmp_path / left, mine):
        os.utime(path, (time.time() - 4_000,) * 2)
    acc.save(tmp_path / "b.state")
    assert names(tmp_path) == [".cache.tmp", "b.state"]
