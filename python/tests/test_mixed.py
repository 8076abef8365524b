"""Operators and functions of NumPy and SciPy hand tensors over, on either side."""

import operator

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
import tamis
from conftest import array
from forms import SCIPY, scipy

MADE, OTHER = array(1, (4, 5)), array(2, (4, 5)) + 2 * np.eye(4, 5)


def full(x):
    if isinstance(x, tamis.Tensor):
        return x.to_numpy()
    return x.toarray() if sp.issparse(x) else np.asarray(x)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "eq", "ne", "lt", "ge"])
@pytest.mark.parametrize("form", SCIPY)
@pytest.mark.parametrize("side", ["left", "right"])
def test_operators_of_elements_beside_scipy(name, form, side):
    operate = getattr(operator, name)
    divisor = OTHER if name != "truediv" else abs(OTHER) + 1
    sides = (MADE, divisor) if side == "left" else (divisor, MADE)
    if name == "truediv" and side == "right":
        sides = (MADE, divisor)
    stored = scipy(sides[0 if side == "left" else 1], form, False, False, False, 1)
    found = tamis.asarray(sides[1 if side == "left" else 0], format="csr")
    if name == "truediv" and side == "right":
        # Zeros that SciPy does not store divide by the fill value.
        found, stored = tamis.asarray(MADE, format="csr"), divisor
    result = operate(stored, found) if side == "left" else operate(found, stored)
    np.testing.assert_array_equal(full(result), operate(*sides))


@pytest.mark.parametrize("form", SCIPY)
@pytest.mark.parametrize("matrix", [False, True])
def test_products_beside_scipy(form, matrix):
    stored = scipy(MADE, form, matrix, False, False, 1)
    found = tamis.asarray(OTHER.T, format="csr")
    for result, expected in (
        (stored @ found, MADE @ OTHER.T),
        (found @ stored, OTHER.T @ MADE),
        (stored @ tamis.asarray(np.ones((5, 1)), format="csc"), MADE @ np.ones((5, 1))),
    ):
        assert isinstance(result, tamis.Tensor)
        np.testing.assert_array_equal(full(result), expected)
    vector = tamis.asarray(np.arange(5.0))
    np.testing.assert_array_equal(full(stored @ vector), MADE @ np.arange(5.0))
    lazy = stored @ tamis.lazy(found)
    np.testing.assert_array_equal(full(tamis.compute(lazy)), MADE @ OTHER.T)


def test_what_matrices_mean_by_a_star_is_refused():
    found = tamis.asarray(np.eye(3), format="csr")
    for stored in (sp.csr_matrix(np.eye(3)), np.asmatrix(np.eye(3)), np.asmatrix(np.ones(3))):
        for call in (lambda: stored * found, lambda: found * stored):
            with pytest.raises(tamis.TamisTypeError, match="either product"):
                call()
    product = found @ np.asmatrix(MADE[:3, :3])
    np.testing.assert_array_equal(full(product), MADE[:3, :3])


def test_only_operators_of_scipy_hand_over():
    found = tamis.asarray(np.eye(3), format="csr")
    stored = sp.csr_array(np.eye(3))
    for call in (
        lambda: sp.csr_array(found),
        lambda: stored.multiply(found),
        lambda: sp.vstack([stored, found]),
        lambda: np.asarray(found),
        lambda: np.array(found, dtype=float),
    ):
        with pytest.raises((TypeError, ValueError)):
            call()


@pytest.mark.parametrize("name", ["add", "sub", "mul", "matmul", "floordiv", "pow"])
def test_operators_beside_numpy(name):
    operate = getattr(operator, name)
    square, other = array(3, (4, 4)), abs(array(4, (4, 4))) + 1
    for left, right in ((square, other), (other, abs(other))):
        expected = operate(left, right)
        found = tamis.asarray(right, format="csr"), tamis.asarray(left, format="csr")
        np.testing.assert_array_equal(full(operate(left, found[0])), expected)
        np.testing.assert_array_equal(full(operate(found[1], right)), expected)


def undefined(x):
    with np.errstate(all="ignore"):
        return np.sqrt(-x)


