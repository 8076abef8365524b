"""``evaluate`` and ``compile``: options, errors, threads, processes, interrupts."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
import tamis
from conftest import array

A = sp.random_array((50, 40), density=0.2, format="csr", random_state=3)
X = np.arange(40.0)
SPMV = "y(i) = A(i,j) * x(j)"


def test_kernels_are_called_again():
    kernel = tamis.compile(SPMV, A="csr")
    for form in ("csr", "csc", "coo"):
        for dtype in ("f8", "f4", "i8"):
            a, x = A.astype(dtype), X.astype(dtype)
            np.testing.assert_allclose(kernel(A=a.asformat(form), x=x), a @ x, rtol=1e-5)
    np.testing.assert_allclose(kernel(A, X), A @ X)
    np.testing.assert_allclose(kernel(A.toarray(), x=X), A @ X)
    assert kernel.operands == ["A", "x"] and kernel.expression == SPMV
    assert repr(kernel) == f"<tamis.Kernel {SPMV!r}>"


def test_kernels_are_pickled_as_what_they_were_made_of():
    kernel = tamis.compile("C(i,j) = A(i,j) * B(i,j)", A="csr", C="csc", dtype="f4")
    other = pickle.loads(pickle.dumps(kernel))
    assert other.expression == kernel.expression
    result = other(A=A, B=A)
    assert result.format == "csc" and result.dtype == np.float32


def test_schedules_and_stages():
    text = "split(i, i0, i1, 16); parallelize(i0, cpu_thread, no_races)"
    kernel = tamis.compile(SPMV, A="csr", schedule=text)
    np.testing.assert_allclose(kernel(A=A, x=X), A @ X)
    assert kernel.schedule == text
    assert "forall(i0" in kernel.explain("cin")
    assert "void compute_y" in kernel.explain("c") or "compute_y(" in kernel.explain("c")
    with pytest.raises(ValueError, match="no stage named nothing"):
        kernel.explain("nothing")


def test_formats_of_operands_and_results():
    kernel = tamis.compile("C(i,j) = A(i,k) * B(k,j)", A="csc", B="csr{f32}", C="coo")
    result = kernel(A=A, B=A.T)
    assert result.format == "coo"
    np.testing.assert_allclose(result.toarray(), (A @ A.T).toarray(), rtol=1e-6)
    narrow = tamis.evaluate("C(i,j) = 2 * A(i,j)", A=A, dtype="f4")
    assert narrow.dtype == np.float32
    both = tamis.evaluate("C(i,j) = 2 * A(i,j)", A=A, format={"C": "csc"})
    assert isinstance(both, sp.csc_array)


def test_several_statements():
    text = "s(i) = A(i,j) * x(j); t = s(i) * s(i)"
    assert tamis.evaluate(text, A=A, x=X) == pytest.approx(float((A @ X) @ (A @ X)))
    both = tamis.compile(text).all(A=A, x=X)
    assert list(both) == ["s", "t"]
    np.testing.assert_allclose(both["s"], A @ X)


def test_sizes_that_operands_do_not_fix():
    made = tamis.evaluate("y(i) = 2 * i", dims={"i": 4})
    np.testing.assert_array_equal(made, [0, 2, 4, 6])
    part = tamis.evaluate("B(i[1:3]) = x(i)", x=np.ones(2), shapes={"B": (4,)})
    np.testing.assert_array_equal(part, [0, 1, 1, 0])


def test_operands_named_like_options():
    np.testing.assert_array_equal(
        tamis.evaluate("y(i) = format(i) + 1", operands={"format": np.ones(2)}), [2, 2]
    )


def test_values_accumulate_on_what_is_given():
    np.testing.assert_array_equal(
        tamis.evaluate("y(i) += x(i)", x=np.ones(2), y=np.array([5.0, 6.0])), [6, 7]
    )


@pytest.mark.parametrize("backend", ["jit", "interp", "auto"])
def test_backends(backend):
    np.testing.assert_allclose(tamis.evaluate(SPMV, A=A, x=X, backend=backend), A @ X)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: tamis.evaluate("y(i) = A(i,j * x(j)", A=A, x=X), ValueError, "^error.syntax"),
        (lambda: tamis.evaluate(SPMV, A=A, x=np.ones(3)), ValueError, r"index j.*\n.*\n.*\^"),
        (lambda: tamis.evaluate(SPMV, A=A), ValueError, "missing-input|dimension-unknown"),
        (lambda: tamis.evaluate(SPMV, A=A, x=X, z=X), ValueError, "no tensor named z"),
        (lambda: tamis.evaluate("y(i) = 2 * i"), ValueError, 'dims=."i": SIZE.'),
        (lambda: tamis.compile(SPMV, A="csx"), ValueError, "no format named csx"),
        (lambda: tamis.compile(SPMV, B="csr"), ValueError, "no tensor named B"),
        (lambda: tamis.compile(SPMV, schedule="split(q,a,b,4)"), ValueError, "q"),
        (lambda: tamis.compile(SPMV, backend="gpu"), ValueError, "no backend named gpu"),
        (lambda: tamis.compile(SPMV, dtype=object), TypeError, "type object"),
        (lambda: tamis.compile(SPMV)(A, X, X), ValueError, "3 operands are given"),
        (lambda: tamis.compile(SPMV)(A, X, A=A), ValueError, "A is given twice"),
        (lambda: tamis.compile(SPMV, A="csf")(A=np.ones((2, 2, 2)), x=X), ValueError, "3 axes"),
        (lambda: tamis.evaluate("y(i) = atan(z(i))", z=np.ones(2) * 1j), TypeError, "complex"),
    ],
)
def test_mistakes(call, kind, words):
    with pytest.raises(kind, match=words) as refused:
        call()
    assert isinstance(refused.value, tamis.TamisError)
    assert refused.value.code in str(refused.value)


def test_memory_that_is_not_there():
    one = sp.csr_array(([1.0], ([0], [0])), shape=(2**25, 2**25))
    with pytest.raises(MemoryError, match="out-of-memory"):
        tamis.evaluate("C(i,j) = A(i,j) + 1", A=one, format="dense")
    assert tamis.evaluate("c = A(i,j)", A=one) == 1.0


def test_large_coordinates():
    far = sp.coo_array(([1.0, 2.0], ([0, 2**40], [2**40, 3])), shape=(2**41, 2**41))
    assert tamis.evaluate("c = A(i,j) * A(i,j)", A=far) == 5.0


def test_empty_operands():
    for shape in ((0, 0), (0, 5), (5, 0)):
        empty = sp.csr_array(shape)
        assert tamis.einsum("ij,kj->ik", empty, empty).shape == (shape[0], shape[0])
        assert tamis.einsum("ij->", empty) == 0
        assert tamis.einsum("ij->ji", np.zeros(shape)).shape == shape[::-1]


def test_threads_of_the_caller():
    kernel = tamis.compile(SPMV)
    big = sp.random_array((2000, 2000), density=0.01, format="csr", random_state=1)
    x, results = np.ones(2000), []

    def work():
        for _ in range(20):
            results.append(kernel(A=big, x=x))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 80
    for result in results:
        np.testing.assert_array_equal(result, results[0])


LONG = """
import numpy as np, tamis
n = 3000
x = np.random.default_rng(0).random((n, n))
"""


def run(code, timeout=120):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=timeout
    )


def test_processor_levels_are_those_of_the_machine():
    def under(level):
        code = "import numpy, tamis; tamis.evaluate('y(i) = 2 * x(i)', x=numpy.ones(20))"
        return subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "TAMIS_CPU": level},
            capture_output=True,
            text=True,
        )

    assert under("native").returncode == 0
    done = under("avx2")
    assert "TamisValueError: error[invalid-option]: TAMIS_CPU=avx2 is not a" in done.stderr


def test_the_interpreter_goes_on_meanwhile():
    done = run(
        LONG
        + """
