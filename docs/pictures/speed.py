"""Draw the picture of the README: ``python docs/pictures/speed.py``. The times are those of docs/performance.md."""

from __future__ import annotations

import re
from pathlib import Path

from bounds_and_intervals import page, text

FOLDER = Path(__file__).parent
LEFT, RIGHT, ROW = 130, 660, 34


def measured() -> dict[str, float]:
    """CPU time in memory, relative to streammetrics, of all metrics of the table of peers and of scikit-learn."""
    written = (FOLDER.parent / "performance.md").read_text(encoding="utf-8")
    peers = re.findall(r"^\| ([\w-]+) \| [\d.]+ s \| [\d.]+ s \| ([\d.]+) s \|", written, re.MULTILINE)
    seconds = {name: float(time) for name, time in peers}
    ratios = {name: time / seconds["streammetrics"] for name, time in seconds.items()}
    ratios["scikit-learn"] = float(re.search(r"^\| scikit-learn: AUC.* \| ([\d.]+)×", written, re.MULTILINE)[1])
    return dict(sorted(ratios.items(), key=lambda item: item[1]))


def speed() -> str:
    """A bar per library."""
    ratios = measured()
    parts = [text(0, 18, "CPU time of ROC AUC, log loss, Brier score, and confusion counts", "strong")]
    parts.append(text(0, 40, "10 million rows in memory, relative to streammetrics: shorter is better"))
    for i, (name, ratio) in enumerate(ratios.items()):
        y, own = 66 + ROW * i, name == "streammetrics"
        width = ratio / max(ratios.values()) * (RIGHT - LEFT)
        kind, weight = ("mark", "strong") if own else ("other", "")
        parts.append(text(LEFT - 12, y + 16, name, weight, "end"))
        parts.append(f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{width:.1f}" height="22"/>')
        parts.append(text(LEFT + round(width) + 10, y + 16, f"{ratio:.0f}×", weight))
    told = ", ".join(f"{name} {ratio:.0f} times" for name, ratio in ratios.items() if name != "streammetrics")
    described = f"CPU time relative to streammetrics: {told}."
    return page("Speed beside other libraries", described, 72 + ROW * len(ratios), *parts)


PICTURES = {"speed.svg": speed}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (FOLDER / name).write_text(draw(), encoding="utf-8")
