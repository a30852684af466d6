"""The time of many small files, as a multiple of that of a scan by Polars.

``python tests/bench/many_files.py`` prints it; it should be below 4.
"""

import tempfile
import time
from pathlib import Path

import polars as pl

import streammetrics as sm

FILES = 1_500


def seconds(run):
    start = time.process_time()
    run()
    return time.process_time() - start


def main():
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        pl.DataFrame({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]}).write_parquet(folder / "0.parquet")
        content = (folder / "0.parquet").read_bytes()
        for i in range(1, FILES):
            (folder / f"{i}.parquet").write_bytes(content)
        acc, scan = sm.binary(y_true="y", y_score="p"), pl.scan_parquet(folder / "*.parquet").select(pl.sum("y", "p"))
        runs = [lambda: sm.evaluate(folder, acc), lambda: scan.collect(engine="streaming")]
        [run() for run in runs]  # which loads libraries
        ours, theirs = (min(seconds(run) for _ in range(5)) for run in runs)
    print(f"{ours / theirs:.1f} times the scan of {FILES:,} files")


if __name__ == "__main__":
    main()
