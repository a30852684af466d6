"""Memory that a Parquet file needs, from the headers of its footer and pages, before anything is unpacked.

Parquet's headers are structs of Thrift's compact protocol. Readers of other libraries trust them: a column without
metadata ends the process, and a page of a few bytes can have any number of values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streammetrics.errors import StateError

MAGIC = b"PAR1"
DEEPEST = 16  # nested structs in headers, and nested columns
BOOLEANS, BYTE, INTEGERS, DOUBLE, BINARY, LISTS, STRUCT = {1, 2}, 3, {4, 5, 6}, 7, 8, {9, 10}, 12  # compact types
SCHEMA, ROW_GROUPS = 2, 4  # fields of the footer,
TYPE, TYPE_LENGTH, CHILDREN = 1, 2, 5  # of a column in the schema,
COLUMNS, METADATA = 1, 3  # of a row group and its columns,
VALUES, PACKED, DATA_OFFSET, DICTIONARY_OFFSET = 5, 7, 9, 11  # of the metadata of a column,
UNPACKED_PAGE, PACKED_PAGE, DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = 2, 3, 5, 7, 8  # of a page,
ENCODING = {DATA_PAGE: 2, DATA_PAGE_V2: 4}  # and of a page of values, whose field 1 is their number
TEXT, FIXED = 6, 7  # physical types of values of any length, and of one length
WIDTH = 8  # bytes of a value, or of the place of a text, in memory
PLAIN, DICTIONARIES = 0, {2, 8}  # encodings

Struct = dict[int, Any]


@dataclass(frozen=True)
class Sizes:
    """Bytes of memory, and of texts in dictionaries: the most that they take if each value is a copy."""

    memory: int = 0
    copies: int = 0


def parquet_sizes(content: bytes) -> Sizes:
    """Return the memory that the columns of a file need.

    Raises:
        StateError: If a header is invalid, or the size of texts is not known from headers.
    """
    try:
        return _sizes(content)
    except IndexError as error:
        raise _invalid("a header is truncated") from error


def _sizes(content: bytes) -> Sizes:
    footer = _footer(content)
    leaves = _leaves(footer.get(SCHEMA))
    memory = copies = 0
    for group in _typed(footer.get(ROW_GROUPS), list):
        columns = _typed(_typed(group, dict).get(COLUMNS), list)
        if len(columns) != len(leaves):
            raise _invalid("a row group lacks columns")
        for leaf, column in zip(leaves, columns, strict=True):
            sizes = _column(content, leaf, _typed(_typed(column, dict).get(METADATA), dict))
            memory, copies = memory + sizes.memory, copies + sizes.copies
    return Sizes(memory, copies)


def _footer(content: bytes) -> Struct:
    size = int.from_bytes(content[-8:-4], "little")
    if not content.endswith(MAGIC) or size > len(content) - 12:
        raise _invalid("it has no footer")
    return _Reader(content, len(content) - 8 - size).struct()


def _leaves(schema: Any) -> list[Struct]:
    """The columns with values of a schema, which lists its nodes depth first, with the number of children of each."""
    leaves, open_nodes = [], [1]
    for node in _typed(schema, list):
        while open_nodes and not open_nodes[-1]:
            open_nodes.pop()
        if not open_nodes or len(open_nodes) > DEEPEST:
            raise _invalid("its columns are nested too deeply, or not as its schema says")
        open_nodes[-1] -= 1
        children = _number(_typed(node, dict), CHILDREN, 0)
        if children:
            open_nodes.append(children)
        else:
            leaves.append(node)
    return leaves


def _column(content: bytes, leaf: Struct, metadata: Struct) -> Sizes:
    kind = _number(metadata, TYPE)
    offsets = _number(metadata, DATA_OFFSET), _number(metadata, DICTIONARY_OFFSET, 0)
    start = min((offset for offset in offsets if offset), default=len(content))  # 0 if there are no pages of a kind
    end = start + _number(metadata, PACKED)
    if end > len(content):
        raise _invalid("a column is outside the file")
    unpacked = dictionary = values = 0
    while start < end:
        reader = _Reader(content, start)
        page = reader.struct()
        start = reader.at + _number(page, PACKED_PAGE)
        unpacked += _number(page, UNPACKED_PAGE)
        if DICTIONARY_PAGE in page:
            dictionary += _number(page, UNPACKED_PAGE)
        for form, field in ENCODING.items():
            if form in page:
                header = _typed(page[form], dict)
                values += _number(header, 1)
                if kind == TEXT and _number(header, field) not in {PLAIN, *DICTIONARIES}:
                    raise StateError("Texts are in a delta encoding, whose size is not known before. Use dictionaries.")
    values = max(values, _number(metadata, VALUES))
    width = max(WIDTH, _number(leaf, TYPE_LENGTH)) if kind == FIXED else WIDTH
    return Sizes(max(unpacked, width * values), dictionary * values if kind == TEXT else 0)


def _number(struct: Struct, field: int, default: int | None = None) -> int:
    value = struct.get(field, default)
    if not isinstance(value, int) or value < 0:
        raise _invalid("a size is missing or negative")
    return value


def _typed(value: Any, kind: type[Any]) -> Any:
    if not isinstance(value, kind):
        raise _invalid("a field is missing or has another type")
    return value


def _invalid(fault: str) -> StateError:
    return StateError(f"The content is not valid Parquet: {fault}.")


class _Reader:
    """A reader of structs of Thrift's compact protocol: each a dictionary of values by the number of their field."""

    def __init__(self, content: bytes, at: int) -> None:
        self.content = content
        self.at = at
        self.depth = 0

    def struct(self) -> Struct:
        self._enter()
        fields: Struct = {}
        number = 0
        while header := self.content[self.at]:
            self.at += 1
            number = number + (header >> 4) if header >> 4 else self._integer()
            if number in fields:
                raise _invalid("a field is repeated")
            fields[number] = self._value(header & 15)
        self.at += 1
        self.depth -= 1
        return fields

    def _list(self) -> list[Any]:
        self._enter()
        header = self.content[self.at]
        self.at += 1
        size, kind = header >> 4, header & 15
        if size == 15:
            size = self._unsigned()
        if size > len(self.content) - self.at:
            raise _invalid("a list is longer than the file")
        if kind in BOOLEANS:  # a byte each, unlike as fields
            kind = BYTE
        values = [self._value(kind) for _ in range(size)]
        self.depth -= 1
        return values

    def _value(self, kind: int) -> Any:
        if kind in INTEGERS:
            return self._integer()
        if kind == BINARY:
            size = self._unsigned()
            self.at += size
            return None
        if kind == STRUCT:
            return self.struct()
        if kind in LISTS:
            return self._list()
        if kind in BOOLEANS:
            return None
        if kind not in {BYTE, DOUBLE}:
            raise _invalid("a field has an unknown type")
        self.at += 8 if kind == DOUBLE else 1
        return None

    def _integer(self) -> int:
        number = self._unsigned()
        return number >> 1 ^ -(number & 1)

    def _unsigned(self) -> int:
        byte = self.content[self.at]
        if byte < 128:  # most numbers
            self.at += 1
            return byte
        number = 0
        for shift in range(0, 70, 7):
            byte = self.content[self.at]
            self.at += 1
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise _invalid("a number has more than 64 bits")

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise _invalid("its headers are nested too deeply")
