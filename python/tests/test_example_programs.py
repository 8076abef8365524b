"""The programs of ``examples/programs`` on small data: Tamis and SciPy give the same."""

import pathlib
import subprocess
import sys

import pytest

PROGRAMS = pathlib.Path(__file__).parents[2] / "examples" / "programs"


def run(*arguments):
    return subprocess.run(
        [sys.executable, str(PROGRAMS / "run.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_both_ways_agree():
    ended = run("--small")
    assert ended.returncode == 0, ended.stdout[-1000:] + ended.stderr[-2000:]
    assert ended.stdout.count("results agree") >= 60


def test_programs_are_chosen_by_name():
    assert run("--small", "pagerank").stdout == "pagerank: results agree\n"
    assert "no program is named nothing" in run("nothing").stderr


@pytest.mark.parametrize("file", sorted(PROGRAMS.glob("*.py")), ids=lambda file: file.name)
def test_programs_name_no_schedule(file):
    assert "schedule" not in file.read_text()
