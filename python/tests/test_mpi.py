"""Programs on ranks of MPI, where mpi4py and an MPI are installed: this file is what ranks run."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import tamis

MPIEXEC = Path(sys.executable).parent / "mpiexec"
RANKS = 3
LIMIT = 120


def operands():
    rng = np.random.default_rng(1)

    def matrix(rows, columns):
        made = sp.random_array((rows, columns), density=0.3, rng=rng, format="csr")
        made.data[:] = rng.standard_normal(len(made.data)) * 10.0 ** rng.integers(-9, 9, made.nnz)
        return made

    return {
        "A": matrix(45, 30),
        "B": matrix(30, 37),
        "S": matrix(45, 37),
        "x": rng.standard_normal(30),
        "R": rng.standard_normal((45, 8)),
        "E": rng.standard_normal((37, 8)),
    }


PROGRAMS = {
    "y(i) = A(i,j) * x(j)": "Ax",
    "C(i,j) = S(i,j) * R(i,k) * E(j,k)": "SRE",
    "C(i,k) = A(i,j) * B(j,k)": "AB",
    "s(j) = A(i,j)": "A",
    "s = A(i,j)": "A",
    "y(i) = A(i,j) * x(j) + i": "Ax",
}


def same(one, other):
    if sp.issparse(other):
        one.sort_indices(), other.sort_indices()
        same(one.data, other.data), same(one.indices, other.indices), same(one.indptr, other.indptr)
        return
    one, other = np.asarray(one), np.asarray(other)
    assert one.dtype == other.dtype and one.tobytes() == other.tobytes()


def program():
    """What each rank does."""
    from mpi4py import MPI

    import tamis.mpi

    comm, all_operands = MPI.COMM_WORLD, operands()
    for text, names in PROGRAMS.items():
        given = {name: all_operands[name] for name in names}
        for _ in range(2):
            made = tamis.mpi.run(text, comm=comm, **given)
            assert type(made) is type(tamis.evaluate(text, **given))
            same(made, tamis.evaluate(text, **given))
    half = comm.Split(comm.rank % 2, comm.rank)
    text = "y(i) = A(i,j) * x(j)"
    given = {"A": all_operands["A"], "x": all_operands["x"]}
    same(tamis.mpi.run(text, comm=half, **given), tamis.evaluate(text, **given))
    placed = {"A": "csr @ rows(x)", "x": "dense @ replicated"}
    schedule, grid = "distribute(i, io, ii, x)", f"x={comm.size}"
    made = tamis.mpi.run(text, comm=comm, format=placed, schedule=schedule, grid=grid, **given)
    same(made, tamis.evaluate(text, schedule=schedule, **given))
    for more in [{"grid": "x=1"}, {"format": {"A": "csr @ cols(x)"}}, {"format": {"A": "csr @ nz"}}]:
        try:
            tamis.mpi.run(text, comm=comm, **more, **given)
        except tamis.TamisValueError:
            continue
        raise AssertionError(f"{more} is not refused")
    wrong = {
        "x is read by rank 1 alone": {**given, "x": None if comm.rank == 1 else given["x"]},
        "x is short on rank 2": {**given, "x": given["x"][: 30 - comm.rank // 2]},
    }
    for reason, others in wrong.items():
        try:
            tamis.mpi.run(text, comm=comm, **others)
        except tamis.TamisError:
            continue
        raise AssertionError(reason)
    try:
        tamis.mpi.run("y(i) = A(i,j) * x(j)" + ("" if comm.rank else " + 1"), comm=comm, **given)
    except tamis.TamisValueError as error:
        assert "ranks do not agree on the program" in str(error)
    else:
        raise AssertionError("ranks that differ are not refused")
    try:
        tamis.mpi.run("y(i) = A(i,j) *" if comm.rank == 2 else text, comm=comm, **given)
    except tamis.TamisValueError:
        pass
    else:
        raise AssertionError("a program that rank 2 cannot read is not refused")
    same(tamis.mpi.run(text, **given), tamis.evaluate(text, **given))
    print(f"rank {comm.rank} is done", flush=True)


@pytest.mark.skipif(not MPIEXEC.exists(), reason="there is no MPI in this environment")
def test_results_have_the_bits_of_one_process():
    pytest.importorskip("mpi4py")
    version = subprocess.run([MPIEXEC, "--version"], capture_output=True, text=True, timeout=LIMIT)
    is_open = "open" in version.stdout.lower()
    flags = ["--oversubscribe"] if is_open else []
    # Machines that run tests may have only this user.
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = [MPIEXEC, *flags, "-n", str(RANKS), sys.executable, __file__]
    job = subprocess.run(
        command, env={**os.environ, **root}, capture_output=True, text=True, timeout=LIMIT
    )
    assert job.returncode == 0, job.stderr
    assert all(f"rank {rank} is done" in job.stdout for rank in range(RANKS))


def test_communicators_are_of_mpi4py():
    import tamis.mpi

    with pytest.raises(tamis.TamisTypeError, match="a str is no communicator"):
        tamis.mpi.run("y(i) = x(i)", comm="world", x=np.ones(3))


if __name__ == "__main__":
    program()