FUNCTIONS = {
    "allclose": lambda x: np.allclose(x, x + 1e-9),
    "allclose beside an array": lambda x: np.allclose(x, MADE) and not np.allclose(x + 1, MADE),
    "all": lambda x: np.all(x, axis=0),
    "amax": lambda x: np.amax(x, axis=1),
    "any": lambda x: np.any(x, 1),
    "append": lambda x: np.append(x, [[1, 2, 3, 4, 5]], axis=0),
    "append to rows": lambda x: np.append(x, x),
    "argmax": lambda x: np.argmax(x, axis=1),
    "add.reduce": lambda x: np.add.reduce(x),
    "argmin": lambda x: np.argmin(x),
    "array_split": lambda x: np.array_split(x, 3, axis=1)[1],
    "atleast_1d": lambda x: np.atleast_1d(x[0], x)[0],
    "atleast_2d": lambda x: np.atleast_2d(x[0]),
    "atleast_3d": lambda x: np.atleast_3d(x[0])[:, :, 0] + np.atleast_3d(x)[:1, :, 0],
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, x[:1])[1],
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 4, 5)),
    "clip": lambda x: np.clip(x, -1, 1),
    "column_stack": lambda x: np.column_stack([x[:, 0], x, x[:, :2]]),
    "concatenate": lambda x: np.concatenate([x, x], axis=1),
    "concatenate in a type": lambda x: np.concatenate([x, x], dtype="c8"),
    "copy": lambda x: np.copy(x),
    "count_nonzero": lambda x: np.count_nonzero(x, axis=0),
    "diagonal": lambda x: np.diagonal(x, 1),
    "diagonal of axes": lambda x: np.diagonal(x.reshape(2, 2, 5), 0, 2, 0),
    "diff": lambda x: np.diff(x, axis=0),
    "dot": lambda x: np.dot(x, x.T),
    "dot of a vector": lambda x: np.dot(x, np.ones(5)),
    "dot of a number": lambda x: np.dot(x, 2.0),
    "dsplit": lambda x: np.dsplit(x.reshape(2, 2, 5), [2])[1],
    "dstack": lambda x: np.dstack([x, x]),
    "dstack of vectors": lambda x: np.dstack([x[0], x[1]]),
    "einsum": lambda x: np.einsum("ij,ij->i", x, x),
    "expand_dims": lambda x: np.expand_dims(x, (0, -1)),
    "flip": lambda x: np.flip(x),
    "floor": lambda x: np.floor(x),
    "fmax": lambda x: np.fmax(x, 0),
    "full_like": lambda x: np.full_like(x, 3),
    "hsplit": lambda x: np.hsplit(x, [1, 3])[1],
    "hstack": lambda x: np.hstack([x, x]),
    "hstack of vectors": lambda x: np.hstack([x[0], x[1], x[0]]),
    "hypot": lambda x: np.hypot(x, x),
    "inner": lambda x: np.inner(x, x[:2]),
    "inner of vectors": lambda x: np.inner(x[0], x[1]),
    "isclose": lambda x: np.isclose(x, 1 + 1e-9),
    "isclose beside an array": lambda x: np.isclose(MADE, x * (1 + 1e-9), rtol=1e-6),
    "isfinite": lambda x: np.isfinite(x),
    "isin": lambda x: np.isin(x, [1, 2]),
    "kron": lambda x: np.kron(x, x[:2, 1:3]),
    "kron of other axes": lambda x: np.kron(x[0], x),
    "max": lambda x: np.max(x, axis=0, keepdims=True),
    "matrix_norm": lambda x: np.linalg.matrix_norm(x.reshape(2, 2, 5)),
    "maximum.reduce": lambda x: np.maximum.reduce(x, axis=1, keepdims=True),
    "mean": lambda x: np.mean(x, axis=1, keepdims=True),
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "nan_to_num": lambda x: np.nan_to_num(x),
    "nanprod": lambda x: np.nanprod(undefined(x), axis=0),
    "nansum": lambda x: np.nansum(undefined(x), axis=1),
    "nansum of all": lambda x: np.nansum(undefined(x)),
    "ndim": lambda x: np.ndim(x),
    "nonzero": lambda x: np.nonzero(x)[0],
    "norm": lambda x: np.linalg.norm(x),
    "norm of one": lambda x: np.linalg.norm(x, 1),
    "norm of most": lambda x: np.linalg.norm(x, np.inf, keepdims=True),
    "norm of least": lambda x: np.linalg.norm(x, -1) + np.linalg.norm(x, -np.inf),
    "norm of matrices": lambda x: np.linalg.norm(x.reshape(2, 2, 5), "fro", axis=(2, 0)),
    "norm of columns": lambda x: np.linalg.norm(x.reshape(2, 2, 5), np.inf, axis=(2, 0)),
    "norm of vectors": lambda x: np.linalg.norm(x, 3, axis=0),
    "norm of a vector": lambda x: np.linalg.norm(x[0], np.inf) + np.linalg.norm(x[1], 2),
    "norm of counts": lambda x: np.linalg.norm(x[0], 0),
    "norms": lambda x: np.linalg.norm(x, axis=1),
    "ones_like": lambda x: np.ones_like(x),
    "outer": lambda x: np.outer(x[:2], x[1]),
    "pad": lambda x: np.pad(x, ((1, 2), (0, 3))),
    "pad by one": lambda x: np.pad(x, 1),
    "pad by two": lambda x: np.pad(x, (1, 2)),
    "prod": lambda x: np.prod(x + 1, axis=0, dtype="f8"),
    "ptp": lambda x: np.ptp(x, axis=0),
    "ravel": lambda x: np.ravel(x),
    "real": lambda x: np.real(x),
    "repeat": lambda x: np.repeat(x, 2, axis=0),
    "reshape": lambda x: np.reshape(x, (2, -1)),
    "roll": lambda x: np.roll(x, 2, axis=1),
    "round": lambda x: np.round(x / 3, 1),
    "shape": lambda x: np.shape(x),
    "size": lambda x: np.size(x),
    "split": lambda x: np.split(x, 2)[1],
    "split at": lambda x: np.split(x, [1, 4], axis=1)[1],
    "squeeze": lambda x: np.squeeze(x[:1]),
    "stack": lambda x: np.stack([x, x]),
    "stack in a type": lambda x: np.stack([x, x], 1, dtype="f4"),
    "std": lambda x: np.std(x, axis=0),
    "sum": lambda x: np.sum(x, axis=(0, 1)),
    "swapaxes": lambda x: np.swapaxes(x, -1, 0),
    "take": lambda x: np.take(x, [2, 0], axis=1),
    "tensordot": lambda x: np.tensordot(x, x, axes=((0,), (0,))),
    "tile": lambda x: np.tile(x, (2, 1)),
    "trace": lambda x: np.trace(x[:4, :4]),
    "trace of three axes": lambda x: np.trace(x.reshape(2, 2, 5), 1, 0, 2),
    "trace of no square": lambda x: np.trace(x, -1, dtype="f4"),
    "transpose": lambda x: np.transpose(x),
    "tril": lambda x: np.tril(x, -1),
    "triu": lambda x: np.triu(x),
    "unique": lambda x: np.unique(x),
    "var": lambda x: np.var(x, ddof=1),
    "vecdot": lambda x: np.vecdot(x, x),
    "vecdot of a list": lambda x: np.vecdot([1, 2, 3, 4, 5], x),
    "vdot": lambda x: np.vdot(x, x),
    "vector_norm": lambda x: np.linalg.vector_norm(x, ord=1, axis=1),
    "vector_norms": lambda x: np.linalg.vector_norm(x, axis=(0, 1), keepdims=True),
    "vsplit": lambda x: np.vsplit(x, 2)[0],
    "vstack": lambda x: np.vstack([x, x[0]]),
    "vstack in a type": lambda x: np.vstack([x, x[0]], dtype="i4", casting="unsafe"),
    "where": lambda x: np.where(x > 0, x, -x),
    "where alone": lambda x: np.where(x > 0)[1],
    "zeros_like": lambda x: np.zeros_like(x, dtype="i4"),
}


