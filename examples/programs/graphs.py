"""Graphs: ranks, neighbours, triangles, paths."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import tamis
from data import stochastic
from program import like, program, repeated


def reduced(ufunc, values, A, empty):
    """The values of each row, combined; rows without any give ``empty``."""
    out = np.full(A.shape[0], empty)
    filled = np.diff(A.indptr) > 0
    if filled.any():
        out[filled] = ufunc.reduceat(values, A.indptr[:-1][filled])
    return out


@program
class pagerank:
    """A step of PageRank: follow links, damp, start anew."""

    def inputs(data):
        links = data.web
        return dict(
            links=links,
            rank=data.random(links.shape[0]),
            out=np.maximum(links.sum(axis=1), 1.0),
            n=float(links.shape[0]),
        )

    def tamis(links, rank, out, n):
        return tamis.evaluate(
            "new(j) = 0.85 * links(i,j) * rank(i) / out(i) + 0.15 / n",
            links=links, rank=rank, out=out, n=n,
        )  # fmt: skip

    def scipy(links, rank, out, n):
        return 0.85 * (links.T @ (rank / out)) + 0.15 / n


@program
class topic_pagerank:
    """A step of PageRank for sixteen topics at once, each with start pages of its own."""

    def inputs(data):
        links = data.web
        n = links.shape[0]
        return dict(
            links=links,
            rank=data.random(n, 16),
            out=np.maximum(links.sum(axis=1), 1.0),
            start=data.random(n, 16, seed=1),
        )

    def tamis(links, rank, out, start):
        return tamis.evaluate(
            "new(j,t) = 0.85 * links(i,j) * rank(i,t) / out(i) + 0.15 * start(j,t)",
            links=links, rank=rank, out=out, start=start,
        )  # fmt: skip

    def scipy(links, rank, out, start):
        return 0.85 * (links.T @ (rank / out[:, None])) + 0.15 * start


@program
class hits:
    """A step of HITS: authorities from hubs, then hubs from authorities."""

    def inputs(data):
        return dict(links=data.web, hub=data.random(data.web.shape[0]))

    def tamis(links, hub):
        return tamis.evaluate(
            "authority(j) = links(i,j) * hub(i); new(i) = links(i,j) * authority(j)",
            links=links, hub=hub,
        )  # fmt: skip

    def scipy(links, hub):
        return links @ (links.T @ hub)


@program
class normalised_adjacency:
    """Each edge divided by the roots of the degrees of its ends."""

    def inputs(data):
        return dict(A=data.mesh, degree=np.maximum(data.mesh.sum(axis=1), 1.0))

    def tamis(A, degree):
        return tamis.evaluate(
            "r(i) = 1 / sqrt(d(i)); N(i,j) = r(i) * A(i,j) * r(j)", A=A, d=degree
        )

    def scipy(A, degree):
        root = 1 / np.sqrt(degree)
        return like(A, A.data * repeated(A, root) * root[A.indices])


@program
class laplacian:
    """The Laplacian of a graph with weights: degrees on the diagonal, minus the edges."""

    def inputs(data):
        half = stochastic(data.mesh)
        return dict(A=half + half.T)

    def tamis(A):
        return tamis.evaluate("D(i,i) = A(i,j); L(i,j) = D(i,j) - A(i,j)", A=A)

    def scipy(A):
        return sp.diags_array(A.sum(axis=1), format="csr") - A


@program
class laplacian_product:
    """The normalised Laplacian times a vector, without the matrix."""

    def inputs(data):
        n = data.mesh.shape[0]
        return dict(A=data.mesh, degree=np.maximum(data.mesh.sum(axis=1), 1.0), x=data.random(n))

    def tamis(A, degree, x):
        return tamis.evaluate(
            "r(i) = 1 / sqrt(d(i)); y(i) = x(i) - r(i) * A(i,j) * r(j) * x(j)", A=A, d=degree, x=x
        )

    def scipy(A, degree, x):
        root = 1 / np.sqrt(degree)
        return x - root * (A @ (root * x))


@program
class dirichlet_energy:
    """How much a signal varies along the edges of a graph."""

    def inputs(data):
        return dict(A=stochastic(data.mesh), x=data.random(data.mesh.shape[0]))

    def tamis(A, x):
        return tamis.evaluate("e = A(i,j) * (x(i) - x(j)) * (x(i) - x(j))", A=A, x=x)

    def scipy(A, x):
        # (x(i) - x(j))^2 multiplied out.
        return A.sum(axis=1) @ (x * x) + A.sum(axis=0) @ (x * x) - 2 * (x @ (A @ x))


@program
class triangles:
    """How many triangles a graph has."""

    def inputs(data):
        return dict(L=sp.csr_array(sp.tril(data.mesh, -1)))

    def tamis(L):
        return tamis.evaluate("t = L(i,j) * L(j,k) * L(i,k)", L=L)

    def scipy(L):
        return (L @ L).multiply(L).sum()


@program
class clustering:
    """The clustering coefficient of each vertex: which part of its neighbours are neighbours."""

    def inputs(data):
        return dict(A=data.mesh, degree=np.maximum(data.mesh.sum(axis=1), 2.0))

    def tamis(A, degree):
        return tamis.evaluate(
            "c(i) = A(i,j) * A(j,k) * A(k,i) / (d(i) * (d(i) - 1))", A=A, d=degree
        )

    def scipy(A, degree):
        return (A @ A).multiply(A).sum(axis=1) / (degree * (degree - 1))


@program
class jaccard:
    """Jaccard's similarity of the ends of each edge: shared neighbours by all neighbours."""

    def inputs(data):
        return dict(A=data.mesh, degree=data.mesh.sum(axis=1))

    def tamis(A, degree):
        return tamis.evaluate(
            "C(i,j) = A(i,j) * A(i,k) * A(j,k); J(i,j) = C(i,j) / (d(i) + d(j) - C(i,j))",
            A=A, d=degree,
        )  # fmt: skip

    def scipy(A, degree):
        shared = sp.csr_array((A @ A.T).multiply(A))
        both = repeated(shared, degree) + degree[shared.indices]
        return like(shared, shared.data / (both - shared.data))