import threading, time
beats, stop = [], threading.Event()
def beat():
    while not stop.is_set():
        beats.append(time.perf_counter())
        time.sleep(0.001)
thread = threading.Thread(target=beat)
thread.start()
begin = time.perf_counter()
tamis.einsum("ij,jk->ik", x[:1200, :1200], x[:1200, :1200])
end = time.perf_counter()
stop.set()
thread.join()
print(end - begin, sum(begin < b < end for b in beats))
"""
    )
    seconds, beats = map(float, done.stdout.split())
    assert beats > 20 * seconds, done.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals are sent to processes")
@pytest.mark.parametrize(
    "call",
    [
        'tamis.einsum("ij,jk,kl,lm->im", x, x, x, x)',
        # Few values, many coordinates.
        'tamis.evaluate("r = sum(i, j, sin(i + j))", dims={"i": 10**7, "j": 10**7})',
    ],
)
def test_an_interrupt_ends_a_long_run(call):
    code = (
        LONG
        + f"""
import signal
# Processes in the background of a script ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
print("go", flush=True)
{call}
"""
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "go\n"
    time.sleep(1.0)
    begin = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=60)
    assert "KeyboardInterrupt" in told
    assert time.monotonic() - begin < 20


@pytest.mark.skipif(os.name != "posix", reason="signals are sent to processes")
@pytest.mark.parametrize("name", ["x.mtx", "x.tns.gz", "x.h5"])
def test_an_interrupted_write_leaves_nothing(name, tmp_path):
    code = LONG + f"""
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
os.chdir({str(tmp_path)!r})
many = tamis.asarray(x)
print("go", flush=True)
try:
    tamis.write({name!r}, many)
