"""Statistics: moments, covariances, autocorrelation in space, least squares."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import tamis
from data import stochastic
from program import like, program, repeated
from text import counts


@program
class column_moments:
    """The mean and the variance of each column."""

    def inputs(data):
        X = counts(data)
        return dict(X=X, n=float(X.shape[0]))

    def tamis(X, n):
        return tamis.evaluate(
            "mean(w) = X(d,w) / n; v(w) = sum(d, X(d,w) * X(d,w)) / n - mean(w) * mean(w)", X=X, n=n
        )

    def scipy(X, n):
        mean = np.bincount(X.indices, X.data, X.shape[1]) / n
        return np.bincount(X.indices, X.data * X.data, X.shape[1]) / n - mean * mean


@program
class scaled_columns:
    """Columns divided by their standard deviation, without a shift."""

    def inputs(data):
        X = counts(data)
        return dict(X=X, sd=data.random(X.shape[1]))

    def tamis(X, sd):
        return tamis.evaluate("Z(d,w) = X(d,w) / sd(w)", X=X, sd=sd)

    def scipy(X, sd):
        return like(X, X.data / sd[X.indices])


@program
class banded_covariance:
    """Covariances of variables that are at most four apart."""

    def inputs(data):
        X = data.random(1000, data.size(1000)) - 0.6
        near = np.arange(-4, 5)
        n = X.shape[1]
        band = sp.diags_array(np.ones(len(near)), offsets=near, shape=(n, n), format="csr")
        return dict(X=X, band=band)

    def tamis(X, band):
        return tamis.evaluate("C(i,j) = band(i,j) * X(n,i) * X(n,j) / 1000", X=X, band=band)

    def scipy(X, band):
        n = X.shape[1]
        upper = [np.einsum("ni,ni->i", X[:, : n - k], X[:, k:]) / 1000 for k in range(5)]
        both = [*upper[:0:-1], *upper]
        return sp.diags_array(both, offsets=range(-4, 5), shape=(n, n), format="csr")


@program
class covariance:
    """The covariance of the columns of a sparse matrix."""

    def inputs(data):
        X = counts(data)[:, : data.size(500)]
        return dict(X=X, mean=X.mean(axis=0), n=float(X.shape[0]))

    def tamis(X, mean, n):
        return tamis.evaluate(
            "C(v,w) = X(d,v) * X(d,w) / n - mean(v) * mean(w)", X=X, mean=mean, n=n
        )

    def scipy(X, mean, n):
        return (X.T @ X).toarray() / n - np.outer(mean, mean)


@program
class mahalanobis:
    """Distances of points to a mean, by a sparse precision matrix."""

    def inputs(data):
        P = stochastic(data.mesh)
        n = P.shape[0]
        return dict(X=data.random(20, n), mean=data.random(n), P=P)

    def tamis(X, mean, P):
        return tamis.evaluate(
            "q(n) = (X(n,i) - mean(i)) * P(i,j) * (X(n,j) - mean(j))", X=X, mean=mean, P=P
        )

    def scipy(X, mean, P):
        Z = X - mean
        return np.einsum("ni,ni->n", Z, Z @ P)


@program
class normal_equations:
    """The normal equations of weighted least squares, and their right side."""

    def inputs(data):
        X = counts(data, 5000)
        return dict(X=X, w=data.random(X.shape[0]))

    def tamis(X, w):
        return tamis.evaluate("N(i,j) = X(d,i) * w(d) * X(d,j)", X=X, w=w)

    def scipy(X, w):
        return X.T @ like(X, X.data * repeated(X, w))


@program
class leverage:
    """The leverage of each row: its quadratic form by a dense matrix."""

    def inputs(data):
        X = counts(data)[:, : data.size(1000)]
        S = data.random(X.shape[1], X.shape[1])
        return dict(X=X, S=S)

    def tamis(X, S):
        return tamis.evaluate("h(d) = X(d,i) * S(i,j) * X(d,j)", X=X, S=S)

    def scipy(X, S):
        return X.multiply(X @ S).sum(axis=1)


@program
class moran:
    """Moran's I: the autocorrelation of values in space."""

    def inputs(data):
        z = data.random(data.mesh.shape[0])
        return dict(W=data.mesh, z=z - z.mean())

    def tamis(W, z):
        return tamis.evaluate("m = sum(i, j, W(i,j) * z(i) * z(j)) / sum(k, z(k) * z(k))", W=W, z=z)

    def scipy(W, z):
        return z @ (W @ z) / (z @ z)


@program
class geary:
    """Geary's c: squared differences of neighbours, by the variance."""

    def inputs(data):
        return moran.inputs(data)

    def tamis(W, z):
        return tamis.evaluate(
            "c = sum(i, j, W(i,j) * square(z(i) - z(j))) / sum(k, z(k) * z(k))", W=W, z=z
        )

    def scipy(W, z):
        apart = repeated(W, z) - z[W.indices]
        return W.data @ (apart * apart) / (z @ z)


@program
class group_sums:
    """Sums of columns by groups of rows, by a column of their sizes."""

    def inputs(data):
        X = counts(data)
        group = np.random.default_rng(1).integers(0, 500, X.shape[0])
        rows = np.arange(X.shape[0])
        return dict(X=X, G=sp.csr_array((np.ones(len(rows)), (group, rows)), shape=(500, len(rows))))

    def tamis(X, G):
        return tamis.evaluate("T(g,w) = G(g,d) * X(d,w)", X=X, G=G)

    def scipy(X, G):
        return G @ X
