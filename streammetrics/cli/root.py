"""The root of all commands, with errors of one line."""

from __future__ import annotations

import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping
from functools import partial
from typing import IO, Any, Final

import click

from streammetrics.cli.parameters import STORAGE, WRITTEN
from streammetrics.cli.sections import Command, ExampleFirst
from streammetrics.core import FORMS, form
from streammetrics.errors import Argument, StreamMetricsError, escaped
from streammetrics.version import __version__

DONE = "streammetrics.done"  # sentences on what a command did, in the metadata of its context
ORDER = (
    "demo",
    "evaluate",
    "append",
    "show",
    "report",
    "findings",
    "check",
    "page",
    "compare",
    "rows-needed",
)  # of work; others follow
UNQUOTED = frozenset('"$`\\!')  # characters with a meaning within double quotes


class Failure(click.ClickException):
    """An error message of one line."""

    exit_code = 2


class Interrupted(click.ClickException):
    """Interruption by Ctrl-C, with the exit code of shells."""

    exit_code = 130

    def __init__(self) -> None:
        super().__init__("Interrupted.")

    def show(self, file: IO[str] | None = None) -> None:
        """Print the message alone."""
        click.echo(self.message, file=file, err=True)


class Commands(ExampleFirst, click.Group):
    """Commands with errors of one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of work."""
        return sorted(self.commands, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            result = super().invoke(ctx)
            _tell_what_was_done(ctx)
            return result
        except BrokenPipeError:  # by commands such as head; click then exits silently
            raise
        except KeyboardInterrupt:
            raise Interrupted from None
        except StreamMetricsError as error:
            message = error.message(partial(as_option, command=self.commands.get(ctx.invoked_subcommand or "")))
            raise Failure(message.partition("\n")[0]) from error
        except OSError as error:
            raise Failure(escaped(str(error).partition("\n")[0])) from error


def done(sentence: str) -> None:
    """Keep a sentence on what the command did, which a terminal shows at its end."""
    click.get_current_context().meta.setdefault(DONE, []).append(sentence)


def _tell_what_was_done(ctx: click.Context) -> None:
    """Say on a terminal what a command did, and which files it wrote."""
    files = [path for path in ctx.meta.get(WRITTEN, ()) if path.is_file()]
    sizes = [f"{escaped(str(path))} ({_size(path.stat().st_size)})" for path in files]
    sentences = [*ctx.meta.get(DONE, ()), *([f"Wrote {', '.join(sizes)}."] if sizes else [])]
    if sentences and ctx.parent is None and sys.stderr.isatty():
        click.echo(
            textwrap.fill(" ".join(sentences), shutil.get_terminal_size().columns, break_on_hyphens=False), err=True
        )


def _size(size: int) -> str:
    """A size in bytes as text.

    >>> _size(999), _size(58_200), _size(3_700_000)
    ('999 B', '58 kB', '3.7 MB')
    """
    if size < 1_000:
        return f"{size} B"
    return f"{size / 1e3:.0f} kB" if size < 999_500 else f"{size / 1e6:.1f} MB"


def _quoted(value: str) -> str:
    """A value for a shell, in double quotes if it contains single quotes, such as those of SQL."""
    return f'"{value}"' if "'" in value and UNQUOTED.isdisjoint(value) else shlex.quote(value)


def as_option(argument: Argument, command: click.Command | None = None) -> str:
    """Return an argument as an option of a command, or of evaluate: ``--nulls drop`` for ``nulls='drop'``.

    Arguments without an option stay as they are.
    """
    parameters = [*main.commands["evaluate"].params, *(command.params if command else ())]
    options = {each.name: each.opts[0] for each in parameters if isinstance(each, click.Option)}
    option = options.get(argument.name)
    if option is None:
        return str(argument)
    match argument.value:
        case None | True:
            return option
        case Mapping() as values:
            return " ".join(f"{option} {_quoted(f'{name}={value}')}" for name, value in values.items())
        case value:
            return f"{option} {_quoted(str(value))}"


def epilog(*examples: str) -> str:
    """Return examples as lines of a help text."""
    return "\n  ".join(("\b\nExample:", *examples))


EXAMPLE = "streammetrics evaluate 'predictions/*.parquet' --y-true clicked --y-score p_click --by country"


@click.group(cls=Commands, epilog=epilog(EXAMPLE), context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message=f"%(prog)s, version %(version)s (loops over rows: {FORMS[form]})")
def main() -> None:
    """Evaluate model predictions of any size in one pass."""


def command(name: str, example: str, of: click.Group = main) -> Callable[[Callable[..., None]], click.Command]:
    """Turn a function into a command whose help begins with an example."""
    registered = of.command(name, cls=Command, epilog=epilog(example))
    return lambda function: registered(storage_option(function))


def _store_options(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> None:
    """Keep the options of the object store for the other parameters. An error does not repeat them."""
    pairs = [value.partition("=") for value in values]
    if not all(equals for _, equals, _ in pairs):
        raise click.UsageError(f"{parameter.opts[0]} must be KEY=VALUE.")
    ctx.meta[STORAGE] = {key: value for key, _, value in pairs}


storage_option: Final = click.option(
    "--storage-option",
    "storage_options",
    metavar="KEY=VALUE",
    multiple=True,
    is_eager=True,
    expose_value=False,
    callback=_store_options,
    help="Option of the object store of paths such as s3://bucket/key. Can be repeated. Default: the environment.",
)
