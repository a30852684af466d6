"""The architecture, held by a script: public names, import direction, and what an import costs."""

import ast
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import streammetrics as sm
from streammetrics import core

ROOT = Path(sm.__file__).parent
PROJECT = Path(__file__).parent.parent
TABLE = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")
# A file imports only what stands above it in the table. Files of a folder may also import one another, without circles.
ORDER = [row.removesuffix("/").removesuffix(".py") for row in re.findall(r"^\| `([^`]*)`", TABLE, re.MULTILINE)]
CORE = {"polars", "pyarrow", "numpy", "click", "streammetrics"}
FILES = sorted(ROOT.rglob("*.py"))


def room(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path, deferred=False, for_types=False):
    """Modules imported when the file is, or at any time; those of types alone only if wanted."""
    tree = parsed(path)
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    of_types = {node for block in blocks for node in block.body}
    for node in ast.walk(tree) if deferred else tree.body:
        if node in of_types and not for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_imports_point_up():
    for path in FILES:
        own = ORDER.index(room(path))
        for module in imports(path, deferred=True):
            if module.startswith("streammetrics."):
                above = module.split(".")[1]
                if above in ORDER:
                    assert ORDER.index(above) <= own, f"{path} imports {module}"
                assert above != room(path) or path.parent != ROOT, f"{path} imports {module}"


def test_only_core_dependencies_are_imported():
    for path in FILES:
        for module in imports(path):
            top = module.split(".")[0]
            assert top in CORE or top in sys.stdlib_module_names, f"{path} imports {module}"


MODULES = {".".join(["streammetrics", *p.relative_to(ROOT).with_suffix("").parts]): p for p in FILES}


def imported_files(module):
    """Modules of files that a file imports at any time, also for types alone."""
    for name in imports(MODULES[module], deferred=True, for_types=True):
        parent = name.rpartition(".")[0]
        files = (name, f"{name}.__init__", parent, f"{parent}.__init__")
        yield from [file for file in files if file in MODULES][:1]


def test_no_file_imports_itself_through_others():
    graph = {module: set(imported_files(module)) - {module, "streammetrics.__init__"} for module in MODULES}
    in_circles = []
    for module in graph:
        reached, waiting = set(), [module]
        while waiting:
            more = graph[waiting.pop()] - reached
            reached |= more
            waiting += more
        in_circles += [module] * (module in reached)
    assert not in_circles


def test_every_file_has_a_row_in_contributing():
    assert sorted(ORDER) == sorted({room(path) for path in FILES})


def imported(code):
    """Modules in memory after some code."""
    code = f"{code}; import sys; print(*sys.modules)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


EVALUATION = "import streammetrics as sm; sm.binary; sm.evaluate"


def test_an_import_alone_brings_in_no_other_library():
    assert not {"polars", "numpy", "pyarrow", "click"}.intersection(imported("import streammetrics"))


def test_the_package_works_in_a_zip_archive(tmp_path):
    archive = shutil.make_archive(str(tmp_path / "packages"), "zip", ROOT.parent, ROOT.name)
    lines = f"""
import sys
sys.path.insert(0, {archive!r})
sys.meta_path[:] = [finder for finder in sys.meta_path if isinstance(finder, type)]  # not that of an editable install
{EVALUATION}
assert sm.__file__.startswith({archive!r})
for _ in range(2):
    sm.evaluate([{{"y": 1, "p": 0.9}}, {{"y": 0, "p": 0.2}}], sm.binary(y_true="y", y_score="p"))
from streammetrics import core
assert core.form == core.DEFINITION  # compiled code cannot be imported from an archive
"""
    environment = {key: value for key, value in os.environ.items() if key != core.CHOICE}
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("RuntimeWarning: streammetrics has no compiled loops") == 1


def test_an_evaluation_brings_in_no_extras():
    late = {"tqdm", "pandas", "sklearn", "duckdb", "click", "pyarrow", "altair", "prometheus_client"}
    late |= {"opentelemetry", "mlflow"}
    assert not late.intersection(imported(EVALUATION))


LATE = ("before_labels", "charts", "differences", "gauges", "history", "html", "joining", "markup", "slices.")


@pytest.mark.parametrize("code", [EVALUATION, "import streammetrics.cli"])
def test_only_what_an_evaluation_needs_is_imported(code):
    names = imported(code)
    assert "streammetrics.report.report" in names
    late = tuple(f"streammetrics.{name}" for name in LATE)
    assert {name for name in names if name.startswith(late)} <= {"streammetrics.slices.slices"}  # a method of reports


def test_a_late_name_is_public_wherever_it_is_first_imported():
    code = "from streammetrics.joining.joiner import Joiner; assert Joiner.__module__ == 'streammetrics'"
    assert "streammetrics.joining.joiner" in imported(code)
    assert "streammetrics.history.store" in imported("from streammetrics import *; MetricStore")


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'streammetrics' has no attribute 'nothing'"):
        sm.nothing  # noqa: B018


PUBLIC = {"streammetrics"} | {
    f"streammetrics.{name}" for name in ("demo", "engines", "errors", "metrics", "statistics", "testing")
}
USED = {  # by rooms that could leave any day, beside public modules
    "gauges": {"frame", "system", "text", "version"},
    "joining": {"accumulator", "history", "rows", "system", "times"},
    "slices": {"arguments", "frame", "intervals", "keys", "reading", "rows", "state", "text"},
}


@pytest.mark.parametrize("name", USED)
def test_rooms_that_could_leave_use_public_names_and_little_else(name):
    used = set()
    for path in (ROOT / name).rglob("*.py"):
        for module in imports(path, deferred=True, for_types=True):
            top, _, below = module.partition(".")
            if top == "streammetrics" and not any(f"{module}.".startswith(f"{public}.") for public in PUBLIC - {top}):
                used.add(below.partition(".")[0])
    used = {module for module in used if module in ORDER and module != name}
    assert used == USED[name]


PAGES = [*sorted((PROJECT / "docs").glob("*.md")), PROJECT / "README.md"]
EXAMPLES = sorted((PROJECT / "examples").rglob("*.py"))


def test_docs_and_examples_import_public_modules_alone():
    for path in (*PAGES, *EXAMPLES):
        text = path.read_text(encoding="utf-8")
        for module in re.findall(r"^\s*(?:from|import) (streammetrics[\w.]*)", text, re.MULTILINE):
            assert module in PUBLIC, f"{path} imports {module}"


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        *((error, ValueError) for error in (sm.ColumnError, sm.DataError, sm.MergeError, sm.MetricError)),
        (sm.SpecificationError, ValueError),
        (sm.ReportError, LookupError),
    ],
)
def test_errors_are_those_that_python_has_for_such_faults(error, builtin):
    assert issubclass(error, builtin)
    assert issubclass(error, sm.StreamMetricsError)


def test_files_of_tests_have_one_subject():
    lines = {path.name: path.read_text(encoding="utf-8").count("\n") for path in (PROJECT / "tests").rglob("*.py")}
    assert max(lines.values()) <= 750, max(lines, key=lines.get)
