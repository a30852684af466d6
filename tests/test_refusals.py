"""Every refusal is an exception of the library that names the fault, of the class and in the sentence written for it.

``python tests/test_refusals.py`` writes the sentences down again, of all subjects or of those that follow.
"""

import re
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from refusals import PLACE, SUBJECTS, refusals

ARGUMENT = re.compile(r"([a-z_]+)=")  # with which messages on an argument begin


def errors(subject, folder):
    """The exception of each refused call, and its message without the path of the folder of the call."""
    raised, messages = {}, {}
    for number, (wrong, refusal) in enumerate(refusals(subject).items()):
        place = folder / str(number)
        place.mkdir()
        raised[wrong] = refusal.raised(place)
        messages[wrong] = str(raised[wrong]).replace(str(place), "FOLDER")
    return raised, messages


def written(raised, messages):
    return "\n".join(f"{wrong}\n    {type(raised[wrong]).__name__}: {text}\n" for wrong, text in messages.items())


@pytest.mark.whole
@pytest.mark.parametrize("subject", SUBJECTS)
def test_refusals(subject, tmp_path):
    (raised, messages), table = errors(subject, tmp_path), refusals(subject)
    unnamed = {w: [name for name in refusal.names if name not in messages[w]] for w, refusal in table.items()}
    assert {wrong: names for wrong, names in unnamed.items() if names} == {}
    subjects = {wrong: ARGUMENT.match(message) for wrong, message in messages.items()}
    assert {wrong: error.argument for wrong, error in raised.items()} == {w: m and m[1] for w, m in subjects.items()}
    assert written(raised, messages) == (PLACE / f"{subject}.txt").read_text(encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:] or SUBJECTS:
        with tempfile.TemporaryDirectory() as temporary:
            (PLACE / f"{name}.txt").write_text(written(*errors(name, Path(temporary))), encoding="utf-8")
