"""Arrays that others write while kernels read them: with copies of positions and coordinates nothing
can crash."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import tamis

RACING = pathlib.Path(__file__).with_name("racing.py")


def run(*arguments, **variables):
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="another process writes")
def test_no_writer_crashes_the_interpreter():
    ended = run(str(RACING), "2", TAMIS_COPY="1")
    assert ended.returncode == 0, ended.stderr[-2000:]
    done, refused = map(int, ended.stdout.split())
    assert done > 0 and refused > 0


@pytest.fixture
def copies():
    tamis.set_borrowing(False)
    yield
    tamis.set_borrowing(True)


FORMS = ["csr", "csc", "coo", "bsr", "dia"]


@pytest.mark.parametrize("form", FORMS)
def test_positions_and_coordinates_are_copied(copies, form):
    assert not tamis.get_borrowing()
    matrix = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])).asformat(form)
    expected = matrix.toarray()
    found = tamis.asarray(matrix)
    names = {"coo": ["row", "col"], "dia": ["offsets"]}.get(form, ["indices", "indptr"])
    for name in names:
        getattr(matrix, name)[:] = 10**6
    # The structure is that of the beginning, the values are those of now.
    for use in (found.to_numpy, (found * 1).to_numpy, found[:].to_numpy):
        np.testing.assert_array_equal(use(), expected)
    assert found[0, 2] == 2 and found.sum() == 6
    assert np.shares_memory(found.values, matrix.data)


def test_tensors_that_were_borrowed_before_are_copied_too():
    matrix = sp.csr_array(np.eye(3))
    found = tamis.asarray(matrix)
    tamis.set_borrowing(False)
    try:
        matrix.indices[0] = 2
        assert found.to_numpy()[0, 2] == 1
        matrix.indices[0] = 3
        for use in (found.to_numpy, lambda: found[0], lambda: found + found, lambda: found[0, 0]):
            with pytest.raises(tamis.TamisValueError, match="outside"):
                use()
    finally:
        tamis.set_borrowing(True)


def test_a_copy_is_of_what_was_looked_at():
    matrix = sp.coo_array(([1.0, 2.0], ([0, 1], [1, 0])), shape=(2, 2))
    found = tamis.asarray(matrix, copy=True)
    matrix.row[:] = 7
    assert not found.is_borrowed and found.sum() == 3


@pytest.mark.parametrize(("text", "borrows"), [("1", "False"), ("0", "True"), ("", "True")])
def test_the_environment_asks_for_copies(text, borrows):
    code = "import tamis; print(tamis.get_borrowing())"
    assert run("-c", code, TAMIS_COPY=text).stdout.strip() == borrows


def test_the_environment_may_be_wrong():
    ended = run("-c", "import tamis", TAMIS_COPY="yes")
    assert ended.returncode == 1 and "TAMIS_COPY=yes says neither 0 nor 1" in ended.stderr
    with pytest.raises(tamis.TamisTypeError, match="neither True nor False"):
        tamis.set_borrowing("no")