METHODS = {
    "argmax": lambda x: x.argmax(axis=1),
    "argmin": lambda x: x.argmin(),
    "clip": lambda x: x.clip(-1, 2),
    "clip above": lambda x: x.clip(max=0),
    "conj": lambda x: (x * 1j).conj(),
    "conjugate": lambda x: x.conjugate(),
    "diagonal": lambda x: x.diagonal(1),
    "dot": lambda x: x.dot(x.T),
    "flatten": lambda x: x.flatten(),
    "imag": lambda x: (x * 2j).imag,
    "item": lambda x: x.item(2, 1),
    "item of one": lambda x: x[:1, :1].item(),
    "item of all": lambda x: x.item(7),
    "ravel": lambda x: x.ravel(),
    "real": lambda x: (x * (2 + 1j)).real,
    "repeat": lambda x: x.repeat(2, axis=1),
    "round": lambda x: (x / 3).round(1),
    "squeeze": lambda x: x[:1].squeeze(0),
    "std": lambda x: x.std(axis=0),
    "std of a sample": lambda x: x.std(ddof=1),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "take": lambda x: x.take([1, 0], axis=0),
    "trace": lambda x: x.trace(1),
    "var": lambda x: x.var(axis=1, ddof=1),
}


@pytest.mark.parametrize("format", ["csr", "coo(nonordered)", "dense"])
@pytest.mark.parametrize("name", sorted(METHODS))
def test_methods_of_numpy(name, format):
    found = METHODS[name](tamis.asarray(MADE, format=format))
    expected = METHODS[name](MADE)
    if name.startswith("item"):
        assert type(found) is type(expected)
    assert full(found).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(full(found), expected, rtol=1e-12)


