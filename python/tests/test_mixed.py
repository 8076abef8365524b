"""Operators and functions of NumPy and SciPy hand tensors over, on either side."""

import operator

import numpy as np
import pytest
import scipy.sparse as sp
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
    stored = sp.csr_matrix(np.eye(3))
    for call in (lambda: stored * found, lambda: found * stored):
        with pytest.raises(tamis.TamisTypeError, match="either product"):
            call()


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


FUNCTIONS = {
    "all": lambda x: np.all(x, axis=0),
    "amax": lambda x: np.amax(x, axis=1),
    "any": lambda x: np.any(x, 1),
    "argmax": lambda x: np.argmax(x, axis=1),
    "add.reduce": lambda x: np.add.reduce(x),
    "argmin": lambda x: np.argmin(x),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, x[:1])[1],
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 4, 5)),
    "clip": lambda x: np.clip(x, -1, 1),
    "concatenate": lambda x: np.concatenate([x, x], axis=1),
    "copy": lambda x: np.copy(x),
    "count_nonzero": lambda x: np.count_nonzero(x, axis=0),
    "diagonal": lambda x: np.diagonal(x, 1),
    "diagonal of axes": lambda x: np.diagonal(x.reshape(2, 2, 5), 0, 2, 0),
    "diff": lambda x: np.diff(x, axis=0),
    "dot": lambda x: np.dot(x, x.T),
    "dot of a vector": lambda x: np.dot(x, np.ones(5)),
    "dot of a number": lambda x: np.dot(x, 2.0),
    "einsum": lambda x: np.einsum("ij,ij->i", x, x),
    "expand_dims": lambda x: np.expand_dims(x, (0, -1)),
    "flip": lambda x: np.flip(x),
    "floor": lambda x: np.floor(x),
    "fmax": lambda x: np.fmax(x, 0),
    "full_like": lambda x: np.full_like(x, 3),
    "hypot": lambda x: np.hypot(x, x),
    "isfinite": lambda x: np.isfinite(x),
    "isin": lambda x: np.isin(x, [1, 2]),
    "max": lambda x: np.max(x, axis=0, keepdims=True),
    "maximum.reduce": lambda x: np.maximum.reduce(x, axis=1, keepdims=True),
    "mean": lambda x: np.mean(x, axis=1, keepdims=True),
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "nan_to_num": lambda x: np.nan_to_num(x),
    "ndim": lambda x: np.ndim(x),
    "nonzero": lambda x: np.nonzero(x)[0],
    "norm": lambda x: np.linalg.norm(x),
    "norms": lambda x: np.linalg.norm(x, axis=1),
    "ones_like": lambda x: np.ones_like(x),
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
    "squeeze": lambda x: np.squeeze(x[:1]),
    "stack": lambda x: np.stack([x, x]),
    "std": lambda x: np.std(x, axis=0),
    "sum": lambda x: np.sum(x, axis=(0, 1)),
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
    "where": lambda x: np.where(x > 0, x, -x),
    "where alone": lambda x: np.where(x > 0)[1],
    "zeros_like": lambda x: np.zeros_like(x, dtype="i4"),
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_of_numpy(name):
    found = FUNCTIONS[name](tamis.asarray(MADE, format="csr"))
    expected = np.asarray(FUNCTIONS[name](MADE))
    assert full(found).dtype == expected.dtype
    np.testing.assert_allclose(full(found), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "call",
    [np.sort, np.cumsum, np.linalg.inv, np.fft.fft, np.median, lambda x: np.linalg.norm(x, 2)],
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
        odd = found / found
    assert not np.array_equal(odd, odd) and np.array_equal(odd, odd, equal_nan=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: np.sum(x, axis=0, out=out),
        lambda x, out: np.sum(x, 0, None, out),
        lambda x, out: np.mean(x, axis=0, out=out),
        lambda x, out: np.var(x, axis=0, out=out),
        lambda x, out: np.std(x, 0, None, out),
        lambda x, out: np.round(x, out=out),
        lambda x, out: np.dot(x, x, out=out),
        lambda x, out: np.einsum("ij->i", x, out=out),
        lambda x, out: np.add(x, 1, out=out),
        lambda x, out: np.add.reduce(x, out=out),
        lambda x, out: np.argmax(x, axis=0, out=out),
    ],
)
def test_results_are_not_written_to_out(call):
    with pytest.raises(tamis.TamisTypeError, match="none is written to out"):
        call(tamis.asarray(np.eye(3), format="csr"), np.zeros(3))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.clip(x, 0, 1, casting="no"),
        lambda x: np.add.accumulate(x),
        lambda x: np.multiply.outer(x, x),
        lambda x: np.add(x, 1, where=np.eye(3) > 0),
    ],
)
def test_what_functions_do_not_take_is_refused(call):
    with pytest.raises(tamis.TamisTypeError, match="of tensors"):
        call(tamis.asarray(np.eye(3), format="csr"))
