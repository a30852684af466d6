"""A history, simulated: writers, crashes between any two file operations, races, wrong clocks, and all that drops rows.

``python tests/bench/history_simulation.py 1000 5000 8`` runs the seeds from 1,000 to 5,000 with 8 steps each, and first
two stores that are broken on purpose, which must be found.

Everything that happens follows from a seed, but the names of data files. The truth is a plain dict of windows. A crash
is simulated by the files that it leaves: a step runs to its end, then all it did after some file operation is undone.
"""

import contextlib
import functools
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import deltalake
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[1]))
from steps import around

import streammetrics as sm
from streammetrics.monitor.history import batches, table
from streammetrics.monitor.history import store as stores

DAYS = [date(2026, 1, day) for day in range(1, 5)]
SEGMENTS = "ab"
CALLS = [  # before each of which another writer may act
    (deltalake, "write_deltalake"),
    (deltalake.DeltaTable, "delete"),
    (deltalake.DeltaTable, "vacuum"),
]


@dataclass(frozen=True)
class Truth:
    """What a history should hold: rows by window and segment, batches that are known, the offset of the one source."""

    windows: dict = field(default_factory=dict)
    known: frozenset = frozenset()
    offset: int = 0

    def with_rows(self, rows, **changes):
        total = Counter(self.windows)
        total.update(rows)
        return replace(self, windows=dict(total), **changes)

    def without(self, is_dropped):
        return replace(self, windows={key: n for key, n in self.windows.items() if not is_dropped(key[0])})


@dataclass(frozen=True)
class Step:
    """Something that a writer does, and what it makes of the truth."""

    text: str
    act: Callable
    effect: Callable


@functools.lru_cache(maxsize=1024)
def accumulator(rows):
    """Of so many rows in each window and segment."""
    keys = [key for key, count in rows for _ in range(count)]
    days, segments = zip(*keys, strict=True)
    columns = {"y": [1] * len(keys), "day": days, "segment": segments}
    return sm.Accumulator(y_true="y", by=["day", "segment"]).update(pl.DataFrame(columns))