def test_what_has_a_sparse_answer_stays_sparse():
    found = tamis.asarray(MADE, format="csr")
    for call in (
        lambda x: np.vstack([x, x]),
        lambda x: np.kron(x, x),
        lambda x: np.outer(x, x),
        lambda x: np.pad(x, 3),
        lambda x: np.split(x, 2)[0],
        lambda x: np.swapaxes(x, 0, 1),
        lambda x: np.isclose(x, 1),
        lambda x: x.diagonal().clip(0, 1),
        lambda x: x.conj().ravel().real,
    ):
        made = call(found)
        assert isinstance(made, tamis.Tensor) and made.density < 1


def test_scipy_applies_exponentials():
    made = MADE[:, :4] / 8
    found = tamis.asarray(made, format="csr")
    linear = sp.linalg
    vectors = array(2, (4, 3))
    expected = linear.expm_multiply(sp.csr_array(made), vectors)
    np.testing.assert_allclose(linear.expm_multiply(found, vectors), expected, rtol=1e-10)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_of_numpy(name):
    found = FUNCTIONS[name](tamis.asarray(MADE, format="csr"))
    expected = np.asarray(FUNCTIONS[name](MADE))
    assert full(found).dtype == expected.dtype
    np.testing.assert_allclose(full(found), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "call",
    [np.linalg.inv, np.fft.fft, lambda x: np.partition(x, 1), lambda x: np.linalg.norm(x, 2)],
)
def test_functions_that_need_every_element_are_refused(call):
    with pytest.raises(TypeError):
        call(tamis.asarray(np.eye(3), format="csr"))


def test_equal_arrays():
    made = MADE / MADE.max()
    found = tamis.asarray(made, format="csr")
    for other in (made, 2 * made, made.T, made[:1]):
        for x in (other, tamis.asarray(other, format="csr")):
            assert np.array_equal(found, x) is np.array_equal(made, other)
            assert np.array_equiv(found, x) is np.array_equiv(made, other)
    row = tamis.asarray(made[:1], format="csr")
    assert np.array_equiv(np.broadcast_to(row, (3, 5)), row)
    with np.errstate(all="ignore"):
        odd = found * np.nan
    assert not np.array_equal(odd, odd) and np.array_equal(odd, odd, equal_nan=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: np.sum(x, axis=0, out=out),
        lambda x, out: np.sum(x, 0, None, out),
        lambda x, out: np.mean(x, axis=0, out=out),
        lambda x, out: np.var(x, axis=0, out=out),
        lambda x, out: np.std(x, 0, None, out),
        lambda x, out: np.einsum("ij->i", x, out=out),
        lambda x, out: np.add.reduce(x, out=out),
        lambda x, out: np.median(x, axis=1, out=out),
        lambda x, out: np.nanmax(x, axis=1, out=out),
        lambda x, out: np.cumsum(x[:, 1], out=out),
        lambda x, out: x.cumsum(axis=0, out=np.stack([out] * 3)[:, :3])[0],
    ],
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_results_are_written_to_out(call, dtype):
    made = np.array([[1.5, 0, 1], [0, -2, 3], [4, 0, 0]])
    found, expected = np.zeros(3), np.zeros(3)
    call(made, expected)
    result = call(tamis.asarray(made.astype(dtype), format="csr"), found)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert result is found or result.shape == (3,)


def test_out_is_an_array_that_a_result_fits():
    t = tamis.asarray(np.diag([1.0, 2, 3]), format="csr")
    square, places = np.zeros((3, 3)), np.zeros(3, dtype=np.intp)
    assert np.round(t, out=square) is square and np.dot(t, t, out=square) is square
    assert square.trace() == 14 and np.argmax(t, axis=0, out=places) is places and places.tolist() == [0, 1, 2]
    means = np.zeros(3, dtype=int)
    assert np.mean(t * 3, axis=0, out=means).tolist() == [1, 2, 3]
    with pytest.raises(tamis.TamisTypeError, match="float64 is not written to an array of int64"):
        np.sum(t, axis=0, out=means)
    with pytest.raises(tamis.TamisTypeError, match="none is written to out"):
        np.divmod(t, 2, out=(square, square))


