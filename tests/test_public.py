"""The public API: names with their signatures in public_api.txt, and where they say they are.

After a change of the API: ``python tests/test_public.py`` writes the file again.
"""

import difflib
import doctest
import inspect
import io
import pickle
import re
from importlib import import_module
from pathlib import Path
from typing import get_type_hints

import polars as pl
import pytest

import streammetrics as sm
from streammetrics import engines, errors, export, metrics, statistics, testing
from streammetrics.metrics import BEST, declared_metrics
from streammetrics.show import ComparisonPlot, Plot, VerdictsPlot

FILE = Path(__file__).parent / "public_api.txt"
MODULES = (sm, metrics, statistics, testing, engines, export, errors)
CALLED = ("Accumulator", "Comparison", "Drift", "Expectation", "Metric", "MetricStore", "Report", "Verdicts")
WITHOUT_EXAMPLE = {
    *("Metric.bounds", "Metric.bounds_expressions", "Metric.declared", "Metric.note", "Metric.note_expression"),
    "Statistic",  # docs/extending.md has an example of a statistic
    "Report.log_to_mlflow",  # docs/integrations.md has one
}
ENGINES = Path(engines.__file__).parent
ADAPTERS = sorted(path.stem for path in ENGINES.glob("*.py") if path.stem not in ("__init__", "base"))


def names_of(module):
    """Public names of a module."""
    return getattr(module, "__all__", None) or [name for name in dir(module) if name[0] != "_"]


