"""The operands of a problem, from raw little-endian files."""

import os

import numpy as np
import scipy.sparse as sparse


def aligned(path):
    """The numbers of a file, on a cache line as the other contenders have them."""
    count = os.path.getsize(path) // 8
    room = np.empty(count + 8)
    start = (-room.ctypes.data % 64) // 8
    numbers = room[start : start + count]
    with open(path, "rb") as file:
        file.readinto(memoryview(numbers).cast("B"))
    return numbers


class Operands:
    """NAME.pos.i32, NAME.crd.i32, NAME.vals.f64 (pos1 ... crd2 for tensors) and NAME.shape.i64."""

    def __init__(self, directory):
        self.directory = directory

    def array(self, name, kind):
        path = os.path.join(self.directory, f"{name}.{kind}")
        types = {"i32": np.int32, "i64": np.int64}
        return aligned(path) if kind == "f64" else np.fromfile(path, types[kind])

    def shape(self, name):
        return tuple(int(n) for n in self.array(f"{name}.shape", "i64"))

    def csr(self, name):
        pos, crd = self.array(f"{name}.pos", "i32"), self.array(f"{name}.crd", "i32")
        return csr(self.array(f"{name}.vals", "f64"), crd, pos, self.shape(name))

    def terms(self):
        """The matrices of a sum: term0, term1, ..."""
        terms = []
        while os.path.exists(os.path.join(self.directory, f"term{len(terms)}.shape.i64")):
            terms.append(self.csr(f"term{len(terms)}"))
        return terms

    def dense(self, name):
        return self.array(f"{name}.vals", "f64").reshape(self.shape(name))

    def tensor(self, name):
        """The unfolded tensor and the (pos1, crd1) of its fibers."""
        pos1, crd1, pos2, crd2 = (
            self.array(f"{name}.{part}", "i32") for part in ("pos1", "crd1", "pos2", "crd2")
        )
        last = self.shape(name)[2]
        return csr(self.array(f"{name}.vals", "f64"), crd2, pos2, (len(crd1), last)), pos1, crd1

    def rows(self, name):
        """The tensor as a matrix with a row for each first coordinate, and the last dimension."""
        pos1, crd1, pos2, crd2 = (
            self.array(f"{name}.{part}", "i32") for part in ("pos1", "crd1", "pos2", "crd2")
        )
        first, middle, last = self.shape(name)
        crd = np.repeat(crd1.astype(np.int64), np.diff(pos2)) * last + crd2
        shape = (first, middle * last)
        pos = pos2[pos1].astype(np.int64)
        return csr(self.array(f"{name}.vals", "f64"), crd, pos, shape), last


def csr(vals, crd, pos, shape):
    matrix = sparse.csr_array((vals, crd, pos), shape=shape)
    matrix.has_canonical_format = True
    return matrix
