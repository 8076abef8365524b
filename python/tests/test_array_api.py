"""``tamis.array_api`` is the array API standard, as ``array_api_strict`` has it; what is not there
has its reason in ``array-api-unsupported.txt``."""

import inspect
import operator
import os
from pathlib import Path

import numpy as np
import pytest
import tamis
from conftest import array, seeds
from forms import FORMATS, tensor
from hypothesis import given, settings
from hypothesis import strategies as st
from tamis import array_api

strict = pytest.importorskip("array_api_strict")

FEW = max(20, int(os.environ.get("TAMIS_EXAMPLES", "200")) // 20)
#: What ``array_api_strict`` has beside the standard.
OTHERS = {
    "ArrayAPIStrictFlags",
    "Device",
    "__version__",
    "get_array_api_strict_flags",
    "reset_array_api_strict_flags",
    "set_array_api_strict_flags",
}


def unsupported():
    lines = (Path(__file__).parent / "array-api-unsupported.txt").read_text().splitlines()
    pairs = [line.partition(":") for line in lines if line and not line.startswith("#")]
    assert all(reason.strip() for _, _, reason in pairs)
    return {name for name, _, _ in pairs}


def test_every_function_is_there_or_has_a_reason():
    wanted = set(strict.__all__) - OTHERS
    missing = {name for name in wanted if not hasattr(array_api, name)}
    assert missing == {name for name in unsupported() if "." not in name}
    assert set(array_api.__all__) <= wanted
    assert all(hasattr(array_api, name) for name in array_api.__all__)


def test_every_function_of_linalg_is_there_or_has_a_reason():
    wanted = set(strict.linalg.__all__)
    missing = {f"linalg.{name}" for name in wanted - set(array_api.linalg.__all__)}
    assert missing == {name for name in unsupported() if name.startswith("linalg.")}
    assert set(array_api.linalg.__all__) <= wanted


def test_the_guide_tells_of_all_that_is_missing():
    page = (Path(__file__).parents[2] / "docs/guide/python/array-api.md").read_text()
    assert all(f"`{name.rpartition('.')[2]}`" in page for name in unsupported())
    info = array_api.__array_namespace_info__()
    assert all(f"`{name}`" in page for name in (*info.dtypes(), *info.capabilities()))


@given(st.sampled_from(FORMATS), st.sampled_from([(7,), (4, 6), (2, 3, 4), (0, 3)]), st.data(), seeds)
def test_sorted_elements_are_numpys(format, shape, data, seed):
    x = array(seed, shape, data.draw(st.sampled_from(["f8", "i4", "u1", "?", "c16"])))
    if x.dtype.kind == "f":
        x = np.where(x == 3, np.nan, x)
    t = tensor(x, format)
    for axis in range(-x.ndim, x.ndim):
        expected = np.sort(x, axis=axis)
        found = array_api.sort(t, axis=axis)
        np.testing.assert_array_equal(found.todense(), expected)
        assert found.nnz == t.canonical().nnz or t.is_full or not t.is_compact
        found = array_api.sort(t, axis=axis, descending=True)
        np.testing.assert_array_equal(found.todense(), np.flip(expected, axis))
        np.testing.assert_array_equal(np.sort(t, axis).todense(), expected)
    filled = t + np.ones((), x.dtype)[()] if x.dtype.kind in "fc" else t
    expected = np.sort(x + 1 if x.dtype.kind in "fc" else x, axis=0)
    found = array_api.sort(filled, axis=0)
    found = found.todense() if isinstance(found, tamis.Tensor) else found
    np.testing.assert_array_equal(found, expected)


def test_linalg_is_numpys():
    x, y = array(1, (4, 3, 3)), array(2, (4, 3, 3))
    t, u = tamis.asarray(x, format="csf"), tamis.asarray(y, format="csf")
    own = array_api.linalg
    for function, arrays, options in [
        *(("cross", 2, {"axis": k}) for k in (-1, 1)),
        *(("diagonal", 1, {"offset": k}) for k in (-1, 0, 2)),
        *(("trace", 1, {"offset": k}) for k in (-1, 0)),
        *(("matmul", 2, {}), ("matrix_transpose", 1, {}), ("vecdot", 2, {}), ("matrix_norm", 1, {})),
        *(("vector_norm", 1, {}), ("vector_norm", 1, {"axis": 1})),
    ]:
        expected = getattr(np.linalg, function)(*(x, y)[:arrays], **options)
        found = getattr(own, function)(*(t, u)[:arrays], **options)
        found = found.todense() if isinstance(found, tamis.Tensor) else found
        np.testing.assert_allclose(found, expected)
    np.testing.assert_array_equal(own.matrix_power(t[0], 3).todense(), np.linalg.matrix_power(x[0], 3))
    np.testing.assert_array_equal(own.outer(t[0, 0], u[0, 1]).todense(), np.outer(x[0, 0], y[0, 1]))
    for call in (lambda: own.cross(t[..., :2], u[..., :2]), lambda: own.outer(t, u)):
        with pytest.raises(tamis.TamisValueError):
            call()


def test_what_the_standard_says_of_no_elements_and_no_axes():
    for nothing in (array_api.zeros((0,)), array_api.zeros((3, 0))):
        for function in (array_api.mean, array_api.var, array_api.std):
            assert np.isnan(function(nothing, axis=-1)).all()
    with pytest.raises(tamis.TamisValueError):
        tamis.asarray(3.0).nonzero()
    number = tamis.asarray(3.0)
    assert number[True].todense().tolist() == [3] and number[np.array(False)].shape == (0,)
    assert tamis.asarray(np.eye(2), format="csr")[np.True_].shape == (1, 2, 2)
    assert array_api.tile(np.True_, (2,)).todense().tolist() == [True, True]
    assert isinstance(array_api.finfo(array_api.float32).eps, float)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_grids_are_numpys(indexing):
    vectors = [array(k, (k + 2,)) for k in range(3)]
    for n in range(1, 4):
        tensors = [tamis.asarray(x, format="sparse") for x in vectors[:n]]
        expected = np.meshgrid(*vectors[:n], indexing=indexing)
        for made in (array_api.meshgrid, np.meshgrid):
            found = made(*tensors, indexing=indexing)
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_array_equal(x.todense(), y)


def test_every_method_is_there_or_has_a_reason():
    own = strict.asarray([1.0])
    wanted = {
        name
        for name in dir(type(own))
        if (name.startswith("__") or not name.startswith("_")) and name != "__slots__"
    }
    missing = {f"array.{name}" for name in wanted if not hasattr(tamis.Tensor, name)}
    assert missing == {name for name in unsupported() if name.startswith("array.")}


@pytest.mark.parametrize("name", sorted(array_api.__all__))
def test_signatures(name):
    function = getattr(strict, name)
    if not inspect.isfunction(function):
        return
    own = inspect.signature(getattr(array_api, name)).parameters
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind == parameter.POSITIONAL_ONLY:
            continue
        if parameter.name not in own:
            # NumPy's and ours take several arrays by any name.
            assert parameter.kind == parameter.VAR_POSITIONAL
            assert any(p.kind == p.VAR_POSITIONAL for p in own.values())


REAL, FLOATS, NUMBERS = ["f8", "f4", "i8", "i4", "u1"], ["f8", "f4"], ["f8", "i8", "u1", "c16"]
INTEGERS = ["i8", "i4", "u1", "?"]
COMPLEX = ["f8", "f4", "c16", "c8"]


def special(data, made):
    """Some elements without a finite value. A negative zero is no entry, as in SciPy."""
    if made.dtype.kind == "f" and made.size and data.draw(st.booleans()):
        made.flat[data.draw(st.integers(0, made.size - 1))] = data.draw(
            st.sampled_from([np.nan, np.inf, -np.inf, 2.5, -1.5])
        )
    return made


def operand(data, shape, dtypes, dtype=None):
    made = array(data.draw(seeds), shape, dtype or data.draw(st.sampled_from(dtypes)))
    return special(data, made)


def as_tensor(data, made):
    """The array as an operand: a tensor in some format, maybe of a fill value; or as it is."""
    found = tensor(made, data.draw(st.sampled_from([*FORMATS, "csr", "coo", "csf"])))
    # What is added to an absent infinity is absent, NaN too, as what is multiplied by an absent zero.
    may_be_absent = made.ndim and made.size and not np.isinf(made.flat[0])
    if data.draw(st.integers(0, 3)) == 0 and may_be_absent:
        fill = made.flat[0]
        mask = ~np.array([x == fill or (x != x and fill != fill) for x in made.flat], dtype=bool)
        coords = np.unravel_index(np.flatnonzero(mask), made.shape)
        found = tamis.coo(coords, made.ravel()[mask], shape=made.shape, fill_value=fill)
    return found


def full(x):
    return x.to_numpy() if isinstance(x, tamis.Tensor) else np.asarray(x)


def check(call, operands, forms, exact=True):
    """The call gives what it gives for arrays of the standard's own."""
    with np.errstate(all="ignore"):
        expected = call(strict, *[strict.asarray(x) for x in operands])
    found = call(array_api, *forms)
    many = isinstance(expected, (tuple, list))
    for one, other in zip(found if many else [found], expected if many else [expected]):
        one, other = full(one), np.asarray(other._array)
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        if exact and other.dtype.kind not in "fc":
            np.testing.assert_array_equal(one, other)
        else:
            wide = other.dtype in (np.float32, np.complex64)
            np.testing.assert_allclose(one, other, rtol=1e-5 if wide else 1e-12, atol=1e-12)
    assert not many or len(found) == len(expected)


shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)

