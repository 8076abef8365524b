"""cuSPARSE through CuPy and PyTorch: OPERATION FOLDER NAME=SHAPE ..., a line `package ms sum` each.

What cuSPARSE does is timed as a caller of the package has it: a row of calls between two events. The sampled product of cuSPARSE does
not multiply by the values of the pattern, so that is not timed.
"""

import glob
import statistics
import sys

import numpy as np

TYPES = {"i32": np.int32, "i64": np.int64, "f64": np.float64}
RUNS = 9
CALLS = 10


def array(folder, name, part):
    (path,) = glob.glob(f"{folder}/{name}.{part}.*")
    return np.fromfile(path, TYPES[path.rsplit(".", 1)[1]])


def operands(folder, shapes):
    """Dense arrays, and (vals, crd, pos, shape) of matrices in compressed rows."""
    for text in shapes:
        name, shape = text.split("=")
        shape = tuple(int(n) for n in shape.split("x"))
        vals = array(folder, name, "vals")
        if glob.glob(f"{folder}/{name}.pos.*"):
            yield name, (vals, array(folder, name, "crd"), array(folder, name, "pos"), shape)
        else:
            yield name, vals.reshape(shape)


def milliseconds(call, event):
    """Pairs of events of the device with a row of calls between, and the last result."""
    times = []
    for _ in range(RUNS + 2):
        start, end = event(), event()
        start.record()
        for _ in range(CALLS):
            result = call()
        end.record()
        times.append((start, end))
        end.synchronize()
    return times[2:], result


def with_cupy(operation, given):
    import cupy
    from cupyx.scipy import sparse

    on_device = {
        name: sparse.csr_matrix(tuple(cupy.asarray(part) for part in value[:3]), shape=value[3])
        if isinstance(value, tuple)
        else cupy.asarray(value)
        for name, value in given.items()
    }
    a = on_device["A"]
    call = {
        "spmv": lambda: a @ on_device["x"],
        "spmm32": lambda: a @ on_device["B"],
        "spgemm": lambda: a @ on_device["B"],
    }[operation]
    times, result = milliseconds(call, cupy.cuda.Event)
    values = result.data if sparse.issparse(result) else result
    elapsed = [cupy.cuda.get_elapsed_time(start, end) for start, end in times]
    return statistics.median(elapsed) / CALLS, float(values.sum())


def with_torch(operation, given):
    import torch

    def moved(value):
        if not isinstance(value, tuple):
            return torch.from_numpy(value).cuda()
        vals, crd, pos = (torch.from_numpy(part).cuda() for part in value[:3])
        return torch.sparse_csr_tensor(pos.to(crd.dtype), crd, vals, size=value[3])

    on_device = {name: moved(value) for name, value in given.items()}
    a = on_device["A"]
    call = {
        "spmv": lambda: a @ on_device["x"],
        "spmm32": lambda: a @ on_device["B"],
        "spgemm": lambda: a @ on_device["B"],
        "sddmm32": lambda: torch.sparse.sampled_addmm(
            a, on_device["X"], on_device["Y"].T, beta=0.0
        ),
    }[operation]
    times, result = milliseconds(call, lambda: torch.cuda.Event(enable_timing=True))
    sparse = result.layout == torch.sparse_csr
    values = result.values() if sparse else result
    if operation == "sddmm32":
        values = values * a.values()
    elapsed = [start.elapsed_time(end) for start, end in times]
    return statistics.median(elapsed) / CALLS, float(values.sum())


def main():
    operation, folder, *shapes = sys.argv[1:]
    given = dict(operands(folder, shapes))
    for package, run in (("CuPy", with_cupy), ("PyTorch", with_torch)):
        try:
            ms, total = run(operation, given)
        except Exception as why:
            print(f"{package}: {type(why).__name__}: {why}", file=sys.stderr)
        else:
            print(package, ms, total)


main()