@program
class adamic_adar:
    """Shared neighbours of the ends of each edge, those of few edges counting more."""

    def inputs(data):
        return dict(A=data.mesh, weight=1 / np.log(np.maximum(data.mesh.sum(axis=1), 2.0)))

    def tamis(A, weight):
        return tamis.evaluate("S(i,j) = A(i,j) * A(i,k) * w(k) * A(k,j)", A=A, w=weight)

    def scipy(A, weight):
        return (like(A, weight[A.indices]) @ A).multiply(A)


@program
class two_steps:
    """Where a random walk is after two steps."""

    def inputs(data):
        return dict(A=data.mesh, degree=np.maximum(data.mesh.sum(axis=1), 1.0))

    def tamis(A, degree):
        return tamis.evaluate("P(i,j) = A(i,k) / d(i) * A(k,j) / d(k)", A=A, d=degree)

    def scipy(A, degree):
        step = like(A, repeated(A, 1 / degree))
        return step @ step


@program
class symmetrised:
    """A graph without directions: the larger of the weights of both directions."""

    def inputs(data):
        return dict(A=stochastic(data.web))

    def tamis(A):
        return tamis.evaluate("S(i,j) = max(A(i,j), A(j,i))", A=A)

    def scipy(A):
        return A.maximum(A.T)


@program
class reciprocity:
    """How many links have one back."""

    def inputs(data):
        return dict(links=data.web)

    def tamis(links):
        return tamis.evaluate("r = links(i,j) * links(j,i)", links=links)

    def scipy(links):
        return links.multiply(links.T).sum()


