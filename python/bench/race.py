"""Races Tamis against what Python users have: ``python python/bench/race.py [--threads N] [--size F]``.

Every contestant gets the same operands and one thread (``--threads`` gives Tamis more), those with
matrices of their own, GraphBLAS and pyttb, made into these before. Times are medians in
milliseconds, of rounds in which each runs; ``x`` says how many times as long the fastest
peer takes as Tamis. Results are compared before they are timed. Peers that are not installed are
left out.
"""

from __future__ import annotations

import argparse
import glob
import importlib.util
import os
import random
import statistics
import sys
import time

for library in glob.glob(f"{sys.prefix}/lib/libmkl_rt.so*"):
    os.environ.setdefault("MKL_RT", library)
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import scipy.sparse as sp
import tamis

PEERS = {
    "scipy": "scipy",
    "mkl": "sparse_dot_mkl",
    "graphblas": "graphblas",
    "numba": "numba",
    "sparse": "sparse",
    "pyttb": "pyttb",
}
HAS = {name: importlib.util.find_spec(module) is not None for name, module in PEERS.items()}


#: On one thread time is the processor's: what else the machine does is not counted.
CLOCKS = {"processor": time.process_time, "wall": time.perf_counter}


def medians(race, clock, least=5, seconds=0.5):
    """Milliseconds of each contestant: all run in every round, so that what else the machine does
    falls on all of them, and in another order each time, since whoever follows one that read the same
    arrays finds them in the caches."""
    times = {who: [] for who in race}
    order, shuffled = list(race), random.Random(1)
    while any(len(t) < least or sum(t) < seconds for t in times.values()):
        shuffled.shuffle(order)
        for who in order:
            if len(times[who]) >= least and sum(times[who]) > 10 * seconds:
                continue
            begin = clock()
            race[who]()
            times[who].append(clock() - begin)
    return {who: 1e3 * statistics.median(t) for who, t in times.items()}


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


def by_mkl(name, *operands):
    """What MKL does of a race."""
    from sparse_dot_mkl import dot_product_mkl

    if name in ("spmv", "spmm", "spgemm"):
        return {"mkl": lambda: dot_product_mkl(*operands)}
    if name == "spgemm sorted":
        return {"mkl": lambda: dot_product_mkl(*operands, reorder_output=True)}
    return {}


def by_graphblas(name, *operands):
    """What SuiteSparse's GraphBLAS does of a race, with operands of its own."""
    import graphblas as gb

    gb.ss.config["nthreads"] = 1
    own = [gb.io.from_scipy_sparse(x) if sp.issparse(x) else None for x in operands]
    for k, x in enumerate(operands):
        if own[k] is None:
            own[k] = (gb.Vector if x.ndim == 1 else gb.Matrix).from_dense(x)
    semiring = gb.semiring.plus_times
    work = {
        "spmv": lambda a, x: a.mxv(x, semiring).new(),
        "spmm": lambda a, x: a.mxm(x, semiring).new(),
        "spgemm": lambda a, b: a.mxm(b, semiring).new(),
        "spgemm sorted": lambda a, b: a.mxm(b, semiring).new().wait(),
        "spadd": lambda a, b: a.ewise_add(b, gb.monoid.plus).new(),
        "sddmm": lambda a, c, d: a.ewise_mult(c.mxm(d.T, semiring).new(mask=a.S)).new(),
    }.get(name)
    return {"graphblas": lambda: work(*own)} if work else {}


def by_pyttb(name, coords, vals, shape, *others):
    """What pyttb does of a race of a tensor."""
    import pyttb

    tensor = pyttb.sptensor.from_aggregator(np.stack(coords, axis=1), vals[:, None], shape)
    if name == "mttkrp":
        factors = [np.ones((shape[0], others[0].shape[1])), *others]
        return {"pyttb": lambda: tensor.mttkrp(factors, 0)}
    return {"pyttb": lambda: tensor.ttv(others[0], 2)}