UNARY = {
    **dict.fromkeys(["abs", "sign", "positive", "square"], NUMBERS),
    "negative": ["f8", "i8", "c16"],
    **dict.fromkeys(["ceil", "floor", "trunc"], REAL),
    "round": [*REAL, "c16"],
    **dict.fromkeys(["isfinite", "isinf", "isnan"], [*REAL, "c8"]),
    **dict.fromkeys(["acos", "asin", "atan", "asinh", "acosh", "atanh"], FLOATS),
    **dict.fromkeys(["cos", "sin", "tan", "cosh", "sinh", "tanh"], FLOATS),
    **dict.fromkeys(["exp", "expm1", "log", "log10", "log1p", "log2", "sqrt"], FLOATS),
    **dict.fromkeys(["reciprocal", "signbit"], FLOATS),
    **dict.fromkeys(["real", "imag"], ["c16", "c8"]),
    "conj": [*NUMBERS],
    "logical_not": ["?"],
    "bitwise_invert": INTEGERS,
}
BINARY = {
    **dict.fromkeys(["add", "subtract", "equal", "not_equal"], ["f8", "f4", "i8", "c16"]),
    **dict.fromkeys(["maximum", "minimum", "less", "less_equal"], REAL),
    **dict.fromkeys(["greater", "greater_equal"], REAL),
    **dict.fromkeys(["atan2", "copysign", "hypot", "logaddexp", "nextafter"], FLOATS),
    **dict.fromkeys(["logical_and", "logical_or", "logical_xor"], ["?"]),
    **dict.fromkeys(["bitwise_and", "bitwise_or", "bitwise_xor"], INTEGERS),
}


