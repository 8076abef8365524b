"""Programs as graphs of Dask's tasks: results have the bits of one process."""

import os
import signal
import time

import numpy as np
import pytest
import scipy.sparse as sp

import tamis

da = pytest.importorskip("dask.array")
import dask  # noqa: E402

import tamis.dask  # noqa: E402

ROWS, MIDDLE, COLUMNS = 45, 30, 37


@pytest.fixture(autouse=True)
def threads():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


def matrix(seed, shape, format="csr", density=0.3):
    rng = np.random.default_rng(seed)
    made = sp.random_array(shape, density=density, rng=rng, format=format)
    made.data[:] = rng.standard_normal(len(made.data)) * 10.0 ** rng.integers(-9, 9, len(made.data))
    return made


def dense(seed, *shape):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) * 10.0 ** rng.integers(-9, 9, shape)


def chunked(array, rows, columns=None):
    """The array in chunks that tasks make; those of a sparse one are SciPy's."""
    if isinstance(array, np.ndarray):
        sizes = (rows,) if array.ndim == 1 else (rows, columns or array.shape[1])
        return da.from_array(array, chunks=sizes)
    columns = columns or array.shape[1]
    meta = type(array)((0, 0), dtype=array.dtype)

    def block(i, j):
        part = array[i : i + rows, j : j + columns]
        made = dask.delayed(lambda: part)()
        return da.from_delayed(made, shape=part.shape, dtype=array.dtype, meta=meta)

    starts = range(0, array.shape[0], rows)
    across = range(0, array.shape[1], columns)
    lines = [da.concatenate([block(i, j) for j in across], axis=1) for i in starts]
    return da.concatenate(lines, axis=0)


def same(one, other):
    """Whether two results have the same bits."""
    if isinstance(other, np.ndarray) or np.isscalar(other):
        one, other = np.asarray(one), np.asarray(other)
        assert one.dtype == other.dtype and one.shape == other.shape
        assert one.tobytes() == other.tobytes()
        return
    one, other = tamis.asarray(one), tamis.asarray(other)
    assert one.shape == other.shape
    assert one.asformat(other.storage).values.tobytes() == other.values.tobytes()
    for found, wanted in zip(one.asformat(other.storage).levels, other.levels):
        assert found.keys() == wanted.keys()
        for name, array in wanted.items():
            assert np.array_equal(found[name], array)


A, B = matrix(1, (ROWS, MIDDLE)), matrix(2, (MIDDLE, COLUMNS))
S = matrix(3, (ROWS, COLUMNS))
X, D, E = dense(4, MIDDLE), dense(5, MIDDLE, 8), dense(6, COLUMNS, MIDDLE)
R = dense(7, ROWS, MIDDLE)

