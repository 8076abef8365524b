"""Documents by words: weights, similarities, statistics of words, recommendations."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import tamis
from program import like, program, repeated


def counts(data, documents=None):
    """Counts of words in documents that have words."""
    X = data.text[: data.size(documents) if documents else None]
    return X[np.diff(X.indptr) > 0]


def topics(data, X, number=16):
    """Weights of topics in documents, and of words in topics."""
    return data.random(X.shape[0], number), data.random(number, X.shape[1], seed=1)


@program
class tf_idf:
    """Term frequency by inverse document frequency."""

    def inputs(data):
        return dict(C=counts(data))

    def tamis(C):
        return tamis.evaluate(
            "length(d) = C(d,w); df(w) = sum(d, C(d,w) != 0);"
            "T(d,w) = C(d,w) / length(d) * log(n / df(w))",
            C=C, n=float(C.shape[0]),
        )  # fmt: skip

    def scipy(C):
        df = np.bincount(C.indices, minlength=C.shape[1])
        with np.errstate(divide="ignore"):
            idf = np.log(C.shape[0] / df)
        return like(C, C.data * repeated(C, 1 / C.sum(axis=1)) * idf[C.indices])


@program
class unit_rows:
    """Each row divided by its length."""

    def inputs(data):
        return dict(X=counts(data))

    def tamis(X):
        return tamis.evaluate("N(d,w) = X(d,w) / sqrt(sum(v, X(d,v) * X(d,v)))", X=X)

    def scipy(X):
        norm = np.sqrt(np.add.reduceat(X.data * X.data, X.indptr[:-1]))
        return like(X, X.data * repeated(X, 1 / norm))


@program
class bm25:
    """Okapi BM25 weights of words."""

    def inputs(data):
        C = counts(data)
        length = C.sum(axis=1)
        return dict(C=C, length=length / length.mean(), idf=data.random(C.shape[1]))

    def tamis(C, length, idf):
        return tamis.evaluate(
            "B(d,w) = idf(w) * C(d,w) * 2.2 / (C(d,w) + 0.3 + 0.9 * length(d))",
            C=C, length=length, idf=idf,
        )  # fmt: skip

    def scipy(C, length, idf):
        below = C.data + repeated(C, 0.3 + 0.9 * length)
        return like(C, 2.2 * idf[C.indices] * C.data / below)


@program
class mutual_information:
    """Positive pointwise mutual information of documents and words."""

    def inputs(data):
        C = counts(data)
        return dict(C=C, row=C.sum(axis=1), column=C.sum(axis=0), total=float(C.sum()))

    def tamis(C, row, column, total):
        return tamis.evaluate(
            "P(d,w) = max(log(C(d,w) * total / (row(d) * column(w))), 0)",
            C=C, row=row, column=column, total=total,
        )  # fmt: skip

    def scipy(C, row, column, total):
        values = np.log(C.data * total / (repeated(C, row) * column[C.indices]))
        return like(C, np.maximum(values, 0))


@program
class chi_square:
    """The chi-square statistic of each word for classes of documents."""

    def inputs(data):
        X = counts(data)
        classes = np.random.default_rng(0).integers(0, 20, X.shape[0])
        rows = np.arange(X.shape[0])
        return dict(X=X, Y=sp.csr_array((np.ones(len(rows)), (rows, classes)), shape=(len(rows), 20)))

    def tamis(X, Y):
        return tamis.evaluate(
            "observed(c,w) = Y(d,c) * X(d,w); part(c) = Y(d,c) / n; total(w) = X(d,w);"
            "chi(w) = sum(c, square(observed(c,w) - part(c) * total(w)) / (part(c) * total(w)))",
            X=X, Y=Y, n=float(X.shape[0]),
        )  # fmt: skip

    def scipy(X, Y):
        # As scikit-learn has it.
        observed = (Y.T @ X).toarray()
        expected = np.outer(Y.sum(axis=0) / X.shape[0], X.sum(axis=0))
        observed -= expected
        observed **= 2
        with np.errstate(invalid="ignore"):
            observed /= expected
        return observed.sum(axis=0)


@program
class cosine_similarity:
    """The cosine of the angles between all pairs of documents."""

    def inputs(data):
        X = counts(data, 2000)
        return dict(X=X, norm=np.sqrt(X.multiply(X).sum(axis=1)))

    def tamis(X, norm):
        return tamis.evaluate(
            "S(d,e) = X(d,w) * X(e,w) / (norm(d) * norm(e))", X=X, norm=norm
        )

    def scipy(X, norm):
        unit = like(X, X.data * repeated(X, 1 / norm))
        return unit @ unit.T


@program
class query:
    """How well documents fit a question of a few words."""

    def inputs(data):
        X = counts(data)
        q = np.zeros(X.shape[1])
        q[:: X.shape[1] // 10] = 1.0
        return dict(X=X, q=sp.coo_array(q), norm=np.sqrt(X.multiply(X).sum(axis=1)))

    def tamis(X, q, norm):
        return tamis.evaluate("s(d) = X(d,w) * q(w) / norm(d)", X=X, q=q, norm=norm)

    def scipy(X, q, norm):
        return (X @ q.toarray()) / norm


@program
class document_frequency:
    """How many documents have each word."""

    def inputs(data):
        return dict(C=counts(data))

    def tamis(C):
        return tamis.evaluate("df(w) = sum(d, C(d,w) > 0)", C=C)

    def scipy(C):
        return np.bincount(C.indices, minlength=C.shape[1]).astype(float)


@program
class naive_bayes:
    """The logarithm of the likelihood of each class, for each document."""

    def inputs(data):
        X = counts(data)
        return dict(X=X, F=data.random(20, X.shape[1]), prior=data.random(20))

    def tamis(X, F, prior):
        return tamis.evaluate("L(d,c) = X(d,w) * log(F(c,w)) + log(prior(c))", X=X, F=F, prior=prior)

    def scipy(X, F, prior):
        return X @ np.log(F).T + np.log(prior)


@program
class entropy:
    """The entropy of the words of each document."""

    def inputs(data):
        X = counts(data)
        return dict(P=like(X, X.data * repeated(X, 1 / X.sum(axis=1))))

    def tamis(P):
        return tamis.evaluate("h(d) = -sum(w, P(d,w) * log(P(d,w)))", P=P)

    def scipy(P):
        return -np.add.reduceat(P.data * np.log(P.data), P.indptr[:-1])


@program
class topic_likelihood:
    """The likelihood of documents by topics: logarithms of a product at the entries alone."""

    def inputs(data):
        X = counts(data)
        theta, phi = topics(data, X)
        return dict(X=X, theta=theta, phi=phi)

    def tamis(X, theta, phi):
        return tamis.evaluate(
            "l = X(d,w) * log(sum(k, theta(d,k) * phi(k,w)))", X=X, theta=theta, phi=phi
        )

    def scipy(X, theta, phi):
        rows = repeated(X, np.arange(X.shape[0]))
        products = np.einsum("pk,pk->p", theta[rows], np.ascontiguousarray(phi.T)[X.indices])
        return X.data @ np.log(products)


@program
class latent_sketch:
    """A sketch of centred documents, as of randomised principal components."""

    def inputs(data):
        X = counts(data)
        return dict(X=X, mean=X.mean(axis=0), G=data.random(X.shape[1], 16))

    def tamis(X, mean, G):
        return tamis.evaluate("Y(d,r) = X(d,w) * G(w,r) - mean(w) * G(w,r)", X=X, mean=mean, G=G)

    def scipy(X, mean, G):
        return X @ G - mean @ G


@program
class nmf_step:
    """A multiplicative step of a factorisation without negative numbers: the weights of words."""

    def inputs(data):
        X = counts(data)
        W, H = topics(data, X)
        return dict(X=X, W=W, H=H)

    def tamis(X, W, H):
        return tamis.evaluate(
            "N(k,w) = W(d,k) * X(d,w); G(k,l) = W(d,k) * W(d,l);"
            "new(k,w) = H(k,w) * N(k,w) / sum(l, G(k,l) * H(l,w))",
            X=X, W=W, H=H,
        )  # fmt: skip

    def scipy(X, W, H):
        return H * (X.T @ W).T / ((W.T @ W) @ H)


@program
class rating_residual:
    """What a factorisation of ratings misses, at the ratings alone."""

    def inputs(data):
        R = counts(data)
        P, Q = topics(data, R)
        return dict(R=R, P=P, Q=np.ascontiguousarray(Q.T))

    def tamis(R, P, Q):
        return tamis.evaluate("E(u,i) = R(u,i) - (R(u,i) != 0) * P(u,k) * Q(i,k)", R=R, P=P, Q=Q)

    def scipy(R, P, Q):
        return like(R, R.data - np.einsum("pk,pk->p", repeated(R, P), Q[R.indices]))


@program
class rating_gradient:
    """The gradient of that by the factors of users."""

    def inputs(data):
        return rating_residual.inputs(data)

    def tamis(R, P, Q):
        return tamis.evaluate(
            "E(u,i) = R(u,i) - (R(u,i) != 0) * P(u,k) * Q(i,k); G(u,l) = E(u,i) * Q(i,l)",
            R=R, P=P, Q=Q,
        )  # fmt: skip

    def scipy(R, P, Q):
        return rating_residual.scipy(R, P, Q) @ Q


@program
class implicit_feedback:
    """The normal equations of each user in alternating least squares with weights."""

    def inputs(data):
        C = counts(data)
        return dict(C=C, Q=data.random(C.shape[1], 10))

    def tamis(C, Q):
        return tamis.evaluate("N(u,k,l) = C(u,i) * Q(i,k) * Q(i,l)", C=C, Q=Q)

    def scipy(C, Q):
        pairs = (Q[:, :, None] * Q[:, None, :]).reshape(len(Q), -1)
        return (C @ pairs).reshape(-1, Q.shape[1], Q.shape[1])