class World:
    """A directory with a history, and beside it the truth."""

    def __init__(self, folder, seed, make=sm.MetricStore):
        self.folder, self.random, self.make = Path(folder), random.Random(seed), make
        self.uri, self.truth, self.did = self.folder / "store", Truth(), []
        self.names = map(str, range(1000))

    @property
    def store(self):
        """Opened anew each time, as by another process."""
        return self.make(self.uri)

    # What writers do

    def rows(self, days=DAYS):
        """Rows of a batch: two cells at most."""
        cells = [(self.random.choice(days), self.random.choice(SEGMENTS)) for _ in range(2)]
        return tuple({cell: self.random.randint(1, 3) for cell in cells}.items())

    def append(self):
        """A batch with a name, mostly a new one."""
        name, rows = next(self.names), self.rows()
        if self.truth.known and self.random.random() < 0.2:
            name = self.random.choice(sorted(self.truth.known))
        return Step(
            f"append {name!r} {brief(rows)}",
            lambda: self.store.append(accumulator(rows), batch_id=name),
            lambda t: t if name in t.known else t.with_rows(dict(rows), known=t.known | {name}),
        )

    def stream(self):
        """The next rows of a source."""
        start, rows = self.truth.offset, self.rows()
        upto = start + sum(count for _, count in rows)

        def act():
            with contextlib.suppress(sm.errors.DataError):  # another writer has read the source meanwhile
                self.store.append(accumulator(rows), source="s", start=start, upto=upto)

        def effect(t):
            return t.with_rows(dict(rows), offset=upto) if t.offset == start else t

        return Step(f"stream {start} to {upto} {brief(rows)}", act, effect)

    def replace(self):
        """A day or two, once more."""
        first = self.random.randrange(len(DAYS) - 1)
        days, name = DAYS[first : first + self.random.randint(1, 2)], next(self.names)
        rows, window = self.rows(days), (days[0], days[-1] + timedelta(days=1))

        return Step(
            f"replace {name!r} days {days[0].day} to {days[-1].day} {brief(rows)}",
            lambda: self.store.replace(accumulator(rows), window=window, batch_id=name),
            lambda t: (
                t if name in t.known else t.without(days.__contains__).with_rows(dict(rows), known=t.known | {name})
            ),
        )

    def compact(self):
        """All that adds up parts and deletes files."""
        vacuum = self.random.random() < 0.5
        return Step(f"compact, vacuum={vacuum}", lambda: self.store.compact(vacuum=vacuum), lambda t: t)

    def retain(self):
        """The first days dropped."""
        day = self.random.choice(DAYS[:3])
        return Step(
            f"retain from day {day.day}",
            lambda: self.store.retain(day, vacuum=False),
            lambda t: t.without(lambda window: window < day),
        )

    def step(self):
        """Any of these."""
        return self.random.choices(
            [self.append, self.stream, self.replace, self.compact, self.retain], [4, 3, 2, 3, 1]
        )[0]()

    # What happens to them

    def run(self, steps):
        """So many steps, each of which may crash or meet another one.

        Raises:
            AssertionError: Where history and truth differ. It says what was done.
        """
        try:
            with patch.multiple(table, PAUSE=0.0, settle=lambda *_: None), self.wrong_clock():
                self.alone(self.append())
                for _ in range(steps):
                    self.random.choices([self.alone, self.crash, self.race, self.age], [2, 4, 3, 1])[0](self.step())
                self.require_answers()
        except Exception as error:
            raise AssertionError("\n  ".join([*self.did, f"{type(error).__name__}: {error}"])) from error

    def alone(self, step):
        self.did.append(step.text)
        step.act()
        self.require(step.effect(self.truth))

    def crash(self, step):
        """The files are as after one of the operations. Then it is done again."""
        before, backup = self.files(), self.folder / "backup"
        for path in before:
            (backup / path).parent.mkdir(parents=True, exist_ok=True)
            os.link(self.uri / path, backup / path)
        step.act()
        after = self.files()
        written = sorted((p for p in after if after[p] != before.get(p)), key=lambda p: (after[p], p))
        deleted = sorted(before.keys() - after.keys())
        done = self.random.randint(0, len(written) + len(deleted))
        self.did.append(f"{step.text}, crash after {done} of {len(written)} files written and {len(deleted)} deleted")
        for path in written[done:]:
            half = (self.uri / path).read_bytes()[:100]
            (self.uri / path).unlink()
            if path in before:
                os.link(backup / path, self.uri / path)
            elif path == written[done] and path.endswith(".parquet") and "_delta_log" not in path:
                (self.uri / path).write_bytes(half)
        for path in deleted[max(0, done - len(written)) :]:
            os.link(backup / path, self.uri / path)
        shutil.rmtree(backup, ignore_errors=True)
        self.require(self.truth, step.effect(self.truth))
        self.require_known(self.random.sample(sorted(self.truth.known), min(2, len(self.truth.known))))
        step.act()
        self.require(step.effect(self.truth))

    def race(self, step):
        """Another writer acts between what this one reads and what it writes."""
        other, left = self.step(), [self.random.randint(0, 3)]
        self.did.append(f"{step.text}, and before its commit {left[0]}: {other.text}")

        def before():
            left[0] -= 1
            if left[0] == -1:
                other.act()

        with around(CALLS, before):
            step.act()
        if left[0] >= 0:
            other.act()
        self.require(other.effect(step.effect(self.truth)), step.effect(other.effect(self.truth)))

    def age(self, step):
        """All files get older, so that logs and files that nothing needs are deleted."""
        self.did.append("40 days pass")
        past = time.time() - 40 * 86_400
        for path in self.files():
            os.utime(self.uri / path, (past, past))
        self.alone(step)

    @contextlib.contextmanager
    def wrong_clock(self):
        """Writers whose clocks are years off."""
        world = self

        class Clock(datetime):
            @classmethod
            def now(cls, tz=None):
                return datetime.now(tz) + timedelta(days=world.random.randint(-9_000, 9_000))

        with patch.multiple(stores, datetime=Clock):
            yield

    # What is there

    def require(self, *truths):
        """The history must be as one of these says, which is then the truth."""
        table = deltalake.DeltaTable(self.uri)
        rows = pl.scan_delta(table).select("day", "segment", "version", "row_counts").collect()
        assert not rows.drop("row_counts").is_duplicated().any(), "a commit has a group twice"
        windows = Counter()
        for *key, _, counts in rows.iter_rows():
            windows[tuple(key)] += counts[0]["rows"]
        offset = table.transaction_version(batches.SOURCE + "s") or 0
        self.truth = next((t for t in truths if t.windows == windows and t.offset == offset), None)
        assert self.truth, f"the history has {brief(windows)} and offset {offset}, not " + " or ".join(
            f"{brief(t.windows)} and offset {t.offset}" for t in truths
        )

    def require_answers(self):
        """The store itself must say the same, and know all batches."""
        found = self.store.query(by=["day", "segment"]).state
        counts = found.groups.join(found.tables["row_counts"], on="group").select("day", "segment", "rows")
        assert {tuple(key): rows for *key, rows in counts.iter_rows()} == self.truth.windows
        assert self.store.offset("s") == (self.truth.offset or None)
        self.require_known(self.truth.known)

    def require_known(self, names):
        """Batches that must not come in again."""
        for name in names:
            assert not self.store.append(accumulator((((DAYS[0], "a"), 1),)), batch_id=name), f"{name!r} is forgotten"

    def files(self):
        """Each file of the history, and when it was written."""
        paths = (path for path in self.uri.rglob("*") if path.is_file())
        return {str(path.relative_to(self.uri)): path.stat().st_mtime_ns for path in paths}


