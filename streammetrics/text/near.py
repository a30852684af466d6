"""Names that are similar to one that does not exist, for messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

PREFIX = 3  # minimum number of characters of a name for longer names that begin with it


def near(name: str, known: Iterable[str], most: int = 2, cutoff: float = 0.6) -> list[str]:
    """Return longer names that begin with a name, then similar names, then the shortest with the same words.

    >>> near("click", ["p_click", "clicked", "day"])
    ['clicked', 'p_click']
    >>> near("region", ["day", "customer_region"])
    ['customer_region']
    """
    known = list(known)
    begins = sorted((k for k in known if len(name) >= PREFIX and k.lower().startswith(name.lower())), key=len)
    words = set(name.lower().split("_"))
    longer = sorted((k for k in known if words <= set(k.lower().split("_"))), key=len)
    return list(dict.fromkeys([*begins, *get_close_matches(name, known, n=most, cutoff=cutoff), *longer[:1]]))[:most]


def did_you_mean(name: str, known: Iterable[str], most: int = 2, cutoff: float = 0.6) -> str:
    """Return a question with similar names, after a space, or nothing.

    >>> did_you_mean("regresion", ["binary", "regression"])
    " Did you mean 'regression'?"
    """
    found = near(name, known, most, cutoff)
    return f" Did you mean {' or '.join(map(repr, found))}?" if found else ""


def near_paths(path: str | Path) -> str:
    """Return a question with files and folders that have a similar name, after a space, or nothing."""
    missing = Path(path).expanduser()
    try:
        names = [p for p in sorted(missing.parent.iterdir()) if p != missing and not p.name.startswith((".", "_"))]
    except (OSError, ValueError):
        return ""
    stems = near(missing.stem, dict.fromkeys(name.stem for name in names))
    found = [name for stem in stems for name in names if name.stem == stem]
    same = [name for name in found if name.suffix == missing.suffix] or found
    return f" Did you mean {' or '.join(repr(str(other)) for other in same[:2])}?" if same else ""