#: Programs, their operands, and how many tasks there are; 1 where one does all.
PROGRAMS = {
    "spmv": ("y(i) = A(i,j) * x(j)", {"A": A, "x": X}, 5),
    "spmm": ("Y(i,k) = A(i,j) * D(j,k)", {"A": A, "D": D}, 5),
    "sddmm": ("C(i,j) = S(i,j) * R(i,k) * E(j,k)", {"S": S, "R": R, "E": E}, 5),
    "spgemm": ("C(i,k) = A(i,j) * B(j,k)", {"A": A, "B": B}, 5),
    "rows": ("s(i) = A(i,j)", {"A": A}, 5),
    "all": ("s = A(i,j)", {"A": A}, 1),
    "columns": ("s(j) = A(i,j)", {"A": A}, 1),
    "add": ("C(i,j) = A(i,j) + F(i,j)", {"A": A, "F": matrix(8, (ROWS, MIDDLE))}, 5),
    "dense": ("C(i,j) = R(i,j) + A(i,j)", {"R": R, "A": A}, 5),
    "scaled": ("C(i,j) = 2.5 * A(i,j) * d(i)", {"A": A, "d": dense(9, ROWS)}, 5),
    "numbers": ("y(i) = A(i,j) * x(j) + i", {"A": A, "x": X}, 1),
    "sliced": ("y(i) = A(i[2:40], j) * x(j)", {"A": A, "x": X}, 1),
    "two": ("t(i) = A(i,j) * x(j); y(k) = t(i) * A(i,k)", {"A": A, "x": X}, 1),
    "diagonal": ("C(i,i) = d(i)", {"d": dense(9, ROWS)}, 1),
    "square": ("C(i,j) = G(i,k) * G(k,j)", {"G": matrix(10, (40, 40))}, 1),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("columns", [None, 11])
def test_results_have_the_bits_of_one_process(name, columns):
    text, operands, tasks = PROGRAMS[name]
    wanted = tamis.compile(text)(**operands)
    counts = {n: v.nnz for n, v in operands.items() if sp.issparse(v)}
    given = {n: v if v.ndim == 1 else chunked(v, 9, columns) for n, v in operands.items()}
    told = tamis.dask.explain(text, entries=counts, **given)
    assert told.startswith("one task, " if tasks == 1 else f"{tasks} tasks"), told
    made = tamis.dask.evaluate(text, entries=counts, **given)
    assert made.shape == np.shape(wanted)
    same(made.compute(), wanted)


@pytest.mark.parametrize("chunks", [1, 4, 13, 100])
def test_cuts_do_not_matter(chunks):
    for name in ("spmv", "sddmm", "spgemm"):
        text, operands, _ = PROGRAMS[name]
        made = tamis.dask.evaluate(text, chunks=chunks, **operands)
        same(made.compute(), tamis.evaluate(text, **operands))


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr", "bcsr(4,4)", "dense", "dia"])
@pytest.mark.parametrize("result", [None, "csr", "dense", "bcsr(2,2)", "coo"])
def test_formats(format, result):
    text = "C(i,k) = A(i,j) * D(j,k)"
    known = tamis.asarray(A).asformat(format)
    wanted = tamis.compile(text, format=result)(A=known, D=D)
    made = tamis.dask.evaluate(text, format=result, A=known, D=D, chunks=10)
    same(made.compute(), wanted)


#: Programs with the axes of their operands by variables.
RANDOM = {
    "C(i,j) = A(i,j) - 2 * B(i,j) * x(j)": {"A": "ij", "B": "ij", "x": "j"},
    "C(i,j) = A(i,k) * B(k,j)": {"A": "ik", "B": "kj"},
    "C(i,j) = A(k,i) * B(k,j)": {"A": "ki", "B": "kj"},
    "C(j,i) = A(i,j)": {"A": "ij"},
    "C(i,j) = A(i,j) + A(j,i)": {"A": "ii"},
    "C(i,j) = A(i,k) * A(j,k)": {"A": "ij"},
    "m(i) = max(j, A(i,j))": {"A": "ij"},
    "d(i) = A(i,i)": {"A": "ii"},
    "C(i,j) = x(i) + y(j)": {"x": "i", "y": "j"},
    "C(i,j) = A(i,j) / x(i)": {"A": "ij", "x": "i"},
    "C(i,j) = A(i[::-1],j)": {"A": "ij"},
    "Y(i,r) = T(i,j,k) * D(j,r) * E(k,r)": {"T": "ijk", "D": "jr", "E": "kr"},
    "Y(i,j,r) = T(i,j,k) * D(k,r)": {"T": "ijk", "D": "kr"},
    "Y(j,k) = T(i,j,k) * x(i)": {"T": "ijk", "x": "i"},
}
FORMATS = {
    1: ["dense", "sparse", "hash"],
    2: ["csr", "csc", "coo", "dcsr", "dense", "bcsr(2,3)", "dia", "ell", "csf"],
    3: ["csf", "coo", "dense"],
}


@pytest.mark.parametrize("seed", range(100))
def test_random_programs(seed):
    rng = np.random.default_rng(seed)
    text, axes = list(RANDOM.items())[seed % len(RANDOM)]
    sizes = {v: int(rng.choice([1, 3, 8, 13, 30])) for v in "ijkr"}
    operands = {}
    for name, variables in axes.items():
        values = dense(seed, *(sizes[v] for v in variables))
        values[rng.random(values.shape) < rng.choice([0.0, 0.5, 0.9])] = 0
        operands[name] = tamis.asarray(values).asformat(rng.choice(FORMATS[values.ndim]))
    order = text.partition("=")[0].count(",") + 1
    result = rng.choice([None, *FORMATS[order]])
    chunks = rng.choice([None, 1, 3, 4, 100])
    try:
        wanted = tamis.compile(text, format=result)(**operands)
    except tamis.TamisError as error:
        with pytest.raises(type(error)):
            tamis.dask.evaluate(text, format=result, chunks=chunks, **operands).compute()
        return
    made = tamis.dask.evaluate(text, format=result, chunks=chunks, **operands)
    same(made.compute(), wanted)


def test_integers_and_numbers():
    rng = np.random.default_rng(0)
    whole = sp.csr_array(rng.integers(-3, 3, (20, 10)).astype(np.int32))
    text, operands = "y(i) = c * A(i,j) * x(j)", {"x": np.arange(10, dtype=np.int32)}
    for number in (3, 2.5):
        wanted = tamis.evaluate(text, A=whole, c=number, **operands)
        made = tamis.dask.evaluate(text, A=chunked(whole, 7), c=number, **operands)
        assert made.dtype == wanted.dtype
        same(made.compute(), wanted)


def test_results_are_operands():
    product = tamis.dask.evaluate("C(i,k) = A(i,j) * B(j,k)", A=chunked(A, 9), B=B)
    assert product.npartitions == 5 and product.chunks == ((9,) * 5, (COLUMNS,))
    sums = tamis.dask.evaluate("s(i) = C(i,k)", C=product)
    both = dask.compute(product, sums)
    wanted = tamis.evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=B)
    same(both[0], wanted)
    same(both[1], tamis.evaluate("s(i) = C(i,k)", C=wanted))
    same(product.persist().compute(), wanted)