finally:
    print(*os.listdir("."), flush=True)
    os._exit(0)
"""
    if name.endswith("h5"):
        pytest.importorskip("h5py")
    (tmp_path / name).write_text("before")
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "go\n"
    deadline = time.monotonic() + 30
    while len(os.listdir(tmp_path)) < 2 and time.monotonic() < deadline:
        time.sleep(0.001)
    child.send_signal(signal.SIGINT)
    told, _ = child.communicate(timeout=60)
    assert told == f"{name}\n"
    # Python loses what a handler raises in a callback of its own; then the file is complete.
    before = (tmp_path / name).read_bytes() == b"before"
    assert before or tamis.read(tmp_path / name).shape == (3000, 3000)


@pytest.mark.skipif(os.name != "posix", reason="signals are sent to processes")
def test_what_a_handler_raises_while_a_refusal_is_made():
    done = run(
        """
import signal, time, tamis
class Stop(Exception):
    pass
armed = False
def stop(*_):
    # Another thread may take a signal, so that one arrives in a later call: once is enough.
    global armed
    if armed:
        armed = False
        raise Stop
signal.signal(signal.SIGALRM, stop)
def once(delay):
    global armed
    try:
        armed = True
        signal.setitimer(signal.ITIMER_REAL, delay)
        tamis.evaluate("y(i) = A(i,j) * x(k)", A=1.0)
    except tamis.TamisError:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
begin = time.perf_counter()
for _ in range(1000):
    once(0)
usual, kinds = (time.perf_counter() - begin) / 1000, set()
for n in range(10_000):
    try:
        once(usual * (n % 100 + 1) / 50)
    except Exception as error:
        kinds.add(type(error).__name__)
print(*kinds)
"""
    )
    assert done.stdout == "Stop\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_threads_after_a_fork():
    done = run(
        """
import os, numpy as np, scipy.sparse as sp, tamis
A = sp.random_array((3000, 3000), density=0.02, format="csr", random_state=1)
before = tamis.einsum("ij,jk->ik", A, A)
child = os.fork()
after = tamis.einsum("ij,jk->ik", A, A)
assert (before != after).nnz == 0 and after.nnz > 1 << 18
assert np.allclose(tamis.einsum("ij->j", after), after.sum(axis=0))
if child == 0:
    os._exit(0)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
"""
    )
    assert done.stdout == "0\n", done.stderr


def test_numbers_of_threads():
    done = run(
        """
import numpy as np, scipy.sparse as sp, tamis
A = sp.random_array((3000, 3000), density=0.02, format="csr", random_state=1)
results = []
for threads in (1, 3, 2):
    tamis.set_num_threads(threads)
    assert tamis.get_num_threads() == threads
    results.append(tamis.einsum("ij,jk->ik", A, A))
assert all((r != results[0]).nnz == 0 for r in results)
try:
    tamis.set_num_threads(0)
except ValueError:
    print("refused")
"""
    )
    assert done.stdout == "refused\n", done.stderr


def test_limits_of_memory():
    done = run(
        """
import numpy as np, tamis
tamis.set_memory_limit(1 << 20)
try:
    tamis.einsum("i,j->ij", np.ones(1000), np.ones(1000))
except MemoryError as error:
    print(error.code)
"""
    )
    assert done.stdout == "out-of-memory\n", done.stderr


def test_copies_of_lists_count_for_the_limit_of_memory():
    done = run(
        """
import numpy as np, scipy.sparse as sp, tamis
rows, columns = np.random.default_rng(1).integers(0, 100, (2, 200_000))
matrix = sp.coo_array((np.ones(200_000), (rows, columns * 10_000)), shape=(100, 1_000_000))
tamis.set_memory_limit(1 << 20)
try:
    tamis.asarray(matrix, format="csr")
except MemoryError as error:
    print(error.code)
