"""Tensors of three and four axes: factorisations, knowledge graphs, integrals of quantum chemistry.

SciPy has tensors as lists of coordinates, without products of them: it gets the matrix of the entries by their
first coordinate, made before.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import tamis
from program import program


def facts(data, rank=16):
    """A tensor, factors, and for SciPy a matrix that adds up entries by the first coordinate."""
    T = data.facts
    B, C = data.random(T.shape[1], rank), data.random(T.shape[2], rank, seed=1)
    return dict(T=T, B=B, C=C, first=gathering(T))


def gathering(T):
    """The matrix that takes a number for each entry to sums by the first coordinate, with values."""
    i = T.coords[0]
    return sp.csr_array((T.data, (i, np.arange(len(i)))), shape=(T.shape[0], len(i)))


@program
class mttkrp:
    """A tensor times the Khatri-Rao product of two factors."""

    def inputs(data):
        return facts(data)

    def tamis(T, B, C, first):
        return tamis.evaluate("A(i,r) = T(i,j,k) * B(j,r) * C(k,r)", T=T, B=B, C=C, format="dense")

    def scipy(T, B, C, first):
        _, j, k = T.coords
        return first @ (B[j] * C[k])


@program
class cp_als:
    """A factor of CP by alternating least squares."""

    def inputs(data):
        return facts(data)

    def tamis(T, B, C, first):
        A = tamis.evaluate("A(i,r) = T(i,j,k) * B(j,r) * C(k,r)", T=T, B=B, C=C, format="dense")
        gram = tamis.evaluate("G(r,s) = sum(j, B(j,r) * B(j,s)) * sum(k, C(k,r) * C(k,s))", B=B, C=C)
        return A @ np.linalg.pinv(gram)

    def scipy(T, B, C, first):
        _, j, k = T.coords
        return (first @ (B[j] * C[k])) @ np.linalg.pinv((B.T @ B) * (C.T @ C))


@program
class cp_residual:
    """The squared error of a factorisation at the entries of a tensor."""

    def inputs(data):
        made = facts(data)
        return dict(T=made["T"], A=data.random(made["T"].shape[0], 16), B=made["B"], C=made["C"])

    def tamis(T, A, B, C):
        return tamis.evaluate(
            "M(i,j,k) = T(i,j,k) - (T(i,j,k) != 0) * A(i,r) * B(j,r) * C(k,r);"
            "e = M(i,j,k) * M(i,j,k)",
            T=T, A=A, B=B, C=C,
        )  # fmt: skip

    def scipy(T, A, B, C):
        i, j, k = T.coords
        apart = T.data - np.einsum("pr,pr,pr->p", A[i], B[j], C[k])
        return apart @ apart


@program
class distmult:
    """Scores of facts of a knowledge graph: products of three vectors each."""

    def inputs(data):
        return cp_residual.inputs(data)

    def tamis(T, A, B, C):
        return tamis.evaluate("S(i,j,k) = T(i,j,k) * A(i,r) * B(j,r) * C(k,r)", T=T, A=A, B=B, C=C)

    def scipy(T, A, B, C):
        i, j, k = T.coords
        return sp.coo_array((T.data * np.einsum("pr,pr,pr->p", A[i], B[j], C[k]), T.coords), T.shape)


@program
class tucker:
    """A tensor times two factors, for a step of Tucker's decomposition."""

    def inputs(data):
        return facts(data, 8)

    def tamis(T, B, C, first):
        return tamis.evaluate("Y(i,b,c) = T(i,j,k) * B(j,b) * C(k,c)", T=T, B=B, C=C, format="dense")

    def scipy(T, B, C, first):
        _, j, k = T.coords
        pairs = (B[j][:, :, None] * C[k][:, None, :]).reshape(len(j), -1)
        return (first @ pairs).reshape(T.shape[0], B.shape[1], C.shape[1])


@program
class tensor_vector:
    """A tensor times a vector along its last axis."""

    def inputs(data):
        return dict(T=data.facts, v=data.random(data.facts.shape[2]))

    def tamis(T, v):
        return tamis.evaluate("Y(i,j) = T(i,j,k) * v(k)", T=T, v=v, format="csr")

    def scipy(T, v):
        i, j, k = T.coords
        return sp.coo_array((T.data * v[k], (i, j)), shape=T.shape[:2]).tocsr()


@program
class tensor_marginal:
    """The sums of a tensor along its middle axis."""

    def inputs(data):
        return dict(T=data.facts)

    def tamis(T):
        return tamis.evaluate("M(i,k) = T(i,j,k)", T=T, format="csr")

    def scipy(T):
        i, _, k = T.coords
        return sp.coo_array((T.data, (i, k)), shape=(T.shape[0], T.shape[2])).tocsr()


@program
class relation_similarity:
    """Which share of their facts two relations have in common, by products of their slices."""

    def inputs(data):
        return dict(T=data.facts)

    def tamis(T):
        return tamis.evaluate("S(j,l) = T(i,j,k) * T(i,l,k)", T=T, format="dense")

    def scipy(T):
        i, j, k = T.coords
        _, pair = np.unique(i * np.int64(T.shape[2]) + k, return_inverse=True)
        slices = sp.csr_array((T.data, (j, pair)), shape=(T.shape[1], pair.max() + 1))
        return (slices @ slices.T).toarray()


@program
class coulomb:
    """The Coulomb matrix of sparse integrals of two electrons."""

    def inputs(data):
        n = max(data.size(50), 8)
        E = sp.random_array((n, n, n, n), density=0.05, format="coo", rng=np.random.default_rng(6))
        return dict(E=E, D=data.random(n, n), unfolded=sp.csr_array(E.reshape(n * n, n * n)))

    def tamis(E, D, unfolded):
        return tamis.evaluate("J(i,j) = E(i,j,k,l) * D(k,l)", E=E, D=D, format="dense")

    def scipy(E, D, unfolded):
        return (unfolded @ D.ravel()).reshape(D.shape)


@program
class exchange:
    """The exchange matrix of the same integrals, with other axes."""

    def inputs(data):
        made = coulomb.inputs(data)
        n = len(made["D"])
        i, j, k, l = made["E"].coords
        unfolded = sp.csr_array((made["E"].data, (i * n + k, j * n + l)), shape=(n * n, n * n))
        return dict(E=made["E"], D=made["D"], unfolded=unfolded)

    def tamis(E, D, unfolded):
        return tamis.evaluate("K(i,k) = E(i,j,k,l) * D(j,l)", E=E, D=D, format="dense")

    def scipy(E, D, unfolded):
        return (unfolded @ D.ravel()).reshape(D.shape)
