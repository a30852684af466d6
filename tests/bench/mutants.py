"""How many faults of the package the base suite finds: one fault at a time is put into a module, and its tests are run.

In the folder of a tree, with its own Python (of this tree or of any other one, whose tests are then measured):

    .venv/bin/python tests/bench/mutants.py --sample 60 --json before.json      # prints rooms and survivors
    .venv/bin/python tests/bench/mutants.py --compare before.json after.json    # what is no longer found
    .venv/bin/python tests/bench/mutants.py --lines                             # lines that the base suite reaches

The first run of some sources and tests takes the base suite once, with coverage, to learn which tests reach a line, and
saves that in the temporary folder. Each mutant then takes some seconds: the tests that reach its line, nearest first,
run in a fork of this process, which has imported the libraries, but not the package. Files are not changed (see
`hook/sitecustomize.py`). The first failure ends a mutant, and so does a time of several times the usual one. Tests that
fail without a fault too do not count. The mutants of a sample depend on the seed and on the package, but not on its
tests. Results are saved after each mutant, and a run that was interrupted goes on where it was. Some mutants change
nothing that could be seen, so not all can be killed.
"""

import argparse
import ast
import gc
import hashlib
import importlib
import json
import marshal
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mutations import Fault, faults

HOOK = Path(__file__).parent / "hook"
TREE = Path.cwd()
PACKAGE = TREE / "streammetrics"
TEMPORARY = Path(tempfile.gettempdir())
ROOMS = {room: f"{room}/*.py" for room in ("metrics", "metrics/intervals", "statistics", "reading")}
ROOMS |= {room: f"{room}.py" for room in ("monitor/history/rules", "monitor/history/alarms")}
LIBRARIES = """polars numpy pyarrow.compute pyarrow.parquet pyarrow.dataset pandas scipy.stats pytest sklearn.metrics
    sklearn.linear_model hypothesis click.testing altair duckdb deltalake mlflow"""  # imported once, before the forks
STAGES = ((40, 30.0), (200, 100.0))  # tests of a mutant and their usual seconds at most, then those of a survivor
FEW = 40  # tests of the file of a mutant, if fewer reach its line
FORK = multiprocessing.get_context("fork")
Row = dict[str, Any]  # the result of a mutant


class Mutant(NamedTuple):
    """A fault of one file."""

    room: str
    file: str
    number: int  # among the faults of the file
    fault: Fault

    @property
    def name(self) -> str:
        return f"{self.file}::{self.fault.name}"

    def save(self, target: Path) -> None:
        """Write the compiled module with its fault for the import hook."""
        path = PACKAGE / self.file
        tree = ast.parse(path.read_text(encoding="utf-8"))
        faults(tree)[self.number].apply()
        module = ".".join(("streammetrics", *Path(self.file).with_suffix("").parts)).removesuffix(".__init__")
        code = compile(ast.fix_missing_locations(tree), str(path), "exec")
        target.write_bytes(marshal.dumps((module, str(path), code)))

    def distance(self, test: str) -> int:
        """How far a test is away: 0 for examples of the function, 3 for tests of other rooms."""
        path, file = Path(test.partition("::")[0]), Path(self.file)
        if path == Path("streammetrics") / file:
            return 0 if test.endswith(f".{self.fault.function}") else 1
        if path.parts[1:2] == file.parts[:1]:
            return 1 if path.stem == f"test_{file.stem}" else 2
        return 3


def draw(size: int, seed: int) -> list[Mutant]:
    """A sample of each room in a random order, which depends on names alone and so hardly changes with the package."""

    def place(mutant: Mutant) -> str:
        return hashlib.sha256(f"{seed} {mutant.name}".encode()).hexdigest()

    def of_room(room: str) -> Iterable[Mutant]:
        for path in sorted(PACKAGE.glob(ROOMS[room])):
            for number, fault in enumerate(faults(ast.parse(path.read_text(encoding="utf-8")))):
                yield Mutant(room, path.relative_to(PACKAGE).as_posix(), number, fault)

    return sorted((mutant for room in ROOMS for mutant in sorted(of_room(room), key=place)[:size]), key=place)


