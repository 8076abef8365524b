"""Unordered lists of coordinates and rows: keys, other shapes, and tensors side by side."""

import numpy as np
import pytest
import scipy.sparse as sp
import tamis
from conftest import array, seeds
from forms import FORMATS, tensor
from hypothesis import given
from hypothesis import strategies as st
from test_tensor import same

KEYS = [
    0,
    -1,
    slice(1, 4),
    slice(None, None, -1),
    slice(4, 0, -2),
    slice(3, 3),
    [3, 0, 3, 1],
    np.array([True, False, True, True, False]),
    (slice(None), 2),
    (slice(None), [5, 0, 5]),
    (slice(None), slice(None, None, -1)),
    (slice(3, None, -1), slice(1, 5, 2)),
    ([4, 0, 2], 1),
    ([4, 0, 2], [1, 1, 3]),
    (2, slice(1, 3)),
    (2, 3),
    (-1, -1),
    (None, 1),
]


def drawn(seed, shape, count, dtype="f8"):
    """Unordered coordinates, some of them twice, with values, and the array of these."""
    rng = np.random.default_rng(seed)
    coords = tuple(rng.integers(0, n, count) for n in shape)
    values = rng.integers(1, 2 if dtype == "?" else 4, count).astype(dtype)
    made = np.zeros(shape, dtype=dtype)
    (np.logical_or if dtype == "?" else np.add).at(made, coords, values)
    return coords, values, made


@given(st.sampled_from(["f8", "i4", "c16", "?"]), st.integers(0, 20), st.booleans(), seeds)
def test_keys_of_lists(dtype, count, is_narrow, seed):
    coords, values, made = drawn(seed, (5, 6), count, dtype)
    coords = tuple(c.astype("i4") for c in coords) if is_narrow else coords
    stored = sp.coo_array((values, coords), shape=(5, 6))
    for found in (tamis.asarray(stored), tamis.asarray(stored, copy=True)):
        for key in KEYS:
            same(found[key], made[key])
            flipped = key[::-1] if isinstance(key, tuple) and len(key) == 2 else (slice(None), key)
            if all(part is not None for part in flipped):
                same(found.T[flipped], made.T[flipped])


@given(st.integers(0, 20), seeds)
def test_keys_of_lists_of_three_axes(count, seed):
    coords, values, made = drawn(seed, (3, 4, 5), count)
    found = tamis.coo(coords, values, shape=(3, 4, 5))
    for own in (found, found.asformat("coo(nonordered)")):
        for key in (1, (1, 2), (slice(None), 2), (Ellipsis, 3), (2, slice(None), 1), (1, 2, 3)):
            same(own[key], made[key])
        same(own[::-1, [3, 0], 1:4:2], made[::-1, [3, 0], 1:4:2])
        same(own[[0, 2], :, [4, 4]], made[[0, 2], :, [4, 4]])


@given(st.sampled_from(["csr", "csc"]), st.integers(0, 20), seeds)
def test_keys_of_rows_in_no_order(format, count, seed):
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, count + 1, 4))
    pos, crd = np.array([0, *ends, count]), rng.integers(0, 5, count)
    parts = (rng.integers(1, 4, count).astype(float), crd, pos)
    stored = getattr(sp, f"{format}_array")(parts, shape=(5, 5))
    made = np.zeros((5, 5))
    lines = np.repeat(np.arange(5), np.diff(pos))
    np.add.at(made, (lines, crd) if format == "csr" else (crd, lines), parts[0])
    for found in (tamis.asarray(stored), tamis.asarray(stored, copy=True)):
        for key in KEYS:
            if not (isinstance(key, tuple) and key[1] == [5, 0, 5]):
                same(found[key], made[key])


def test_a_few_rows_of_a_long_list():
    made = array(3, (200, 50))
    found = tamis.asarray(made, format="coo")
    for key in ([7], [150, 3, 150, 199], ([4, 2], slice(None, None, -2)), ([4, 2], [1, 0])):
        same(found[key], made[key])


def test_what_keys_select_of_lists_is_a_list():
    found = tamis.asarray(array(3, (5, 6, 4)), format="coo")
    assert found[1:3].format == found[1].format == found[::-1].format == "coo"
    assert found[1, 2].format == "sparse"
    assert found.asformat("coo(nonordered)")[2:, :, 1].format == "coo(nonordered)"


def test_lists_that_are_borrowed_are_looked_at_as_they_are_read():
    stored = sp.coo_array(np.arange(1.0, 21).reshape(4, 5))
    found = tamis.asarray(stored)
    stored.coords[1][7] = 99
    same(found[0], np.arange(1.0, 6))
    assert found[3, 4] == 20
    for key in (1, slice(None, None, -1), (slice(None), 0)):
        with pytest.raises(tamis.TamisValueError, match="invalid-tensor"):
            found[key]
    stored.coords[1][7], stored.coords[0][7] = 2, -2
    with pytest.raises(tamis.TamisValueError, match="invalid-tensor"):
        found[:, 0]


@given(st.sampled_from(FORMATS), st.sampled_from(["f8", "i4", "c16", "?"]), st.data(), seeds)
def test_other_shapes(format, dtype, data, seed):
    fill = 0 if dtype == "?" else data.draw(st.sampled_from([0, 1]))
    made = (array(seed, (4, 6), dtype) + fill).astype(dtype)
    found = tensor(made, format)
    for shape in ((6, 4), (24,), (2, 3, 4), (4, 1, 6), (-1, 8), (1, 24, 1), (2, 2, 2, 3)):
        same(found.reshape(shape), made.reshape(shape))
    same(found[:0].reshape(3, 0), made[:0].reshape(3, 0))
    same(found.reshape(3, 8).reshape(4, 6), made)


