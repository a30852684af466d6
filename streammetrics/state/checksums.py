"""A checksum inside the bytes that it covers, verified before they are parsed.

It is in the metadata of a file, as ``streammetrics:sha256:`` and 64 hexadecimal digits: the SHA-256 of the whole
content with these digits replaced by zeros. Other programs see an additional metadata entry.
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
TRIED = 8  # seals: a column or a label can look like one


def placeholder() -> bytes:
    """Return a unique text to write in place of the checksum, of the same length."""
    return PREFIX + secrets.token_hex(32).encode()


def sealed(content: bytes, placeholder: bytes) -> bytes:
    """Return the content with its checksum in place of the placeholder."""
    return content.replace(placeholder, _checksum(content, placeholder))


def is_sealed(content: bytes) -> bool:
    """Return whether the content has a checksum, after verifying it."""
    seals = list(islice(dict.fromkeys(SEAL.findall(content)), TRIED))
    if not seals and KEY not in content:
        return False
    if not any(seal == _checksum(content, seal) for seal in seals):
        raise StateError("The checksum does not match: the content was damaged or changed after it was written.")
    return True


def _checksum(content: bytes, seal: bytes) -> bytes:
    return PREFIX + sha256(content.replace(seal, BLANK)).hexdigest().encode()
