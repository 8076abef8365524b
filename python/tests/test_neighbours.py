"""Differences, areas and products of vectors that are moved along each other: NumPy's, in every format."""

import numpy as np
import pytest
import tamis
from conftest import array
from forms import FORMATS, tensor
from test_tensor import same

DTYPES = ["f8", "f4", "i8", "i4", "c16"]
X = np.array([0.0, 1, 3, 4.5, 7])
OF_AXES = {
    "gradient": lambda a: np.gradient(a, axis=0),
    "gradients": lambda a: np.stack(np.gradient(a)),
    "gradients, spacings": lambda a: np.stack(np.gradient(a, 2.0, X)),
    "gradient, spacing": lambda a: np.gradient(a, 3, axis=-1),
    "gradient, coordinates": lambda a: np.gradient(a, X, axis=1),
    "gradient, even coordinates": lambda a: np.gradient(a, np.arange(5) * 2, axis=1),
    "gradient, order 2": lambda a: np.gradient(a, axis=1, edge_order=2),
    "gradient, coordinates, order 2": lambda a: np.gradient(a, X, axis=1, edge_order=2),
    "trapezoid": lambda a: np.trapezoid(a),
    "trapezoid, spacing": lambda a: np.trapezoid(a, dx=2, axis=0),
    "trapezoid, coordinates": lambda a: np.trapezoid(a, X, axis=1),
    "trapezoid, matrix": lambda a: np.trapezoid(a, np.outer(np.arange(4), X) ** 2, axis=0),
    "ediff1d": lambda a: np.ediff1d(a),
    "ediff1d, ends": lambda a: np.ediff1d(a, to_begin=3, to_end=[1, 2]),
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_axes(dtype, format):
    made = array(3, (4, 5), dtype)
    for call in OF_AXES.values():
        same(call(tensor(made, format)), call(made), exact=False)


def test_axes_of_other_tensors():
    made = array(4, (3, 4, 5))
    for axis in (0, 1, 2, (0, 2)):
        pairs = [np.gradient(x, axis=axis) for x in (tensor(made, "csf"), made)]
        same(np.stack(pairs[0]) if isinstance(axis, tuple) else pairs[0], pairs[1], exact=False)
    for fill in (2.0, np.inf, np.nan):
        t = tamis.coo(([0, 2], [1, 3]), [1.0, 5], shape=(4, 5), fill_value=fill)
        with np.errstate(all="ignore"):
            for call in (OF_AXES["gradient"], OF_AXES["gradient, coordinates, order 2"], OF_AXES["ediff1d"]):
                found = call(t)
                found = found.to_numpy() if isinstance(found, tamis.Tensor) else found
                np.testing.assert_allclose(found, call(t.to_numpy()), rtol=1e-12, atol=1e-12)
    huge = tamis.coo(([5, 7], [3, 2**40]), [1.0, 2], shape=(2**41, 2**41))
    assert all(slope.nnz == 4 for slope in np.gradient(huge))
    assert np.trapezoid(huge, axis=0).nnz == 2


VECTORS = [[1, 0, -2], [0, 0, 3, 0, 0, 1, 0, 0], [2], [0, 0, 0, 1, 1, 0], [0, 0]]


@pytest.mark.parametrize("dtype", [*DTYPES, "i2", "?"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_vectors_that_are_moved_along(mode, dtype):
    for one in VECTORS:
        for other in VECTORS:
            a, v = np.array(one, dtype), np.array(other, dtype) * (1j if dtype == "c16" else 1)
            v = v.astype(dtype)
            for x in (tensor(a, "sparse"), tensor(a, "dense"), a):
                for y in (tensor(v, "sparse"), tensor(v, "dense"), v):
                    if isinstance(x, tamis.Tensor) or isinstance(y, tamis.Tensor):
                        same(np.convolve(x, y, mode), np.convolve(a, v, mode), exact=False)
                        same(np.correlate(x, y, mode), np.correlate(a, v, mode), exact=False)


def test_vectors_of_few_entries():
    t = tamis.coo(([5, 2**40],), [1.0, 2.0], shape=(2**41,))
    made = np.convolve(t, [1, 2, 1])
    assert made.shape == (2**41 + 2,) and made.nnz == 6 and made[2**40 + 1] == 4
    assert np.correlate(t, t, "full")[2**41 - 1] == 5
    filled = tamis.coo(([1],), [2.0], shape=(4,), fill_value=1.0)
    same(np.convolve(filled, [1, 2]), np.convolve(filled.to_numpy(), [1, 2]))


@pytest.mark.parametrize(
    "call",
    [
        lambda t: np.convolve(t, [1.0]),
        lambda t: np.convolve(t[0], []),
        lambda t: np.convolve(t[0], [1.0], mode="other"),
        lambda t: np.gradient(t[:, :1]),
        lambda t: np.gradient(t, [1.0, 2.0], axis=1),
        lambda t: np.gradient(t, 1.0, 2.0, 3.0),
        lambda t: np.gradient(t, edge_order=3),
        lambda t: np.ediff1d(t.astype(int), to_end=1.5),
    ],
)
def test_mistakes(call):
    made = array(6, (4, 5))
    for x in (made, tamis.asarray(made, format="csr")):
        with pytest.raises((ValueError, TypeError)) as refused:
            call(x)
    assert isinstance(refused.value, tamis.TamisError)