def brief(rows):
    """Rows by window and segment, as in ``1a:3``."""
    cells = [f"{day.day}{segment}:{count}" for (day, segment), count in dict(rows).items()]
    return " ".join(sorted(cells)) or "nothing"


def simulate(seeds, steps, make=sm.MetricStore):
    """Histories of some seeds. They are in memory, where files take less time, if there is such a place."""
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    for seed in seeds:
        with tempfile.TemporaryDirectory(dir=place) as folder:
            try:
                World(folder, seed, make).run(steps)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, {steps} steps:\n  {error}") from error


@contextlib.contextmanager
def nameless():
    """Commits that do not say which batch they bring."""
    original = stores.write

    def write(table, rows, transactions=(), **how):
        unnamed = [deltalake.Transaction(app_id="some batch", version=known.version) for known in transactions]
        original(table, rows, transactions=unnamed, **how)

    with patch.multiple(stores, write=write):
        yield


class InTwo(sm.MetricStore):
    """A store that replaces in two commits."""

    def replace(self, acc, *, window, batch_id):
        if deltalake.DeltaTable(self.uri).transaction_version(batch_id) is None:
            super().replace(acc.empty(), window=window, batch_id=batch_id + ", dropped")
        return self.append(acc, batch_id=batch_id)


def require_found(broken, make):
    """A fault must be found within some seeds."""
    try:
        with broken():
            simulate(range(19, 60), 6, make)
    except AssertionError as error:
        print(f"found: {error}", flush=True)
    else:
        raise AssertionError("a store that is broken on purpose agrees with the truth")


if __name__ == "__main__":
    first, last, steps = (int(number) for number in sys.argv[1:4]) if sys.argv[3:] else (0, 20, 4)
    require_found(nameless, sm.MetricStore)
    require_found(contextlib.nullcontext, InTwo)
    simulate(range(first, last), steps)
    print(f"{last - first} histories of {steps} steps agree with the truth")
