"""Every flipped bit of a saved state is noticed, before anything parses it."""

import hashlib
import random
import re
import subprocess
import sys
import warnings

import polars as pl
import pyarrow.parquet as pq
import pytest

import streammetrics as sm
from streammetrics.statistics.state import checksums

ROWS = {"y": [1, 0, 1, 0], "p": [0.9, 0.2, 0.4, 0.6], "g": ["a", "b", "a", None]}
FORMS = ("a.parquet", "a.arrow", "bytes")
form = pytest.mark.parametrize("form", FORMS)


@pytest.fixture
def acc():
    return sm.Accumulator(sm.statistics.ConfusionCounts(), y_true="y", y_score="p", by="g").update(ROWS)


def content(acc, form, folder):
    if form == "bytes":
        return acc.to_bytes()
    acc.save(folder / form)
    return (folder / form).read_bytes()


def load(data, form, folder):
    if form == "bytes":
        return sm.Accumulator.from_bytes(data)
    (folder / form).write_bytes(data)
    return sm.Accumulator.load(folder / form)


def flipped(data, bit):
    copy = bytearray(data)
    copy[bit // 8] ^= 1 << bit % 8
    return bytes(copy)


@form
def test_every_byte_counts_and_flipped_bits_are_refused_in_silence(acc, form, tmp_path, capfd):
    data = content(acc, form, tmp_path)
    for byte in range(len(data)):
        with pytest.raises(sm.errors.StateError, match="checksum"):
            checksums.is_sealed(flipped(data, 8 * byte + byte % 8))
    for bit in random.Random(0).sample(range(len(data) * 8), 60):
        with pytest.raises(sm.errors.StateError, match=r"checksum|not a Parquet or Arrow"):
            load(flipped(data, bit), form, tmp_path)
    assert capfd.readouterr() == ("", "")


@form
def test_a_checksum_on_the_edge_of_pieces_is_found(acc, form, tmp_path, monkeypatch):
    data = content(acc, form, tmp_path)
    for piece in (1, 7, 64, 85, 86, 1_000):
        monkeypatch.setattr(checksums, "PIECE", piece)
        assert checksums.is_sealed(data)
        assert checksums.is_sealed(content(acc, form, tmp_path))
        with pytest.raises(sm.errors.StateError, match="checksum"):
            checksums.is_sealed(flipped(data, len(data) * 4))


@form
def test_equal_states_are_equal_bytes_and_load_without_a_warning(form, tmp_path):
    """Also if their text looks like a checksum."""
    looks = [checksums.BLANK.decode(), checksums.placeholder().decode(), checksums.KEY.decode(), None]
    acc = sm.binary(y_true="y", y_score="p", by="g").update(ROWS | {"g": looks})
    data = content(acc, form, tmp_path)
    assert content(acc.copy(), form, tmp_path) == data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = load(data, form, tmp_path)
    assert content(loaded, form, tmp_path) == data


def test_any_program_can_verify_a_checksum(acc, tmp_path):
    for form in FORMS:
        data = content(acc, form, tmp_path)
        (digits,) = set(re.findall(rb"streammetrics:sha256:([0-9a-f]{64})", data))
        assert hashlib.sha256(data.replace(digits, b"0" * 64)).hexdigest().encode() == digits


def test_other_programs_see_one_entry_of_metadata(acc, tmp_path):
    acc.save(tmp_path / "a.parquet")
    assert set(pq.read_metadata(tmp_path / "a.parquet").metadata) == {
        b"ARROW:schema",
        b"streammetrics",
        b"streammetrics.checksum",
    }
    assert pl.read_parquet(tmp_path / "a.parquet").height == 3


def test_many_files_of_which_some_have_no_checksum_are_one_state(acc, tmp_path):
    acc.save(tmp_path / "new")
    pq.write_table(acc.to_arrow(), tmp_path / "old")
    with pytest.warns(sm.errors.StateWarning, match="old"):
        assert sm.Accumulator.load(tmp_path / "old", tmp_path / "new").seen == 8


@pytest.mark.thorough
def test_a_forged_file_does_not_end_the_process(acc, tmp_path):
    """Arrow ends the process if it reads the sizes of a column whose levels differ from those of the schema."""
    acc.save(tmp_path / "a.state")
    code = f"""
import pathlib, struct
import streammetrics as sm
from streammetrics.statistics.state import checksums

path = pathlib.Path({str(tmp_path / "a.state")!r})
content = path.read_bytes()
(seal,) = checksums.SEAL.findall(content)
(footer,) = struct.unpack("<I", content[-8:-4])
start = len(content) - 8 - footer
optional = [i for i in range(start, start + 800) if content[i] == 0x02]  # in the schema, which comes first
refused = 0
for i in optional:
    forged = bytearray(content)
    forged[i] = 0x00  # required
    path.write_bytes(bytes(forged).replace(seal, checksums._checksum(bytes(forged), seal)))
    try:
        sm.Accumulator.load(path)
    except sm.errors.StateError:
        refused += 1
print(refused)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, int(done.stdout) > 10) == (0, True), done.stderr