class Reach:
    """Which tests reach a line, and how long they take, as recorded once in a run of the base suite."""

    def __init__(self, folder: Path) -> None:
        from coverage import Coverage

        self.coverage = Coverage(str(folder / "lines"), config_file=False)
        if not (folder / "tests.json").exists():
            command = [sys.executable, "-m", "pytest", "-q", "-p", "sitecustomize", "-p", "no:cacheprovider"]
            environment = os.environ | {"PYTHONPATH": str(HOOK), "STREAMMETRICS_LINES": str(folder)}
            with (folder / "log").open("w") as log:
                subprocess.run(command, cwd=TREE, env=environment, stdout=log, stderr=log, check=False)
            self.coverage.combine([str(folder)])
            self.coverage.save()
        self.coverage.load()
        self.seconds: dict[str, float] = json.loads((folder / "tests.json").read_text())

    @cache  # noqa: B019
    def lines(self, file: str) -> dict[int, set[str]]:
        """Tests of each line of a file."""
        tests = self.coverage.get_data().contexts_by_lineno(str(PACKAGE / file))
        return {line: self.seconds.keys() & reached for line, reached in tests.items()}

    def tests(self, mutant: Mutant) -> list[str]:
        """Tests of a mutant: those that reach its lines, and a few of its file where results may come from a cache."""
        lines, fault = self.lines(mutant.file), mutant.fault
        direct = set().union(*(lines.get(line, ()) for line in range(fault.first, fault.last + 1)))
        others, most = set().union(*lines.values()), FEW - len(direct)
        if fault.at_import:
            others, most = others | {test for test in self.seconds if mutant.distance(test) < 3}, STAGES[-1][0]

        def nearest(tests: set[str]) -> list[str]:
            return sorted(tests, key=lambda test: (mutant.distance(test), self.seconds[test]))

        return nearest(direct) + nearest(others - direct)[: max(most, 0)]

    def print(self) -> None:
        """Print the lines that were reached, and all lines, of each folder and file at the top of the package."""
        counts: dict[str, list[int]] = {}
        for path in sorted(PACKAGE.rglob("*.py")):
            _, lines, _, missing, _ = self.coverage.analysis2(str(path))
            for room in (path.relative_to(PACKAGE).parts[0], "all"):
                reached, total = counts.pop(room, (0, 0))
                counts[room] = [reached + len(lines) - len(missing), total + len(lines)]
        for room, (reached, total) in counts.items():
            print(f"{room:<22}{reached:>7} of {total:>6} lines{reached / max(total, 1):>9.2%}")


class Outcome(NamedTuple):
    """How tests have ended: `passed`, or with a failure of `test`, or out of `time`, or otherwise."""

    status: str
    test: str | None = None


class Runner:
    """Runs tests in forks of this process."""

    def __init__(self, reach: Reach) -> None:
        self.reach = reach
        self.sound: dict[str, bool] = {}  # whether tests pass without a fault
        self.folder = Path(tempfile.mkdtemp(prefix="mutant-"))
        self.code, self.failure = self.folder / "code", self.folder / "failure"
        for name in LIBRARIES.split():
            with suppress(ImportError):
                importlib.import_module(name)
        gc.collect()
        gc.freeze()  # pages stay shared with the forks

    def judge(self, mutant: Mutant) -> Row:
        """Whether a test finds a mutant, and which."""
        start, count = time.monotonic(), 0
        mutant.save(self.code)
        waiting, outcome = self.reach.tests(mutant), Outcome("survived")
        for most, seconds in STAGES:
            tests = self.affordable(waiting, most, seconds)
            waiting = [test for test in waiting if test not in tests]
            count += len(tests)
            while tests and outcome.status == "survived":
                ending = self.run(tests, self.code)
                if ending.status == "passed":
                    break
                suspects = tests if ending.test is None else [ending.test]  # a test, or a file that is not imported
                if ending.status == "time" or self.are_sound(suspects):
                    outcome = ending
                tests = [test for test in tests if not test.startswith(tuple(suspects))]
        row: Row = {"name": mutant.name, "room": mutant.room, "line": mutant.fault.line, "change": mutant.fault.change}
        row |= {"killed": outcome.status != "survived", "by": outcome.test or outcome.status, "tests": count}
        return row | {"seconds": round(time.monotonic() - start, 1)}

    def affordable(self, tests: list[str], most: int, seconds: float) -> list[str]:
        """The first of some tests that take so many seconds at most."""
        chosen: list[str] = []
        for test in tests:
            if len(chosen) < most and self.sound.get(test, True) and self.reach.seconds[test] <= seconds:
                chosen.append(test)
                seconds -= self.reach.seconds[test]
        return chosen

    def are_sound(self, tests: list[str]) -> bool:
        """Whether tests pass without a fault, or can be collected if they are many or a file."""
        if not all(test in self.sound for test in tests):
            collect = len(tests) > 1 or "::" not in tests[0]
            self.sound |= dict.fromkeys(tests, self.run(tests, collect=collect).status == "passed")
        return all(self.sound[test] for test in tests)

    def run(self, tests: list[str], code: Path | None = None, collect: bool = False) -> Outcome:
        """Run tests, with the code of a mutant or none, until one fails."""
        self.failure.unlink(missing_ok=True)
        child = FORK.Process(target=self.in_fork, args=(tests, code, collect))
        child.start()
        child.join(40 + 5 * sum(self.reach.seconds.get(test, 10) for test in tests))
        ended = child.exitcode
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # also processes that tests have left
        child.join()
        if ended is None:
            return Outcome("time")
        if self.failure.exists():
            return Outcome("failed", self.failure.read_text())
        return Outcome("passed" if ended == 0 else f"ended with {ended}")

    def in_fork(self, tests: list[str], code: Path | None, collect: bool) -> None:
        os.setsid()
        with (self.folder / "log").open("w") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        import pytest
        import sitecustomize as hook
        from hypothesis import Phase, settings

        class Plugin:
            """Tests are the same in each run, and the first failure is told."""

            def pytest_configure(self) -> None:
                phases = (Phase.explicit, Phase.generate)
                settings.register_profile("mutants", deadline=None, database=None, derandomize=True, phases=phases)
                settings.load_profile("mutants")

            def pytest_runtest_logreport(_, report: Any) -> None:
                if report.failed and not self.failure.exists():
                    self.failure.write_text(report.nodeid)

            pytest_collectreport = pytest_runtest_logreport

        os.environ["PYTHONPATH"] = str(HOOK)
        if code is not None:
            os.environ[hook.MUTANT] = str(code)
            hook.load_mutant(code)
        sys.path[0] = str(TREE)
        options = ["--doctest-modules", "--doctest-ignore-import-errors", f"--basetemp={self.folder / 'files'}", "-xq"]
        options += ["--assert=plain"]  # else Pytest imports modules whose examples it runs itself
        options += ["--collect-only"] * collect
        base = "addopts=-p no:xdist -p no:cacheprovider -m 'not thorough and not browser and not long and not engine'"
        sys.exit(int(pytest.main(["-o", base, *options, *tests], plugins=[Plugin()])))