@pytest.mark.parametrize("name", sorted(UNARY))
@settings(max_examples=FEW)
@given(st.data())
def test_functions_of_one(name, data):
    made = operand(data, data.draw(shapes), UNARY[name])
    check(lambda xp, x: getattr(xp, name)(x), [made], [as_tensor(data, made)])


def pair(data, dtypes):
    """Two operands of a type, of shapes that broadcast."""
    shape = data.draw(shapes)
    dtype = data.draw(st.sampled_from(dtypes))
    other = tuple(n if data.draw(st.integers(0, 3)) else 1 for n in shape)
    other = other[data.draw(st.integers(0, len(shape) - 1)) :]
    made = [operand(data, s, None, dtype) for s in (shape, other)]
    return made if data.draw(st.booleans()) else made[::-1]


@pytest.mark.parametrize("name", sorted(BINARY))
@settings(max_examples=FEW)
@given(st.data())
def test_functions_of_two(name, data):
    made = pair(data, BINARY[name])
    forms = [as_tensor(data, x) for x in made]
    if data.draw(st.integers(0, 3)) == 0:
        which = data.draw(st.integers(0, 1))
        forms[which] = made[which]
    check(lambda xp, x, y: getattr(xp, name)(x, y), made, forms)


@settings(max_examples=10 * FEW)
@given(
    st.sampled_from(["multiply", "divide", "floor_divide", "remainder", "pow"]),
    st.sampled_from(["f8", "f4", "i8", "i4"]),
    st.data(),
)
def test_arithmetic(name, dtype, data):
    """Of finite numbers and divisors: a fill value times infinity is a fill value in sparse computing."""
    if name == "divide" and dtype[0] == "i":
        dtype = "f8"
    seed, shape = data.draw(seeds), data.draw(shapes)
    left, right = array(seed, shape, dtype), array(seed + 1, shape, dtype)
    if name != "multiply":
        right = np.where(right == 0, 2, abs(right)).astype(dtype)
    forms = [as_tensor(data, x) for x in (left, right)]
    check(lambda xp, x, y: getattr(xp, name)(x, y), [left, right], forms)