def peers_of(race, name, *operands):
    """The race with those peers that are asked by name."""
    for who, does in (("mkl", by_mkl), ("graphblas", by_graphblas)):
        if HAS[who]:
            race |= does(name, *operands)
    return race


def races(size, wanted):
    """Name, and what each contestant does; those beside Tamis are peers."""
    n = int(1000 * size)
    for label, make in (
        ("stencil", lambda: stencil(n)),
        ("power law", lambda: power_law(n * 400, n * 6400, 1)),
    ):
        if wanted not in label and not any(wanted in f"{name} {label}" for name in MATRICES):
            continue
        yield from races_of_matrices(label, make(), n)
    yield from races_of_tensors(n)
    a = power_law(n * 20, n * 200, 4)
    rng = np.random.default_rng(0)
    x, y = rng.random(a.shape[0]), rng.random((a.shape[0], 16))
    race = {
        "tamis": lambda: tamis.einsum("ij,i,jk,j->ik", a, x, y, x),
        "scipy": lambda: (a * x[:, None] * x[None, :]) @ y,
    }
    yield "einsum of four", lambda: race


MATRICES = ("spmv", "spmm 32", "spadd", "sddmm 32", "spgemm", "spgemm sorted")


def races_of_matrices(label, a, n):
    own = numba_kernels() if HAS["numba"] else None
    rng = np.random.default_rng(0)
    rows = a.shape[0]
    x, wide = rng.random(rows), rng.random((rows, 32))
    c, d = rng.random((rows, 32)), rng.random((rows, 32))
    race = {"tamis": lambda: tamis.einsum("ij,j->i", a, x), "scipy": lambda: a @ x}
    if own:
        race["numba"] = lambda: own[0](a.indptr, a.indices, a.data, x, np.empty(rows))
    yield f"spmv {label}", lambda: peers_of(race, "spmv", a, x)
    race = {"tamis": lambda: tamis.einsum("ij,jk->ik", a, wide), "scipy": lambda: a @ wide}
    if own:
        race["numba"] = lambda: own[1](a.indptr, a.indices, a.data, wide, np.empty((rows, 32)))
    yield f"spmm 32 {label}", lambda: peers_of(race, "spmm", a, wide)
    b = sp.csr_array(a.T)
    race = {
        "tamis": lambda: tamis.evaluate("S(i,j) = A(i,j) + B(i,j)", A=a, B=b),
        "scipy": lambda: a + b,
    }
    yield f"spadd {label}", lambda: peers_of(race, "spadd", a, b)
    race = {
        "tamis": lambda: tamis.evaluate("S(i,j) = A(i,j) * C(i,k) * D(j,k)", A=a, C=c, D=d),
        "scipy": lambda: gathered(a, c, d),
    }
    if own:
        race["numba"] = lambda: own[2](a.indptr, a.indices, a.data, c, d, np.empty(a.nnz))
    yield f"sddmm 32 {label}", lambda: peers_of(race, "sddmm", a, c, d)
    small = a if label == "stencil" else power_law(n * 16, n * 160, 2)
    race = {
        "tamis": lambda: tamis.einsum("ij,jk->ik", small, small, format="csr(nonordered)"),
        "scipy": lambda: small @ small,
    }
    yield f"spgemm {label}", lambda: peers_of(race, "spgemm", small, small)
    race = {
        "tamis": lambda: tamis.einsum("ij,jk->ik", small, small),
        "scipy": lambda: in_order(small @ small),
    }
    yield f"spgemm sorted {label}", lambda: peers_of(race, "spgemm sorted", small, small)


