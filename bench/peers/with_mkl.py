"""MKL itself, by its inspector-executor interface: products with dense vectors and matrices (inspected before,
outside the clock; a matrix in COO or blocks, too), sparse products (ordered afterwards where they have to be) and sums two at a time."""

import ctypes
import functools
import glob
import importlib.metadata
import os
import sys

import numpy as np


def library():
    """The path of MKL's single library in this virtual environment."""
    found = sorted(glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so*")))
    if not found:
        raise ImportError("no libmkl_rt.so in the virtual environment")
    return found[-1]


MKL = ctypes.CDLL(library())
NON_TRANSPOSE = 10
ROW_MAJOR = 101
CALLS = 1000


def version():
    return importlib.metadata.version("mkl")


def call(function, *arguments):
    status = getattr(MKL, function)(*arguments)
    if status != 0:
        raise RuntimeError(f"{function}: status {status}")


class Matrix:
    """A handle, with the arrays that it borrows."""

    def __init__(self, borrowed=()):
        self.handle = ctypes.c_void_p()
        self.borrowed = borrowed

    def __del__(self):
        if self.handle:
            MKL.mkl_sparse_destroy(self.handle)

    def arrays(self):
        """Copies of the positions, coordinates and values."""
        base, rows, cols = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        first, last, crd = (ctypes.POINTER(ctypes.c_int)() for _ in range(3))
        vals = ctypes.POINTER(ctypes.c_double)()
        parts = (base, rows, cols, first, last, crd, vals)
        call("mkl_sparse_d_export_csr", self.handle, *map(ctypes.byref, parts))
        begin = np.ctypeslib.as_array(first, (rows.value,))
        end = np.ctypeslib.as_array(last, (rows.value,))
        pos = np.append(begin, end[-1:])
        nnz = int(pos[-1])
        if nnz == 0:
            return pos, np.zeros(0, np.int32), np.zeros(0)
        as_array = np.ctypeslib.as_array
        return pos, as_array(crd, (nnz,)).copy(), as_array(vals, (nnz,)).copy()


def matrix(a):
    pointer = lambda array: array.ctypes.data_as(ctypes.c_void_p)
    result = Matrix((a.indptr, a.indices, a.data))
    rows, cols = map(ctypes.c_int, a.shape)
    pos, crd, vals = map(pointer, result.borrowed)
    end = ctypes.c_void_p(pos.value + 4)
    call("mkl_sparse_d_create_csr", ctypes.byref(result.handle), 0, rows, cols, pos, end, crd, vals)
    return result


def coordinates(a):
    """A matrix in COO."""
    a = a.tocoo()
    pointer = lambda array: array.ctypes.data_as(ctypes.c_void_p)
    result = Matrix((a.row.astype(np.int32), a.col.astype(np.int32), a.data))
    rows, cols, nnz = map(ctypes.c_int, (*a.shape, a.nnz))
    parts = map(pointer, result.borrowed)
    call("mkl_sparse_d_create_coo", ctypes.byref(result.handle), 0, rows, cols, nnz, *parts)
    return result


def blocks(a):
    """A matrix in BSR with blocks of 3 x 3."""
    a = a.tobsr((3, 3))
    pointer = lambda array: array.ctypes.data_as(ctypes.c_void_p)
    result = Matrix((a.indptr, a.indices, a.data))
    rows, cols, side = map(ctypes.c_int, (a.shape[0] // 3, a.shape[1] // 3, 3))
    pos, crd, vals = map(pointer, result.borrowed)
    ends = ctypes.c_void_p(pos.value + 4)
    parts = (0, ROW_MAJOR, rows, cols, side, pos, ends, crd, vals)
    call("mkl_sparse_d_create_bsr", ctypes.byref(result.handle), *parts)
    return result


STORAGES = {"coo": coordinates, "bcsr": blocks}


def residual(operands):
    a, x, b = matrix(operands.csr("a")), operands.dense("x"), operands.dense("b").ravel()
    general, one, minus = Description(20, 0, 0), ctypes.c_double(1.0), ctypes.c_double(-1.0)
    address = lambda array: ctypes.c_void_p(array.ctypes.data)
    call("mkl_sparse_set_mv_hint", a.handle, NON_TRANSPOSE, general, CALLS)
    call("mkl_sparse_optimize", a.handle)

    def run():
        y = b.copy()
        ends = (address(x), one, address(y))
        call("mkl_sparse_d_mv", NON_TRANSPOSE, minus, a.handle, general, *ends)
        return (y,)

    return run


def add(a, b):
    result = Matrix()
    one = ctypes.c_double(1.0)
    call("mkl_sparse_d_add", NON_TRANSPOSE, a.handle, one, b.handle, ctypes.byref(result.handle))
    return result


class Description(ctypes.Structure):
    """What MKL wants to know of a matrix: that it is a general one."""

    _fields_ = [("type", ctypes.c_int), ("mode", ctypes.c_int), ("diag", ctypes.c_int)]


def product_with_dense(operation, operands):
    operation, _, storage = operation.partition("-")
    store = STORAGES.get(storage, matrix)
    a, x = store(operands.csr("a")), operands.dense("x")
    general, one, zero = Description(20, 0, 0), ctypes.c_double(1.0), ctypes.c_double(0.0)
    columns = x.shape[1]
    if operation == "spmv":
        hint = ("mkl_sparse_set_mv_hint", NON_TRANSPOSE, general, CALLS)
    else:
        hint = ("mkl_sparse_set_mm_hint", NON_TRANSPOSE, general, ROW_MAJOR, columns, CALLS)
    call(hint[0], a.handle, *hint[1:])
    call("mkl_sparse_optimize", a.handle)
    rows = operands.shape("a")[0]
    address = lambda array: ctypes.c_void_p(array.ctypes.data)

    def by_vector():
        y = np.empty(rows)
        ends = (address(x), zero, address(y))
        call("mkl_sparse_d_mv", NON_TRANSPOSE, one, a.handle, general, *ends)
        return (y,)

    def by_matrix():
        y = np.empty((rows, columns))
        ends = (ROW_MAJOR, address(x), columns, columns, zero, address(y), columns)
        call("mkl_sparse_d_mm", NON_TRANSPOSE, one, a.handle, general, *ends)
        return (y,)

    return by_vector if operation == "spmv" else by_matrix


def prepare(operation, operands):
    if operation == "residual":
        return residual(operands)
    storage = operation.partition("-")[2]
    if operation.startswith(("spmv", "spmm")) and (not storage or storage in STORAGES):
        return product_with_dense(operation, operands)
    if operation.startswith("spgemm"):
        a, b = matrix(operands.csr("a")), matrix(operands.csr("b"))

        def run():
            result = Matrix()
            call("mkl_sparse_spmm", NON_TRANSPOSE, a.handle, b.handle, ctypes.byref(result.handle))
            if "unsorted" not in operation:
                call("mkl_sparse_order", result.handle)
            return result

        return run
    if operation.startswith("spadd") and "-" not in operation:
        terms = [matrix(a) for a in operands.terms() or (operands.csr("a"), operands.csr("b"))]
        return lambda: functools.reduce(add, terms)
    return None
