"""Processes that add scores and labels, die at any moment or race with others: every row is in the history once."""

import copy
import random
import time
from collections import Counter
from datetime import date, timedelta
from pathlib import Path

import pytest
from processes import start
from steps import WRITES, around, killed

import streammetrics as sm

WAIT = 3  # days


def made(folder):
    acc = sm.Accumulator(y_true="y", by=["day", "y"])
    return sm.Joiner(sm.MetricStore(f"{folder}/history"), acc, key="id", expires=f"{WAIT}d")


def day(number):
    return date(2026, 1, 1) + timedelta(days=number)


class Truth:
    """What a joiner should hold, as dicts: the day of each score, and of each label its kind, value, and day."""

    def __init__(self):
        self.scores, self.labels, self.before = {}, {}, -100
        self.final, self.expired = Counter(), Counter()

    def after(self, kind, rows):
        """The truth after one more batch."""
        new = copy.deepcopy(self)
        today = max(new.scores.values(), default=1_000)
        for key, value in rows:
            if kind != "scores":
                new.labels.setdefault(key, []).append((kind, value, today))
            elif value >= self.before:
                new.scores.setdefault(key, value)
        new.expire()
        return new

    def expire(self):
        if self.scores:
            self.before = max(self.before, max(self.scores.values()) - WAIT)
        for key in [key for key, number in self.scores.items() if number < self.before]:
            if key in self.labels:
                self.final[self.scores[key], self.value(key)] += 1
                del self.labels[key]
            else:
                self.expired[self.scores[key]] += 1
            del self.scores[key]
        for key in self.labels.keys() - self.scores.keys():
            self.labels[key] = [row for row in self.labels[key] if row[2] >= self.before]
        self.labels = {key: rows for key, rows in self.labels.items() if rows}

    def value(self, key):
        corrections = [value for kind, value, _ in self.labels[key] if kind == "corrections"]
        return corrections[-1] if corrections else self.labels[key][0][1]

    def history(self):
        return dict(self.final + Counter((n, self.value(key)) for key, n in self.scores.items() if key in self.labels))


def history(joiner):
    if not Path(joiner.store.uri, "_delta_log").exists():
        return {}
    frame = joiner.store.query(every="1d", by="y").finalize(["rows"]).frame
    return {((d - day(0)).days, bool(y)): int(rows) for d, y, rows in frame.select("day", "y", "value").iter_rows()}


def expired(joiner):
    return {(d - day(0)).days: n for d, n in joiner.coverage().select("day", "expired").iter_rows() if n}


