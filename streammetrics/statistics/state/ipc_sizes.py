"""Memory that an Arrow IPC stream needs, from the headers of its messages, before they are unpacked.

Headers are tables of FlatBuffers. A compressed buffer begins with its size in memory, which readers trust.
"""

from __future__ import annotations

import struct

from streammetrics.base import pa
from streammetrics.errors import StateError

HEADER_TYPE, HEADER = 1, 2  # fields of a message,
DICTIONARY_BATCH, RECORD_BATCH = 2, 3  # its types with a body,
DICTIONARY = 1  # the record batch of a dictionary batch,
BUFFERS, COMPRESSION = 2, 3  # and fields of a record batch
BUFFER_BYTES = 16  # bytes of the place and the size of a buffer
UNCOMPRESSED = -1  # instead of a size


def ipc_size(stream: pa.Buffer) -> int:
    """Return the bytes of memory that the columns of a stream need.

    Raises:
        StateError: If a header is invalid.
    """
    try:
        return sum(
            _unpacked_size(message.metadata.to_pybytes(), message.body)
            for message in pa.ipc.MessageReader.open_stream(stream)
        )
    except (struct.error, IndexError) as error:
        raise StateError("The content is not valid Arrow IPC: a header is invalid.") from error


def _unpacked_size(header: bytes, body: pa.Buffer) -> int:
    """Bytes of the buffers of a message. Several can be at the same place."""
    message = _table(header, 0)
    place = _field(header, message, HEADER_TYPE)
    kind = _number(header, "<B", place) if place else 0
    if kind not in {DICTIONARY_BATCH, RECORD_BATCH}:
        return 0
    batch = _table(header, _field(header, message, HEADER))
    if kind == DICTIONARY_BATCH:
        batch = _table(header, _field(header, batch, DICTIONARY))
    is_compressed = _field(header, batch, COMPRESSION) > 0
    size = 0
    for offset, stored in struct.iter_unpack("<qQ", _buffers(header, _field(header, batch, BUFFERS))):
        unpacked = _number(body, "<q", offset) if is_compressed and stored else UNCOMPRESSED
        if unpacked < UNCOMPRESSED:
            raise IndexError
        size += stored if unpacked == UNCOMPRESSED else unpacked
    return size


def _table(header: bytes, place: int) -> int:
    """The place of a table, to which an offset refers."""
    return place + _number(header, "<I", place)


def _field(header: bytes, table: int, number: int) -> int:
    """The place of a field of a table, or 0 if it has its default."""
    layout = table - _number(header, "<i", table)
    place = 4 + 2 * number
    offset = _number(header, "<H", layout + place) if place < _number(header, "<H", layout) else 0
    return table + offset if offset else 0


def _buffers(header: bytes, place: int) -> bytes:
    """The places and sizes of buffers, which fit the header."""
    if not place:
        return b""
    start = _table(header, place)
    end = start + 4 + BUFFER_BYTES * _number(header, "<I", start)
    if end > len(header):
        raise IndexError
    return header[start + 4 : end]


def _number(content: bytes | pa.Buffer, form: str, place: int) -> int:
    if place < 0:  # which would count from the end
        raise IndexError
    return int(struct.unpack_from(form, content, place)[0])
