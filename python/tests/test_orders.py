"""Medians, quantiles, orders, cumulative sums and statistics: NumPy's results, of tensors in any format,
of any type, with any fill value."""

import itertools

import numpy as np
import pytest
import tamis
from forms import tensor
from test_tensor import same

FORMS = ["csr", "csc", "coo", "coo(nonordered)", "dcsr", "bcsr(2,2)", "dok", "bitmap", "dense"]
METHODS = [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen",
    "weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
]  # fmt: skip
TYPES = ["f8", "f4", "i8", "i4", "u1", "?", "c16"]


def random(shape, dtype, seed, missing=False):
    """Elements of which a third are not 0, few values, so that there are ties; with some NaN."""
    rng = np.random.default_rng(seed)
    made = rng.integers(-3, 6, shape) * (rng.random(shape) < 0.4)
    made = abs(made) if np.dtype(dtype).kind in "u?" else made
    made = (made * (1 + 0.5j) if dtype == "c16" else made).astype(dtype)
    if missing:
        made[rng.random(shape) < 0.1] = np.nan
    return made


def filled(x, fill):
    """A tensor of the same elements which stores those that are not the fill value."""
    fill = np.asarray(fill).astype(x.dtype)[()]
    apart = ~((x == fill) | ((x != x) & (fill != fill)))
    return tamis.coo(np.nonzero(apart), x[apart], shape=x.shape, fill_value=fill)


def agree(call, x, tensors, exact=False):
    """The same result, and type, of NumPy's array and of tensors."""
    with np.errstate(all="ignore"):
        expected = call(x)
        for t in tensors:
            same(call(t), expected, exact=exact)


def near(call, x, tensors):
    """The same result but for what rounding leaves of differences."""
    expected = call(x)
    for t in tensors:
        found = call(t)
        assert (found.shape, found.dtype) == (np.shape(expected), expected.dtype)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)


ORDERS = {
    "median": lambda x, **how: np.median(x, **how),
    "quantile": lambda x, **how: np.quantile(x, [0, 0.3, 0.5, 0.95, 1], **how),
    "percentile": lambda x, **how: np.percentile(x, 37, **how),
    "nanmedian": lambda x, **how: np.nanmedian(x, **how),
    "nanquantile": lambda x, **how: np.nanquantile(x, [[0.2], [0.7]], **how),
    "nanpercentile": lambda x, **how: np.nanpercentile(x, 80.0, **how),
}
SPREADS = {
    "nanvar": lambda x, **how: np.nanvar(x, **how),
    "nanstd": lambda x, **how: np.nanstd(x, ddof=1, **how),
    "var": lambda x, **how: np.var(x, **how),
}
AXES = [{}, {"axis": 0}, {"axis": -1}, {"axis": (0, 1)}, {"axis": 1, "keepdims": True}]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [*ORDERS, *SPREADS])
def test_of_groups(name):
    call = (ORDERS | SPREADS)[name]
    for dtype, how in itertools.product(["f8", "f4", "i8", "i4", "u1"], AXES):
        for missing in (False, True) if dtype[0] == "f" else (False,):
            x = random((6, 7), dtype, 1, missing)
            tensors = [tensor(x, form) for form in FORMS]
            tensors += [filled(x, fill) for fill in (0, 2, *([np.nan] if dtype[0] == "f" else []))]
            agree(lambda z: call(z, **how), x, tensors)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("method", METHODS)
def test_methods_of_quantiles(method):
    for rows in (1, 2, 5, 8):
        x = random((rows, 6), "f8", rows, missing=rows == 5)
        for q in (0.0, 0.25, 0.5, 0.61, 1.0, [0.1, 0.9]):
            tensors = [tensor(x, "csr"), filled(x, 1)]
            agree(lambda z: np.quantile(z, q, axis=0, method=method), x, tensors)
            agree(lambda z: np.nanquantile(z, q, axis=1, method=method), x, tensors)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["?", "c16", "f2"])