@settings(max_examples=5 * FEW)
@given(st.data(), st.sampled_from(["<<", ">>"]))
def test_shifts(data, which):
    shape = data.draw(shapes)
    left = operand(data, shape, ["i8", "u1"])
    right = abs(array(data.draw(seeds), shape, "i8")).astype(left.dtype)
    name = {"<<": "bitwise_left_shift", ">>": "bitwise_right_shift"}[which]
    forms = [as_tensor(data, left), data.draw(st.sampled_from([right, as_tensor(data, right)]))]
    check(lambda xp, x, y: getattr(xp, name)(x, y), [left, right], forms)


@settings(max_examples=10 * FEW)
@given(st.data())
def test_choices(data):
    shape = data.draw(shapes)
    condition = array(data.draw(seeds), shape, "?")
    left, right = operand(data, shape, None, "f8"), operand(data, shape, None, "f8")
    if data.draw(st.booleans()):
        left = left[:1]
    forms = [as_tensor(data, x) for x in (condition, left, right)]
    if data.draw(st.booleans()):
        forms[data.draw(st.integers(0, 2))] = None
    forms = [x if x is not None else y for x, y in zip(forms, (condition, left, right))]
    check(lambda xp, *x: xp.where(*x), [condition, left, right], forms)
    low, high = data.draw(
        st.sampled_from([(-1.0, 1.0), (None, 0.5), (1.0, None), (-2, 2), (None, None)])
    )
    check(lambda xp, x: xp.clip(x, low, high), [left], [as_tensor(data, left)])


def axes(data, shape, several=True):
    one = st.integers(-len(shape), len(shape) - 1)
    chosen = [st.none(), one]
    if several:
        every = st.lists(one, unique_by=lambda k: k % len(shape)).map(tuple)
        chosen.append(every)
    return data.draw(st.one_of(chosen))


REDUCTIONS = {
    **dict.fromkeys(["sum", "prod"], ["f8", "f4", "i8", "i4", "u1", "c16"]),
    **dict.fromkeys(["min", "max"], REAL),
    **dict.fromkeys(["any", "all"], ["?", "f8", "i4"]),
    "mean": FLOATS,
    "count_nonzero": [*NUMBERS, "?"],
    "argmax": REAL,
    "argmin": REAL,
    "var": FLOATS,
    "std": FLOATS,
}


