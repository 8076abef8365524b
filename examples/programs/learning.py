"""Learning: layers of graph networks, attention, regression, clusters, kernels."""

from __future__ import annotations

import numpy as np
import tamis
from data import stochastic
from program import like, program, repeated
from text import counts


def network(data, features=64, outputs=16):
    """A graph with its degrees, features of its vertices, and the weights of a layer."""
    A = data.mesh
    n = A.shape[0]
    return dict(
        A=A,
        degree=np.maximum(A.sum(axis=1), 1.0),
        X=data.random(n, features) - 0.6,
        W=data.random(features, outputs, seed=1) - 0.6,
    )


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@program
class gcn_layer:
    """A layer of a graph convolutional network, with ReLU."""

    def inputs(data):
        return network(data)

    def tamis(A, degree, X, W):
        return tamis.evaluate(
            "Z(i,o) = A(i,j) / sqrt(d(i) * d(j)) * X(j,f) * W(f,o); H(i,o) = max(Z(i,o), 0)",
            A=A, d=degree, X=X, W=W,
        )  # fmt: skip

    def scipy(A, degree, X, W):
        root = 1 / np.sqrt(degree)[:, None]
        return np.maximum(root * (A @ (root * (X @ W))), 0)


@program
class sage_layer:
    """A layer of GraphSAGE: own features, and the mean of the neighbours'."""

    def inputs(data):
        made = network(data)
        return made | dict(V=made["W"][::-1].copy())

    def tamis(A, degree, X, W, V):
        return tamis.evaluate(
            "H(i,o) = X(i,f) * W(f,o) + A(i,j) / d(i) * X(j,f) * V(f,o)",
            A=A, d=degree, X=X, W=W, V=V,
        )  # fmt: skip

    def scipy(A, degree, X, W, V):
        return X @ W + (A @ (X @ V)) / degree[:, None]


@program
class gin_layer:
    """The sum of a graph isomorphism network: neighbours, and more of the vertex itself."""

    def inputs(data):
        made = network(data)
        return dict(A=made["A"], X=made["X"], more=0.3)

    def tamis(A, X, more):
        return tamis.evaluate("H(i,f) = (1 + more) * X(i,f) + A(i,j) * X(j,f)", A=A, X=X, more=more)

    def scipy(A, X, more):
        return (1 + more) * X + A @ X


@program
class largest_neighbour:
    """The largest of the neighbours' features."""

    def inputs(data):
        made = network(data, features=16)
        return dict(A=made["A"], X=made["X"] + 0.6)

    def tamis(A, X):
        return tamis.evaluate("M(i,f) = max(j, A(i,j) * X(j,f))", A=A, X=X)

    def scipy(A, X):
        out = np.zeros_like(X)
        filled = np.diff(A.indptr) > 0
        out[filled] = np.maximum.reduceat(X[A.indices], A.indptr[:-1][filled], axis=0)
        return out


@program
class graph_attention:
    """Attention over the neighbours in a graph, by scores of both ends (GAT)."""

    def inputs(data):
        made = network(data, features=16)
        n = made["A"].shape[0]
        return dict(A=made["A"], u=data.random(n), v=data.random(n, seed=1) - 1, H=made["X"])

    def tamis(A, u, v, H):
        return tamis.evaluate(
            "E(i,j) = A(i,j) * exp(max(u(i) + v(j), 0.2 * (u(i) + v(j))));"
            "total(i) = E(i,j); Z(i,f) = E(i,j) * H(j,f) / total(i)",
            A=A, u=u, v=v, H=H,
        )  # fmt: skip

    def scipy(A, u, v, H):
        score = repeated(A, u) + v[A.indices]
        E = like(A, np.exp(np.maximum(score, 0.2 * score)))
        with np.errstate(invalid="ignore"):
            return (E @ H) / E.sum(axis=1)[:, None]


@program
class masked_attention:
    """Attention at the entries of a mask: softmax of products, times values."""

    def inputs(data):
        n = data.mesh.shape[0]
        Q, K, V = (data.random(n, 32, seed=s) for s in range(3))
        return dict(mask=data.mesh, Q=Q, K=K, V=V)

    def tamis(mask, Q, K, V):
        S = tamis.einsum("ij,id,jd->ij", mask, Q, K)
        return tamis.evaluate(
            "W(i,j) = mask(i,j) * exp(S(i,j) / 6); total(i) = W(i,j);"
            "Z(i,d) = W(i,j) * V(j,d) / total(i)",
            mask=mask, S=S, V=V,
        )  # fmt: skip

    def scipy(mask, Q, K, V):
        scores = np.einsum("pd,pd->p", repeated(mask, Q), K[mask.indices])
        W = like(mask, np.exp(scores / 6))
        with np.errstate(invalid="ignore"):
            return (W @ V) / W.sum(axis=1)[:, None]


