"""A rehearsal of a release: what users install is built, and tried in clean environments. Needs uv.

    python tests/release/rehearsal.py                      # every step
    python tests/release/rehearsal.py extras --only store  # some of them
    python tests/release/rehearsal.py lowest tests --quick --python 3.12

Steps: ``wheel`` (it installs, runs compiled, and holds the package alone), ``uncompiled`` (the source installs and runs
without a compiler), ``extras`` (each one alone, and what is said without it), ``bare`` (tests without any optional
package are skipped, and none fails), ``lowest`` and ``highest`` (the base suite with the lowest and the highest
dependencies). The tests are those of the source distribution.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
STEPS = ("wheel", "uncompiled", "extras", "bare", "lowest", "highest")
MOST_BYTES = 2_000_000  # of a wheel
NEEDS = {"spark": "java"}  # programs besides Python
NO_FEATURE = ("bench",)  # programs to compare with
QUICK = ["tests/state", "tests/report", "tests/sources/test_sources.py", "tests/metrics"]
BASE = "not thorough and not browser and not long and not engine"
USE = """
import streammetrics as sm
report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]}).finalize(confidence=0.95)
assert report["roc_auc"].value == 1.0
print(sm.__version__)
"""


def run(*command, folder=None, **variables):
    """Run a command without what is set for this checkout; its last lines if it fails."""
    own = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE", "STREAMMETRICS_CORE", "STREAMMETRICS_COMPILED")
    environment = {key: value for key, value in os.environ.items() if key not in own} | variables
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-40:])
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{last}")
    return done.stdout


class Rehearsal:
    """Distributions and environments in a folder."""

    def __init__(self, folder, python, quick):
        self.folder, self.python, self.quick = folder, python, quick
        build = ("uv", "build", "--quiet", "--python", python, "--out-dir", folder / "dist")
        run(*build, folder=ROOT, STREAMMETRICS_COMPILED="1")
        (self.wheel_file,) = (folder / "dist").glob("*.whl")
        (self.sdist_file,) = (folder / "dist").glob("*.tar.gz")
        with tarfile.open(self.sdist_file) as archive:
            archive.extractall(folder, filter="data")
        self.source = folder / self.sdist_file.name.removesuffix(".tar.gz")
        self.project = tomllib.loads((self.source / "pyproject.toml").read_text(encoding="utf-8"))
        shutil.move(self.source / "streammetrics", folder / "package")  # tests import what was installed

    def environment(self, name, *packages, extra="", resolution="highest"):
        """The Python of a new environment with the wheel and some packages."""
        place = self.folder / name
        run("uv", "venv", "--quiet", "--python", self.python, place)
        python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        wheel = f"{self.wheel_file}[{extra}]" if extra else str(self.wheel_file)
        run("uv", "pip", "install", "--quiet", "--python", python, "--resolution", resolution, wheel, *packages)
        return python

    def tests(self, python, *options, paths=("tests",)):
        """The closing line of the source distribution's tests."""
        chosen = [path for path in QUICK if self.quick] or paths
        addopts = "addopts=--doctest-modules --doctest-ignore-import-errors"
        command = (python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", addopts, "-m", BASE, *options, *chosen)
        return run(*command, folder=self.source).strip().splitlines()[-1]

    def wheel(self):
        """The wheel holds the package alone, and runs from an empty folder."""
        names = zipfile.ZipFile(self.wheel_file).namelist()
        strays = [name for name in names if not name.startswith(("streammetrics/", "streammetrics-"))]
        assert not strays, strays
        assert "streammetrics/py.typed" in names
        assert not [name for name in names if name.endswith((".cpp", ".hpp"))]
        assert self.wheel_file.stat().st_size < MOST_BYTES
        version = self.used(self.environment("wheel"), "compiled")
        assert f"-{version}-" in self.wheel_file.name
        yield f"{len(names)} files, {self.wheel_file.stat().st_size:,} bytes"

    def uncompiled(self):
        """The source installs without a compiler, and counts in numpy."""
        python = self.environment("uncompiled")
        install = ("uv", "pip", "install", "--quiet", "--python", python, "--no-cache", "--no-deps", "--reinstall")
        run(*install, self.sdist_file, CXX=shutil.which("false"))
        self.used(python, "numpy")
        yield "runs in numpy"

    def used(self, python, loops):
        """The version of an installation, which runs from an empty folder with loops of this kind."""
        with tempfile.TemporaryDirectory() as empty:
            version = run(python, "-c", USE, folder=empty).strip()
            said = run(python, "-m", "streammetrics", "--version", folder=empty)
        assert version in said
        assert f"loops over rows: {loops}" in said, said
        return version

    def extras(self, only):
        """Each extra alone: what it is for runs. Without any, errors say which one is missing."""
        features = self.source / "tests" / "release" / "features.py"
        run(self.environment("none"), features, "--none")
        yield "none: errors name the extra"
        for extra in only or self.project["project"]["optional-dependencies"]:
            if extra in NO_FEATURE:
                continue
            if shutil.which(NEEDS.get(extra, "uv")) is None:
                yield f"{extra}: not run, needs {NEEDS[extra]}"
                continue
            python = self.environment(f"extra-{extra}", extra=extra)
            with tempfile.TemporaryDirectory() as empty:
                run(python, features, extra, folder=empty)
            yield f"{extra}: runs"

    def bare(self):
        """Tests with pytest alone: those of optional packages are skipped, and none fails."""
        yield self.tests(self.environment("bare", "pytest"))

    def with_all(self, resolution):
        """The base suite with what it needs."""
        needed = [line for line in self.project["dependency-groups"]["dev"] if not line.startswith(("ruff", "mypy"))]
        python = self.environment(resolution, *self.project["project"]["dependencies"], *needed, resolution=resolution)
        listed = run("uv", "pip", "list", "--quiet", "--python", python).splitlines()
        yield ", ".join(" ".join(line.split()) for line in listed if line.startswith(("polars ", "pyarrow ", "numpy ")))
        yield self.tests(python, "-n", "auto", paths=("tests",))

    def lowest(self):
        yield from self.with_all("lowest-direct")

    def highest(self):
        yield from self.with_all("highest")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", default=STEPS, help="Steps to run. Default: all.")
    parser.add_argument("--python", default=f"{sys.version_info[0]}.{sys.version_info[1]}", help="Default: this one.")
    parser.add_argument("--only", action="append", help="Extra to try. Can be repeated. Default: all.")
    parser.add_argument("--quick", action="store_true", help="A part of the tests.")
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        rehearsal = Rehearsal(Path(folder), options.python, options.quick)
        for step in options.steps:
            lines = rehearsal.extras(options.only) if step == "extras" else getattr(rehearsal, step)()
            try:
                for line in lines:
                    print(f"{step}: {line}", flush=True)
            except (RuntimeError, AssertionError) as error:
                failed = True
                print(f"{step}: FAILED\n{error}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
