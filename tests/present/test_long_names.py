"""Names of users can be long: they are cut, and stay apart."""

import streammetrics as sm


def test_groups_stay_apart_whose_names_differ_in_the_middle():
    names = ["x" * 200 + letter + "y" * 200 for letter in "abc"]
    acc = sm.binary(y_true="y", y_pred="z", by="shop").update({"y": [1, 0, 1], "z": [1, 1, 1], "shop": names})
    lines = str(acc.finalize(["accuracy"])).splitlines()[-3:]
    assert len({line.split("  ")[0] for line in lines}) == 3
    assert max(map(len, lines)) < 300
