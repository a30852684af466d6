"""Execute the notebooks of the site, which are Markdown of Jupytext: each output follows its cell."""

from __future__ import annotations

import ast
import io
import re
from contextlib import redirect_stdout
from typing import Any

import altair as alt
import vl_convert

CELL = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The hook of each page."""
    return executed(markdown) if "jupyter" in page.meta else markdown


def executed(markdown: str) -> str:
    """The notebook with the output of each cell below it."""
    names: dict[str, Any] = {"__name__": "notebook"}
    return CELL.sub(lambda cell: f"{cell[0]}\n{output(cell[1], names)}\n", f"{markdown}\n")


def output(cell: str, names: dict[str, Any]) -> str:
    """What a cell prints, and the value of its last line if that is an expression."""
    code, printed, value = ast.parse(cell), io.StringIO(), None
    last = code.body.pop() if isinstance(code.body[-1], ast.Expr) else None
    with redirect_stdout(printed):
        exec(compile(code, "notebook", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "notebook", "eval"), names)
    text = f"```text\n{printed.getvalue()}```\n" if printed.getvalue() else ""
    return text if value is None else text + shown(value)


def shown(value: Any) -> str:
    """A value as notebooks show it: a picture, a table, or text."""
    if isinstance(value, alt.TopLevelMixin):
        return f'<div class="output">{vl_convert.vegalite_to_svg(value.to_json())}</div>\n'
    if hasattr(value, "_repr_html_"):
        return f'<div class="output">{" ".join(value._repr_html_().split())}</div>\n'
    return f"```text\n{value}\n```\n"