@program
class logistic_gradient:
    """The gradient of logistic regression."""

    def inputs(data):
        X = counts(data)
        y = (np.arange(X.shape[0]) % 2).astype(float)
        return dict(X=X, y=y, b=0.1 * data.random(X.shape[1]))

    def tamis(X, y, b):
        return tamis.evaluate(
            "p(d) = X(d,w) * b(w); g(v) = X(d,v) * (1 / (1 + exp(-p(d))) - y(d))", X=X, y=y, b=b
        )

    def scipy(X, y, b):
        return X.T @ (sigmoid(X @ b) - y)


@program
class hessian_product:
    """The Hessian of logistic regression times a vector, without the Hessian."""

    def inputs(data):
        X = counts(data)
        return dict(X=X, s=data.random(X.shape[0]), p=data.random(X.shape[1]))

    def tamis(X, s, p):
        return tamis.evaluate("h(v) = X(d,v) * s(d) * X(d,w) * p(w)", X=X, s=s, p=p)

    def scipy(X, s, p):
        return X.T @ (s * (X @ p))


@program
class factorization_machine:
    """The pairwise terms of a factorization machine."""

    def inputs(data):
        X = counts(data)
        return dict(X=X, V=data.random(X.shape[1], 16))

    def tamis(X, V):
        return tamis.evaluate(
            "S(d,f) = X(d,w) * V(w,f);"
            "y(d) = 0.5 * (S(d,f) * S(d,f) - X(d,w) * X(d,w) * V(w,f) * V(w,f))",
            X=X, V=V,
        )  # fmt: skip

    def scipy(X, V):
        square = like(X, X.data * X.data)
        return 0.5 * (((X @ V) ** 2).sum(axis=1) - square @ (V * V).sum(axis=1))


@program
class kmeans_distances:
    """Squared distances of documents to the centres of clusters."""

    def inputs(data):
        X = counts(data)
        return dict(X=X, C=data.random(12, X.shape[1]))

    def tamis(X, C):
        return tamis.evaluate(
            "D(d,k) = X(d,w) * X(d,w) - 2 * X(d,w) * C(k,w) + C(k,w) * C(k,w)", X=X, C=C
        )

    def scipy(X, C):
        rows = like(X, X.data * X.data).sum(axis=1)
        return rows[:, None] - 2 * (X @ C.T) + np.einsum("kw,kw->k", C, C)


@program
class kmeans_centres:
    """The means of clusters, by the cluster of each document."""

    def inputs(data):
        from text import chi_square

        return chi_square.inputs(data)

    def tamis(X, Y):
        return tamis.evaluate("C(k,w) = Y(d,k) * X(d,w) / size(k)", Y=Y, X=X, size=Y.sum(axis=0))

    def scipy(X, Y):
        return (Y.T @ X).toarray() / Y.sum(axis=0)[:, None]


@program
class gaussian_kernel:
    """A Gaussian kernel of points at the edges of a graph of neighbours."""

    def inputs(data):
        return dict(A=data.mesh, P=data.random(data.mesh.shape[0], 3))

    def tamis(A, P):
        return tamis.evaluate(
            "K(i,j) = A(i,j) * exp(-sum(k, square(P(i,k) - P(j,k))) / 2)", A=A, P=P
        )

    def scipy(A, P):
        apart = repeated(A, P) - P[A.indices]
        return like(A, np.exp(-np.einsum("pk,pk->p", apart, apart) / 2))


@program
class spring_forces:
    """The forces of springs along the edges of a graph, on points in space."""

    def inputs(data):
        return dict(A=stochastic(data.mesh), P=data.random(data.mesh.shape[0], 3))

    def tamis(A, P):
        return tamis.evaluate("F(i,k) = A(i,j) * (P(j,k) - P(i,k))", A=A, P=P)

    def scipy(A, P):
        return A @ P - A.sum(axis=1)[:, None] * P


@program
class bilinear_scores:
    """Scores of pairs of sparse vectors by a dense matrix of weights."""

    def inputs(data):
        X = counts(data)
        low = data.random(X.shape[1], 8)
        return dict(X=X, Y=X[::-1], U=low, V=low[::-1].copy())

    def tamis(X, Y, U, V):
        return tamis.evaluate("s(d) = X(d,f) * U(f,r) * V(g,r) * Y(d,g)", X=X, Y=Y, U=U, V=V)

    def scipy(X, Y, U, V):
        return np.einsum("dr,dr->d", X @ U, Y @ V)
