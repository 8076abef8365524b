"""sparse_dot_mkl, which hands SciPy's matrices to MKL and copies the result back."""

import importlib.metadata
import os

from with_mkl import library

os.environ.setdefault("MKL_RT", library())

from sparse_dot_mkl import dot_product_mkl  # noqa: E402 - it looks for MKL when it is imported


def version():
    return importlib.metadata.version("sparse_dot_mkl")


def prepare(operation, operands):
    if not operation.startswith("spgemm"):
        return None
    a, b = operands.csr("a"), operands.csr("b")
    ordered = "unsorted" not in operation

    def run():
        result = dot_product_mkl(a, b, reorder_output=ordered)
        return result.indptr, result.indices, result.data

    return run
