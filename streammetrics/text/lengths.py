"""Texts of limited length: names and values of users can have a megabyte."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_VALUE = 100  # characters of a value in a list,
LONGEST_CELL = 300  # of a cell of a table,
LONGEST_SENTENCE = 1_000  # and of a sentence


def shortened(texts: Sequence[str], most: int) -> list[str]:
    """Return texts of at most so many characters, with an ellipsis in the middle, and more if they become equal.

    >>> shortened(["customer_segment_north_2026", "short"], 12)
    ['custom…_2026', 'short']
    """
    for size in range(most, 2 * most):
        made = [cut(text, size) for text in texts]
        if len(set(made)) == len(set(texts)):
            return made
    numbers = {text: f" ({number})" for number, text in enumerate(dict.fromkeys(texts), 1)}
    return [cut(text, most) + numbers[text] * (len(text) > most) for text in texts]


def cut(text: str, most: int) -> str:
    """Return a text of at most so many characters, with an ellipsis in the middle of a longer one.

    >>> cut("customer_segment_north_2026", 12), cut("short", 12)
    ('custom…_2026', 'short')
    """
    return text if len(text) <= most else f"{text[: most // 2]}…{text[most // 2 + 1 - most :]}"