def test_files(tmp_path):
    starts = range(0, ROWS, 20)
    paths = [tmp_path / f"{at}.mtx" for at in starts]
    for at, path in zip(starts, paths):
        tamis.write(path, A[at : at + 20])
    made = tamis.dask.read(paths)
    assert made.shape == A.shape and made.nnz == A.nnz and made.format == "csr"
    same(made.compute(), tamis.asarray(A))
    y = tamis.dask.evaluate("y(i) = A(i,j) * x(j)", A=made, x=X)
    assert y.chunks == ((20, 20, 5),)
    same(y.compute(), tamis.evaluate("y(i) = A(i,j) * x(j)", A=A, x=X))


def test_refusals():
    def refused(words, **operands):
        with pytest.raises(tamis.TamisError, match=words):
            tamis.dask.evaluate("y(i) = A(i,j) * x(j)", **operands)

    refused("shape of A is not known", A=dask.delayed(lambda: A)(), x=X)
    refused("sizes of A are not known", A=(lambda r: r[r[:, 0] > 0])(da.from_array(R)), x=X)
    refused("dimension", A=A, x=R[0, :5])
    refused("x is read, but has no value", A=A)
    refused("no operand is named B", A=A, x=X, formats={"B": "csr"})
    refused("chunks are 0", A=A, x=X, chunks=0)
    with pytest.raises(tamis.TamisError, match="pieces differ"):
        tamis.dask.from_delayed([A, S], shapes=[A.shape, S.shape])


# Workers that die. A task tells its process in a file, and waits to be killed.

DEADLINE = 120


def wait_to_die(folder, stage):
    """Tells this process, once, and waits until the test has killed one."""
    done = os.path.join(folder, "killed")
    if os.path.exists(done):
        return
    own = os.path.join(folder, f"{stage}-{os.getpid()}")
    with open(own + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.replace(own + ".new", own)
    end = time.monotonic() + DEADLINE
    while not os.path.exists(done) and time.monotonic() < end:
        time.sleep(0.01)


def kill_one(folder, stage):
    """Kills the first process that tells it is there."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        told = [n for n in os.listdir(folder) if n.startswith(f"{stage}-") and "." not in n]
        if told:
            os.kill(int(told[0].partition("-")[2]), signal.SIGKILL)
            open(os.path.join(folder, "killed"), "w").close()
            return
        time.sleep(0.01)
    raise AssertionError(f"no task came to {stage}")


def load(rows, folder):
    wait_to_die(folder, "load")
    return rows


def slow_run(folder):
    """Has tasks that compute wait to be killed, in the workers that there are now."""
    run = tamis.dask._run

    def waiting(*arguments):
        wait_to_die(folder, "run")
        return run(*arguments)

    tamis.dask._run = waiting


@pytest.fixture
def client():
    """Workers of one test alone, since one that was killed may come back late."""
    distributed = pytest.importorskip("distributed")
    settings = {"distributed.worker.daemon": False, "distributed.comm.timeouts.connect": "60s"}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, timeout="60s", set_as_default=False) as client,
    ):
        yield client


@pytest.mark.parametrize("stage", ["load", "run", "held"])
@pytest.mark.parametrize("name", ["spmv", "spgemm"])
def test_killed_workers_cost_only_their_tasks(client, tmp_path, stage, name):
    text, operands, _ = PROGRAMS[name]
    folder = str(tmp_path)
    client.wait_for_workers(2, timeout=DEADLINE)
    read = dask.delayed(load)
    pieces = [A[at : at + 9] for at in range(0, ROWS, 9)]
    if stage != "load":
        open(os.path.join(folder, "killed"), "w").close()
    parts = [read(piece, folder) for piece in pieces]
    given = {**operands, "A": tamis.dask.from_delayed(parts, shapes=[p.shape for p in pieces])}
    if stage == "run":
        # Loaded, and then lost.
        given["A"] = client.persist(given["A"])
        client.gather(client.futures_of(given["A"]))
        os.remove(os.path.join(folder, "killed"))
        client.run(slow_run, folder)
    made = tamis.dask.evaluate(text, entries={"A": A.nnz}, **given)
    if stage == "held":
        made = client.persist(made)
        client.gather(client.futures_of(made))
        os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)
        found = client.compute(made)
    else:
        found = client.compute(made)
        kill_one(folder, stage)
    same(found.result(timeout=DEADLINE), tamis.evaluate(text, **operands))
