"""Types of parameters, whose errors name the fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from streammetrics.base import StorageOptions, did_you_mean, object_path, of_percent

STORAGE = "streammetrics.storage_options"
WRITTEN = "streammetrics.written"  # files of a command, in the metadata of its context


def storage_options() -> StorageOptions:
    """Return the options of the object store."""
    return click.get_current_context().meta.get(STORAGE)


class FileToRead(click.Path):
    """A file, also in an object store."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        return object_path(value, storage_options()) or super().convert(value, param, ctx)


class FileToWrite(click.Path):
    """A writable file. Invalid paths are rejected before reading data, since evaluations can take hours."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, if its folder exists."""
        if (uri := object_path(value, storage_options())) is not None:
            return uri
        path: Path = super().convert(value, param, ctx)  # type: ignore[assignment]
        if ctx is not None:
            ctx.meta.setdefault(WRITTEN, []).append(path)
        if not path.parent.is_dir():
            self.fail(f"folder '{path.parent}' not found.", param, ctx)
        return path


class Number(click.ParamType[float]):
    """A number. Percentages are rejected with the number to pass."""

    name = "float"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number.{of_percent(value)}", param, ctx)


class OneOf(click.Choice[str]):
    """One of several names, with the most similar one in the error."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(f"{error.message}{did_you_mean(str(value), map(str, self.choices), most=1)}", param, ctx)
