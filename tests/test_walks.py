"""The walks in CONTRIBUTING: what is said to be called is called, from where and in the order that is said."""

import re
import sys
from pathlib import Path

import pytest
from data import CLICKS, clicks

import streammetrics as sm

PACKAGE = Path(sm.__file__).parent
TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def evaluation():
    return sm.binary(by=["day", "country"], **CLICKS)


def batch(_):
    acc = evaluation()
    return lambda: (acc.update(clicks()), acc.state)


def number(_):
    report = evaluation().update(clicks()).finalize(confidence=0.95).rollup()
    return lambda: report["roc_auc"]


def page(folder):
    report = evaluation().update(clicks()).finalize(confidence=0.95)
    return lambda: report.save_html(folder / "page.html")


def check(folder):
    store = sm.MetricStore(folder / "history")
    store.append(evaluation().update(clicks()), batch_id="all")
    return lambda: sm.check(store, sm.Rule("roc_auc >= 0.6", by="country"))


WALKS = dict(zip((batch, number, page, check), re.findall(r"```text\n(\S+\.py .*?)```", TEXT, re.DOTALL), strict=True))


def steps(walk):
    """The functions of a walk, each with the one that it is called from."""
    outer = []
    for space, file, name in re.findall(r"^( *)(\S+\.py) +(\S+)", WALKS[walk], re.MULTILINE):
        del outer[len(space) // 2 :]
        yield (file, name), tuple(outer)
        outer.append((file, name))


def callers(call, functions):
    """Functions in the order of their first call, each with those on the stack in any of its calls."""
    found = {}

    def follow(frame, event, _):
        if event == "call" and (function := named(frame)) in functions:
            found.setdefault(function, []).append({named(outer) for outer in stack(frame.f_back)})

    sys.setprofile(follow)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def stack(frame):
    while frame is not None:
        yield frame
        frame = frame.f_back


def named(frame):
    return frame.f_code.co_filename.removeprefix(f"{PACKAGE}/"), frame.f_code.co_qualname


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_is_what_is_called(walk, tmp_path):
    pytest.importorskip("deltalake")
    walked = dict(steps(walk))
    call = walk(tmp_path)
    found = callers(call, walked)
    assert [*found] == [*walked]
    for function, outer in walked.items():
        assert any({*outer} <= each for each in found[function]), function
