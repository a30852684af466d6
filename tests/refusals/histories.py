"""Histories: what is appended and asked, what rules cannot find in them, and pages of them."""

import shutil
import tempfile
from datetime import date, datetime
from functools import cache, partial

import polars as pl
import pytest
from data import CLICKS, FIRST_DAY, clicks

import streammetrics as sm

DAY, OTHER = [date(2026, 1, 1)], [datetime(2026, 1, 1)]
CLICKED = sm.binary(by="day", **CLICKS)
ONE = sm.Rule("rows >= 1")
EARLY = sm.Rule("roc_auc >= 0.8", before_labels=True)


FAR = {
    "year 12000": pl.Series([3_663_508], dtype=pl.Int32).cast(pl.Date),
    "before year 1": pl.Series([-719_163], dtype=pl.Int32).cast(pl.Date),
    "time": pl.Series([253_402_300_800_000_000]).cast(pl.Datetime("us")),
    "zoned": pl.Series([253_402_300_799_000_000]).cast(pl.Datetime("us", "UTC")).dt.convert_time_zone("Asia/Kolkata"),
}


@cache
def _written():
    """Where a history of clicks by day, and of a source until offset 10, is written once."""
    pytest.importorskip("deltalake")
    place = tempfile.TemporaryDirectory()
    sm.MetricStore(place.name).append(CLICKED.empty().update(clicks()[:500]), source="s", upto=10)
    return place


def _store(folder):
    """A copy of this history."""
    shutil.copytree(_written().name, folder / "clicks")
    return sm.MetricStore(folder / "clicks")


def _rows(by="day", **columns):
    """An accumulator of one row by some columns."""
    return sm.Accumulator(y_true="y", by=by).update({"y": [1]} | (columns or {"day": DAY}))


def _on(method):
    """A call with a history of clicks."""
    return lambda folder: method(_store(folder))


def _first(acc, **options):
    """A call that appends the first batch."""
    batch = {"batch_id": options.pop("batch_id", "1")}
    return lambda folder: sm.MetricStore(folder / "store", **options).append(acc, **batch)


def _second(first, then):
    """A call that appends a segment of another type than the first one."""

    def call(folder):
        store = sm.MetricStore(folder / "store", window="day")
        for number, values in enumerate((first, then)):
            store.append(_rows(["day", "s"], day=DAY, s=values), batch_id=f"{number}")

    return call


def _misspelled(folder):
    (folder / "history").mkdir()
    sm.MetricStore(folder / "histroy").query()


def _far(role, time, folder):
    """Append a batch of one row that is out of the range."""
    columns = {"when": time} if role == "window" else {"day": DAY, "when": time}
    return _first(_rows([*columns], **columns), window=next(iter(columns)))(folder)


def _from(**origin):
    return _on(lambda store: store.append(CLICKED, **origin))


def _asked(**question):
    return _on(lambda store: store.query(**question))


def _replaced(window, acc=None):
    return _on(lambda store: store.replace(acc or CLICKED, window=window, batch_id="2"))


def _checked(*rules, **options):
    return _on(lambda store: sm.check(store, rules, **options))


def _to_the_last_day(folder):
    """A history of which no day can be after the newest."""
    store = sm.MetricStore(folder / "store")
    store.append(CLICKED.empty().update(clicks()[:100].with_columns(day=pl.lit(date.max))), batch_id="1")
    return store


def _page(**options):
    return lambda folder: _store(folder).save_html(folder / "page.html", **options)


