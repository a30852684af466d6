"""Files that mean harm, or that other programs have changed, are refused and never crash."""

import ast
import math
import random
from pathlib import Path

import polars as pl
import pytest
from states import DATA, state, task, with_cells

import streammetrics as sm

METRICS = {"grouped": ["roc_auc", "log_loss"], "units": ["r2", "mad", "median_error"]}
METRICS |= {"classes": ["accuracy", "f1(average=macro)", "roc_auc(average=micro)", "roc_auc_ovo"]}


def read(content, path, metrics):
    """Loading and reporting either works or ends in a StateError; returns whether it worked."""
    try:
        if path is None:
            loaded = sm.Accumulator.from_bytes(content)
        else:
            path.write_bytes(content)
            loaded = sm.Accumulator.load(path)
    except sm.errors.StateError:
        return False
    return loaded.finalize(metrics).frame is not None


@task
def test_truncated_contents_are_refused(make, tmp_path):
    acc = make.empty().update(DATA)
    contents = {None: acc.to_bytes()[:-16]}
    for name in ("state", "state.arrow"):
        acc.save(tmp_path / name)
        contents[tmp_path / name] = (tmp_path / name).read_bytes()
    for path, content in contents.items():
        for part in range(12):
            assert not read(content[: len(content) * part // 12], path, None)


@pytest.mark.whole
@pytest.mark.parametrize("form", [None, "state", "state.arrow"])
@pytest.mark.parametrize("name", METRICS)
def test_flipped_bits_never_crash(name, form, tmp_path):
    acc = state(name, DATA[:40])
    path = None if form is None else tmp_path / form
    acc.save(path) if path else None
    content, chance = path.read_bytes() if path else acc.to_bytes(), random.Random(0)
    for _ in range(60):
        copy = bytearray(content)
        for _ in range(chance.randint(1, 4)):
            copy[chance.randrange(len(copy))] ^= 1 << chance.randrange(8)
        read(bytes(copy), path, METRICS[name])


@pytest.mark.parametrize("name", ["ordered", "weighted", "weighted regression"])
def test_null_and_nan_cells_are_refused_or_saved_as_they_were_read(name):
    table = state(name, DATA[:40]).to_arrow()
    loaded = []
    for statistic, kind in pl.DataFrame(table).schema.items():
        for field in kind.inner.fields if isinstance(kind, pl.List) else []:
            for value in [None, math.nan][: 1 + field.dtype.is_float()]:
                cell = pl.element().struct.with_fields(pl.lit(value, field.dtype).alias(field.name))
                forged = with_cells(table, statistic, cell).cast(table.schema)
                try:
                    loaded.append(sm.Accumulator.from_arrow(forged))
                except sm.errors.StateError:
                    continue
                again = loaded[-1].to_bytes()
                assert sm.Accumulator.from_bytes(again).to_bytes() == again
                if value is not None:
                    assert repr(loaded[-1].to_arrow().to_pylist()) == repr(forged.to_pylist())
    assert loaded or name == "ordered"


def test_nothing_runs_code_of_a_file():
    files = [*(Path(sm.__file__).parent / "statistics" / "state").glob("*.py")]
    assert files
    for path in files:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        modules = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert not {"pickle", "marshal", "importlib"} & modules
        assert not {"eval", "exec", "__import__"} & names