def test_medians_of_other_types(dtype):
    x = random((5, 6), dtype, 2)
    for how in AXES:
        agree(lambda z: np.median(z, **how), x, [tensor(x, form) for form in FORMS])
        agree(lambda z: np.nanmedian(z, **how), x, [tensor(x, "csr")])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_infinite_elements():
    x = np.array([[np.inf, np.inf, 0, 1], [-np.inf, 0, 0, np.inf], [0, 0, 0, np.inf]])
    for call in (np.median, lambda z, **how: np.quantile(z, [0.25, 0.6], **how), np.nanmedian, np.nanvar):
        for how in ({}, {"axis": 0}, {"axis": 1}):
            agree(lambda z: call(z, **how), x, [tensor(x, "csr"), filled(x, np.inf)])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_no_elements():
    x = np.zeros((0, 3))
    t = tensor(x, "csr")
    for call in (np.median, np.nanmedian, np.nanvar):
        same(call(t, axis=0), call(x, axis=0))
        same(call(t, axis=1), call(x, axis=1))
    for call in (np.cumsum, np.cumprod, lambda z: np.cumsum(z, axis=1), np.argsort, np.cov):
        same(call(t), call(x))
    same(np.quantile(t, [], axis=1), np.quantile(x, [], axis=1))
    same(np.quantile(t, 0.5, axis=1), np.quantile(x, 0.5, axis=1))
    with pytest.raises(tamis.TamisValueError, match="no elements"):
        np.quantile(t, 0.5, axis=0)
    for call in (np.cumsum, np.cumprod, np.median, np.argsort):
        same(call(tamis.asarray(3.0)), call(np.float64(3.0)))


def test_what_quantiles_refuse():
    t = tensor(random((4, 5), "f8", 3), "csr")
    for q in (1.5, -0.1, np.nan, [0.5, 2]):
        with pytest.raises(tamis.TamisValueError, match="range"):
            np.quantile(t, q)
    with pytest.raises(tamis.TamisValueError, match="not a valid method"):
        np.quantile(t, 0.5, method="middle")
    with pytest.raises(tamis.TamisTypeError, match="real"):
        np.quantile(tensor(random((4, 5), "c16", 3), "csr"), 0.5)
    with pytest.raises(tamis.TamisError, match="out"):
        np.median(t, out=[0.0])
    with pytest.raises(tamis.TamisError, match="weights"):
        np.quantile(t, 0.5, weights=np.ones((4, 5)), method="inverted_cdf")


CUMULATIVE = {
    "cumsum": lambda x, **how: np.cumsum(x, **how),
    "cumprod": lambda x, **how: np.cumprod(x, **how),
    "nancumsum": lambda x, **how: np.nancumsum(x, **how),
    "nancumprod": lambda x, **how: np.nancumprod(x, **how),
    "argsort": lambda x, **how: np.argsort(x, **{"axis": None, "stable": True, **how}),
}


@pytest.mark.parametrize("name", CUMULATIVE)
def test_along_lines(name):
    call = CUMULATIVE[name]
    for dtype, axis in itertools.product(TYPES, (None, 0, 1, -1)):
        x = random((6, 7), dtype, 4, missing=dtype[0] == "f" and name not in ("cumprod", "nancumprod"))
        how = {} if axis is None else {"axis": axis}
        tensors = [tensor(x, form) for form in FORMS]
        tensors += [filled(x, fill) for fill in (1, 2, *([np.nan] if dtype[0] == "f" else []))]
        agree(lambda z: call(z, **how), x, tensors)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_of_three_axes():
    x = random((3, 4, 5), "f8", 5, missing=True)
    t = [tamis.asarray(x, format="csf"), filled(x, np.nan), filled(x, 1)]
    for axis in range(3):
        for call in (np.median, np.nanvar, np.cumsum, np.nancumsum):
            agree(lambda z: call(z, axis=axis), x, t)
        agree(lambda z: np.argsort(z, axis=axis, stable=True), x, t)
        agree(lambda z: np.nanpercentile(z, [5, 50], axis=axis, keepdims=True), x, t)
    agree(lambda z: np.median(z, axis=(0, 2)), x, t)
    agree(lambda z: np.nanquantile(z, 0.4, axis=(-1, 0)), x, t)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_products_of_what_is_not_finite():
    x = np.array([[0, np.nan, 0, np.nan], [np.nan, 0, 1, 0], [2, np.inf, 0, 1], [1e200, 1e200, 0, 1]])
    agree(lambda z: np.cumprod(z, axis=1), x, [tensor(x, form) for form in FORMS])
    agree(lambda z: np.nancumprod(z, axis=1), x, [tensor(x, "csr")])
    assert isinstance(np.cumprod(tensor(x[:1, :1], "csr"), axis=1), tamis.Tensor)