"""
    )
    assert done.stdout == "out-of-memory\n", done.stderr


def test_importing_is_light():
    code = "import sys, tamis; print('numpy' in sys.modules, 'scipy' in sys.modules)"
    assert run(code).stdout == "False False\n"


def test_random_programs_keep_their_meaning_in_scipys_types():
    for matrix in (sp.csr_matrix(A), sp.csr_array(A)):
        result = tamis.evaluate("B(i,j) = A(i,j) + A(i,j)", A=matrix)
        assert type(result) is type(matrix)
    mixed = tamis.evaluate("B(i,j) = A(i,j) * D(i,j)", A=A, D=tamis.asarray(A))
    assert isinstance(mixed, tamis.Tensor)
    made = array(1, (50, 40))
    np.testing.assert_array_equal(
        tamis.evaluate("B(i,j) = A(i,j) * D(i,j)", A=A, D=made).toarray(), A.toarray() * made
    )


def test_a_format_that_is_no_text_is_refused() -> None:
    with pytest.raises(tamis.TamisError, match="the format of A is text, not csr_array") as refusal:
        tamis.compile("y(i) = A(i,j) * x(j)", A=sp.csr_array((2, 2)))
    assert isinstance(refusal.value, TypeError)


@pytest.mark.parametrize("ask", ["tamis.set_num_threads(1)", "tamis.get_num_threads()"])
def test_one_thread_is_the_one_that_calls(ask):
    code = f"""
import os, time
os.environ.update(TAMIS_CC="off", TAMIS_NUM_THREADS="1")
import numpy as np, scipy.sparse as sp, tamis
{ask}
a = sp.csr_array((np.ones(600000), np.arange(600000) % 300000, np.arange(0, 600001, 2)))
x = np.ones(a.shape[1])
run = lambda: (tamis.einsum("ij,j->i", a, x), tamis.evaluate("C(i,j) = A(i,j) + A(i,j)", A=a))
run()
all_threads, own = time.process_time(), time.thread_time()
for _ in range(10):
    run()
print((time.thread_time() - own) / (time.process_time() - all_threads) > 0.8)
"""
    assert run(code, timeout=60).stdout.strip() == "True"


def test_large_arrays_that_are_refused_are_given_back_by_their_thread():
    code = """
import numpy as np, scipy.sparse as sp, tamis
tamis.set_num_threads(2)
a = sp.random_array((1000, 1000), density=0.1, format="csr", random_state=1)
x = np.ones(1000)
expected = a @ x
a.indices[:2] = a.indices[1::-1].copy()
a.data[:2] = a.data[1::-1].copy()
assert np.allclose(tamis.einsum("ij,j->i", a, x), expected)
a.indices[0] = 1000
try:
    tamis.einsum("ij,j->i", a, x)
except ValueError:
    print("refused")
"""
    assert run(code, timeout=60).stdout.strip() == "refused"


def test_unknown_names_are_refused_at_once():
    for options, words in (({"dims": {"zz": 2}}, "zz"), ({"shapes": {"B": (2,)}}, "named B")):
        with pytest.raises(tamis.TamisValueError, match=words):
            tamis.compile(SPMV, **options)


def test_kernels_in_processes_that_are_spawned():
    kernel = tamis.compile(SPMV, A="csr")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        np.testing.assert_allclose(pool.apply(kernel, (A, X)), A @ X)


def test_submodules_come_when_they_are_used():
    code = "import sys, tamis; assert 'numpy' not in sys.modules; tamis.array_api.sum"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("format", ["coo-dense", "csr", "dok", "(i, j) -> (i: compressed, j: dense)"])
def test_entries_that_are_there_twice_are_added_in_every_format(format):
    twice = sp.csr_array(([1.0, 2.0, 4.0], [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    made = tamis.compile("y(i,j) = B(i,j)", B=format)(twice)
    np.testing.assert_array_equal(made.todense(), [[0, 3], [4, 0]])


def test_results_with_the_same_entries_have_arrays_of_their_own():
    """SciPy changes indices in place, of one result and not of the operand or of the other result."""
    kernel = tamis.compile("T(i,j) = A(i,j) * x(j); R(i,j) = T(i,j) * 2")
    results = kernel.all(A=A, x=X)
    one, other = results["T"], results["R"]
    before = other.toarray()
    np.testing.assert_allclose(one.toarray(), A.toarray() * X)
    one.data[::2] = 0
    one.eliminate_zeros()
    assert one.nnz < A.nnz == other.nnz
    np.testing.assert_array_equal(other.toarray(), before)
    assert not np.shares_memory(other.indices, A.indices)
