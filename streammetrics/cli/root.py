"""The root of all commands, with errors of one line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import IO, Any

import click

from streammetrics.core import FORMS, form
from streammetrics.errors import Argument, StreamMetricsError
from streammetrics.text import escaped
from streammetrics.version import __version__

ADVISED = re.compile(r"\b([Pp]ass\s+)([a-z_]+)=(?:(True)\b|\(([^\s(),]+),\))?")  # by a note
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


class Commands(click.Group):
    """Commands with errors of one line."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # by commands such as head; click then exits silently
            raise
        except KeyboardInterrupt:
            raise Interrupted from None
        except StreamMetricsError as error:
            raise Failure(error.worded(self.as_option).partition("\n")[0]) from error
        except OSError as error:
            raise Failure(escaped(str(error).partition("\n")[0])) from error

    def as_option(self, argument: Argument) -> str:
        """Return an argument as an option, if a command has it: ``--nulls drop`` for ``nulls='drop'``."""
        parameters = [p for command in self.commands.values() for p in command.params]
        options = {p.name: p.opts[0] for p in parameters if isinstance(p, click.Option)}
        if argument.name not in options:
            return str(argument)
        flag = argument.value is None or argument.value is True
        return options[argument.name] if flag else f"{options[argument.name]} {_quoted(str(argument.value))}"


def _quoted(value: str) -> str:
    """A value for a shell, in double quotes if it contains single quotes, such as those of SQL."""
    return f'"{value}"' if "'" in value and UNQUOTED.isdisjoint(value) else shlex.quote(value)


def with_options(text: str) -> str:
    """Return text whose notes advise options: ``pass --unit`` for ``pass unit=``, and ``--atom 0.1`` for a tuple."""

    def option(found: re.Match[str]) -> str:
        advised = main.as_option(Argument(found[2], True if found[3] else found[4]))
        return found[1] + advised if advised.startswith("--") else found[0]

    return ADVISED.sub(option, text)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message=f"%(prog)s, version %(version)s (loops over rows: {FORMS[form]})")
def main() -> None:
    """Evaluate model predictions of any size in one pass."""


def command(name: str, example: str, of: click.Group = main) -> Callable[[Callable[..., None]], click.Command]:
    """Turn a function into a command whose help ends with an example."""
    return of.command(name, epilog=epilog(example))


def epilog(*examples: str) -> str:
    """Return examples as the last lines of a help text."""
    return "\n  ".join(("\b\nExample:", *examples))