def test_sums_from_an_initial_one():
    x = random((3, 4), "i4", 12)
    t = tensor(x, "csr")
    for call in (np.cumulative_sum, np.cumulative_prod):
        for how in ({}, {"include_initial": True}, {"dtype": "f4"}):
            agree(lambda z: call(z, axis=1, **how), x, [t])
            agree(lambda z: call(z[0], **how), x, [t])
        with pytest.raises(tamis.TamisValueError, match="name one"):
            call(t)


def test_types_of_sums():
    x = random((4, 5), "i1", 6)
    t = tensor(x, "csr")
    for dtype in ("i1", "i4", "u8", "f4", "f8", "?", "c8"):
        for call in (np.cumsum, np.cumprod):
            agree(lambda z: call(z.astype("i1") if dtype != "u8" else abs(z), axis=1, dtype=dtype), x, [t])
    with pytest.raises(tamis.TamisOverflowError, match="wider"):
        np.cumsum(tensor(np.full((3, 4), 100, "i1"), "csr"), dtype="i1")
    same(t.cumsum(1), x.cumsum(1))
    same(t.cumprod(axis=0), x.cumprod(axis=0))
    same(t.argsort(stable=True), x.argsort(stable=True))
    exact = tamis.asarray(np.array([2**53, 1, 1]), format="sparse")
    assert np.cumsum(exact).tolist() == [2**53, 2**53 + 1, 2**53 + 2]


def test_what_stays_sparse():
    t = tamis.coo(([0, 0, 2**40], [1, 3, 0]), [1.0, 2.0, 3.0], shape=(2**41, 5))
    summed, products = np.cumsum(t, axis=1), np.cumprod(t, axis=1)
    assert summed[0].to_numpy().tolist() == [0, 1, 1, 3, 3]
    assert summed[2**40].to_numpy().tolist() == [3] * 5 and summed.nnz == 9
    assert products[2**40].to_numpy().tolist() == [3, 0, 0, 0, 0] and products.nnz == 1
    middle = np.median(t, axis=1)
    assert isinstance(middle, tamis.Tensor) and middle.shape == (2**41,) and middle[0] == 0
    assert np.quantile(t, [0.5, 1], axis=1)[1, 2**40] == 3
    assert np.median(t) == 0 and np.nanvar(t, axis=1)[2**40] == pytest.approx(np.var([3, 0, 0, 0, 0]))
    assert np.histogram(t, 3)[0].tolist() == [2**41 * 5 - 3, 1, 2]
    for call in (np.cumsum, np.argsort, lambda z: np.cumsum(z, axis=0), np.cov):
        with pytest.raises(MemoryError):
            call(t)


@pytest.mark.filterwarnings("ignore:Converting input from bool")
@pytest.mark.parametrize("dtype", TYPES[:-1])
def test_histograms(dtype):
    x = random((6, 7), dtype, 7)
    tensors = [tensor(x, form) for form in FORMS] + [filled(x, 1)]
    for bins in (1, 4, [0, 1, 3, 4], np.array([1.0, 2.0])):
        agree(lambda z: np.histogram(z, bins)[0], x, tensors, exact=True)
        agree(lambda z: np.histogram(z, bins)[1], x, tensors, exact=True)
        agree(lambda z: np.histogram_bin_edges(z, bins), x, tensors, exact=True)
        agree(lambda z: np.histogram(z, bins, density=True)[0], x, tensors)
    agree(lambda z: np.histogram(z, 5, (-1, 3))[0], x, tensors, exact=True)
    if dtype in ("i8", "i4", "u1"):
        agree(lambda z: np.bincount(abs(z).reshape(-1), minlength=3), x, tensors, exact=True)


def test_what_histograms_refuse():
    t = tensor(random((4, 5), "f8", 8), "csr")
    with pytest.raises(tamis.TamisError, match="number of bins"):
        np.histogram(t, "auto")
    with pytest.raises(tamis.TamisError, match="finite"):
        np.histogram(tensor(np.array([np.nan, 0, 1]), "sparse"))
    with pytest.raises(tamis.TamisError, match="finite"):
        np.histogram(tamis.coo(([0],), [1.0], shape=(3,), fill_value=np.nan))
    with pytest.raises(tamis.TamisError):
        np.histogram(t, [2, 1])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [dtype for dtype in TYPES if dtype != "?"])