def batch(rng, step):
    """Rows of any kind. A score has one day, whoever sends it; keys come again for some days."""
    kind = rng.choices(["scores", "labels", "corrections"], [4, 4, 2])[0]
    keys = rng.sample(range(3 * step, 3 * step + 24), rng.randint(1, 6))
    if kind == "scores":
        return kind, [(key, key // 6) for key in keys]
    return kind, [(key, rng.random() < 0.5) for key in keys]


def add(joiner, kind, rows):
    keys, values = zip(*rows, strict=True)
    if kind == "scores":
        return joiner.add_scores({"id": keys, "day": [day(number) for number in values]})
    return joiner.add_labels({"id": keys, "y": values}, correct=kind == "corrections")


def race(folder, one, other, moment):
    """Add a batch, and at a write of it another process adds another one."""
    left, passed = [other], iter(range(1000))

    def act():
        if next(passed) >= moment and left:
            add(made(folder), *left.pop())

    with around(WRITES, act, act):
        add(made(folder), *one)
    for late in left:
        add(made(folder), *late)


def compact(folder):
    """Compact the history, if there is one, and drop windows that it does not have."""
    if history(made(folder)):
        made(folder).store.compact()
        made(folder).store.retain(day(-9))


def simulate(folder, seed, steps, monkeypatch):
    """Random steps. After a race there may be several truths: either batch may have been the first."""
    rng, truths, did = random.Random(seed), [Truth()], []
    monkeypatch.setattr("streammetrics.monitor.history.table.PAUSE", 0.0)
    for step in range(steps):
        one, what = batch(rng, step), rng.choice(["alone", "crash", "race", "compact"])
        did.append((what, one))
        if what == "crash":
            with killed(rng.randrange(8)):
                add(made(folder), *one)
        if what == "compact" and step:
            made(folder).compact()
            compact(folder)
        if what == "race":
            other = batch(rng, step)
            did.append(other)
            race(folder, one, other, rng.randrange(8))
            orders = [(one, other), (other, one)]
            candidates = [truth.after(*first).after(*second) for truth in truths for first, second in orders]
        else:
            add(made(folder), *one)
            candidates = [truth.after(*one) for truth in truths]
        found = history(made(folder)), expired(made(folder))
        truths = [t for t in candidates if (t.history(), dict(t.expired)) == found]
        truths = [t for n, t in enumerate(truths) if vars(t) not in [vars(other) for other in truths[:n]]]
        assert truths, (seed, found, [(t.history(), dict(t.expired)) for t in candidates], did)
    return truths[0]


@pytest.mark.thorough
def test_joiners_that_die_and_race_agree_with_the_truth(tmp_path, monkeypatch):
    truth = simulate(tmp_path, 0, 16, monkeypatch)
    assert truth.final
    assert truth.expired


@pytest.mark.long
@pytest.mark.parametrize("first", range(100, 300, 10))
def test_hundreds_of_joiners_agree_with_the_truth(first, tmp_path, monkeypatch):
    for seed in range(first, first + 10):
        simulate(tmp_path / f"{seed}", seed, 20, monkeypatch)


# Real processes


def tidy(folder, sender):
    """Compact all that there is, over and over."""
    while True:
        if history(made(folder)):
            made(folder).compact()
            compact(folder)
        time.sleep(0.05)


def batches(seed, worker, size):
    """Batches of one worker, in an order of its own. Whatever the order of all, the last label of a key is the same."""
    rng, shuffled = random.Random(f"{seed} {worker}"), []
    values = {"scores": lambda key: key // 20, "labels": lambda key: key % 3 == 0, "corrections": lambda key: True}
    for kind, step in (("scores", 1), ("labels", 2), ("corrections", 5)):
        rows = [(key, values[kind](key)) for key in range(0, size, step) if key % 2 == worker or key % 3 == 0]
        rng.shuffle(rows)
        shuffled += [(kind, rows[first : first + 6]) for first in range(0, len(rows), 6)]
    rng.shuffle(shuffled)
    return shuffled


def add_all(folder, seed, worker, size, sender):
    for one in batches(seed, worker, size):
        add(made(folder), *one)
        sender.send(one)


def attack(folder, seed, size):
    """Two workers and a janitor at once, which are killed again and again, and begin anew."""
    rng = random.Random(seed)
    for _ in range(4):
        workers, (janitor, _) = [start(add_all, folder, seed, worker, size) for worker in (0, 1)], start(tidy, folder)
        for _, receiver in workers:
            receiver.poll(60)
        time.sleep(rng.uniform(0, 1))
        for process in (*(worker for worker, _ in workers), janitor):
            process.kill()
            process.join()
    for worker in (0, 1):
        for one in batches(seed, worker, size):
            add(made(folder), *one)
    labeled = [key for key in range(size) if key % 2 == 0 or key % 5 == 0]
    assert history(made(folder)) == Counter((key // 20, key % 3 == 0 or key % 5 == 0) for key in labeled), seed


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("seed", "size"), [(0, 30), *(pytest.param(n, 60, marks=pytest.mark.long) for n in range(1, 13))]
)
def test_workers_and_a_janitor_that_race_and_die_agree_with_the_truth(seed, size, tmp_path):
    attack(str(tmp_path), seed, size)