def test_types_of_what_is_joined_are_cast_as_numpy_does():
    found = tamis.asarray(MADE, format="csr")
    for call in (np.concatenate, np.stack, np.vstack):
        with pytest.raises(tamis.TamisTypeError, match="do not become int64 by 'same_kind'"):
            call([found, found], dtype=int)


def test_results_of_elements_go_into_arrays():
    made = array(5, (4, 5))
    found = tamis.asarray(made, format="csr")
    for name in ("iadd", "isub", "imul", "ipow"):
        for other in (made, made[:1]):
            expected, into = MADE.copy(), MADE.copy()
            operate = getattr(operator, name)
            other = abs(other)
            assert operate(into, tamis.asarray(other, format="csr")) is into
            np.testing.assert_array_equal(into, operate(expected, other))
    into = np.empty((2, 4, 5), dtype=complex)
    assert np.sqrt(abs(found), out=into) is into
    np.testing.assert_array_equal(into, np.sqrt(abs(made) + np.zeros(into.shape)))
    for into in (np.zeros((4, 5), dtype=int), np.zeros(5)):
        with pytest.raises(tamis.TamisTypeError, match="does not fit an array of"):
            into += found
        assert not into.any()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.clip(x, 0, 1, casting="no"),
        lambda x: np.subtract.reduce(x),
        lambda x: np.hypot.reduce(x, axis=1),
        lambda x: np.add(x, 1, where=np.eye(3) > 0),
    ],
)
def test_what_functions_do_not_take_is_refused(call):
    with pytest.raises(tamis.TamisTypeError, match="of tensors"):
        call(tamis.asarray(np.eye(3), format="csr"))


def test_scipys_lists_and_keys_are_joined():
    tensor = tamis.asarray(np.array([[7.0, 0.0], [2.0, 5.0]]), format="csr")
    keys, lists = sp.dok_array((2, 2)), sp.lil_array((2, 2))
    keys[0, 1], lists[1, 0] = 3.0, 2.0
    joined = np.concatenate([tensor, keys, lists])
    np.testing.assert_array_equal(
        joined.todense(), np.concatenate([tensor.todense(), keys.toarray(), lists.toarray()])
    )
    assert np.vdot(tensor, lists) == 4.0
    whole, rest = divmod(tensor, 3)
    np.testing.assert_array_equal(whole.todense(), tensor.todense() // 3)
    np.testing.assert_array_equal(rest.todense(), tensor.todense() % 3)


@pytest.mark.parametrize("places", [[0, 2], [2, 0], [1, 1]])
def test_vectors_of_scipy_in_any_order(places):
    vector = sp.coo_array((np.array([1.0, 2.0]), (np.array(places),)), shape=(3,))
    np.testing.assert_array_equal(tamis.asarray(vector).todense(), vector.toarray())


@pytest.mark.parametrize("dtype", [object, str, "m8[s]", "M8[s]", np.longdouble])
def test_elements_of_no_tensor_are_refused_by_every_function(dtype):
    found = tamis.asarray(np.eye(3), format="csr")
    other = np.ones((3, 3), dtype="i8").astype(dtype)
    names = "add multiply maximum fmax hypot arctan2 logaddexp equal less copysign power".split()
    calls = [lambda x, y, name=name: getattr(np, name)(x, y) for name in names]
    calls.append(lambda x, y: np.where(found > 0, x, y))
    for call in calls:
        for x, y in ((found, other), (other, found)):
            with pytest.raises(tamis.TamisTypeError):
                call(x, y)


def test_numbers_for_nan_and_infinities():
    values = np.array([[0, np.nan, 1], [np.inf, 0, -np.inf]])
    for options in ({}, {"nan": 7.0}, {"posinf": 5, "neginf": -5}, {"copy": False, "nan": 2}):
        made = np.nan_to_num(tamis.asarray(values, format="csr"), **options)
        np.testing.assert_array_equal(full(made), np.nan_to_num(values.copy(), **options))


@pytest.mark.parametrize("dtype", [bool, "i2", "f4", "c8"])
def test_conjugates_and_sizes_have_the_type_that_they_have_in_numpy(dtype):
    values = np.eye(3).astype(dtype)
    found = tamis.asarray(values, format="csr")
    assert found.itemsize == values.itemsize
    for name in ("conj", "conjugate"):
        made, expected = getattr(found, name)(), getattr(values, name)()
        assert made.dtype == expected.dtype
        np.testing.assert_array_equal(full(made), expected)
    assert np.conj(found).dtype == np.conj(values).dtype