FIRST = {
    "no time among the groups": (_first(_rows("s", s=["a"])), "window"),
    "no groups": (_first(_rows(())), "window", "group columns"),
    "no groups but a window": (_first(_rows(()), window="day"), "window", "group columns"),
    "several times": (_first(_rows(["day", "other"], day=DAY, other=OTHER)), "day, other", "window="),
    "a window that is text": (_first(_rows(["day", "s"], day=DAY, s=["a"]), window="s"), "'s'", "Date"),
    "a group column of the table": (_first(_rows(["day", "Version"], day=DAY, Version=[1])), "'Version'"),
    "groups that differ in case": (_first(_rows(["day", "s", "S"], day=DAY, s=[1], S=[1])), "'s'"),
    "a segment without a type": (_first(_rows(["day", "s"], day=DAY, s=[None])), "'s'"),
    **{f"batch_id= {name!r}": (_first(_rows(), batch_id=name), "batch_id=") for name in ("", None, 7)},
    **{
        f"acc= of type {type(thing).__name__}": (_first(thing), "acc=", type(thing).__name__)
        for thing in (5, clicks(), CLICKED.finalize())
    },
    **{
        f"a segment of type {type(then[0]).__name__} after {type(first[0]).__name__}": (_second(first, then), "'s'")
        for first, then in ((["a"], [1]), ([1], [1.5]), ([1], [True]), ([date(2026, 1, 1)], [datetime(2026, 1, 1)]))
    },
    "a segment beyond the integers after small ones": (
        _second(*(pl.Series([n], dtype=pl.UInt64) for n in (1, 2**63))),
        "'s'",
    ),
    **{
        f"a {role} of {name}": (partial(_far, role, time), "'when'")
        for name, time in FAR.items()
        for role in ("window", "segment")
    },
    "a file in place of a history": (
        lambda folder: (
            (folder / "file").write_text("x"),
            sm.MetricStore(folder / "file").append(_rows(), batch_id="1"),
        ),
        "file",
    ),
    **{
        f"a directory named {name!r}": (lambda folder, name=name: sm.MetricStore(folder / name), "Delta")
        for name in ("a[b]", "]", "a|b", "a^b", "a%20b", "a\tb", "a\x7fb", "a\\b")
    },
    "an unknown place": (lambda: sm.MetricStore("nowhere://store").query(), "nowhere"),
    **{f"uri= {uri!r}": (lambda _, uri=uri: sm.MetricStore(uri), "uri=") for uri in (None, 5, "", b"store")},
}
ORIGINS = {
    "no origin": (_from(), "batch_id=", "source="),
    "two origins": (_from(batch_id="1", source="s"), "batch_id=", "source="),
    "an offset without a source": (_from(batch_id="1", upto=3), "source"),
    "a batch_id= that is used inside": (_from(batch_id="streammetrics.source/s"), "batch_id="),
    "an empty source": (_from(source=""), "source="),
    **{f"upto= {upto}": (_from(source="s", upto=upto), "upto=") for upto in (None, True, 1 << 63)},
    **{f"start= {n}": (_from(source="s", upto=5, start=n), "start=") for n in (-1, 2.0)},
    **{
        f"offsets from {start}": (
            _on(
                lambda store, start=start: store.append(
                    CLICKED.empty().update(clicks()), source="s", start=start, upto=15
                )
            ),
            *(f"{start} to 15", "'s'", "10"),
        )
        for start in (0, 8, 12)
    },
}
QUESTIONS = {
    "a history of a similar name": (_misspelled, "histroy", "history'"),
    **{
        f"no history to {name}": (lambda folder, ask=ask: ask(sm.MetricStore(folder / "none")), "none")
        for name, ask in (
            ("query", lambda store: store.query()),
            ("list", lambda store: store.windows()),
            ("compact", lambda store: store.compact()),
            ("retain", lambda store: store.retain("2026-01-01")),
            ("replace", lambda store: store.replace(CLICKED, window=FIRST_DAY, batch_id="1")),
            ("copy", lambda store: store.copy_to(store)),
            ("check", lambda store: sm.check(store, ONE)),
        )
    },
    "since= that is no time": (_asked(since="yesterday"), "'yesterday'"),
    "until= that is no time": (_asked(until=7), "7"),
    "a time with a zone": (_asked(since="2026-01-01T00:00Z"), "2026-01-01T00:00Z"),
    "an unknown group": (_asked(by="region"), "'region'"),
    "two columns of one name": (_asked(by="day", every="1d"), "'day'"),
    **{
        f"where= {number}": (_asked(where=where), "day")
        for number, where in enumerate((pl.col("region") == 1, pl.col("batch_id") == "1", "country == 'DE'"))
    },
    **{
        f"every= {every!r}": (_asked(every=every), f"{every}"[:4])
        for every in ("x", "0d", "-1d", "", 7, "1d12h", "9223372036854775807d")
    },
    "retain that is no time": (_on(lambda store: store.retain("yesterday")), "'yesterday'"),
    "another window": (
        lambda folder: sm.MetricStore(_store(folder).uri, window="country").query(),
        *("'day'", "'country'"),
    ),
    "copy_to= of type str": (_on(lambda store: store.copy_to("new")), "store=", "str"),
    "a pair of times of one": (_replaced((FIRST_DAY,)), "pair"),
    **{f"window= {w!r}": (_replaced(w), f"{w}") for w in ("soon", 7, "2026-01-01T12:00")},
    "rows outside of the window": (
        _replaced(FIRST_DAY, CLICKED.empty().update(clicks().filter(day=date(2026, 1, 2)))),
        "'2026-01-02'",
    ),
    "a replacement of a source at another offset": (
        _on(lambda store: store.replace(CLICKED.empty(), window=FIRST_DAY, source="s", start=2, upto=11)),
        *("'s'", "10"),
    ),
    "a replacement without an origin": (
        _on(lambda store: store.replace(CLICKED.empty(), window=FIRST_DAY)),
        *("batch_id=", "source="),
    ),
    "rows outside of several windows": (
        _replaced((FIRST_DAY, date(2026, 1, 2)), CLICKED.empty().update(clicks()[:50])),
        "2026-01-02",
    ),
    "a replacement of another specification": (_replaced(FIRST_DAY, _rows()),),
    "a table of something else": (
        lambda folder: (
            pl.DataFrame({"day": DAY}).write_delta(folder / "other"),
            sm.MetricStore(folder / "other").query(),
        ),
        "streammetrics",
    ),
}
CHECKS = {
    "an unknown metric": (_checked(sm.Rule("rok_auc >= 0.8")), "rok_auc", "roc_auc"),
    "a metric of another task": (_checked(sm.Rule("mae >= 0.8")), "mae"),
    "an unknown segment": (_checked(sm.Rule("rows >= 1", by="region")), "'region'"),
    "an unknown distribution": (_checked(sm.Rule("psi(of='error') <= 1", against="7d")), "'error'"),
    "bins of drift": (_checked(sm.Rule("psi(of='y_score', bins=1) <= 1", against="7d")), "bins="),
    "a limit out of range": (_checked(sm.Rule("roc_auc >= 80")), "roc_auc >= 80", "0.8"),
    "an unknown model": (_checked(sm.Rule("rows >= 1", model="new")), "'new'", "none"),
    "an alarm by window": (_checked(sm.Rule("accuracy >= 0.5", alarm="1 per year", by="day")), *("'day'", "'alarm'")),
    "an alarm as often as windows": (_checked(sm.Rule("accuracy >= 0.5", alarm="1 per day")), "1 days"),
    "a check to the end of the calendar": (
        lambda folder: sm.check(_to_the_last_day(folder), ONE),
        *("9999-12-31", "until="),
    ),
    "a page to the end of the calendar": (
        lambda folder: _to_the_last_day(folder).save_html(folder / "page.html", rules=ONE),
        *("9999-12-31", "until="),
    ),
    "no rules": (_checked(), "rule"),
    "rules that are text": (_on(lambda store: sm.check(store, "rows >= 1")), "rules=", "str"),
    "rules with none": (_checked(ONE, None), "rules=", "NoneType"),
    "a store that is none": (lambda: sm.check("store", ONE), "store=", "str"),
    "rules before labels without scores": (_checked(EARLY), "'before_labels'", "scores="),
    **{
        f"a check until= {until!r}": (_checked(ONE, until=until), f"{until}")
        for until in ("01/02/2026", "", 20260101, "2026-03-29T00:00+01:00")
    },
}
PAGES = {
    "a page of later times": (_page(since="2030-01-01"), "2026-01-10"),
    "a page of a metric of another task": (_page(metrics=["mae"]), "mae"),
    "a page of rules by window": (_page(rules=sm.Rule("rows >= 1", by="day")), "'by'", "'day'"),
    "a page of rules before labels": (_page(rules=EARLY), "scores="),
    "a page of scores that are text": (_page(scores="scores"), "scores=", "str"),
    "a page by an unknown group": (_page(by="city"), "'city'"),
    "a page of rules that are text": (_page(rules=["accuracy >= 1"]), "rules=", "str"),
    "a page with a reference of one time": (_page(reference=("2026-01-01",)), "reference="),
    "a page with a reference that is no duration": (_page(reference="soon"), "'soon'"),
}
REFUSALS = {**FIRST, **ORIGINS, **QUESTIONS, **CHECKS, **PAGES}