def fingerprint() -> str:
    """Of the package and of its tests."""
    files = [TREE / "conftest.py", *PACKAGE.rglob("*.py"), *(TREE / "tests").rglob("*.py")]
    texts = (path.read_bytes() for path in sorted(files) if not path.is_relative_to(TREE / "tests" / "bench"))
    return hashlib.sha256(b"".join(texts)).hexdigest()[:12]


def print_rooms(rows: list[Row], title: str = "") -> None:
    print(f"\n{title}\n{'room':<23}{'mutants':>8}{'killed':>8}{'survived':>10}{'share':>7}")
    for room in [*ROOMS, "all"]:
        killed = [row["killed"] for row in rows if room in (row["room"], "all")]
        share = f"{sum(killed) / len(killed):.0%}" if killed else ""
        print(f"{room:<23}{len(killed):>8}{sum(killed):>8}{len(killed) - sum(killed):>10}{share:>7}")


def print_survivors(rows: Iterable[Row], title: str) -> None:
    print(f"\n{title}:")
    for row in sorted((row for row in rows if not row["killed"]), key=lambda row: row["name"]):
        path = PACKAGE / row["name"].partition("::")[0]
        source = path.read_text(encoding="utf-8").splitlines()[row["line"] - 1].strip()
        print(f"{row['name']}, line {row['line']}: {row['change']} in {source}")


def print_comparison(files: list[Path]) -> None:
    before, after = ({row["name"]: row for row in json.loads(file.read_text())["mutants"]} for file in files)
    shared = before.keys() & after.keys()
    for file, rows in zip(files, (before, after), strict=True):
        print_rooms([rows[name] for name in shared], str(file))
    print_survivors((after[name] for name in shared if before[name]["killed"]), "killed before, and survive now")


def measure(reach: Reach, size: int, seed: int, file: Path) -> list[Row]:
    """Judge the mutants of a sample, and save all results after each one."""
    runner, key = Runner(reach), {"sources": fingerprint(), "seed": seed}
    saved = json.loads(file.read_text()) if file.exists() else {}
    rows = saved["mutants"] if saved.items() >= key.items() else []
    names = {row["name"] for row in rows}
    for mutant in draw(size, seed):
        if mutant.name not in names:
            rows.append(runner.judge(mutant))
            file.write_text(json.dumps({**key, "mutants": rows}, indent=1))
            print(*rows[-1].values(), sep="  ", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=60, help="mutants of each room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=TEMPORARY / "mutants.json", help="results")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("BEFORE", "AFTER"))
    parser.add_argument("--lines", action="store_true", help="print the lines that are reached, room by room")
    options = parser.parse_args()
    if options.compare:
        return print_comparison(options.compare)
    sys.path.append(str(HOOK))
    folder = TEMPORARY / "streammetrics-mutants" / fingerprint()
    folder.mkdir(parents=True, exist_ok=True)
    reach = Reach(folder)
    if options.lines:
        return reach.print()
    rows = measure(reach, options.sample, options.seed, options.json)
    print_rooms(rows)
    return print_survivors(rows, "survivors")


if __name__ == "__main__":
    main()
