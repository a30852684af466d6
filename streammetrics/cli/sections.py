"""Help of commands: the example first, and many options in sections."""

from __future__ import annotations

from typing import Any

import click

MANY = 20  # options, from which they are in sections
SECTIONS: dict[str, tuple[str, ...]] = {
    "Data": ("where", "null_values", "text", "nulls"),
    "Columns": (
        "y_true",
        "y_score",
        "y_pred",
        "labels",
        "sample_weight",
        "count",
        "unit",
        "folds",
        "by",
        "fingerprint",
    ),
    "Task": (
        "task",
        "positive",
        "negative",
        "order",
        "thresholds",
        "domain",
        "renormalize",
        "one_vs_one",
        "families",
    ),
    "Metrics": ("metrics", "sort", "confidence", "always"),
    "Requirements": ("not_worse", "better", "open", "min_rows", "segments"),
    "Size and speed": ("capacity", "atoms", "rounding", "max_groups", "workers"),
}
OTHERS = "Output"
VALUES: dict[str, tuple[str, ...]] = {  # what options take
    "COLUMN": ("y_true", "y_score", "y_pred", "sample_weight", "count", "unit", "by", "text", "window", "fingerprint"),
    "CONDITION": ("where",),
    "CONSTRAINT": ("subject_to",),
    "METRIC": ("metrics", "sort", "maximize", "minimize"),
    "MODEL": ("model",),
    "LABEL": ("label", "labels", "order", "positive", "negative"),
    "LEVEL": ("confidence",),
    "NUMBER": ("threshold", "thresholds", "atoms", "rounding", "max_groups", "workers", "bins", "depth", "folds"),
    "ROWS": ("rows", "min_rows", "always"),
    "BINS": ("capacity",),
    "CHARACTERS": ("width",),
    "REQUIREMENT": ("requirements", "require"),
    "DISTRIBUTION": ("of",),
    "FACTOR": ("odds",),
    "RATE": ("fdr", "segments"),
    "TIME": ("since", "until"),
    "DURATION": ("every", "reference"),
    "OFFSET": ("start", "upto"),
    "ID": ("batch_id",),
    "NAME": ("source",),
    "URI": ("scores",),
    "COMMAND": ("on_breach",),
}


class ExampleFirst(click.Command):
    """A command whose help has the example before the options."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help: usage, text, example, options."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self.format_epilog(ctx, formatter)
        self.format_options(ctx, formatter)


class Command(ExampleFirst):
    """A command whose help says what options take, and has many options in sections."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        names = {name: value for value, names in VALUES.items() for name in names}
        for parameter in self.params:
            if isinstance(parameter, click.Option) and not parameter.is_flag:
                parameter.metavar = parameter.metavar or names.get(parameter.name or "")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, in sections if there are many."""
        parameters = [p for p in self.get_params(ctx) if isinstance(p, click.Option)]
        if len(parameters) < MANY:
            super().format_options(ctx, formatter)
            return
        sections: dict[str, list[Any]] = {name: [] for name in (*SECTIONS, OTHERS)}
        for parameter in parameters:
            if record := parameter.get_help_record(ctx):
                sections[next((s for s, names in SECTIONS.items() if parameter.name in names), OTHERS)].append(record)
        for name, records in sections.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)
