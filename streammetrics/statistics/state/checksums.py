"""A checksum inside the bytes that it covers, verified before they are parsed.

It is in the metadata of a file, as ``streammetrics:sha256:`` and 64 hexadecimal digits: the SHA-256 of the whole
content with these digits replaced by zeros. Other programs see an additional metadata entry.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from hashlib import sha256
from itertools import chain

from streammetrics.errors import StateError

KEY = b"streammetrics.checksum"
PREFIX = b"streammetrics:sha256:"
BLANK = PREFIX + b"0" * 64
SEAL = re.compile(re.escape(PREFIX) + rb"[0-9a-f]{64}")
TRIED = 8  # seals: a column or a label can look like one
PIECE = 1 << 20  # bytes that are searched or copied at once, so that other threads can run in between


def placeholder() -> bytes:
    """Return a unique text to write in place of the checksum, of the same length."""
    return PREFIX + secrets.token_hex(32).encode()


def seal(content: memoryview, placeholder: bytes) -> None:
    """Write the checksum of the content in place of the placeholder."""
    places = list(_places(content, placeholder))
    checksum = _checksum(content, places)
    for place in places:
        content[place : place + len(checksum)] = checksum


def is_sealed(content: bytes) -> bool:
    """Return whether the content has a checksum, after verifying it."""
    seals = _seals(content)
    if not seals and next(_places(memoryview(content), KEY), None) is None:
        return False
    if not any(seal == _checksum(memoryview(content), places) for seal, places in seals.items()):
        raise StateError("The checksum does not match: the content was damaged or changed after it was written.")
    return True


def copy_in_pieces(content: memoryview) -> bytes:
    """Return a copy. Other threads can run meanwhile: joining bytes does not hold the lock of the interpreter."""
    return b"".join([bytes(content[start : start + PIECE]) for start in range(0, len(content), PIECE)])


def _seals(content: bytes) -> dict[bytes, list[int]]:
    """The first texts that look like a checksum, and all places of each."""
    starts = range(0, len(content), PIECE)
    matches = (SEAL.finditer(content, start, start + PIECE + len(BLANK) - 1) for start in starts)
    seals: dict[bytes, None] = {}
    for match in chain.from_iterable(matches):
        seals[match[0]] = None
        if len(seals) == TRIED:
            break
    return {seal: list(_places(memoryview(content), seal)) for seal in seals}


def _places(content: memoryview, text: bytes) -> Iterator[int]:
    for start in range(0, len(content), PIECE):
        piece = bytes(content[start : start + PIECE + len(text) - 1])
        place = piece.find(text)
        while place >= 0:
            yield start + place
            place = piece.find(text, place + len(text))


def _checksum(content: memoryview, places: list[int]) -> bytes:
    """The checksum of content with zeros at the places of the checksum."""
    checksum, start = sha256(), 0
    for place in places:
        checksum.update(content[start:place])
        checksum.update(BLANK)
        start = place + len(BLANK)
    checksum.update(content[start:])
    return PREFIX + checksum.hexdigest().encode()