def test_covariances(dtype):
    x = random((5, 40), dtype, 9)
    x[0] = random(40, dtype, 10) * (np.arange(40) % 5 == 0)
    w, f = np.arange(40) / 7, np.arange(40) % 3
    tensors = [tensor(x, form) for form in FORMS] + [filled(x, 2)]
    for how in ({}, {"bias": True}, {"ddof": 2}, {"rowvar": False}, {"aweights": w}, {"fweights": f}):
        near(lambda z: np.cov(z, **how), x, tensors)
    near(lambda z: np.cov(z, aweights=w, fweights=f), x, tensors)
    near(lambda z: np.cov(z[:, :2], z[:, 0][None], rowvar=False), x, tensors)
    if np.lib.NumpyVersion(np.__version__) >= "2.4.0":
        # Before, NumPy took one row for one variable.
        near(lambda z: np.cov(z[:1], rowvar=False), x[:, :4], [tensor(x[:, :4], "csr")])
    near(lambda z: np.corrcoef(z), x[:3], [tensor(x[:3], "csr")])
    near(lambda z: np.cov(z[0], z[1:]), x, tensors)
    near(lambda z: np.cov(x, z[2]), x, tensors)
    near(lambda z: np.cov(z[0]), x, tensors)
    near(lambda z: np.corrcoef(z[0]), x, tensors[:1])


def test_covariances_far_from_what_is_absent():
    x = random((3, 50), "f8", 11)
    x[1] = 1e8 + np.arange(50) % 7
    near(lambda z: np.cov(z), x, [tensor(x, "csr"), filled(x, 0)])
    with pytest.raises(tamis.TamisError, match="integer"):
        np.cov(tensor(x, "csr"), ddof=0.5)


def test_covariances_of_unlike_operands():
    x = random((3, 6), "f8", 12)
    t, w = tensor(x, "csr"), np.array([1, 2, 1, 3, 1, 1])
    for weights in (w, tamis.asarray(w)):
        np.testing.assert_allclose(np.cov(t, fweights=weights), np.cov(x, fweights=w))
        np.testing.assert_allclose(np.cov(x, aweights=tamis.asarray(w)), np.cov(x, aweights=w))
    half = tamis.coo([[0, 1], [0, 2]], [1.5, 2.0], shape=(2, 6), fill_value=0.5)
    for other in (w, w > 1, w.astype(np.uint8), w * 1j):
        np.testing.assert_allclose(np.cov(half, other), np.cov(half.to_numpy(), other))
    with pytest.raises(tamis.TamisError, match="one weight for each"):
        np.cov(t, fweights=[1, 2])
    for ddof in (np.inf, np.nan, "a"):
        with pytest.raises(tamis.TamisError, match="integer"):
            np.cov(t, ddof=ddof)


def test_many_columns_take_no_memory():
    t = tamis.coo([[0, 1, 2], [0, 5, 2**40 - 1]], [1.0, 2.0, 3.0], shape=(3, 2**40))
    np.testing.assert_allclose(np.diag(np.cov(t)), np.array([1, 4, 9]) / 2.0**40)
    for name in ("median", "nanvar", "nanmedian"):
        with pytest.raises(tamis.TamisError, match="give an axis"):
            getattr(np, name)(tamis.coo([[0], [0]], [1.0], shape=(2**40, 2**40)))


def test_what_orders_and_sums_refuse():
    t = tensor(random((4, 5), "f8", 13), "csr")
    for how in ({"kind": "foo"}, {"order": "foo"}, {"kind": "stable", "stable": True}):
        with pytest.raises(tamis.TamisError, match="no way to sort"):
            np.argsort(t, **how)
    for name in ("cumsum", "cumprod"):
        with pytest.raises(tamis.TamisError, match="type of floats"):
            getattr(np, name)(tamis.asarray([1.0, np.nan]), dtype="i2")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("how", [{"rtol": np.inf}, {"rtol": np.nan}, {"atol": -1}, {"rtol": -1}])
def test_odd_distances(how):
    x = np.eye(3)
    assert np.allclose(tensor(x, "csr"), tensor(x, "csr"), **how) == np.allclose(x, x, **how)
