"""Races Tamis against what Python users have: ``python python/bench/race.py [--threads N] [--size F]``.

Every contestant gets the same operands and one thread (``--threads`` gives Tamis more). Times are
medians in milliseconds; ``x`` says how many times as long the fastest peer takes as Tamis. Results
are compared before they are timed. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import scipy.sparse as sp
import tamis

HAS = {name: importlib.util.find_spec(name) is not None for name in ("numba", "sparse")}


def median(work, least=5, seconds=0.5):
    work()
    times = []
    while len(times) < least or sum(times) < seconds:
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(times)


def stencil(n):
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    return sp.csr_array(sp.kronsum(line, line))


def power_law(rows, entries, seed):
    rng = np.random.default_rng(seed)
    at = (rng.pareto(1.2, size=(2, entries)) * rows / 200).astype(np.int64) % rows
    made = sp.coo_array((rng.random(entries), tuple(at)), shape=(rows, rows))
    return sp.csr_array(made)


def tensor3(sizes, entries, seed):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, n, entries) for n in sizes], rng.random(entries)


def numba_kernels():
    import numba

    @numba.njit
    def spmv(pos, crd, vals, x, y):
        for i in range(len(pos) - 1):
            s = 0.0
            for p in range(pos[i], pos[i + 1]):
                s += vals[p] * x[crd[p]]
            y[i] = s
        return y

    @numba.njit
    def spmm(pos, crd, vals, x, y):
        for i in range(len(pos) - 1):
            for r in range(x.shape[1]):
                y[i, r] = 0.0
            for p in range(pos[i], pos[i + 1]):
                for r in range(x.shape[1]):
                    y[i, r] += vals[p] * x[crd[p], r]
        return y

    @numba.njit
    def sddmm(pos, crd, vals, c, d, out):
        for i in range(len(pos) - 1):
            for p in range(pos[i], pos[i + 1]):
                s = 0.0
                for k in range(c.shape[1]):
                    s += c[i, k] * d[crd[p], k]
                out[p] = vals[p] * s
        return out

    @numba.njit
    def mttkrp(i, j, k, vals, b, c, a):
        for p in range(len(vals)):
            for r in range(b.shape[1]):
                a[i[p], r] += vals[p] * b[j[p], r] * c[k[p], r]
        return a

    return spmv, spmm, sddmm, mttkrp


def races(size):
    """Name, and what each contestant does; those beside Tamis are peers."""
    n = int(1000 * size)
    rng = np.random.default_rng(0)
    own = numba_kernels() if HAS["numba"] else None
    for label, a in (("stencil", stencil(n)), ("power law", power_law(n * 100, n * 1600, 1))):
        rows = a.shape[0]
        x, wide = rng.random(rows), rng.random((rows, 32))
        c, d = rng.random((rows, 32)), rng.random((rows, 32))
        race = {"tamis": lambda: tamis.einsum("ij,j->i", a, x), "scipy": lambda: a @ x}
        if own:
            race["numba"] = lambda: own[0](a.indptr, a.indices, a.data, x, np.empty(rows))
        yield f"spmv {label}", race
        race = {"tamis": lambda: tamis.einsum("ij,jk->ik", a, wide), "scipy": lambda: a @ wide}
        if own:
            race["numba"] = lambda: own[1](a.indptr, a.indices, a.data, wide, np.empty((rows, 32)))
        yield f"spmm 32 {label}", race
        b = sp.csr_array(a.T)
        race = {
            "tamis": lambda: tamis.evaluate("S(i,j) = A(i,j) + B(i,j)", A=a, B=b),
            "scipy": lambda: a + b,
        }
        yield f"spadd {label}", race
        race = {
            "tamis": lambda: tamis.evaluate("S(i,j) = A(i,j) * C(i,k) * D(j,k)", A=a, C=c, D=d),
            "scipy": lambda: gathered(a, c, d),
        }
        if own:
            race["numba"] = lambda: own[2](a.indptr, a.indices, a.data, c, d, np.empty(a.nnz))
        yield f"sddmm 32 {label}", race
        if label == "stencil":
            small = a
        else:
            small = power_law(n * 16, n * 160, 2)
        race = {
            "tamis": lambda: tamis.einsum("ij,jk->ik", small, small),
            "scipy": lambda: small @ small,
        }
        yield f"spgemm {label}", race
    coords, vals = tensor3((n, n, n), 2000 * n, 3)
    t = tamis.coo(coords, vals, shape=(n, n, n), format="csf")
    b, c, v = rng.random((n, 32)), rng.random((n, 32)), rng.random(n)
    order = np.lexsort(coords[::-1])
    i, j, k = (x[order] for x in coords)
    w = vals[order]
    race = {"tamis": lambda: tamis.einsum("ijk,jr,kr->ir", t, b, c, format="dense")}
    if own:
        race["numba"] = lambda: own[3](i, j, k, w, b, c, np.zeros((n, 32)))
    if HAS["sparse"]:
        import sparse

        s = sparse.COO(coords, vals, shape=(n, n, n))
        race["sparse"] = lambda: sparse.einsum("ijk,jr,kr->ir", s, b[:, :2], c[:, :2])
    yield "mttkrp 32", race
    race = {"tamis": lambda: tamis.einsum("ijk,k->ij", t, v)}
    if HAS["sparse"]:
        race["sparse"] = lambda: sparse.tensordot(s, v, axes=((2,), (0,)), return_type=sparse.COO)
    yield "ttv", race
    a = power_law(n * 20, n * 200, 4)
    x, y = rng.random(a.shape[0]), rng.random((a.shape[0], 16))
    race = {
        "tamis": lambda: tamis.einsum("ij,i,jk,j->ik", a, x, y, x),
        "scipy": lambda: (a * x[:, None] * x[None, :]) @ y,
    }
    yield "einsum of four", race


def gathered(a, c, d):
    rows = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    products = np.einsum("pk,pk->p", c[rows], d[a.indices])
    return sp.csr_array((a.data * products, a.indices, a.indptr), shape=a.shape)


def same(one, other):
    flat = [x.toarray() if sp.issparse(x) and x.shape[0] < 3000 else x for x in (one, other)]
    if sp.issparse(flat[0]) and sp.issparse(flat[1]):
        return abs(flat[0] - flat[1]).max() < 1e-9 * max(1.0, abs(flat[0]).max())
    if sp.issparse(flat[0]):
        return np.allclose(flat[0].data, flat[1])
    return np.allclose(flat[0], flat[1])


def overheads():
    a, x = sp.csr_array(np.eye(3)), np.ones(3)
    kernel = tamis.compile("y(i) = A(i,j) * x(j)")
    product = tamis.compile("C(i,j) = A(i,j) * B(i,j)")
    calls = {
        "compiled kernel, 3 x 3 csr times vector": lambda: kernel(A=a, x=x),
        "compiled kernel, csr result": lambda: product(A=a, B=a),
        "einsum, 3 x 3 csr times vector": lambda: tamis.einsum("ij,j->i", a, x),
        "einsum, csr result": lambda: tamis.einsum("ij,ij->ij", a, a),
        "SciPy's a @ x": lambda: a @ x,
        "numpy.einsum of two vectors": lambda: np.einsum("i,i->i", x, x),
    }
    print("| repeated call on tiny operands | microseconds |\n|---|---|")
    for name, call in calls.items():
        best = min(_seconds(call, 5000) for _ in range(7)) / 5000
        print(f"| {name} | {1e6 * best:.1f} |")
    firsts = [
        _seconds(lambda: tamis.einsum(f"{s},jk,kl->il", a, a, a, dtype=t), 1)
        for s in ("ij", "ji")
        for t in ("f8", "f4", "c16")
    ]
    print(f"| first call of a new einsum of three | {1e6 * statistics.median(firsts):.0f} |")


def _seconds(call, times):
    begin = time.perf_counter()
    for _ in range(times):
        call()
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--size", type=float, default=1.0)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    overheads()
    tamis.set_num_threads(options.threads)
    peers = ["scipy", "numba", "sparse"]
    print(f"\n| | tamis | {' | '.join(peers)} | x |\n|---|---|{'---|' * len(peers)}---|")
    ratios = []
    for name, race in races(options.size):
        if options.only not in name:
            continue
        results = {who: work() for who, work in race.items()}
        for who, result in results.items():
            # What pydata/sparse is timed on is smaller, or stored in another way.
            if who not in ("tamis", "sparse") and not same(results["tamis"], result):
                raise SystemExit(f"{who} has another result for {name}")
        times = {who: median(work) for who, work in race.items()}
        others = [t for who, t in times.items() if who != "tamis"]
        ratio = min(others) / times["tamis"] if others else float("nan")
        ratios.append(ratio)
        cells = " | ".join(f"{times[p]:.2f}" if p in times else "" for p in peers)
        print(f"| {name} | {times['tamis']:.2f} | {cells} | {ratio:.2f} |", flush=True)
    print(f"\ngeometric mean {np.exp(np.mean(np.log(ratios))):.2f}, least {min(ratios):.2f}")


main()
