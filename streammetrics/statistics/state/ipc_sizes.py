"""Memory that Arrow IPC streams and files need, from the headers of their messages, before they are unpacked.

Headers are tables of FlatBuffers. A compressed buffer begins with its size in memory, which readers trust.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from streammetrics.errors import StateError

MAGIC = b"ARROW1"  # of files; streams have none
CONTINUED = 0xFFFFFFFF  # before the size of a header, except in streams of early versions
HEADER_TYPE, HEADER, BODY_SIZE = 1, 2, 3  # fields of a message,
DICTIONARY_BATCH, RECORD_BATCH = 2, 3  # its types with a body,
OF_DICTIONARY = 1  # the record batch of a dictionary batch,
BUFFERS, COMPRESSION = 2, 3  # of a record batch,
DICTIONARIES, BATCHES = 2, 3  # and of the footer of a file: blocks,
BLOCK = 24  # bytes each: their place, the size of the header, and that of the body
BUFFER = 16  # bytes of the place and the size of a buffer
AS_IS = -1  # instead of a size: the buffer is not compressed


def ipc_size(content: bytes) -> int:
    """Return the bytes of memory that the columns of a file or a stream need.

    Raises:
        StateError: If a header is invalid.
    """
    try:
        places = _of_file(content) if content.startswith(MAGIC) else _of_stream(content)
        return sum(_unpacked(content, header, body) for header, body in places)
    except (struct.error, IndexError) as error:
        raise StateError("The content is not valid Arrow IPC: a header is invalid.") from error


def _of_stream(content: bytes) -> Iterator[tuple[int, int]]:
    """The places of the headers and bodies of messages."""
    at = 0
    while at < len(content):
        header, body = _message(content, at)
        if header == body:  # the end of the stream
            return
        yield header, body
        place = _field(content, _table(content, header), BODY_SIZE)
        at = body + (_read(content, "<Q", place) if place else 0)


def _of_file(content: bytes) -> Iterator[tuple[int, int]]:
    end = len(content) - len(MAGIC) - 4
    footer = _table(content, end - _read(content, "<i", end))
    for blocks in (DICTIONARIES, BATCHES):
        for block in _vector(content, _field(content, footer, blocks), BLOCK):
            yield _message(content, _read(content, "<q", block))


def _message(content: bytes, at: int) -> tuple[int, int]:
    """The places of the header and the body of a message."""
    size = _read(content, "<I", at)
    at += 4
    if size == CONTINUED:
        size = _read(content, "<I", at)
        at += 4
    return at, at + size


def _unpacked(content: bytes, header: int, body: int) -> int:
    """Bytes of the buffers of a message. Several can be at the same place."""
    message = _table(content, header)
    place = _field(content, message, HEADER_TYPE)
    kind = _read(content, "<B", place) if place else 0
    if kind not in {DICTIONARY_BATCH, RECORD_BATCH}:
        return 0
    batch = _table(content, _field(content, message, HEADER))
    if kind == DICTIONARY_BATCH:
        batch = _table(content, _field(content, batch, OF_DICTIONARY))
    is_compressed = _field(content, batch, COMPRESSION) > 0
    needed = 0
    for buffer in _vector(content, _field(content, batch, BUFFERS), BUFFER):
        offset, stored = _read(content, "<q", buffer), _read(content, "<Q", buffer + 8)
        unpacked = _read(content, "<q", body + offset) if is_compressed and stored else AS_IS
        if unpacked < AS_IS:
            raise IndexError
        needed += stored if unpacked == AS_IS else unpacked
    return needed


def _table(content: bytes, at: int) -> int:
    """The place of a table, to which an offset refers."""
    return at + _read(content, "<I", at)


def _field(content: bytes, table: int, number: int) -> int:
    """The place of a field of a table, or 0 if it has its default."""
    layout = table - _read(content, "<i", table)
    place = 4 + 2 * number
    offset = _read(content, "<H", layout + place) if place < _read(content, "<H", layout) else 0
    return table + offset if offset else 0


def _vector(content: bytes, place: int, width: int) -> range:
    """The places of the elements of a vector, which fit the content."""
    if not place:
        return range(0)
    start = _table(content, place)
    end = start + 4 + width * _read(content, "<I", start)
    if end > len(content):
        raise IndexError
    return range(start + 4, end, width)


def _read(content: bytes, form: str, at: int) -> int:
    if at < 0:  # which would count from the end
        raise IndexError
    return int(struct.unpack_from(form, content, at)[0])
