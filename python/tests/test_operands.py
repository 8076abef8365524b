"""Operands of every library, layout and type: borrowed where they can be, never wrong."""

import array as python_array
import itertools

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
import tamis
from conftest import DTYPES, array, seeds
from forms import FORMATS, LAYOUTS, SCIPY, laid_out, scipy, where_stored
from hypothesis import given
from hypothesis import strategies as st


@given(
    st.lists(st.integers(0, 4), max_size=4),
    st.sampled_from(DTYPES),
    st.sampled_from(LAYOUTS),
    seeds,
)
def test_layouts_of_numpy(shape, dtype, layout, seed):
    made = array(seed, tuple(shape), dtype)
    if layout in ("reversed", "strided") and not shape or layout == "list" and 0 in shape:
        layout = "C"
    operand = laid_out(made, layout)
    found = tamis.asarray(operand)
    assert found.shape == made.shape
    np.testing.assert_array_equal(found.to_numpy(), made)


@given(st.permutations(range(3)), seeds)
def test_axes_in_any_order_are_borrowed(axes, seed):
    made = np.transpose(array(seed, (2, 3, 4)), axes)
    found = tamis.asarray(made)
    assert np.shares_memory(found.values, made)
    np.testing.assert_array_equal(found.to_numpy(), made)


@given(
    st.tuples(st.integers(1, 7), st.integers(1, 7)),
    st.sampled_from(DTYPES),
    st.sampled_from(SCIPY),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    seeds,
)
def test_every_form_of_scipy(shape, dtype, form, matrix, wide, shuffled, seed):
    made = array(seed, shape, dtype)
    operand = scipy(made, form, matrix, wide, shuffled, seed)
    found = tamis.asarray(operand)
    assert found.dtype == made.dtype
    np.testing.assert_array_equal(found.to_numpy(), made)
    back = found.to_scipy(matrix=matrix)
    np.testing.assert_array_equal(back.toarray(), made)
    assert isinstance(back, sp.spmatrix if matrix else sp.sparray)


PROGRAMS = {
    "y(i) = A(i,j) * x(j)": lambda a, x, c: a @ x,
    "y(j) = A(i,j) * z(i)": lambda a, x, c: a.T @ x[: a.shape[0]],
    "y(i) = x(i) - A(i,j) * x(j)": lambda a, x, c: x - a @ x,
    "y(i) = A(i,j) * A(i,j)": lambda a, x, c: (a * a).sum(axis=1),
    "y = A(i,j) * x(j)": lambda a, x, c: (a @ x).sum(),
    "y(i,k) = A(i,j) * C(j,k)": lambda a, x, c: a @ c,
    "y(i,k) = A(i,j) * A(j,k)": lambda a, x, c: a @ a,
    "y(i,j) = A(i,j) * x(j)": lambda a, x, c: a * x,
    "y(i,j) = A(i,j) + C(i,j)": lambda a, x, c: a + c,
}


@given(
    st.sampled_from(sorted(PROGRAMS)),
    st.sampled_from(["f8", "f4", "i8", "i4", "c16", "?"]),
    st.sampled_from(["csr", "csc", "coo"]),
    st.booleans(),
    seeds,
)
def test_entries_of_scipy_in_no_order(text, dtype, form, wide, seed):
    made, x, c = array(seed, (5, 5), dtype), array(seed + 1, (5,), "i8"), array(seed + 2, (5, 5))
    stored = scipy(made, "csr", False, wide, True, seed).asformat(form)
    operands = {"A": stored, "x": x, "z": x, "C": c}
    operands = {name: made for name, made in operands.items() if f"{name}(" in text.split("=")[1]}
    found = tamis.evaluate(text, **operands)
    found = found.toarray() if sp.issparse(found) else np.asarray(found)
    expected = PROGRAMS[text](made.astype("i8") if dtype == "?" else made, x, c)
    expected = expected != 0 if found.dtype == bool else expected
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_results_in_no_order():
    a = sp.random_array((60, 60), density=0.2, rng=5)
    for form in ("csr", "csc"):
        stored = a.asformat(form)
        text, format = "C(i,j) = A(i,k) * B(k,j)", f"{form}(nonordered)"
        found = tamis.evaluate(text, A=stored, B=stored, format=format)
        assert found.format == form and not found.has_sorted_indices
        np.testing.assert_allclose(found.toarray(), (stored @ stored).toarray())
        again = tamis.evaluate("y(i) = C(i,j) * x(j)", C=found, x=np.ones(60))
        np.testing.assert_allclose(again, found @ np.ones(60))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_arrays_of_scipy_are_borrowed_and_lent(form):
    operand = sp.random_array((30, 30), density=0.2, format="csr", random_state=1).asformat(form)
    if form == "coo":
        operand.sum_duplicates()
    found = tamis.asarray(operand)
    assert np.shares_memory(found.values, operand.data)
    back = found.to_scipy()
    assert back.format == form
    assert np.shares_memory(back.data, operand.data)
    assert not back.data.flags.writeable