@pytest.mark.parametrize("name", sorted(REDUCTIONS))
@settings(max_examples=2 * FEW)
@given(st.data())
def test_reductions(name, data):
    shape = data.draw(shapes)
    dtype = data.draw(st.sampled_from(REDUCTIONS[name]))
    made = array(data.draw(seeds), shape, dtype, density=data.draw(st.sampled_from([0.2, 0.9])))
    if name in ("argmax", "argmin"):
        made = special(data, made)
    several = name not in ("argmax", "argmin")
    options = {"axis": axes(data, shape, several), "keepdims": data.draw(st.booleans())}
    if name in ("var", "std"):
        options["correction"] = data.draw(st.sampled_from([0.0, 1.0]))
        count = np.var(made, axis=options["axis"], keepdims=True).size
        if made.size == count and options["correction"]:
            options["correction"] = 0.0
    form = as_tensor(data, made)

    def call(xp, x):
        return getattr(xp, name)(x, **options)

    if name in ("var", "std"):
        with np.errstate(all="ignore"):
            expected = np.asarray(call(strict, strict.asarray(made))._array)
        found = full(call(array_api, form))
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    else:
        check(call, [made], [form])


@st.composite
def moves(draw, shape):
    """A call that moves the elements of an array of a shape, or takes some."""
    ndim = len(shape)
    axis = draw(st.integers(-ndim, ndim - 1))
    size = shape[axis]
    some = draw(st.one_of(st.none(), st.just(axis), st.just(tuple(range(ndim)))))
    shift = draw(st.integers(-6, 6))
    shifts = (shift,) * ndim if some == tuple(range(ndim)) else shift
    times = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    wide = tuple(3 if n == 1 and draw(st.booleans()) else n for n in shape)
    wide = (2,) * draw(st.integers(0, 1)) + wide
    order = tuple(draw(st.permutations(range(ndim))))
    picks = draw(st.lists(st.integers(0, size - 1), max_size=4))
    k = draw(st.integers(-3, 3))
    repetitions = tuple(draw(st.lists(st.integers(0, 3), max_size=ndim + 1)))
    calls = [
        lambda xp, x: xp.broadcast_to(x, wide),
        lambda xp, x: xp.concat([x, x], axis=axis),
        lambda xp, x: xp.concat([x, x], axis=None),
        lambda xp, x: xp.diff(x, axis=axis, n=abs(k)),
        lambda xp, x: xp.diff(x, axis=axis, prepend=x, append=x),
        lambda xp, x: xp.expand_dims(x, axis=axis),
        lambda xp, x: xp.squeeze(xp.expand_dims(x, axis=axis), axis=axis),
        lambda xp, x: xp.flip(x, axis=some),
        lambda xp, x: xp.moveaxis(x, axis, 0),
        lambda xp, x: xp.permute_dims(x, order),
        lambda xp, x: xp.repeat(x, k + 3, axis=axis),
        lambda xp, x: xp.repeat(x, k + 3),
        lambda xp, x: xp.repeat(x, xp.asarray(np.array(times)), axis=axis),
        lambda xp, x: xp.reshape(x, (-1,)),
        lambda xp, x: xp.roll(x, shifts, axis=some),
        lambda xp, x: xp.stack([x, x], axis=axis),
        lambda xp, x: xp.take(x, xp.asarray(np.array(picks, dtype=np.int64)), axis=axis),
        lambda xp, x: xp.tile(x, repetitions),
        lambda xp, x: xp.unstack(x, axis=axis),
        lambda xp, x: xp.broadcast_arrays(x, xp.zeros(wide)),
        lambda xp, x: xp.zeros_like(x),
        lambda xp, x: xp.ones_like(x),
        lambda xp, x: xp.full_like(x, 2),
        lambda xp, x: xp.nonzero(x),
    ]
    if ndim > 1:
        calls += [
            lambda xp, x: xp.matrix_transpose(x),
            lambda xp, x: xp.tril(x, k=k) if is_zero(x) else x,
            lambda xp, x: xp.triu(x, k=k) if is_zero(x) else x,
        ]
    return draw(st.sampled_from(calls))


def is_zero(x):
    return not isinstance(x, tamis.Tensor) or x.fill_value == 0


