"""SuiteSparse:GraphBLAS through python-graphblas. Results are exported as CSR, which gives their arrays away
without a copy, and sorts them where they have to be."""

import functools
import os

import graphblas as gb
import numpy as np

gb.init("suitesparse", blocking=True)
gb.ss.config["nthreads"] = int(os.environ.get("OMP_NUM_THREADS", "1"))


def version():
    return ".".join(map(str, gb.ss.about["library_version"]))


def matrix(a):
    parts = {"indptr": a.indptr.astype(np.uint64), "col_indices": a.indices.astype(np.uint64)}
    rows, cols = a.shape
    return gb.Matrix.ss.import_csr(
        nrows=rows, ncols=cols, values=a.data, sorted_cols=True, **parts
    )


def exported(result, ordered):
    parts = result.ss.export("csr", sort=ordered, give_ownership=True)
    return parts["indptr"], parts["col_indices"], parts["values"]


def prepare(operation, operands):
    if operation.startswith("spgemm"):
        a, b = matrix(operands.csr("a")), matrix(operands.csr("b"))
        ordered = "unsorted" not in operation
        return lambda: exported(a.mxm(b, gb.semiring.plus_times).new(), ordered)
    if operation.startswith("spadd") and "-" not in operation:
        terms = [matrix(a) for a in operands.terms() or (operands.csr("a"), operands.csr("b"))]
        add = lambda a, b: a.ewise_add(b, gb.binary.plus).new()
        return lambda: exported(functools.reduce(add, terms), True)
    return None