def test_results_belong_to_the_caller():
    a = sp.random_array((20, 20), density=0.2, format="csr", random_state=1)
    result = tamis.einsum("ij,jk->ik", a, a)
    for made in (result.data, result.indices, result.indptr):
        assert made.flags.writeable
    result.data[:] = 1.0
    result.sum_duplicates()
    result.eliminate_zeros()
    vector = tamis.einsum("ij,j->i", a, np.ones(20))
    vector += 1.0


@pytest.mark.parametrize("format", FORMATS)
def test_conversions_there_and_back(format):
    made = array(3, (7, 9))
    found = tamis.asarray(made, format=format)
    np.testing.assert_array_equal(found.to_numpy(), made)
    np.testing.assert_array_equal(found.to_scipy().toarray(), made)
    np.testing.assert_array_equal(found.asformat("csc").to_numpy(), made)


def test_entries_of_dense_arrays_are_those_that_are_not_zero():
    made = np.array([[0.0, -0.0, np.nan], [np.inf, 0.0, 5.0]])
    found = tamis.asarray(made, format="csr")
    assert found.nnz == 3
    np.testing.assert_array_equal(found.to_numpy(), made)


def test_one_axis_and_more_than_two():
    line = array(4, (9,))
    np.testing.assert_array_equal(tamis.asarray(sp.coo_array(line)).to_numpy(), line)
    space = array(5, (3, 4, 5))
    np.testing.assert_array_equal(tamis.asarray(sp.coo_array(space)).to_numpy(), space)
    result = tamis.einsum("ijk->kij", sp.coo_array(space))
    np.testing.assert_array_equal(result.to_numpy(), space.transpose(2, 0, 1))


def test_coordinates_in_no_order_and_twice():
    rows, columns, values = [2, 0, 2, 0], [1, 0, 1, 2], [1.0, 2.0, 3.0, 4.0]
    operand = sp.coo_array((values, (rows, columns)), shape=(3, 3))
    expected = operand.toarray()
    np.testing.assert_array_equal(tamis.asarray(operand).to_numpy(), expected)
    np.testing.assert_array_equal(
        tamis.einsum("ij,jk->ik", operand, operand).toarray(), expected @ expected
    )
    squares = tamis.evaluate("B(i,j) = A(i,j) * A(i,j)", A=operand)
    np.testing.assert_array_equal(squares.toarray(), expected * expected)