@settings(max_examples=60 * FEW)
@given(st.data())
def test_moves(data):
    shape = data.draw(shapes)
    made = operand(data, shape, ["f8", "i4", "?", "c16"])
    form = as_tensor(data, made)
    if form.fill_value != 0:
        form = tensor(made, data.draw(st.sampled_from(FORMATS)))
    call = data.draw(moves(shape))
    if made.dtype == bool:
        made, form = made.astype("i8"), form.astype("i8")
    if made.dtype.kind == "c" and data.draw(st.booleans()):
        made, form = made.real, array_api.real(form)
    check(call, [made], [form])


@settings(max_examples=5 * FEW)
@given(st.data())
def test_values_that_occur(data):
    made = operand(data, data.draw(shapes), ["f8", "i4"])
    form = as_tensor(data, made)
    check(lambda xp, x: xp.unique_values(x), [made], [form])
    check(lambda xp, x: xp.unique_counts(x), [made], [form])
    check(lambda xp, x: xp.unique_inverse(x), [made], [form])
    check(lambda xp, x: xp.unique_all(x), [made], [form])
    if made.dtype == np.int32:
        some = np.array([0, 1], dtype=np.int32)
        check(lambda xp, x: xp.isin(x, xp.asarray(some)), [made], [form])
    known = np.array([-2, 0, 1], dtype=made.dtype)
    side = data.draw(st.sampled_from(["left", "right"]))
    check(
        lambda xp, x: xp.searchsorted(xp.asarray(known), x, side=side),
        [made],
        [form],
    )


@settings(max_examples=10 * FEW)
@given(st.data())
def test_arrays_of_indices_and_sums(data):
    shape = data.draw(shapes)
    made = operand(data, shape, ["f8", "f4", "i4", "u1"])
    form = as_tensor(data, made)
    axis, descending = data.draw(st.integers(-len(shape), len(shape) - 1)), data.draw(st.booleans())
    check(lambda xp, x: xp.argsort(x, axis=axis, descending=descending), [made], [form])
    same_size = array(data.draw(seeds), shape, "i8") % made.shape[axis]
    for indices in (same_size, tensor(same_size, "csr")):
        with np.errstate(all="ignore"):
            expected = np.take_along_axis(made, same_size, axis)
        np.testing.assert_array_equal(full(array_api.take_along_axis(form, indices, axis=axis)), expected)
    if not np.isfinite(made).all():
        return
    for call in (
        lambda xp, x: xp.cumulative_sum(x, axis=axis),
        lambda xp, x: xp.cumulative_sum(x, axis=axis, include_initial=True, dtype=xp.float64),
        lambda xp, x: xp.cumulative_prod(x, axis=axis),
    ):
        check(call, [made], [form])


def test_indices_of_many_elements():
    huge = tamis.coo(([2**30], [2**29]), [-1.5], shape=(2**31, 2**30))
    found, indices = np.unique(huge, return_index=True)
    assert found.tolist() == [-1.5, 0] and indices.tolist() == [2**60 + 2**29, 0]
    for call in (array_api.unique_inverse, array_api.unique_all, array_api.argsort):
        with pytest.raises(MemoryError):
            call(huge)


@settings(max_examples=5 * FEW)
@given(st.data(), st.sampled_from(["f8", "i8", "c16"]))
def test_products(data, dtype):
    n, m, k = (data.draw(st.integers(1, 4)) for _ in range(3))
    left, right = array(data.draw(seeds), (n, k), dtype), array(data.draw(seeds), (k, m), dtype)
    forms = [as_tensor(data, x) for x in (left, right)]
    check(lambda xp, x, y: xp.matmul(x, y), [left, right], forms)
    check(lambda xp, x, y: xp.tensordot(x, y, axes=1), [left, right], forms)
    check(lambda xp, x, y: xp.tensordot(x, y, axes=((-1,), (-2,))), [left, right], forms)
    other = array(data.draw(seeds), (n, k), dtype)
    forms[1] = as_tensor(data, other)
    check(lambda xp, x, y: xp.vecdot(x, y), [left, other], forms)
    check(lambda xp, x, y: xp.vecdot(x, y, axis=-2), [left, other], forms)


