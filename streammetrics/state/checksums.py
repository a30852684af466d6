"""A checksum inside of the bytes that it covers, which is verified before anything parses them.

It stands in the metadata of a file as ``streammetrics:sha256:`` and 64 hexadecimal digits: the SHA-256 of the whole
content with zeros in place of these digits. Other programs see one more entry of metadata.
"""

from __future__ import annotations

import re
import secrets
from hashlib import sha256
from itertools import islice

from streammetrics.errors import StateError

KEY = b"streammetrics.checksum"
PREFIX = b"streammetrics:sha256:"
BLANK = PREFIX + b"0" * 64
SEAL = re.compile(re.escape(PREFIX) + rb"[0-9a-f]{64}")
TRIED = 8  # seals: a column or a label may look like one


def placeholder() -> bytes:
    """What to write where the checksum will stand: as long, and found nowhere else."""
    return PREFIX + secrets.token_hex(32).encode()


def sealed(content: bytes, placeholder: bytes) -> bytes:
    """The content with its checksum in all places of the placeholder.

    >>> mark = placeholder()
    >>> is_sealed(sealed(b"counts, " + mark, mark)), is_sealed(b"counts")
    (True, False)
    """
    return content.replace(placeholder, _checksum(content, placeholder))


def is_sealed(content: bytes) -> bool:
    """Whether the content has a checksum, which is right.

    Raises:
        StateError: If the checksum is wrong: the content has changed since it was written.
    """
    seals = list(islice(dict.fromkeys(SEAL.findall(content)), TRIED))
    if not seals and KEY not in content:
        return False
    if not any(seal == _checksum(content, seal) for seal in seals):
        raise StateError("its checksum does not match, so it was damaged or changed after it was written.")
    return True


def _checksum(content: bytes, seal: bytes) -> bytes:
    return PREFIX + sha256(content.replace(seal, BLANK)).hexdigest().encode()