def races_of_tensors(n):
    own = numba_kernels() if HAS["numba"] else None
    rng = np.random.default_rng(0)
    coords, vals = tensor3((n, n, n), 2000 * n, 3)
    t = tamis.coo(coords, vals, shape=(n, n, n), format="csf")
    b, c, v = rng.random((n, 32)), rng.random((n, 32)), rng.random(n)
    order = np.lexsort(coords[::-1])
    i, j, k = (x[order] for x in coords)
    w = vals[order]
    race = {"tamis": lambda: tamis.einsum("ijk,jr,kr->ir", t, b, c, format="dense")}
    if own:
        race["numba"] = lambda: own[3](i, j, k, w, b, c, np.zeros((n, 32)))
    others = {}
    if HAS["sparse"]:
        import sparse

        s = sparse.COO(coords, vals, shape=(n, n, n))
        race["sparse"] = lambda: sparse.einsum("ijk,jr,kr->ir", s, b[:, :2], c[:, :2])
        others["sparse"] = lambda: sparse.tensordot(s, v, axes=((2,), (0,)), return_type=sparse.COO)
    parts = (coords, vals, (n, n, n))
    pyttbs = by_pyttb if HAS["pyttb"] else lambda *_: {}
    yield "mttkrp 32", lambda: race | pyttbs("mttkrp", *parts, b, c)
    yield (
        "ttv",
        lambda: {
            "tamis": lambda: tamis.einsum("ijk,k->ij", t, v),
            **others,
            **pyttbs("ttv", *parts, v),
        },
    )


def in_order(a):
    a.sort_indices()
    return a


def gathered(a, c, d):
    rows = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    products = np.einsum("pk,pk->p", c[rows], d[a.indices])
    return sp.csr_array((a.data * products, a.indices, a.indptr), shape=a.shape)


def same(one, other):
    kind = type(other).__module__.partition(".")[0]
    if kind == "graphblas":
        import graphblas as gb

        is_vector = isinstance(other, gb.Vector) or not sp.issparse(one)
        other = other.to_dense(fill_value=0.0) if is_vector else gb.io.to_scipy_sparse(other)
    if kind in ("sparse", "pyttb"):
        # What pydata/sparse is timed on is smaller; both store results in another way.
        return (
            isinstance(other, np.ndarray) is False
            or other.shape != one.shape
            or np.allclose(one, other)
        )
    if sp.issparse(one) and sp.issparse(other):
        return abs(one - other).max() < 1e-9 * max(1.0, abs(one).max())
    if sp.issparse(one):
        return np.allclose(one.data, other)
    return np.allclose(one, other)


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
    parser.add_argument("--clock", choices=CLOCKS)
    options = parser.parse_args()
    clock = options.clock or ("processor" if options.threads == 1 else "wall")
    overheads()
    tamis.set_num_threads(options.threads)
    peers = [who for who in PEERS if HAS[who]]
    print(f"\n| | tamis | {' | '.join(peers)} | x |\n|---|---|{'---|' * len(peers)}---|")
    ratios: dict[str, list[float]] = {}
    for name, make in races(options.size, options.only):
        if options.only not in name:
            continue
        race = make()
        results = {who: work() for who, work in race.items()}
        for who, result in results.items():
            if who != "tamis" and not same(results["tamis"], result):
                raise SystemExit(f"{who} has another result for {name}")
        del results
        times = medians(race, CLOCKS[clock])
        others = [t for who, t in times.items() if who != "tamis"]
        ratio = min(others) / times["tamis"] if others else float("nan")
        ratios.setdefault(name.split()[0], []).append(ratio)
        cells = " | ".join(f"{times[p]:.2f}" if p in times else "" for p in peers)
        print(f"| {name} | {times['tamis']:.2f} | {cells} | {ratio:.2f} |", flush=True)
    by_row = [ratio for of_operation in ratios.values() for ratio in of_operation]
    by_operation = [mean(of_operation) for of_operation in ratios.values()]
    print(
        f"\ngeometric mean of rows {mean(by_row):.2f}, of operations {mean(by_operation):.2f}, "
        f"least {min(by_row):.2f}"
    )


def mean(ratios: list[float]) -> float:
    """The geometric mean."""
    return float(np.exp(np.mean(np.log(ratios))))


if __name__ == "__main__":
    main()
