"""Computes with arrays of SciPy's while another process writes garbage into their positions and
coordinates: ``python racing.py SECONDS`` ends with how often that was computed, and refused."""

import mmap
import os
import signal
import sys
import time

import numpy as np
import scipy.sparse as sp
import tamis

N = 200
RNG = np.random.default_rng(0)


def shared(array):
    """A copy in memory that another process can write."""
    made = np.frombuffer(mmap.mmap(-1, max(array.nbytes, 1)), array.dtype, array.size)
    made[:] = array.reshape(-1)
    return made.reshape(array.shape)


def parts(matrix):
    names = {"coo": ["row", "col"], "dia": ["offsets"]}
    return names.get(matrix.format, ["indices", "indptr"])


def matrices():
    """A matrix in each form, its arrays in memory that another process writes."""
    dense = sp.random_array((N, N), density=0.05, rng=RNG, format="csr")
    found = {f: dense.asformat(f) for f in ("csr", "csc", "coo", "bsr")}
    found["dia"] = sp.dia_array((np.ones((3, N)), [-1, 0, 4]), shape=(N, N))
    found["loose"] = dense.copy()
    found["loose"].indices = dense.indices[::-1].copy()
    for matrix in found.values():
        if matrix.format == "coo":
            matrix.coords = tuple(shared(c) for c in matrix.coords)
            continue
        for name in parts(matrix):
            setattr(matrix, name, shared(getattr(matrix, name)))
        matrix.data = shared(matrix.data)
    return found


def write(found):
    """Writes garbage, and the right numbers, as long as the reader lives."""
    reader = os.getppid()
    arrays = [getattr(m, name) for m in found.values() for name in parts(m)]
    targets = [(array, array.copy()) for array in arrays]
    garbage = [2**31 - 1, -(2**31), -1, N, 2**28]
    while os.getppid() == reader:
        for array, _ in targets:
            array[RNG.integers(len(array), size=2)] = RNG.choice(garbage, 2)
        for array, whole in targets * 3:
            array[:] = whole


x, X = np.ones(N), np.ones((N, 4))
USES = [
    lambda A, T: tamis.einsum("ij,j->i", A, x),
    lambda A, T: tamis.einsum("ij,jk->ik", A, X),
    lambda A, T: tamis.einsum("ij,kj->ik", A, A),
    lambda A, T: tamis.evaluate("B(i,j) = A(i,j) + A(j,i)", A=A, format="csr"),
    lambda A, T: T @ x,
    lambda A, T: T @ T,
    lambda A, T: T + T.T,
    lambda A, T: np.exp(T) * 2,
    lambda A, T: T.sum(axis=0),
    lambda A, T: T.max(axis=1),
    lambda A, T: T.to_numpy(),
    lambda A, T: T[3:50, ::2],
    lambda A, T: (T[[5, 3]], T[5, 7]),
    lambda A, T: T.asformat("dcsr"),
    lambda A, T: T.reshape(-1),
    lambda A, T: np.where(T > 0, T, 0),
    lambda A, T: np.concatenate([T, T], axis=1),
    lambda A, T: (tamis.asarray(A), tamis.asarray(A, copy=True), T.copy()),
    lambda A, T: tamis.compute(tamis.lazy(T) * T + T),
]


def main(seconds):
    found = matrices()
    kept = {form: tamis.asarray(matrix) for form, matrix in found.items()}
    writer = os.fork()
    if not writer:
        write(found)
    done = refused = 0
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            for form, matrix in found.items():
                for use in USES:
                    try:
                        use(matrix, kept[form])
                        done += 1
                    except tamis.TamisRuntimeError:
                        raise
                    except tamis.TamisError:
                        refused += 1
    finally:
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
    print(done, refused)


if __name__ == "__main__":
    main(float(sys.argv[1]))
