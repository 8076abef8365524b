"""Races NumPy's and SciPy's operations on tensors against SciPy's arrays, on one thread:
``python python/bench/operations.py [--entries N] [NAME ..]``.

Each row has the best of some rounds in milliseconds for Tamis and for SciPy, and how many times as long
SciPy takes; below them is the geometric mean, and how many rows are under 1. SciPy's arrays are in the
formats that Tamis's are in, and its ways are what its users write. Calls of small operands end the
table, in microseconds.
"""

from __future__ import annotations

import argparse
import math
import os
import time

for library in ("OMP", "MKL", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numpy as np
import scipy.sparse as sp
import tamis


def operations(entries):
    """By name, what Tamis computes and what SciPy does."""
    n = max(entries // 10, 10)
    rng = np.random.default_rng(0)
    S = sp.random_array((n, n), density=entries / n**2, rng=rng, format="csr")
    S.data = rng.normal(size=S.nnz)
    R = sp.random_array((n, n), density=entries / n**2, rng=rng, format="csr")
    t, r = (tamis.asarray(x, copy=True) for x in (S, R))
    b, c, B, C = t > 0, r > 0.5, S > 0, R > 0.5
    x, X, d = rng.random(n), rng.random((n, 8)), rng.random(n)
    rows, columns = rng.integers(0, n, (2, n))
    some = np.sort(rng.choice(n, n // 10, replace=False))
    twice = np.repeat(np.arange(n), 2)
    column = sp.random_array((n, 1), density=100 / n, rng=rng, format="csr")
    row = sp.random_array((1, n), density=100 / n, rng=rng, format="csr")
    tc, tr = (tamis.asarray(y, copy=True) for y in (column, row))
    D = sp.diags_array(d).tocsr()

    def variance(A, axis):
        return A.power(2).mean(axis=axis) - A.mean(axis=axis) ** 2

    return {
        "t @ x": (lambda: t @ x, lambda: S @ x),
        "x @ t": (lambda: x @ t, lambda: x @ S),
        "t @ X": (lambda: t @ X, lambda: S @ X),
        "t.T @ x": (lambda: t.T @ x, lambda: S.T @ x),
        "t + r": (lambda: t + r, lambda: S + R),
        "t - r": (lambda: t - r, lambda: S - R),
        "t * r": (lambda: t * r, lambda: S.multiply(R)),
        "t + t": (lambda: t + t, lambda: S + S),
        "t * 2": (lambda: t * 2, lambda: S * 2),
        "t / 2": (lambda: t / 2, lambda: S / 2),
        "-t": (lambda: -t, lambda: -S),
        "abs(t)": (lambda: abs(t), lambda: abs(S)),
        "t ** 2": (lambda: t**2, lambda: S**2),
        "sin": (lambda: np.sin(t), lambda: S.sin()),
        "sqrt(abs)": (lambda: np.sqrt(abs(t)), lambda: abs(S).sqrt()),
        "sign": (lambda: np.sign(t), lambda: S.sign()),
        "astype": (lambda: t.astype("f4"), lambda: S.astype("f4")),
        "t > 0": (lambda: t > 0, lambda: S > 0),
        "t != r": (lambda: t != r, lambda: S != R),
        "t < r": (lambda: t < r, lambda: S < R),
        "maximum": (lambda: np.maximum(t, r), lambda: S.maximum(R)),
        "minimum": (lambda: np.minimum(t, r), lambda: S.minimum(R)),
        "fmax": (lambda: np.fmax(t, r), lambda: S.maximum(R)),
        "b & c": (lambda: b & c, lambda: B.multiply(C)),
        "b | c": (lambda: b | c, lambda: B + C),
        "b ^ c": (lambda: b ^ c, lambda: B != C),
        "logical_and": (lambda: np.logical_and(b, c), lambda: B.multiply(C)),
        "where(t > 0, t, 0)": (lambda: np.where(t > 0, t, 0), lambda: S.multiply(S > 0)),
        "isclose": (lambda: np.isclose(t, r), lambda: abs(S - R) > 1e-8),
        "allclose": (lambda: np.allclose(t, t), lambda: abs(S - S).max() < 1e-8),
        "t * row": (lambda: t * d, lambda: S.multiply(d[None, :]).tocsr()),
        "t * column": (lambda: t * d[:, None], lambda: S.multiply(d[:, None]).tocsr()),
        "diagonal @ t": (lambda: tamis.einsum("i,ij->ij", d, t), lambda: D @ S),
        "column * row": (lambda: tc * tr, lambda: column @ row),
        "sum": (lambda: t.sum(), lambda: S.sum()),
        "sum(0)": (lambda: t.sum(axis=0), lambda: S.sum(axis=0)),
        "sum(1)": (lambda: t.sum(axis=1), lambda: S.sum(axis=1)),
        "mean": (lambda: t.mean(), lambda: S.mean()),
        "mean(0)": (lambda: t.mean(axis=0), lambda: S.mean(axis=0)),
        "max": (lambda: t.max(), lambda: S.max()),
        "max(0)": (lambda: t.max(axis=0), lambda: S.max(axis=0).toarray()),
        "max(1)": (lambda: t.max(axis=1), lambda: S.max(axis=1).toarray()),
        "argmax": (lambda: t.argmax(), lambda: S.argmax()),
        "argmax(1)": (lambda: t.argmax(axis=1), lambda: S.argmax(axis=1)),
        "std": (lambda: t.std(), lambda: np.sqrt(variance(S, None))),
        "var(0)": (lambda: t.var(axis=0), lambda: variance(S, 0)),
        "var(1)": (lambda: t.var(axis=1), lambda: variance(S, 1)),
        "norm": (lambda: np.linalg.norm(t), lambda: sp.linalg.norm(S)),
        "count_nonzero(1)": (lambda: np.count_nonzero(t, axis=1), lambda: S.count_nonzero(axis=1)),
        "trace": (lambda: np.trace(t), lambda: S.trace()),
        "diagonal": (lambda: t.diagonal(), lambda: S.diagonal()),
        "nonzero": (lambda: t.nonzero(), lambda: S.nonzero()),
        "t.T": (lambda: t.T, lambda: S.T),
        "csc": (lambda: t.asformat("csc"), lambda: S.tocsc()),
        "coo": (lambda: t.asformat("coo"), lambda: S.tocoo()),
        "copy": (lambda: t.copy(), lambda: S.copy()),
        "t[a:b]": (lambda: t[n // 4 : n // 2], lambda: S[n // 4 : n // 2]),
        "t[:, a:b]": (lambda: t[:, n // 4 : n // 2], lambda: S[:, n // 4 : n // 2]),
        "t[some]": (lambda: t[some], lambda: S[some]),
        "t[:, some]": (lambda: t[:, some], lambda: S[:, some]),
        "t[rows, columns]": (lambda: t[rows, columns], lambda: S[rows, columns]),
        "t[t > 1]": (lambda: t[t > 1], lambda: S[S > 1]),
        "tril": (lambda: np.tril(t), lambda: sp.tril(S, format="csr")),
        "vstack": (lambda: np.vstack([t, r]), lambda: sp.vstack([S, R])),
        "hstack": (lambda: np.hstack([t, r]), lambda: sp.hstack([S, R], format="csr")),
        "repeat": (lambda: np.repeat(t, 2, axis=0), lambda: S[twice]),
        "roll": (
            lambda: np.roll(t, 5, axis=0),
            lambda: sp.vstack([S[-5:], S[:-5]]),
        ),
        "flip": (lambda: np.flip(t, axis=0), lambda: S[::-1]),
        "reshape": (lambda: t.reshape(n // 2, 2 * n), lambda: S.reshape(n // 2, 2 * n)),
        "stack": (
            lambda: np.stack([t, r]),
            lambda: sp.vstack([S.reshape(1, n * n), R.reshape(1, n * n)]),
        ),
        "expand_dims": (lambda: np.expand_dims(t, 0), lambda: S.tocoo().reshape(1, n, n)),
    }


def calls():
    """By name, calls of small operands."""
    A = tamis.asarray(np.eye(3), format="csr")
    x = np.ones(3)
    kernel = tamis.compile("y(i) = A(i,j) * x(j)")
    return {
        "kernel": lambda: kernel(A, x),
        "einsum": lambda: tamis.einsum("ij,j->i", A, x),
        "t @ x": lambda: A @ x,
        "t + t": lambda: A + A,
        "t * 2": lambda: A * 2,
    }


def best(call, rounds=7, times=1):
    """Seconds of processor time of the fastest round, all of which the first one warms up."""
    call()
    found = math.inf
    for _ in range(rounds):
        begin = time.process_time()
        for _ in range(times):
            call()
        found = min(found, (time.process_time() - begin) / times)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=10**6)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    tamis.set_num_threads(1)
    ratios = {}
    print(f"| operation | tamis ms | scipy ms | x |\n|{'---|' * 4}")
    for name, (own, other) in operations(options.entries).items():
        if options.names and name not in options.names:
            continue
        mine, its = best(own), best(other)
        ratios[name] = its / mine
        print(f"| `{name}` | {1e3 * mine:.2f} | {1e3 * its:.2f} | {its / mine:.2f} |", flush=True)
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    slower = [name for name, ratio in ratios.items() if ratio < 1]
    print(f"\n{len(ratios)} operations: {mean:.2f} in the geometric mean, {len(slower)} under 1")
    for name, call in calls().items():
        print(f"{name}: {1e6 * best(call, 20, 1000):.2f} us")


if __name__ == "__main__":
    main()
