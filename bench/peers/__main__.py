"""A Python peer: one operation at a time with one library (`scipy`, `mkl`, `sparse_dot_mkl`, `graphblas`), driven
over standard input and output.

Commands, one a line; each is answered by one line that starts with `ok`, `none` (the library has no such
operation) or `error`:

    version                     ok 1.17.1
    prepare OPERATION DIRECTORY reads the operands from raw little-endian files (see operands.py)
    run wall|processor          computes once into a fresh result: ok SECONDS
    save DIRECTORY              writes the last result: vals.f64 and, for sparse ones, pos.i32 and crd.i32
    rest                        forgets the last result
    release                     forgets everything prepared

A library is a module with `version()` and `prepare(operation, operands)`, which gives a function that computes
once, or None. Results are tuples of arrays, matrices of SciPy's in any storage, or have a method `arrays`.
"""

import importlib
import os
import sys
import time

import numpy as np
import scipy.sparse as sparse

from operands import Operands


def canonical(matrix):
    """The arrays of a matrix in any storage as CSR, without zeros."""
    matrix = sparse.csr_array(matrix)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix.indptr, matrix.indices, matrix.data


def arrays(result):
    if hasattr(result, "arrays"):
        return result.arrays()
    return canonical(result[0]) if sparse.issparse(result[0]) else result


class Session:
    """The state between commands."""

    def __init__(self, library):
        self.library = library
        self.step = None
        self.result = None

    def answer(self, command, *arguments):
        return getattr(self, f"do_{command}")(*arguments)

    def do_version(self):
        return f"ok {self.module().version()}"

    def do_prepare(self, operation, directory):
        self.step = self.module().prepare(operation, Operands(directory))
        return "none" if self.step is None else "ok"

    def do_run(self, clock):
        now = time.thread_time if clock == "processor" else time.perf_counter
        self.result = None
        start = now()
        self.result = self.step()
        return f"ok {now() - start:.9f}"

    def do_save(self, directory):
        result = arrays(self.result)
        if len(result) == 3:
            result[0].astype(np.int32).tofile(os.path.join(directory, "pos.i32"))
            result[1].astype(np.int32).tofile(os.path.join(directory, "crd.i32"))
        result[-1].tofile(os.path.join(directory, "vals.f64"))
        return "ok"

    def do_rest(self):
        self.result = None
        return "ok"

    def do_release(self):
        self.step = self.result = None
        return "ok"

    def module(self):
        return importlib.import_module(f"with_{self.library}")


def settle_thresholds():
    """One large block freed, so that glibc's idea of a large block no longer moves: see src/pages.rs."""
    np.ones((32 << 20) - (64 << 10), dtype=np.uint8)


def main():
    settle_thresholds()
    session = Session(sys.argv[1])
    for line in sys.stdin:
        try:
            reply = session.answer(*line.rstrip("\n").split(" ", 2))
        except Exception as error:  # whatever a library raises is the other side's to report
            reply = f"error {type(error).__name__}: {error}".replace("\n", " ")
        print(reply, flush=True)


if __name__ == "__main__":
    main()
