"""Runs programs with Tamis and with NumPy and SciPy, compares results, then times both.

``python examples/programs/run.py [NAME ..] [--small] [--web FILE] [--mesh FILE] [--text FILE] [--facts FILE] [--grid FILE]``

Names are those of programs or of their files; without any, all run. Both have one thread, or as many as the
environment's ``TAMIS_NUM_THREADS`` says. Times are milliseconds of the processor for one thread, of the wall
clock for more; the least of rounds in which each runs once. ``first`` is the time of Tamis' first call, which
compiles. Results agree within a relative 1e-9.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from typing import Any

THREADS = int(os.environ.get("TAMIS_NUM_THREADS", "1"))
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, str(THREADS))

import graphs
import learning
import moments
import numpy as np
import scipy.sparse as sp
import solvers
import tamis
import tensors
import text
from data import Data
from program import PROGRAMS

FILES = [graphs, text, learning, moments, solvers, tensors]
clock = time.process_time if THREADS == 1 else time.perf_counter
SOURCES = ["web", "mesh", "text", "facts", "grid"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="programs, or files of programs")
    parser.add_argument("--small", action="store_true", help="small data; results only")
    for source in SOURCES:
        parser.add_argument(f"--{source}", metavar="FILE", help=".mtx or .tns, also .gz")
    options = parser.parse_args()
    tamis.set_num_threads(THREADS)
    files = {source: getattr(options, source) for source in SOURCES}
    data = Data(0.01 if options.small else 1.0, **files)
    chosen = [p for p in PROGRAMS.values() if not options.names or is_named(p, options.names)]
    if not chosen:
        sys.exit(f"no program is named {' or '.join(options.names)}")
    if options.small:
        for made in chosen:
            compare(made, made.inputs(data))
            print(f"{made.__name__}: results agree")
        return
    print("| program | | tamis | scipy | x | first |\n|---|---|---|---|---|---|")
    ratios = [row(made, made.inputs(data)) for made in chosen]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"\n{len(ratios)} programs: geometric mean {mean:.2f}, least {min(ratios):.2f}")


def is_named(made: Any, names: list[str]) -> bool:
    return made.__name__ in names or made.__module__ in names


def compare(made: Any, inputs: dict[str, Any]) -> float:
    """Runs both, refuses results that differ, and returns the seconds that Tamis takes first."""
    begin = clock()
    found = made.tamis(**inputs)
    first = clock() - begin
    if not same(found, made.scipy(**inputs)):
        raise SystemExit(f"{made.__name__}: results differ")
    return first


def row(made: Any, inputs: dict[str, Any]) -> float:
    """Prints the row of a program, and returns how many times as long SciPy takes."""
    first = compare(made, inputs)
    times = least([made.tamis, made.scipy], inputs)
    ratio = times[1] / times[0]
    cells = [f"{1e3 * t:.3g}" for t in times] + [f"{ratio:.2f}", f"{1e3 * first:.0f}"]
    says = made.__doc__.splitlines()[0].rstrip(".")
    print(f"| `{made.__name__}` | {says} | {' | '.join(cells)} |", flush=True)
    return ratio


def least(functions: list[Any], inputs: dict[str, Any], seconds: float = 0.5) -> list[float]:
    """The least time of each function, over rounds of which each begins with another one."""
    times: list[list[float]] = [[] for _ in functions]
    order = list(range(len(functions)))
    while len(times[0]) < 5 or (sum(map(sum, times)) < seconds and len(times[0]) < 1000):
        for k in order:
            begin = clock()
            functions[k](**inputs)
            times[k].append(clock() - begin)
        order.reverse()
    return [min(t) for t in times]


def same(one: Any, other: Any, tolerance: float = 1e-9) -> bool:
    """Whether two results agree: numbers, arrays, matrices, or several of them."""
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if sp.issparse(one) or sp.issparse(other) or isinstance(one, tamis.Tensor):
        one, other = (coordinates(x) for x in (one, other))
        difference, largest = abs(one - other).max(), abs(one).max()
        return one.shape == other.shape and bool(difference <= tolerance * max(1.0, largest))
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape:
        return False
    scale = tolerance * max(1.0, np.abs(one[np.isfinite(one)]).max(initial=0.0))
    return bool(np.allclose(one, other, rtol=tolerance, atol=scale, equal_nan=True))


def coordinates(found: Any) -> Any:
    """A result as a matrix of SciPy's, with every axis but the first in one."""
    if isinstance(found, tamis.Tensor):
        found = found.to_scipy()
    found = sp.coo_array(found)
    return sp.csr_array(found.reshape(found.shape[0], -1) if found.ndim > 2 else found)


if __name__ == "__main__":
    main()