def signature(thing):
    """Parameters with their defaults, without types."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in found.parameters.values()]
    text = str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return re.sub(r"<function (\w+) at \w+>|<class '(\w+)'>", r"\1\2", text)


def declared(thing):
    """What a metric declares: its range, preferred direction, and aliases. The name of a statistic, and its columns."""
    if is_statistic(thing) and "name" in vars(thing):
        return f": {' '.join((thing.name, *thing().schema(weighted=False)))}"
    if not isinstance(thing, sm.Metric):
        return ""
    low, high = thing.range
    better = f", {thing.better} is better" if thing.better else ""
    better += f", {BEST[thing.__name__]} is best" if thing.__name__ in BEST else ""
    return f" in [{low:g}, {high:g}]{better}" + f", also {' '.join(thing.aliases)}" * bool(thing.aliases)


def is_statistic(thing):
    """Whether it is a statistic, whose public part is its options and its columns; of `RowSums` also its methods."""
    return inspect.isclass(thing) and issubclass(thing, sm.statistics.Statistic)


def members(thing):
    """What a class has of its own, or from classes that are not public."""
    if is_statistic(thing):
        return {name: vars(thing)[name] for name in ("inputs", "of_rows") if thing is sm.statistics.RowSums}
    things = (getattr(module, name) for module in MODULES for name in names_of(module))
    public = {other for other in things if inspect.isclass(other)}
    bases = [base for base in thing.__mro__ if base.__module__.startswith("streammetrics")]
    own = [base for base in bases if base is thing or base not in public]
    return {name: value for base in reversed(own) for name, value in vars(base).items()}


def lines():
    """Every public name with its signature; of classes their public members that no other public class has."""
    adapters = [import_module(f"streammetrics.engines.{name}") for name in ADAPTERS]
    for plot in (Plot, ComparisonPlot, VerdictsPlot):
        for name, chart in vars(plot).items():
            if name[0] != "_":
                yield f"{plot.__module__}.{plot.__name__}.{name}{signature(chart)}"
    for module in (*MODULES, *adapters):
        for name in names_of(module):
            thing = getattr(module, name)
            if module in adapters and getattr(thing, "__module__", "") != module.__name__:
                continue
            yield f"{module.__name__}.{name}{signature(thing)}{declared(thing)}"
            if inspect.isclass(thing) and thing.__module__ == module.__name__:
                for member, value in sorted(members(thing).items()):
                    if member[0] != "_":
                        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
                        yield f"{module.__name__}.{name}.{member}{signature(function) if callable(function) else ''}"


def test_the_public_api_is_that_of_the_file():
    before, now = FILE.read_text(encoding="utf-8").splitlines(), list(lines())
    diff = "\n".join(difflib.unified_diff(before, now, "public_api.txt", "the package", lineterm="", n=0))
    assert before == now, f"the public API has changed:\n{diff}\nIf it should: python tests/test_public.py"


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_public_names_say_where_users_find_them(module):
    public = {other.__name__ for other in MODULES}
    for name in names_of(module):
        thing = getattr(module, name)
        if inspect.isclass(thing) or inspect.isfunction(thing) or isinstance(thing, sm.Metric):
            assert thing.__module__ in public, name
            assert getattr(import_module(thing.__module__), thing.__name__) is thing


def test_types_of_public_names_can_be_read_at_run_time():
    for name in sm.__all__:
        if callable(getattr(sm, name)):
            get_type_hints(getattr(sm, name))


def documented():
    """Public classes and functions, and the methods of what users call, each with its documentation."""
    for module in (sm, metrics, statistics, testing, export):
        for name in names_of(module):
            thing = getattr(module, name)
            if not callable(thing) or getattr(thing, "__module__", module.__name__) != module.__name__:
                continue
            yield name, doc_of(thing)
            if inspect.isclass(thing) and name in CALLED:
                methods = {member: getattr(thing, member) for member in members(thing) if member[0] != "_"}
                for member, method in methods.items():
                    if callable(method) and (f".{member}(" not in doc_of(thing)):
                        yield f"{name}.{member}", doc_of(method)


def doc_of(thing):
    assert thing.__doc__, thing
    return thing.__doc__


def test_public_functions_have_an_example():
    parser = doctest.DocTestParser()
    without = {name for name, text in documented() if not parser.get_examples(text)}
    assert without == WITHOUT_EXAMPLE


class Pickled(pickle.Unpickler):
    """Reads a pickle, and remembers what it names."""

    def find_class(self, module, name):
        self.named = {*getattr(self, "named", ()), (module, name)}
        return super().find_class(module, name)


def things():
    batch = {"y": [1, 0, 1], "p": [0.9, 0.2, 0.4], "g": ["a", "b", "a"], "u": [1, 2, 3]}
    acc = sm.binary(y_true="y", y_score=(pl.col("p") / 2).alias("half"), by="g", unit="u").update(batch)
    yield acc
    yield (report := acc.finalize(["accuracy", metrics.fbeta(beta=2)], confidence=0.9))
    yield report.get("accuracy", g="a")
    yield sm.compare(acc, acc)
    yield sm.drift(acc, acc)
    yield sm.Rule("roc_auc >= 0.5")
    yield from (kind() for kind in statistics.STATISTICS.values() if kind.__module__.startswith("streammetrics"))
    for text in ([0.5, None], [0.5, 7.0]):
        with pytest.raises(sm.errors.DataError) as caught:
            acc.update(batch | {"p": [*text, 0.1]})
        yield caught.value


def test_pickles_name_public_modules_alone():
    public = {module.__name__ for module in MODULES}
    for thing in things():
        reader = Pickled(io.BytesIO(pickle.dumps(thing)))
        again = reader.load()
        assert type(again) is type(thing)
        assert {m for m, _ in reader.named if m.startswith("streammetrics")} <= public, thing


def test_pickled_metrics_are_found_in_public_modules():
    themes = {f"streammetrics.metrics.{name}" for name in ("several_classes", "class_probabilities", "predictions")}
    for metric in declared_metrics():
        if metric.__module__.startswith("streammetrics"):
            assert metric.__module__ in {"streammetrics.metrics", *themes}
            assert pickle.loads(pickle.dumps(metric)) is metric or pickle.loads(pickle.dumps(metric)) == metric


def test_a_report_and_an_accumulator_come_back_from_a_pickle_as_they_were():
    acc, report, *_ = things()
    assert pickle.loads(pickle.dumps(acc)).to_bytes() == acc.to_bytes()
    again = pickle.loads(pickle.dumps(report))
    assert again.frame.equals(report.frame)
    assert again.with_confidence(0.5).frame.equals(report.with_confidence(0.5).frame)


if __name__ == "__main__":
    FILE.write_text("\n".join(lines()) + "\n", encoding="utf-8")