def test_other_arrays():
    line = python_array.array("d", [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(tamis.einsum("i->i", line), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(tamis.einsum("i->i", [1, 2]), [1, 2])
    assert tamis.evaluate("a = b(i)", b=memoryview(line)) == 6.0


def test_memory_that_is_lent_is_borrowed():
    for lent in (python_array.array("d", [1, 2, 3]), bytearray(b"abc"), memoryview(np.arange(3.0))):
        found = tamis.asarray(lent, copy=False)
        lent[0] = 9
        assert found.to_numpy()[0] == 9
    columns = np.asfortranarray(array(2, (2, 3)))
    found = tamis.asarray(memoryview(columns), copy=False)
    assert np.shares_memory(found.values, columns)
    np.testing.assert_array_equal(found.to_numpy(), columns)
    swapped = memoryview(np.array([1, 2], dtype=">f8"))
    np.testing.assert_array_equal(tamis.asarray(swapped).to_numpy(), [1, 2])


class Table:
    """Something with a shape that becomes an array, such as a table of pandas."""

    def __init__(self, array):
        self.array, self.shape, self.ndim = array, array.shape, array.ndim

    def __array__(self, dtype=None, copy=None):
        return self.array


def test_whatever_becomes_an_array():
    made = array(3, (3, 3))
    table, found = Table(made), tamis.asarray(made, format="csr")
    assert tamis.einsum("ij->", table) == made.sum()
    np.testing.assert_array_equal((found * table).to_numpy(), made * made)
    np.testing.assert_array_equal(found + table, made + made)
    product = tamis.compute(tamis.lazy(table) * found)
    np.testing.assert_array_equal(product.to_numpy(), made * made)


def test_tables_of_pandas():
    made = array(3, (3, 3))
    table, found = pandas.DataFrame(made), tamis.asarray(made, format="csr")
    for product in (found * table, table * found):
        np.testing.assert_array_equal(product.to_numpy(), made * made)
    np.testing.assert_array_equal(found + pandas.Series([1, 2, 3]), made + [1, 2, 3])


class Lender:
    """Something with ``__dlpack__`` and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack():
    made = array(6, (3, 4))
    np.testing.assert_array_equal(tamis.asarray(Lender(made)).to_numpy(), made)
    assert np.shares_memory(tamis.asarray(Lender(made)).values, made)


def test_numbers_have_weak_types():
    assert tamis.evaluate("a = 3 * b", b=True) == 3
    assert tamis.evaluate("a = 1 * b", b=True).dtype == bool
    x = np.ones(3, dtype="f4")
    assert tamis.evaluate("y(i) = a * x(i)", a=2, x=x).dtype == np.float32
    assert tamis.evaluate("y(i) = a * x(i)", a=2.5, x=x).dtype == np.float32
    assert tamis.evaluate("y(i) = a * x(i)", a=2j, x=x).dtype == np.complex64
    assert tamis.evaluate("y(i) = a * x(i)", a=np.float64(2), x=x).dtype == np.float64
    assert tamis.evaluate("y(i) = a * x(i)", a=2.5, x=np.ones(3, dtype="i4")).dtype == np.float64
    with pytest.raises(OverflowError, match="does not fit u8"):
        tamis.evaluate("y(i) = a * x(i)", a=300, x=np.ones(3, dtype="u1"))


@pytest.mark.parametrize(
    ("operand", "kind", "words"),
    [
        (np.array([object()]), TypeError, "no elements of type object"),
        (np.array(["a"]), TypeError, "no elements of type <U1"),
        (np.array([1], dtype="M8[s]"), TypeError, "no elements of type datetime64"),
        (np.ones(2, dtype=np.longdouble), TypeError, "no elements of type"),
        (np.ma.array([1, 2], mask=[True, False]), TypeError, "masked array"),
        (None, TypeError, "a NoneType is no tensor"),
        ("text", TypeError, "a str is no tensor"),
        ([[1, 2], [3]], TypeError, "NumPy makes no array"),
        (2**70, OverflowError, "more than 64 bits"),
    ],
)
def test_what_is_no_tensor(operand, kind, words):
    with pytest.raises(kind, match=words):
        tamis.asarray(operand)


def broken(**changes):
    made = sp.csr_array(np.array([[1.0, 2.0], [0.0, 3.0]]))
    for name, values in changes.items():
        setattr(made, name, np.array(values))
    return made


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"indices": [0, 5, 1]}, "outside"),
        ({"indices": [0, -1, 1]}, "outside"),
        ({"indices": [0, 2**40, 1]}, "outside"),
        ({"indptr": [0, 2, 1]}, "pos"),
        ({"indptr": [0, 9, 3]}, "pos"),
        ({"indptr": [1, 2, 3]}, "pos"),
        ({"indptr": [0, 2, 7]}, "pos"),
        ({"indptr": [0, 3]}, "pos"),
        ({"data": [1.0, 2.0]}, "values"),
        ({"indices": [0.5, 1.0, 2.0]}, "float64"),
        ({"data": [1.0, "a", {}]}, "type"),
    ],
)
def test_broken_arrays_of_scipy_are_refused(changes, words):
    with pytest.raises(tamis.TamisError, match=words):
        tamis.einsum("ij,j->i", broken(**changes), np.ones(2))


@given(st.sampled_from(["csr", "csc", "coo", "bsr", "dia"]), seeds, st.data())
def test_damaged_arrays_are_refused_or_mean_what_they_say(form, seed, data):
    made = sp.csr_array(array(seed, (6, 6)) + np.eye(6)).asformat(form)
    names = {"coo": ["row", "col"], "dia": ["offsets"]}.get(form, ["indices", "indptr"])
    damaged = getattr(made, data.draw(st.sampled_from(names)))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(
            st.one_of(st.integers(-2, 8), st.sampled_from([2**31 - 1, -(2**31)]))
        )
    try:
        found = tamis.asarray(made).to_numpy()
    except ValueError:
        return
    if form in ("csr", "csc", "bsr"):
        made.check_format(full_check=True)
    np.testing.assert_array_equal(found, made.toarray())


@pytest.mark.parametrize("place", [0, 1_000, 299_999])
@pytest.mark.parametrize("wide", [np.int32, np.int64])
def test_damage_in_large_arrays_is_found(place, wide):
    columns = np.tile(np.arange(3, dtype=wide), 100_000)
    positions = np.arange(0, 300_001, 3, dtype=wide)
    made = sp.csr_array((np.ones(300_000), columns, positions), shape=(100_000, 3))
    made.indices, made.indptr = columns, positions
    assert tamis.einsum("ij->", made) == 300_000
    columns[place] = 3
    with pytest.raises(ValueError, match="outside"):
        tamis.einsum("ij->", made)
    columns[place] = -1
    with pytest.raises(ValueError, match="outside"):
        tamis.einsum("ij->", made)
    columns[place] = place % 3
    positions[50_000] = 149_998 + 10
    with pytest.raises(ValueError, match="does not ascend|descends"):
        tamis.einsum("ij->", made)


def test_arrays_that_change_are_checked_again():
    operand = sp.csr_array(np.array([[1.0, 2.0], [0.0, 3.0]]))
    found = tamis.asarray(operand)
    x = np.ones(2)
    np.testing.assert_array_equal(tamis.einsum("ij,j->i", found, x), [3.0, 3.0])
    operand.data[0] = 5.0
    np.testing.assert_array_equal(tamis.einsum("ij,j->i", found, x), [7.0, 3.0])
    operand.indices[2] = 1_000_000
    for use in (lambda: tamis.einsum("ij,j->i", found, x), found.to_numpy, found.entries):
        with pytest.raises(ValueError, match="outside"):
            use()


def test_memory_outlives_whoever_lent_it():
    found = tamis.asarray(np.arange(1000.0).reshape(10, 100))
    values = tamis.asarray(np.arange(5.0)).values
    np.testing.assert_array_equal(found.to_numpy()[9, :3], [900.0, 901.0, 902.0])
    np.testing.assert_array_equal(values, np.arange(5.0))


def test_not_a_number_and_infinity_are_kept():
    made = np.array([[np.nan, 0.0], [np.inf, -np.inf]])
    doubled = tamis.evaluate("B(i,j) = 2 * A(i,j)", A=sp.csr_array(made))
    np.testing.assert_array_equal(doubled.toarray(), 2 * made)


def test_integers_that_do_not_fit_are_refused():
    with pytest.raises(OverflowError, match="does not fit i8"):
        tamis.einsum("i,i->i", np.array([100], dtype="i1"), np.array([2], dtype="i1"))
    wide = tamis.einsum(
        "i,i->i", np.array([100], dtype="i1"), np.array([2], dtype="i1"), dtype="i4"
    )
    assert wide.dtype == np.int32 and wide[0] == 200


def test_blocks_that_change_are_checked_again():
    operand = sp.bsr_array(np.ones((4, 4)), blocksize=(2, 2))
    found = tamis.asarray(operand)
    assert (found.nnz, found.density) == (16, 1.0)
    operand.indptr[-1] = 5
    for use in (lambda: found.nnz, lambda: found.density, lambda: repr(found)):
        with pytest.raises(tamis.TamisValueError, match="pos ends at 5"):
            use()


def test_diagonals_without_their_offsets_are_refused():
    operand = sp.dia_array(np.eye(3))
    operand.data = operand.data[:0]
    for use in (tamis.asarray, lambda x: tamis.einsum("ij->i", x)):
        with pytest.raises(tamis.TamisValueError, match="1 offsets for diagonals"):
            use(operand)


EYE = tamis.asarray(np.eye(3), format="csr")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: tamis.coo(([0],), [1.0], shape=(-3,)), ValueError),
        (lambda: tamis.coo(([0],), [1.0], shape=(2**64,)), ValueError),
        (lambda: tamis.coo(([0],), [1.0], shape="a"), TypeError),
        (lambda: tamis.coo(([0],), [1.0], shape=(3,), fill_value="a"), TypeError),
        (lambda: tamis.set_num_threads(-1), ValueError),
        (lambda: tamis.set_memory_limit(-1), ValueError),
        (lambda: tamis.set_memory_limit(1.5), TypeError),
        (lambda: tamis.evaluate("y(i) = 1", dims={"i": -3}), ValueError),
        (lambda: tamis.evaluate("y(i) = 1", dims={"i": "a"}), TypeError),
        (lambda: tamis.evaluate("y(i) = 1", dims={1: 2}), TypeError),
        (lambda: tamis.evaluate(None), TypeError),
        (lambda: tamis.compile("y(i) = A(i)", schedule=None), TypeError),
        (lambda: tamis.compile("y(i) = A(i)", backend=3), TypeError),
        (lambda: tamis.einsum("ij->i", EYE, format=3), TypeError),
        (lambda: tamis.asarray(EYE, format=3), TypeError),
        (lambda: tamis.einsum("ij->ij", EYE, format=["csr"]), TypeError),
        (lambda: tamis.einsum("ij->ij", EYE, fill_value=[1]), TypeError),
        (lambda: tamis.einsum("ij->ij", EYE, semiring=["min_plus"]), ValueError),
        (lambda: tamis.einsum("ij->ij", EYE, dtype=["f8"]), TypeError),
        (lambda: tamis.einsum("ij->ij", EYE, dtype={}), TypeError),
        (lambda: tamis.einsum("ij->ij", type("Shaped", (), {"shape": (2, 2)})()), TypeError),
        (lambda: tamis.evaluate("y(i) = x(i)", x=np.ones(3), shapes={"y": "a"}), TypeError),
        (lambda: tamis.Tensor(np.eye(3)), TypeError),
        (lambda: EYE.item(), TypeError),
        (lambda: EYE.sum(axis="a"), TypeError),
        (lambda: EYE.reshape("a"), TypeError),
        (lambda: EYE[::0], ValueError),
        (lambda: EYE[..., ...], IndexError),
    ],
)
def test_wrong_arguments_are_refused(call, error):
    with pytest.raises(tamis.TamisError) as refused:
        call()
    assert isinstance(refused.value, error)


def test_a_number_is_a_shape_of_one_axis():
    assert tamis.coo(([0],), [1.0], shape=3).shape == (3,)
    assert tamis.evaluate("y(i) = x(i)", x=np.ones(3), shapes={"y": 3}).shape == (3,)


def test_options_may_be_arrays_of_no_axes():
    made = tamis.einsum("ij->ij", EYE, fill_value=np.array(1.0))
    assert made.fill_value == 1


UFUNCS = {f for f in vars(np).values() if isinstance(f, np.ufunc) and not f.signature}
#: Functions, and how many of their operands are tensors.
CALLS = sorted((f.__name__, k) for f in UFUNCS for k in range(1, f.nin + 1))


@pytest.mark.parametrize(("name", "count"), CALLS)
@pytest.mark.parametrize("dtype", ["f8", "c16", "i4", "?"])
def test_functions_of_elements_are_computed_or_refused(name, count, dtype):
    function = getattr(np, name)
    others = (2,) * (function.nin - count)
    made = abs(array(4, (3, 3), dtype)).astype(dtype)
    found = tamis.asarray(made, format="csr")
    try:
        with np.errstate(all="ignore"):
            expected = function(*[made] * count, *others)
    except TypeError:
        with pytest.raises(tamis.TamisTypeError):
            function(*[found] * count, *others)
        return
    given = function(*[found] * count, *others)
    several = function.nout > 1
    for made, right in zip(given, expected) if several else ((given, expected),):
        if name in ("divide", "floor_divide", "fmod", "remainder", "divmod"):
            right = where_stored(found, right)
        made = made.to_numpy() if isinstance(made, tamis.Tensor) else made
        np.testing.assert_allclose(made, right, rtol=1e-6)


def test_refusals_are_in_the_words_of_python():
    for call, words in (
        (lambda: tamis.evaluate("y(i) = A(i,j)", A=np.eye(3), dims={"i": 5}), "keyword dims has 5"),
        (lambda: tamis.evaluate("y(i) = A(i,j) * x(j)", A=np.eye(3)), r"give it one: x=\.\.$"),
    ):
        with pytest.raises(tamis.TamisError, match=words) as refused:
            call()
        assert "-d" not in str(refused.value)


def test_matrices_in_any_order_after_many_calls():
    """From some calls on SciPy's coordinates are only looked at as far as the kernel depends on them."""
    n = 3000
    made = sp.random_array((n, n), density=0.005, rng=np.random.default_rng(3), format="csr")
    made.indices, made.indptr = made.indices.astype(np.int32), made.indptr.astype(np.int32)
    x = np.arange(1.0, n + 1)
    turned = made.copy()
    for begin, end in itertools.pairwise(turned.indptr):
        for array in (turned.indices, turned.data):
            array[begin:end] = array[begin:end][::-1].copy()
    twice = sp.csr_array((np.repeat(made.data, 2), np.repeat(made.indices, 2), 2 * made.indptr))
    twice.resize((n, n))
    outside = made.copy()
    outside.indices[-1] = n
    negative = made.copy()
    negative.indices[0] = -1
    for text, x_of in (("y(i) = A(i,j) * x(j)", x), ("y(j) = A(i,j) * x(i)", x)):
        kernel = tamis.compile(text)
        expected = made @ x if "x(j)" in text else made.T @ x
        for _ in range(20):
            assert np.allclose(kernel(A=made, x=x_of), expected)
        for _ in range(2):
            assert np.allclose(kernel(A=turned, x=x_of), expected)
            assert np.allclose(kernel(A=twice, x=x_of), 2 * expected)
            for wrong in (outside, negative):
                with pytest.raises(tamis.TamisValueError, match="outside"):
                    kernel(A=wrong, x=x_of)
            # Another form, which was not looked at yet.
            assert np.allclose(kernel(A=turned, x=x_of.astype(np.float32)), expected)
            assert np.allclose(kernel(A=made.tocsc(), x=x_of), expected)
            assert np.allclose(kernel(A=made, x=sp.coo_array(x_of)), expected)
            assert np.array_equal(kernel(A=made, x=x_of), tamis.compile(text)(A=made, x=x_of))
    both = tamis.compile("C(i,j) = A(i,j) * A(i,j)")
    squares = tamis.compile("s = A(i,j) * A(i,j)")
    for _ in range(20):
        assert np.allclose(squares(A=made), (made.data**2).sum())
        assert (both(A=made) != made * made).nnz == 0
    assert np.allclose(squares(A=twice), 4 * (made.data**2).sum())
    assert np.allclose(squares(A=turned), (made.data**2).sum())
    assert abs(both(A=turned) - made * made).max() < 1e-12
