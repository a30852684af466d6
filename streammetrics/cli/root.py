"""The root of all commands, with errors of one line."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import textwrap
from ast import literal_eval
from collections.abc import Callable, Iterator
from typing import IO, Any

import click

from streammetrics.cli.parameters import WRITTEN
from streammetrics.cli.sections import Command, ExampleFirst
from streammetrics.core import FORMS, form
from streammetrics.errors import StreamMetricsError, escaped
from streammetrics.version import __version__

ARGUMENT = r"""([a-z_]+)=(True\b|-?\d+(?:\.\d+)?(?:e-?\d+)?|'[^']*'|"[^"]*"|\([^\s(),]+,\))?"""
IN_ERRORS = re.compile(rf"""(?<!\w)(?:'[^']*'|"[^"]*")|(?<!\S)(){ARGUMENT}""")  # but not in values of the user
IN_NOTES = re.compile(rf"\b([Pp]ass\s+){ARGUMENT}")  # among values of the user
OTHERWISE = {  # words of Python that the command line has an option for
    "a filter": "--where",
    "needed_odds": "--needed",
    "use multiclass()": "pass --task multiclass",
    "use regression()": "pass --task regression",
    "with rollup()": "with --total",
    "window=(start, end)": "--until",
    "y_score={'cat': 'p_cat'}": "--y-score cat=p_cat",
}
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
            raise Failure(told(str(error).partition("\n")[0])) from error
        except OSError as error:
            raise Failure(escaped(str(error).partition("\n")[0])) from error


def done(sentence: str) -> None:
    """Keep a sentence on what the command did, which a terminal shows at its end."""
    click.get_current_context().meta.setdefault(DONE, []).append(sentence)


def _tell_what_was_done(ctx: click.Context) -> None:
    """Say on a terminal what a command did, and which files it wrote."""
    files = [path for path in ctx.meta.get(WRITTEN, ()) if path.is_file()]
    sizes = [f"{escaped(str(path))} ({_size(path.stat().st_size)})" for path in files]
    said = [*ctx.meta.get(DONE, ()), *([f"Wrote {', '.join(sizes)}."] if sizes else [])]
    if said and ctx.parent is None and sys.stderr.isatty():
        click.echo(textwrap.fill(" ".join(said), shutil.get_terminal_size().columns, break_on_hyphens=False), err=True)


def _size(size: int) -> str:
    """A size in bytes as text.

    >>> _size(999), _size(58_200), _size(3_700_000)
    ('999 B', '58 kB', '3.7 MB')
    """
    if size < 1_000:
        return f"{size} B"
    return f"{size / 1e3:.0f} kB" if size < 999_500 else f"{size / 1e6:.1f} MB"


def _options(group: click.Group) -> Iterator[click.Option]:
    for command in group.commands.values():
        yield from (parameter for parameter in command.params if isinstance(parameter, click.Option))
        if isinstance(command, click.Group):
            yield from _options(command)


def _quoted(value: str) -> str:
    """A value for a shell, in double quotes if it contains single quotes, such as those of SQL."""
    return f'"{value}"' if "'" in value and UNQUOTED.isdisjoint(value) else shlex.quote(value)


def told(error: str) -> str:
    """Return an error with options in place of arguments, except in advice for Python alone."""
    advice, python, code = error.partition("In Python")
    for words, option in OTHERWISE.items():
        advice = advice.replace(words, option)
    return with_options(advice, IN_ERRORS) + python + code


def with_options(text: str, where: re.Pattern[str] = IN_NOTES) -> str:
    """Return text with options of commands in place of arguments: ``--nulls drop`` for ``nulls='drop'``."""
    options = {parameter.name: parameter.opts[0] for parameter in _options(main)}

    def option(found: re.Match[str]) -> str:
        before, name, given = found.groups()
        if name not in options:
            return found[0]
        value = literal_eval(given or "True")
        value = value[0] if isinstance(value, tuple) else value
        return before + options[name] + ("" if value is True else f" {_quoted(str(value))}")

    return where.sub(option, text)


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
    return of.command(name, cls=Command, epilog=epilog(example))