@given(st.lists(st.sampled_from(FORMATS), min_size=1, max_size=3), st.integers(0, 1), seeds)
def test_tensors_side_by_side(formats, fill, seed):
    made = [array(seed + k, (4, 6)) + fill for k in range(len(formats))]
    found = [tensor(x, format) for x, format in zip(made, formats)]
    for axis in (0, 1):
        joined = np.concatenate(found, axis=axis)
        same(joined, np.concatenate(made, axis=axis))
        # Along the axis of their outermost level tensors of a format keep it; columns stay columns.
        own = {x.format for x in found}
        are_columns = set(formats) <= {"csc", "dcsc", "dense-column"}
        doubly = [{"dcsr"}, {tensor(made[0], "dcsc").format}]
        is_kept = own == doubly[axis]
        assert joined.format == (found[0].format if is_kept else "csc" if are_columns else "csr")
    copies = [x.todense() for x in found]
    assert all((x == y).all() for x, y in zip(copies, made))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr", "bcsr(2,2)"])
def test_arrays_made_sparse(format, order):
    made = np.array([[0, np.nan, 2], [np.inf, 0, 0]], order=order)
    found = tamis.asarray(made, format=format)
    same(found, made)
    if "bcsr" not in format:
        assert found.nnz == 3
        assert tamis.asarray(np.zeros((2, 0)), format=format).nnz == 0
        assert tamis.asarray(made + 1, format=f"{format}{{fill: 1}}").nnz == 3
    cube = array(5, (3, 4, 2)).transpose(1, 2, 0)
    same(tamis.asarray(cube, format="coo"), cube)


@given(
    st.sampled_from(FORMATS), st.integers(0, 1), st.sampled_from([(4, 6), (6, 4), (0, 3)]), seeds
)
def test_diagonals(format, fill, shape, seed):
    made = array(seed, shape) + fill
    found = tensor(made, format)
    for offset in (0, 1, -1, 3, -3, 5, -9, 2**20):
        same(found.diagonal(offset), made.diagonal(offset))
        same(found.diagonal(offset, 1, 0), made.diagonal(offset, 1, 0))
        same(found.T.diagonal(offset), made.T.diagonal(offset))
        assert found.trace(offset) == made.trace(offset)


TYPES = ["f8", "f4", "c16", "c8", "i8", "i4", "u1", "i1", "?"]


@pytest.mark.parametrize("order", ["any", "once", "rows", "columns"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("shape", "count"), [((7, 5), 0), ((6, 4), 20), ((3, 90), 200), ((90, 3), 9)])
def test_lists_become_rows_and_columns_as_of_scipy(shape, count, dtype, order):
    rng = np.random.default_rng(count)
    coords = [rng.integers(0, size, count) for size in shape]
    values = rng.integers(0, 2, count).astype(dtype)
    if order != "any":
        _, which = np.unique(coords[0] * shape[1] + coords[1], return_index=True)
        coords, values = [c[which] for c in coords], values[which]
    moved = rng.permutation(len(values)) if order in ("any", "once") else np.lexsort(coords)
    if order != "rows":
        coords, values = [c[moved] for c in coords], values[moved]
    dense = np.zeros(shape, dtype=object)
    np.add.at(dense, tuple(coords), values)
    for width in (np.int32, np.int64):
        listed = sp.coo_array((values.copy(), tuple(c.astype(width) for c in coords)), shape=shape)
        lent = tamis.asarray(listed)
        for tensor in (lent, lent.copy(), lent.T.copy().T):
            for name in ("csr", "csc"):
                made = tensor.asformat(name)
                made.copy().validate()
                assert made.format == name
                assert (made.to_numpy() == dense.astype(dtype)).all()
            assert (np.diagonal(tensor, -1).to_numpy() == np.diagonal(dense, -1).astype(dtype)).all()
            turned = dense.astype(dtype).reshape(shape[::-1])
            assert (tensor.reshape(shape[::-1]).to_numpy() == turned).all()
        # What is lent is copied.
        before = lent.asformat("csr")
        expected = before.to_numpy()
        listed.data[:] = 0
        assert (before.to_numpy() == expected).all()


@pytest.mark.parametrize("count", [2, 40, 63, 64, 65, 200, 1000])
def test_lists_in_order_are_known_as_such(count):
    places = np.arange(count)
    rows = sp.coo_array((np.ones(count), (places // 100, places % 100)), shape=(10, 100))
    assert tamis.asarray(rows).format == "coo"
    columns = sp.coo_array((np.ones(count), (places % 10, places // 10)), shape=(10, 100))
    assert tamis.asarray(columns).format == ("coo" if count == 2 else "coo(nonordered,nonunique)")


def test_tall_lists_are_reshaped_without_an_array_of_their_rows():
    rows = 10**11
    tall = tamis.coo(([0, 5, 3], [1, 2, 2]), [1.0, 2.0, 3.0], shape=(rows, 10))
    for wide in (tall.reshape((10, rows)), tall.reshape(-1), tall.reshape((rows // 100, 1000))):
        assert wide.reshape((rows, 10)).sum() == 6 and wide.nnz == 3
    assert tall.reshape((10, rows))[0, 52] == 2


@pytest.mark.parametrize("axis", [0, 1])
def test_coordinates_of_one_axis_may_be_strided(axis):
    coords = [np.arange(4, dtype=np.int32), np.arange(4, dtype=np.int32)]
    coords[axis] = np.arange(8, dtype=np.int32)[::-2]
    listed = sp.coo_array((np.arange(1.0, 5), tuple(coords)), shape=(8, 8))
    assert (tamis.asarray(listed).to_numpy() == listed.toarray()).all()
