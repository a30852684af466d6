"""Add the page that ``streammetrics demo`` writes to the site: the home page shows it."""

from __future__ import annotations

import os
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from streammetrics.cli import main


def on_files(files: Files, config: Any, **_: Any) -> None:
    """The hook of the list of files."""
    files.append(File.generated(config, "demo.html", content=written()))


def written() -> str:
    """The page of the demo, without what the command prints."""
    with tempfile.TemporaryDirectory() as name, chdir(name), Path(os.devnull).open("w") as nowhere:
        with redirect_stdout(nowhere):
            main(["demo"], standalone_mode=False)
        return Path("report.html").read_text(encoding="utf-8")
