"""The architecture, held by a script: public names, import direction, and what an import costs."""

import ast
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import streammetrics as sm
from streammetrics import core

ROOT = Path(sm.__file__).parent
PROJECT = Path(__file__).parent.parent
TABLE = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")
# Wings and files of the package. At run time, each imports only those above it.
ORDER = [row.removesuffix("/").removesuffix(".py") for row in re.findall(r"^\| `([^`]*)`", TABLE, re.MULTILINE)]
WINGS = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
CORE = {"polars", "pyarrow", "numpy", "click", "streammetrics"}
FILES = sorted(ROOT.rglob("*.py"))
NAMES_OF_FACES, NAMES_OF_A_FACE = 382, 72  # of all faces but that of base, and of one; they only fall


def wing(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path, *kinds):
    """Nodes of these kinds anywhere in the file."""
    return [node for node in ast.walk(parsed(path)) if isinstance(node, kinds)]


@cache
def imports(path, deferred=False, for_types=False):
    """Modules and names imported when the file is, or at any time; those of types alone only if wanted."""
    tree = parsed(path)
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    of_types = {node for block in blocks for node in block.body}
    names = []
    for node in nodes(path, ast.Import, ast.ImportFrom) if deferred else tree.body:
        if node in of_types and not for_types:
            continue
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def test_wings_stand_in_a_line():
    for path in FILES:
        for name in imports(path, deferred=True):
            if name.startswith("streammetrics.") and (above := name.split(".")[1]) in ORDER:
                assert ORDER.index(above) <= ORDER.index(wing(path)), f"{path} imports {name}"


def test_other_wings_are_used_by_their_faces():
    faces = {name: set() for name in WINGS}
    for path in FILES:
        others = WINGS - {wing(path)}
        for name in imports(path, deferred=True, for_types=True):
            foreign = name.startswith("streammetrics.") and name.split(".")[1] in others
            assert not foreign or name.count(".") <= 2, f"{path} imports {name}"
        for name in used_names(path):
            if (other := name.split(".")[1]) in others:
                faces[other].add(name)
    sizes = {name: len(names) for name, names in faces.items() if name != "base"}
    assert sum(sizes.values()) <= NAMES_OF_FACES
    assert max(sizes.values()) <= NAMES_OF_A_FACE, sizes


@cache
def used_names(path):
    """Names of the package that a file imports, or uses of a module that it imports."""
    names, modules = [], {}
    for name in imports(path, deferred=True, for_types=True):
        if name.startswith("streammetrics.") and find_spec_of(name):
            modules[name.rpartition(".")[2]] = name
        elif name.startswith("streammetrics."):
            names.append(name)
    for node in nodes(path, ast.Attribute):
        if isinstance(node.value, ast.Name) and node.value.id in modules:
            names.append(f"{modules[node.value.id]}.{node.attr}")
    return names


def find_spec_of(name):
    """Whether a name of the package is a module."""
    place = ROOT.joinpath(*name.split(".")[1:])
    return place.is_dir() or place.with_suffix(".py").exists()


@pytest.mark.parametrize("name", sorted(WINGS))
@pytest.mark.whole
def test_each_name_of_a_face_is_used_and_exists(name):
    """Apart from public names."""
    face = ROOT / name / "__init__.py"
    blocks = [n for n in parsed(face).body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    lines = [line for block in blocks for line in block.body if isinstance(line, ast.ImportFrom)]
    names = {alias.asname or alias.name for line in lines for alias in line.names}
    module = import_module(f"streammetrics.{name}")
    assert [each for each in sorted(names) if not hasattr(module, each)] == []
    others = [path for path in FILES if wing(path) != name]
    used = {each for path in others for each in (*used_names(path), *imports(path, deferred=True, for_types=True))}
    names -= {*getattr(module, "__all__", ())}
    assert [each for each in sorted(names) if f"streammetrics.{name}.{each}" not in used] == []


def test_only_core_dependencies_are_imported():
    for path in FILES:
        for module in imports(path):
            top = module.split(".")[0]
            assert top in CORE or top in sys.stdlib_module_names, f"{path} imports {module}"


def test_every_entry_has_a_row_in_contributing():
    assert sorted(ORDER) == sorted({wing(path) for path in FILES})


def imported(code):
    """Modules in memory after some code."""
    code = f"{code}; import sys; print(*sys.modules)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


EVALUATION = "import streammetrics as sm; sm.binary; sm.evaluate"


def test_an_import_alone_brings_in_no_other_library():
    assert not {"polars", "numpy", "pyarrow", "click"}.intersection(imported("import streammetrics"))


@pytest.mark.thorough
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


LATE = (
    *("comparison", "export", "monitor", "reading.changes", "reading.drift", "reading.slicing."),
    *("report.comparison", "show.charts", "show.pages"),
)


@pytest.mark.parametrize("code", [EVALUATION, "import streammetrics.cli"])
def test_only_what_an_evaluation_needs_is_imported(code):
    names = imported(code)
    assert "streammetrics.report.report" in names
    late = tuple(f"streammetrics.{name}" for name in LATE)
    a_method = {"streammetrics.reading.slicing.slices"}  # of reports
    assert {name for name in names if name.startswith(late)} <= a_method


@pytest.mark.thorough
def test_a_late_name_is_public_wherever_it_is_first_imported():
    code = "from streammetrics.monitor.joining.joiner import Joiner; assert Joiner.__module__ == 'streammetrics'"
    assert "streammetrics.monitor.joining.joiner" in imported(code)
    assert "streammetrics.monitor.history.store" in imported("from streammetrics import *; MetricStore")


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'streammetrics' has no attribute 'nothing'"):
        sm.nothing  # noqa: B018


PUBLIC = {"streammetrics"} | {
    f"streammetrics.{name}" for name in ("demo", "engines", "errors", "export", "metrics", "statistics", "testing")
}
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
        *(
            (error, ValueError)
            for error in (sm.errors.ColumnError, sm.errors.DataError, sm.errors.MergeError, sm.errors.MetricError)
        ),
        (sm.errors.SpecificationError, ValueError),
        (sm.errors.ReportError, LookupError),
    ],
)
def test_errors_are_those_that_python_has_for_such_faults(error, builtin):
    assert issubclass(error, builtin)
    assert issubclass(error, sm.StreamMetricsError)


def test_files_of_tests_have_one_subject():
    lines = {path.name: path.read_text(encoding="utf-8").count("\n") for path in (PROJECT / "tests").rglob("*.py")}
    assert max(lines.values()) <= 750, max(lines, key=lines.get)