OPERATORS = ["and_", "or_", "xor", "floordiv", "lshift", "rshift"]


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("other", ["tensor", "array", "number"])
def test_operators_of_integers(name, other):
    made, right = array(1, (4, 5), "i8"), abs(array(2, (4, 5), "i8")) + 1
    found = tamis.asarray(made, format="csr")
    operate = getattr(operator, name)
    sides = {"tensor": tamis.asarray(right, format="csc"), "array": right, "number": 2}
    expected = operate(made, 2 if other == "number" else right)
    np.testing.assert_array_equal(full(operate(found, sides[other])), expected)
    left = operate(2 if other == "number" else made, right)
    side = {"tensor": found, "array": made, "number": 2}[other]
    np.testing.assert_array_equal(full(operate(side, tamis.asarray(right, format="csr"))), left)
    np.testing.assert_array_equal(full(~found), ~made)
    assert (+found) is found


def test_what_is_sparse_stays_sparse():
    made = tamis.asarray(array(3, (40, 50), density=0.05), format="csc")
    assert np.floor(made).format == "csc" and np.floor(made).nnz == made.nnz
    ones = np.isfinite(made)
    assert ones.fill_value and len(ones.values) == made.nnz and ones.nnz == 0
    other = tamis.asarray(array(4, (40, 50), density=0.05), format="csr")
    assert np.hypot(made, other).nnz <= made.nnz + other.nnz
    whole = tamis.asarray(array(5, (40, 50), "i8", density=0.05), format="csr")
    assert (whole & np.full((40, 50), 3)).nnz == whole.nnz
    mask = made > 0
    assert array_api.where(mask, np.ones((40, 50)), other).nnz <= len(mask.values) + other.nnz
    huge = tamis.coo(([2**40], [2**41], [5]), [1.5], shape=(2**42, 2**42, 2**42))
    assert np.floor(huge).nnz == np.hypot(huge, huge).nnz == 1
    assert array_api.flip(huge)[2**42 - 1 - 2**40, 2**42 - 1 - 2**41, 2**42 - 6] == 1.5


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda xp, x: xp.broadcast_to(x, (5,)), ValueError),
        (lambda xp, x: xp.squeeze(x, 0), ValueError),
        (lambda xp, x: xp.stack([x, x.T]), ValueError),
        (lambda xp, x: xp.concat([x, x + 1]), TypeError),
        (lambda xp, x: xp.tril(x + 1), TypeError),
        (lambda xp, x: xp.tril(x[0]), ValueError),
        (lambda xp, x: xp.repeat(x, -1), ValueError),
        (lambda xp, x: xp.repeat(x, [1, 2, 3], axis=0), ValueError),
        (lambda xp, x: xp.where(x, x, x.T), ValueError),
        (lambda xp, x: xp.hypot(x, x.T), ValueError),
        (lambda xp, x: xp.argmax(x[:0], axis=0), ValueError),
        (lambda xp, x: xp.roll(x, (1, 2), axis=0), ValueError),
        (lambda xp, x: xp.moveaxis(x, (0, 1), 0), ValueError),
        (lambda xp, x: xp.zeros(3, device="gpu"), ValueError),
        (lambda xp, x: x.to_device("gpu"), ValueError),
        (lambda xp, x: xp.expand_dims(x, axis=-7), IndexError),
        (lambda xp, x: xp.vecdot(x, x.T), ValueError),
        (lambda xp, x: range(x[:1, :1]), TypeError),
    ],
)
def test_mistakes(call, error):
    with pytest.raises(error) as refused:
        call(array_api, tamis.asarray(array(6, (4, 5)), format="csr"))
    assert isinstance(refused.value, tamis.TamisError)


def test_diagonals_beyond_a_matrix():
    for k in (3, -3, 2**63, -(2**70)):
        assert not array_api.eye(3, k=k).nnz


def test_numbers_and_devices():
    number = tamis.asarray(np.int64(2))
    assert list(range(4))[number] == 2
    assert number.device == "cpu" and number.to_device("cpu") is number
    info = array_api.__array_namespace_info__()
    assert info.default_device() == "cpu" and info.capabilities()["boolean indexing"] is True
    assert tamis.asarray(np.eye(3)).__array_namespace__() is array_api