@program
class modularity:
    """Edges inside of communities, beyond those expected by degrees."""

    def inputs(data):
        n = data.mesh.shape[0]
        label = np.random.default_rng(0).integers(0, 50, n).astype(float)
        return dict(A=data.mesh, degree=data.mesh.sum(axis=1), label=label, m=float(data.mesh.nnz))

    def tamis(A, degree, label, m):
        inside = tamis.evaluate("e = A(i,j) * (c(i) == c(j))", A=A, c=label)
        total = np.bincount(label.astype(int), degree)
        return inside / m - (total @ total) / m**2

    def scipy(A, degree, label, m):
        same = repeated(A, label) == label[A.indices]
        total = np.bincount(label.astype(int), degree)
        return A.data[same].sum() / m - (total @ total) / m**2


@program
class label_propagation:
    """A step of label propagation: the mean of the neighbours' labels."""

    def inputs(data):
        n = data.mesh.shape[0]
        return dict(A=data.mesh, degree=np.maximum(data.mesh.sum(axis=1), 1.0), F=data.random(n, 20))

    def tamis(A, degree, F):
        return tamis.evaluate("Y(i,c) = A(i,j) * F(j,c) / d(i)", A=A, F=F, d=degree)

    def scipy(A, degree, F):
        return (A @ F) / degree[:, None]


@program
class shortest_paths_step:
    """A step of Bellman and Ford: the shortest way over one more edge."""

    def inputs(data):
        W = stochastic(data.web)
        return dict(W=W, distance=data.random(W.shape[0]) * 10)

    def tamis(W, distance):
        road = tamis.einsum("i,ij->j", distance, W, semiring="min_plus")
        return np.minimum(distance, road)

    def scipy(W, distance):
        into = W.tocsc()
        road = reduced(np.minimum, into.data + distance[into.indices], into.T, np.inf)
        return np.minimum(distance, road)


@program
class two_edge_paths:
    """The shortest ways over two edges, between all pairs of vertices."""

    def inputs(data):
        return dict(W=stochastic(data.mesh))

    def tamis(W):
        return tamis.einsum("ij,jk->ik", W, W, semiring="min_plus")

    def scipy(W):
        n = W.shape[0]
        degree = np.diff(W.indptr)
        # All pairs of edges that follow one another, then the least of each pair of ends.
        count = degree[W.indices]
        edge = np.repeat(np.arange(W.nnz), count)
        start = np.cumsum(count) - count
        second = np.arange(len(edge)) - start[edge] + W.indptr[:-1][W.indices][edge]
        ends = repeated(W, np.arange(n))[edge] * n + W.indices[second]
        length = W.data[edge] + W.data[second]
        order = np.argsort(ends, kind="stable")
        ends, length = ends[order], length[order]
        first = np.flatnonzero(np.r_[True, ends[1:] != ends[:-1]])
        return sp.coo_array(
            (np.minimum.reduceat(length, first), np.divmod(ends[first], n)), shape=W.shape
        ).tocsr()


@program
class widest_paths_step:
    """A step to the widest path: of what each way lets through, the most."""

    def inputs(data):
        C = stochastic(data.mesh)
        return dict(C=C, width=data.random(C.shape[0]))

    def tamis(C, width):
        return tamis.einsum("ij,j->i", C, width, semiring="max_min")

    def scipy(C, width):
        return reduced(np.maximum, np.minimum(C.data, width[C.indices]), C, -np.inf)


@program
class breadth_first_step:
    """A step of breadth-first search: pages linked from the frontier that were not seen before."""

    def inputs(data):
        n = data.web.shape[0]
        rng = np.random.default_rng(0)
        frontier = rng.random(n) < 0.1
        return dict(links=data.web.astype(bool), frontier=frontier, seen=rng.random(n) < 0.3)

    def tamis(links, frontier, seen):
        return tamis.evaluate(
            "next(j) = and(any(i, and(links(i,j), frontier(i))), not(seen(j)))",
            links=links, frontier=frontier, seen=seen,
        )  # fmt: skip

    def scipy(links, frontier, seen):
        return (frontier @ links) & ~seen
