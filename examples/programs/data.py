"""The data of the programs: of files where they are given, otherwise synthetic and the same every time.

``web``   links between pages, a square csr matrix of ones
``mesh``  a symmetric square csr matrix of ones: neighbours on a mesh, without loops
``text``  documents by words, csr, of counts
``facts`` a tensor of three axes, coo
``grid``  a complex square csr matrix: admittances of a power grid
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
import tamis


class Data:
    """Matrices and tensors, each made or read when it is used first."""

    def __init__(self, scale: float = 1.0, **files: str | None) -> None:
        self.scale = scale
        self.files = {name: file for name, file in files.items() if file}

    def size(self, number: int) -> int:
        """A number of rows, scaled, and at least enough for every program."""
        return max(int(number * self.scale), 40)

    def random(self, *shape: int, seed: int = 0) -> Any:
        """Numbers between 0.1 and 1.1, which no program divides by 0 or takes the logarithm of 0 with."""
        return np.random.default_rng([seed, *shape]).random(shape) + 0.1

    @cached_property
    def web(self) -> Any:
        if "web" in self.files:
            return ones(read(self.files["web"]))
        n = self.size(100_000)
        rng = np.random.default_rng(1)
        source = rng.permutation(n)[(rng.pareto(1.5, 8 * n) * n / 50).astype(np.int64) % n]
        target = (rng.pareto(1.1, 8 * n) * n / 500).astype(np.int64) % n
        return ones(sp.coo_array((np.ones(8 * n), (source, target)), shape=(n, n)))

    @cached_property
    def mesh(self) -> Any:
        if "mesh" in self.files:
            found = sp.csr_array(read(self.files["mesh"]))
            return without_loops(ones(found + found.T))
        n = int(self.size(60_000) ** 0.5)
        line = sp.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(n, n))
        near = sp.kronsum(line, line) + sp.kron(line, line)
        order = np.random.default_rng(2).permutation(n * n)
        # Neighbours are near in memory, as meshes are stored, but not in rows.
        order = np.lexsort((order, np.arange(n * n) // 64))
        return without_loops(ones(sp.csr_array(near)[order][:, order]))

    @cached_property
    def text(self) -> Any:
        if "text" in self.files:
            found = read(self.files["text"])
            return ordered(sp.csr_array(found.sum(axis=1) if found.ndim == 3 else found))
        documents, words = self.size(20_000), self.size(30_000)
        rng = np.random.default_rng(3)
        length = rng.integers(20, 100, documents)
        document = np.repeat(np.arange(documents), length)
        word = rng.zipf(1.3, len(document)) % words
        return ordered(sp.coo_array((np.ones(len(word)), (document, word)), shape=(documents, words)))

    @cached_property
    def facts(self) -> Any:
        if "facts" in self.files:
            return read(self.files["facts"])
        shape = (self.size(20_000), self.size(60), self.size(20_000))
        rng = np.random.default_rng(4)
        count = self.size(300_000)
        first, second = rng.integers(0, shape[0], count), rng.zipf(1.5, count) % shape[1]
        third = (first + (rng.pareto(1.0, count) * 10).astype(np.int64)) % shape[2]
        coords = np.unique(np.stack([first, second, third]), axis=1)
        return sp.coo_array((rng.random(coords.shape[1]) + 0.1, tuple(coords)), shape=shape)

    @cached_property
    def grid(self) -> Any:
        if "grid" in self.files:
            return ordered(read(self.files["grid"]))
        n = self.size(14_000)
        line = sp.csr_array(sp.random_array((n, n), density=1.5 / n, rng=np.random.default_rng(5)))
        line = line.astype(complex) * (1 - 3j)
        joined = -(line + line.T)
        return ordered(joined + sp.diags_array(-joined.sum(axis=1) + 0.01j))


def read(file: str) -> Any:
    """A matrix, or a tensor, of a file."""
    if file.partition(".gz")[0].endswith(".mtx"):
        return sp.csr_array(scipy.io.mmread(file))
    found = tamis.read(file)
    coords, values = found.entries()
    return sp.coo_array((values.astype(float), tuple(coords)), shape=found.shape)


def ordered(matrix: Any) -> Any:
    """csr with ascending columns, each once."""
    made = sp.csr_array(matrix)
    made.sum_duplicates()
    return made


def ones(matrix: Any) -> Any:
    """Ones in place of the values."""
    made = ordered(matrix)
    return sp.csr_array((np.ones(made.nnz), made.indices, made.indptr), shape=made.shape)


def without_loops(matrix: Any) -> Any:
    """The matrix without its diagonal."""
    return ordered(sp.tril(matrix, -1) + sp.triu(matrix, 1))


def stochastic(matrix: Any, seed: int = 0) -> Any:
    """Random values at the entries of a matrix."""
    values = np.random.default_rng(seed).random(matrix.nnz) + 0.1
    return sp.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
