"""SciPy. What it lacks as one call is composed from the calls it has, as its users do: a 3-tensor is unfolded
into a CSR matrix whose rows are its fibers, and SDDMM gathers rows in chunks that fit in cache."""

import functools
import operator

import numpy as np
import scipy
import scipy.sparse as sparse

from operands import csr


def version():
    return scipy.__version__


def sparse_result(matrix):
    return matrix.indptr, matrix.indices, matrix.data


def canonical(matrix):
    """The arrays of a matrix in any storage as CSR, without zeros."""
    matrix = sparse.csr_array(matrix)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return sparse_result(matrix)


STORAGES = {
    "csr": lambda a: a.tocsr(),
    "csc": lambda a: a.tocsc(),
    "coo": lambda a: a.tocoo(),
    "dia": lambda a: a.todia(),
    "bcsr": lambda a: a.tobsr((3, 3)),
}


def prepare_storage(operation, operands):
    """The same for matrices in other storage than CSR; results are made canonical when saved."""
    first, _, second = operation.partition("-")
    if first.startswith("spmm"):
        a, x = STORAGES[second](operands.csr("a")), operands.dense("x")
        return lambda: (a @ x,)
    if first == "spmv":
        a, x = STORAGES[second](operands.csr("a")), operands.dense("x").ravel()
        return lambda: (a @ x,)
    if first == "spadd":
        a, b = (STORAGES[second](operands.csr(name)) for name in "ab")
        return lambda: (a + b,)
    a, convert = STORAGES[first](operands.csr("a")), STORAGES[second]
    return lambda: (convert(a),)


def prepare(operation, operands):
    """A function that computes once and returns what `save` writes, or None when there is none."""
    if operation.startswith("spgemm"):
        return product(operation, operands)
    if operation.startswith("mttkrp") and "sparse" in operation:
        return sparse_mttkrp(operands)
    if operation.startswith("fused"):
        return None
    if "-" in operation:
        return prepare_storage(operation, operands)
    if operation in ("plus", "innerprod"):
        return of_tensors(operation, operands)
    if operation == "residual":
        a, x, b = operands.csr("a"), operands.dense("x").ravel(), operands.dense("b").ravel()
        return lambda: (b - a @ x,)
    if operation == "spmv":
        a, x = operands.csr("a"), operands.dense("x").ravel()
        return lambda: (a @ x,)
    if operation.startswith("spmm"):
        a, x = operands.csr("a"), operands.dense("x")
        return lambda: (a @ x,)
    if operation == "spadd":
        a, b = operands.csr("a"), operands.csr("b")
        return lambda: sparse_result(a + b)
    if operation.startswith("spadd"):
        terms = operands.terms()
        return lambda: sparse_result(functools.reduce(operator.add, terms))
    if operation == "hadamard":
        a, b = operands.csr("a"), operands.csr("b")
        return lambda: sparse_result(a.multiply(b))
    if operation == "ttv":
        (b, pos1, crd1), c = operands.tensor("b"), operands.dense("c").ravel()
        return lambda: (pos1.copy(), crd1.copy(), b @ c)
    if operation.startswith("ttm"):
        (b, pos1, crd1), c = operands.tensor("b"), operands.dense("c")
        return lambda: (pos1.copy(), crd1.copy(), b @ c)
    if operation.startswith("mttkrp"):
        return mttkrp(operands)
    if operation.startswith("sddmm"):
        return sddmm(operands)
    return None


def mttkrp(operands):
    (b, pos1, crd1), c, d = operands.tensor("b"), operands.dense("c"), operands.dense("d")
    fibers = np.arange(len(crd1), dtype=np.int32)
    sums = csr(np.ones(len(crd1)), fibers, pos1, (len(pos1) - 1, len(crd1)))

    def run():
        product = b @ d
        product *= c[crd1]
        return (sums @ product,)

    return run


class Rows:
    """A sum of tensors with a row for each first coordinate; an entry has the pair of the others."""

    def __init__(self, matrix, last):
        self.matrix, self.last = matrix, last

    def arrays(self):
        pos, crd, vals = sparse_result(self.matrix)
        pairs = np.column_stack(np.divmod(crd, self.last)).ravel()
        return pos, pairs, vals


def of_tensors(operation, operands):
    (b, last), (c, _) = (operands.rows(name) for name in "bc")
    if operation == "plus":
        return lambda: Rows(b + c, last)
    return lambda: (np.array([b.multiply(c).sum()]),)


def sparse_mttkrp(operands):
    (b, pos1, crd1), c, d = operands.tensor("b"), operands.csr("c"), operands.csr("d")
    fibers = np.arange(len(crd1), dtype=np.int32)
    sums = csr(np.ones(len(crd1)), fibers, pos1, (len(pos1) - 1, len(crd1)))

    def run():
        result = sparse.csr_array(sums @ (b @ d).multiply(c[crd1]))
        result.sort_indices()
        return sparse_result(result)

    return run


def product(operation, operands):
    a, b = operands.csr("a"), operands.csr("b")

    def run():
        result = a @ b
        if "unsorted" not in operation:
            result.sort_indices()
        return sparse_result(result)

    return run


def sddmm(operands):
    b, c, d = operands.csr("b"), operands.dense("c"), operands.dense("d")
    rows = np.repeat(np.arange(b.shape[0], dtype=np.int32), np.diff(b.indptr))
    chunk = 4096

    def run():
        vals = np.empty_like(b.data)
        for start in range(0, len(vals), chunk):
            part = slice(start, start + chunk)
            np.einsum("nk,nk->n", c[rows[part]], d[b.indices[part]], out=vals[part])
        vals *= b.data
        return b.indptr.copy(), b.indices.copy(), vals

    return run
