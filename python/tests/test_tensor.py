"""``tamis.Tensor`` behaves as NumPy's arrays do."""

import copy
import os
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import tamis
from conftest import array, seeds
from forms import FORMATS, tensor
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import aslinearoperator, cg


def same(found, expected, exact=True):
    found = found.to_numpy() if isinstance(found, tamis.Tensor) else np.asarray(found)
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    if exact:
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-6)


UNARY = {
    "negative": lambda x: -x,
    "twice": lambda x: x + x,
    "shifted": lambda x: x + 1,
    "reflected": lambda x: 3 - x,
    "scaled": lambda x: x * 3,
    "quarter": lambda x: x / 4,
    "inverse": lambda x: 1 / (x + 10),
    "square": lambda x: x**2,
    "cube": lambda x: x**3,
    "transposed": lambda x: x.T,
    "gram": lambda x: x @ x.T,
    "sum": lambda x: x.sum(),
    "columns": lambda x: x.sum(axis=0),
    "rows": lambda x: x.sum(axis=-1),
    "product": lambda x: (x + 1).prod(axis=0),
    "mean": lambda x: x.mean(),
    "means": lambda x: x.mean(axis=1),
    "by numpy": lambda x: np.sum(x, axis=0),
    "by rows": lambda x: x * np.arange(1, 6),
    "by columns": lambda x: x * np.arange(4)[:, None],
    "from the left": lambda x: np.ones((3, 4), dtype=x.dtype) @ x,
    "dense": lambda x: np.ones((4, 5), dtype=x.dtype) + x,
    "axes": lambda x: x.transpose(1, 0),
}
REAL = {
    "above": lambda x: x > 1,
    "zero": lambda x: x == 0,
    "greatest": lambda x: x.max(),
    "least": lambda x: x.min(axis=0),
    "absolute": lambda x: abs(x),
    "minimum": lambda x: np.minimum(x, 1),
    "remainder": lambda x: x % 2,
    "any": lambda x: x.any(axis=0),
    "all": lambda x: x.all(),
    "root": lambda x: np.sqrt(abs(x)),
    "exp": lambda x: np.exp(x),
    "tanh": lambda x: np.tanh(x),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "c16"])
@pytest.mark.parametrize("name", [*UNARY, *REAL])
def test_operators(name, dtype):
    if dtype == "c16" and name in REAL:
        return
    made = array(11, (4, 5), dtype)
    operation = UNARY.get(name) or REAL[name]
    same(operation(tamis.asarray(made, format="csr")), operation(made), exact=False)


@given(st.sampled_from(sorted(UNARY)), st.sampled_from(FORMATS), seeds)
def test_operators_in_every_format(name, format, seed):
    made = array(seed, (4, 5))
    same(UNARY[name](tamis.asarray(made, format=format)), UNARY[name](made), exact=False)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=3), st.data(), seeds)
def test_keys(shape, data, seed):
    made = array(seed, tuple(shape)) + data.draw(st.sampled_from([0, 1]))
    format = data.draw(st.sampled_from(["csr", "csc", "dcsr", "coo", "csf", "bcsr(2,2)", "dense"]))
    found = tensor(made, format)
    # Arrays of a key have sizes that fit each other.
    shapes = data.draw(st.sampled_from([[(3,)], [(2,), (2, 1), (1,)], [(1, 3), (2, 1), (2, 3)]]))
    key = []
    for size in shape:
        kinds = ["slice", "all", "mask"] + (["number", "array"] if size else [])
        if data.draw(st.integers(0, 3)) == 0:
            key.append(None)
        kind = data.draw(st.sampled_from(kinds))
        ends = st.one_of(st.none(), st.integers(-5, 5))
        if kind == "slice":
            step = data.draw(st.sampled_from([None, 1, 2, -1, -2]))
            key.append(slice(data.draw(ends), data.draw(ends), step))
        elif kind == "all":
            key.append(slice(None))
        elif kind == "number":
            key.append(data.draw(st.integers(-size, size - 1)))
        elif kind == "mask":
            mask = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
            key.append(np.array(mask, dtype=bool))
        else:
            sizes = data.draw(st.sampled_from(shapes))
            numbers = st.lists(st.integers(-size, size - 1), min_size=6, max_size=6)
            places = np.resize(data.draw(numbers), sizes)
            key.append(data.draw(st.sampled_from([places, places.tolist()])))
    if data.draw(st.booleans()):
        # Dots instead of some whole axes, or of none.
        whole = [k for k, part in enumerate(key) if isinstance(part, slice) and part == slice(None)]
        if whole:
            key[whole[0]] = Ellipsis
        else:
            key.insert(data.draw(st.integers(0, len(key))), Ellipsis)
    try:
        expected = made[tuple(key)]
    except IndexError:
        with pytest.raises(tamis.TamisIndexError, match="make sizes equal, or 1"):
            found[tuple(key)]
        return
    same(found[tuple(key)], expected)


def test_keys_that_name_elements_together():
    made = array(3, (6, 7))
    rows, columns = np.array([5, 0, 0, 3]), np.array([6, 1, 1, 2])
    for format in ("csr", "csc", "coo"):
        found = tamis.asarray(made, format=format)
        same(found[rows, columns], made[rows, columns])
        same(found[[0, 1], [0, 1]], made[[0, 1], [0, 1]])
        same(found[np.ix_(rows, columns)], made[np.ix_(rows, columns)])
        same(found[rows[:, None], columns[:2]], made[rows[:, None], columns[:2]])
        same(found[rows.reshape(2, 2)], made[rows.reshape(2, 2)])
        same(found[range(1, 6, 2)], made[range(1, 6, 2)])
        same(found[sp.csr_array(made > 1)], made[made > 1])
        same(found[np.array(2), [1, 1]], made[np.array(2), [1, 1]])
    cube = array(4, (3, 4, 5))
    found = tamis.asarray(cube, format="csf")
    mask = cube[0] > 0
    same(found[:, mask], cube[:, mask])
    same(found[[0, 2], :, [1, 3]], cube[[0, 2], :, [1, 3]])
    assert isinstance(found[0, 1, 2, ...], tamis.Tensor)
    same(found[0, 1, 2, ...], cube[0, 1, 2, ...])
    with pytest.raises(tamis.TamisIndexError, match=r"of shape \(4, 5\)\n") as told:
        found[sp.csr_array(mask)]
    assert len(str(told.value)) < 200


def test_keys_of_pandas_are_arrays():
    series = pytest.importorskip("pandas").Series([2, 0])
    made = array(3, (3, 4))
    same(tamis.asarray(made, format="csr")[series], made[series])


def test_rows_that_are_borrowed_are_looked_at_alone():
    stored = sp.csr_array(np.arange(1.0, 21).reshape(4, 5))
    found = tamis.asarray(stored)
    stored.indices[7] = 99
    same(found[0], np.arange(1.0, 6))
    same(found[2:, 1:3], np.arange(1.0, 21).reshape(4, 5)[2:, 1:3])
    same(found[[3, 0]], np.arange(1.0, 21).reshape(4, 5)[[3, 0]])
    assert found[3, 4] == 20
    for key in (1, (1, 3), (slice(None), 0), (slice(0, 2), [1]), slice(None, None, -1)):
        with pytest.raises(tamis.TamisValueError, match="invalid-tensor"):
            found[key]
    stored.indices[7], stored.indptr[2] = 2, 10**6
    for key in (1, 2, (1, 0), [2]):
        with pytest.raises(tamis.TamisValueError, match="invalid-tensor"):
            found[key]
    stored.indptr[2] = -3
    with pytest.raises(tamis.TamisValueError, match="invalid-tensor"):
        found[1:3]


def test_keys_compile_nothing(monkeypatch):
    found = tamis.asarray(array(3, (40, 50)), format="csr")
    for module in ("_programs", "_expressions", "_einsum"):
        monkeypatch.setattr(f"tamis.{module}.Kernel", None)
    for key in (3, (3, 4), slice(2, 9), (slice(None), 7), (slice(1, None), slice(None, 9)), [4, 2]):
        found[key]
        found.T[key]


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=4), st.sampled_from([0, 1]), st.data(), seeds
)
def test_rows_one_behind_the_other(rows, fill, data, seed):
    dtypes = st.sampled_from(["f8", "f4", "i8"])
    made = [array(seed + k, (n, 3), data.draw(dtypes)) + fill for k, n in enumerate(rows)]
    same(np.concatenate([tensor(x, "csr") for x in made]), np.concatenate(made))
    wide = [x.T for x in made]
    same(np.concatenate([tensor(x, "csr") for x in wide], axis=1), np.concatenate(wide, axis=1))


@given(st.integers(0, 4), st.integers(1, 6), st.sampled_from([0, 1]), st.data(), seeds)
def test_columns_that_an_array_names(rows, columns, fill, data, seed):
    made = array(seed, (rows, columns)) + fill
    found = tensor(made, "csr")
    wanted = st.lists(st.integers(-columns, columns - 1), max_size=6)
    for which in (data.draw(wanted), data.draw(st.permutations(range(columns)))):
        same(found[:, np.array(which, dtype=int)], made[:, np.array(which, dtype=int)])
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=columns, max_size=columns)))
    same(found[:, mask], made[:, mask])


@given(st.lists(st.integers(0, 4), min_size=1, max_size=3), st.data(), seeds)
def test_other_orders_of_axes_share_the_arrays(shape, data, seed):
    made = array(seed, tuple(shape)) + data.draw(st.sampled_from([0, 1]))
    found = tensor(made, data.draw(st.sampled_from(FORMATS if len(shape) == 2 else ["csf", "coo"])))
    axes = data.draw(st.permutations(range(len(shape))))
    turned = found.transpose(axes)
    same(turned, made.transpose(axes))
    same(turned + turned, 2 * made.transpose(axes))
    assert np.shares_memory(turned.values, found.values) or not found.values.size
    back = turned.transpose(np.argsort(axes).tolist())
    assert back.format == found.format
    same(back, made)


def test_the_transpose_of_rows_is_columns():
    found = sp.random_array((5, 7), density=0.5, format="csr")
    borrowed = tamis.asarray(found)
    turned = borrowed.T
    assert turned.format == "csc"
    assert turned.is_borrowed
    found.indices[0] = 9
    with pytest.raises(tamis.TamisValueError):
        turned @ np.ones(5)
    assert borrowed.permuted([0, 0]) is None


@pytest.mark.parametrize("format", ["csr", "coo", "dense"])
def test_tensors_are_keys(format):
    made = array(3, (4, 5))
    found, places = tamis.asarray(made, format=format), np.array([2, 0, 2])
    same(found[tamis.asarray(places)], made[places])
    same(found[:, tamis.asarray(made[0] > 0, format="sparse")], made[:, made[0] > 0])
    for mask in (made > 1, made < 1):
        same(found[mask], made[mask])
        same(found[tamis.asarray(mask, format="csr")], made[mask])
    same(found[found > 1], made[made > 1])
    same(found[tamis.asarray(np.array(1))], made[1])


@pytest.mark.parametrize("key", [True, np.True_, np.array(False), tamis.asarray(np.array(True))])
def test_one_truth_value_is_a_new_axis(key):
    made = array(3, (4, 5))
    same(tamis.asarray(made, format="csr")[key], made[bool(key)])


@pytest.mark.parametrize("key", [(True, 0), (slice(None), False), (0, True)])
def test_truth_values_are_no_coordinates(key):
    with pytest.raises(tamis.TamisIndexError, match="is no coordinate"):
        tamis.asarray(np.eye(3), format="csr")[key]


@pytest.mark.parametrize(
    "key", [7, (0, 0, 0), (slice(None), 5), "a", 1.5, ([0, 1], [0, 1, 2]), [True], [[3]], [0.5]]
)
def test_wrong_keys(key):
    with pytest.raises(IndexError):
        tamis.asarray(np.eye(3), format="csr")[key]


@given(st.sampled_from(FORMATS), st.sampled_from([0, 1.5, np.inf]), seeds)
def test_pickles_and_copies(format, fill, seed):
    found = tamis.asarray(array(seed, (4, 5)), format=format)
    if fill:
        found = tamis.Tensor(found.with_fill(repr(float(fill))))
    for made in (pickle.loads(pickle.dumps(found)), copy.copy(found), copy.deepcopy(found)):
        assert made.storage == found.storage
        assert made.nnz == found.nnz
        same(made, found.to_numpy())


@given(
    st.sampled_from(["f8", "f4", "i8", "i2", "c16", "?"]),
    st.sampled_from(["f8", "f4", "i8", "i4", "c8", "?"]),
    seeds,
)
def test_types_are_converted(before, after, seed):
    made = array(seed, (4, 5), before)
    with np.errstate(all="ignore"):
        if before == "c16" and after != "c8" and after != "?":
            expected = made.real.astype(after)
        else:
            expected = made.astype(after)
        same(tamis.asarray(made, format="csr").astype(after), expected)


def test_shapes():
    made = array(3, (4, 6))
    found = tamis.asarray(made, format="csr")
    same(found.reshape(3, -1), made.reshape(3, -1))
    same(found.reshape((2, 3, 4)), made.reshape(2, 3, 4))
    same(found[:, None, :], made[:, None, :])
    assert (found.ndim, found.size, len(found)) == (2, 24, 4)
    with pytest.raises(ValueError, match="24 elements do not fit"):
        found.reshape(5, 5)
    for mine, numpys in zip(found.nonzero(), made.nonzero()):
        np.testing.assert_array_equal(mine, numpys)


def test_fill_values():
    found = tamis.asarray(array(3, (4, 6)), format="csr") + 2
    assert found.fill_value == 2 and found.format == "csr"
    same(found.sum(axis=0), found.to_numpy().sum(axis=0))
    same(found[1:3, ::2], found.to_numpy()[1:3, ::2])
    with pytest.raises(TypeError, match="fill value 0"):
        found.to_scipy()
    same(tamis.Tensor(pickle.loads(pickle.dumps(found))), found.to_numpy())


def test_what_numpy_must_not_do():
    found = tamis.asarray(np.eye(3), format="csr")
    with pytest.raises(TypeError, match="not made dense unasked"):
        np.asarray(found)
    with pytest.raises(ValueError, match="no number"):
        bool(found)
    assert float(found[:1, :1]) == 1.0
    with pytest.raises(TypeError):
        found + "a"
    with pytest.raises(TypeError):
        hash(found)


def test_lazy_expressions_are_one_kernel():
    a, b = array(5, (4, 5)), array(6, (4, 5))
    x, y = tamis.lazy(sp.csr_array(a)), tamis.lazy(sp.csr_array(b))
    same(tamis.compute((2 * x + y).sum(axis=0)), (2 * a + b).sum(axis=0))
    same(tamis.compute((x * y) @ b.T), (a * b) @ b.T)
    same(tamis.compute(np.sqrt(x * x) - abs(y)).toarray(), np.sqrt(a * a) - abs(b))
    result = tamis.compute(x * y, format="csc")
    assert isinstance(result, sp.csc_array)
    same(tamis.compute(x.mean(axis=1)), a.mean(axis=1))


def test_borrowing_and_copying():
    made = np.eye(3)
    assert np.shares_memory(tamis.asarray(made, copy=False).values, made)
    assert not np.shares_memory(tamis.asarray(made, copy=True).values, made)
    with pytest.raises(ValueError, match="cannot be borrowed"):
        tamis.asarray(made, format="csr", copy=False)
    mine = tamis.asarray(sp.csr_array(made), copy=True)
    assert not mine.is_borrowed
    same(
        tamis.coo(([0, 0, 2], [1, 1, 2]), [1.0, 2.0, 3.0], shape=(3, 3)),
        [[0, 3.0, 0], [0, 0, 0], [0, 0, 3]],
    )
    with pytest.raises(ValueError, match="different lengths"):
        tamis.coo(([0], [1]), [1.0, 2.0], shape=(3, 3))
    with pytest.raises(ValueError, match="negative"):
        tamis.coo(([-1], [1]), [1.0], shape=(3, 3))
    with pytest.raises(ValueError, match="outside"):
        tamis.coo(([5], [1]), [1.0], shape=(3, 3))


def test_arrays_without_elements_may_be_read():
    # NumPy reads an element of them where it converts under a mask.
    none = sp.csr_array((0, 3))
    empty = [
        tamis.evaluate("y(i) = A(i,j) * x(j)", A=none, x=np.ones(3)),
        tamis.einsum("ij,j->i", np.zeros((0, 3)), np.ones(3)),
        tamis.asarray(none).to_numpy(),
        tamis.asarray(none).values,
        tamis.evaluate("C(i,j) = A(i,j) + A(j,i)", A=sp.csr_array((3, 3))).data,
    ]
    for array in empty:
        np.copyto(np.zeros(array.shape, "f4"), array, "same_kind", where=np.zeros(array.shape, "?"))
    x = tamis.asarray(np.zeros(0), format="sparse")
    assert np.add(x, x, out=np.zeros(0, "f4"), where=np.zeros(0, bool)).shape == (0,)


def test_texts():
    found = tamis.asarray(np.eye(100), format="csr")
    assert repr(found) == "<tamis.Tensor 100x100 float64 csr: 100 stored (1 %), 1.6 kB>"
    page = found._repr_html_()
    assert page.count("<rect") == 49 and "<svg" in page and "csr" in page
    assert repr(tamis.lazy(found) * 2) == "<tamis.Lazy 100x100 float64>"


def test_solvers_of_scipy_take_tensors():
    made = sp.diags_array([-1.0, 3.0, -1.0], offsets=[-1, 0, 1], shape=(20, 20), format="csr")
    x, failed = cg(tamis.asarray(made), np.ones(20), rtol=1e-12)
    assert not failed
    np.testing.assert_allclose(made @ x, np.ones(20))
    odd = sp.random_array((5, 4), density=0.5, random_state=1, format="csr") * (1 + 2j)
    operator = aslinearoperator(tamis.asarray(odd))
    np.testing.assert_allclose(operator.rmatvec(np.ones(5) * 1j), odd.conj().T @ (np.ones(5) * 1j))


def test_array_api():
    made = array(5, (4, 5))
    found = tamis.asarray(made, format="csr")
    xp = found.__array_namespace__()
    same(xp.multiply(found, found), made * made)
    same(xp.sum(found, axis=0, keepdims=True), made.sum(axis=0, keepdims=True))
    same(xp.tensordot(found, found, axes=((0,), (0,))), np.tensordot(made, made, axes=((0,), (0,))))
    same(xp.vecdot(found, found), (made * made).sum(axis=-1))
    same(xp.matrix_transpose(found), made.T)
    same(xp.expand_dims(found, axis=-1), made[..., None])
    same(xp.squeeze(xp.expand_dims(found, axis=0), 0), made)
    same(xp.eye(3, 4, k=1), np.eye(3, 4, k=1))
    same(xp.zeros((2, 3)), np.zeros((2, 3)))
    same(xp.mean(found, axis=1), made.mean(axis=1))
    same(xp.concat([found, found[:2]]), np.concatenate([made, made[:2]]))
    same(xp.stack([found, found], axis=-1), np.stack([made, made], axis=-1))
    with pytest.raises(ValueError, match="do not fit along axis 0"):
        xp.concat([found, found[:, :2]])
    assert xp.result_type(found, np.float32) == np.float64
    assert all(hasattr(xp, name) for name in xp.__all__)


@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz", "a.tns", "a.rb", "a.npz", "a.bsp.npz"])
def test_files(tmp_path, name):
    made = array(5, (4, 5)) + np.diag([7.0, 7.0, 7.0, 7.0, 7.0])[:4]
    tamis.write(tmp_path / name, sp.csr_array(made))
    found = tamis.read(tmp_path / name)
    same(found[:4, :5], made)
    assert tamis.read(tmp_path / name, format="csc").format == "csc"


def test_fill_values_of_archives_are_read(tmp_path):
    sp.save_npz(tmp_path / "a.npz", sp.csr_array([[0, 2.0, 0], [0, 0, 5.0]]))
    arrays = dict(np.load(tmp_path / "a.npz"))
    np.savez(tmp_path / "b.npz", fill_value=np.inf, **arrays)
    found = tamis.read(tmp_path / "b.npz")
    assert found.fill_value == np.inf
    same(found, np.array([[np.inf, 2, np.inf], [np.inf, np.inf, 5]]))
    tamis.write(tmp_path / "c.bsp.npz", found)
    assert "binsparse" in np.load(tmp_path / "c.bsp.npz")
    os.rename(tmp_path / "c.bsp.npz", tmp_path / "c.npz")
    same(tamis.read(tmp_path / "c.npz"), found.to_numpy())
    with pytest.raises(tamis.TamisError, match="fill"):
        tamis.write(tmp_path / "d.npz", found)


@pytest.mark.parametrize("name", ["a.mtx", "a.tns", "a.bsp.npz", "a.rb"])
def test_fill_values_are_written(tmp_path, name):
    (tmp_path / "found.tns").write_text("# dims: 2 3\n# tamis fill: inf\n1 2 2\n2 3 5\n")
    found = tamis.read(tmp_path / "found.tns")
    tamis.write(tmp_path / name, found)
    back = tamis.read(tmp_path / name)
    same(back, found.to_numpy())
    # Rutherford-Boeing has no fill value: all elements are written.
    assert name == "a.rb" or (back.fill_value == np.inf and back.nnz == 2)


def test_integers_beyond_others_are_written(tmp_path):
    x = tamis.coo(([0], [1]), np.array([7], dtype="uint64"), shape=(2, 3), fill_value=2**64 - 1)
    tamis.write(tmp_path / "a.mtx", x)
    same(tamis.read(tmp_path / "a.mtx"), x.to_numpy())


def test_files_that_are_not_read(tmp_path):
    with pytest.raises(FileNotFoundError, match="file-not-readable"):
        tamis.read(tmp_path / "none.mtx")
    (tmp_path / "bad.mtx").write_text("nonsense")
    with pytest.raises(ValueError, match="bad.mtx"):
        tamis.read(tmp_path / "bad.mtx")
    with pytest.raises(ValueError, match="file-unknown-format"):
        tamis.read(tmp_path / "a.txt")
    with pytest.raises(OSError, match="file-not-writable"):
        tamis.write(tmp_path / "none" / "a.mtx", np.eye(3))


HUGE = 2**40


def test_rows_without_entries_take_no_memory():
    found = tamis.coo(([5, HUGE - 1], [7, 3]), [1.0, 2.0], shape=(HUGE, HUGE))
    for made in (
        np.flip(np.flip(found)),
        np.tril(found) + np.triu(found, 1),
        np.concatenate([found, found])[:HUGE],
        np.where(found > 0, found, 0),
        np.hypot(found, 0 * found),
        np.squeeze(np.expand_dims(found, 0)),
        np.repeat(found, 2, axis=0)[::2],
        np.roll(np.roll(found, 1, axis=0), -1, axis=0),
    ):
        assert np.array_equal(made, found)
    assert found[::-2].nnz == 2 and found[::-2].shape == (HUGE // 2, HUGE)
    assert np.var(found) > 0
    np.testing.assert_array_equal(np.unique(found), [0, 1, 2])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.reshape(-1),
        lambda x: np.argmax(x),
        lambda x: np.roll(x, 1),
        lambda x: np.repeat(x, 2),
        lambda x: tamis.array_api.unique_counts(x),
    ],
)
def test_what_is_too_large_is_refused(call):
    with pytest.raises(tamis.TamisError):
        call(tamis.coo(([5], [7]), [1.0], shape=(HUGE, HUGE)))


INTEGERS = {
    "divided": lambda x: x / 300,
    "divides": lambda x: -1 / (x + 1),
    "by more than 64 bits": lambda x: x / 2**70,
    "step": lambda x: np.heaviside(x.astype("i8"), 0.5),
    "equal": lambda x: x == 2**70,
    "less": lambda x: x < 300,
    "greater": lambda x: x > -1,
    "from the left": lambda x: -1 < x,
    "negative": lambda x: x == -1,
    "both": lambda x: np.logical_and(x, 300),
}


@pytest.mark.parametrize("dtype", ["u1", "u8", "i8"])
@pytest.mark.parametrize("name", sorted(INTEGERS))
def test_integers_beside_narrower_types(name, dtype):
    made = np.array([0, 1, 5, 100, 0], dtype=dtype)
    same(INTEGERS[name](tamis.asarray(made, format="sparse")), INTEGERS[name](made), exact=False)


def test_large_numbers_of_unsigned_integers_are_compared():
    made = np.array([0, 2**63, 2**64 - 1, 7], dtype="u8")
    found = tamis.asarray(made, format="sparse")
    for number in (-1, 2**63, 2**64 - 1, 2**64):
        same(found > number, made > number)
        same(found <= number, made <= number)
        same(found == number, made == number)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + 300,
        lambda x: np.maximum(-1, x),
        lambda x: x % -1,
        lambda x: -1 % x,
        lambda x: np.minimum(x, 300),
        lambda x: x // 300,
        lambda x: x & 300,
        lambda x: x**300,
        lambda x: x.astype("i8") * 2**63,
        lambda x: x.astype("f8") + 2**2000,
    ],
)
def test_integers_that_do_not_fit_the_type_beside_them(call):
    made = np.array([0, 1, 5], dtype="u1")
    with pytest.raises(OverflowError):
        call(made)
    with pytest.raises(tamis.TamisOverflowError):
        call(tamis.asarray(made, format="sparse"))


@pytest.mark.parametrize("name", "sum prod min max any all mean".split())
def test_reductions_keep_axes(name):
    made = array(3, (4, 5)) + 1
    found = tamis.asarray(made, format="csr")
    for axis in (None, 0, (0, 1)):
        for x in (found, made):
            expected = getattr(made, name)(axis=axis, keepdims=True)
            same(getattr(x, name)(axis=axis, keepdims=True), expected, exact=False)
    expected = getattr(made, name)(axis=0)
    for call in (getattr(found, name), lambda **options: getattr(np, name)(found, **options)):
        out = np.zeros(5, expected.dtype)
        assert call(axis=0, out=out) is out
        same(out, expected, exact=False)
        for wrong in (found, [0] * 5, tamis.asarray(np.zeros(5))):
            with pytest.raises(tamis.TamisTypeError, match="none is written to out"):
                call(axis=0, out=wrong)
        with pytest.raises(tamis.TamisValueError, match="of shape .5,. does not fit"):
            call(axis=0, out=np.zeros((4, 5), expected.dtype))
    with pytest.raises(tamis.TamisTypeError, match="none is written to out"):
        getattr(tamis.lazy(found), name)(out=np.zeros(()))
    initial = {"initial": 2} if name in ("min", "max") else {}
    expected = getattr(np, name)(made, axis=0, where=made > 0, **initial)
    same(getattr(np, name)(found, axis=0, where=made > 0, **initial), expected, exact=False)
    with pytest.raises(tamis.TamisTypeError, match="beside|give it|compute"):
        getattr(tamis.lazy(found), name)(where=made > 0)
    with pytest.raises(tamis.TamisTypeError, match="compute, then reshape"):
        getattr(tamis.lazy(found), name)(keepdims=True)


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max"])
def test_reductions_from_an_initial_value(name):
    made = array(3, (4, 5), "i4")
    found = tamis.asarray(made, format="csr")
    same(getattr(np, name)(found, initial=2), getattr(np, name)(made, initial=2))
    same(getattr(found, name)(axis=0, initial=2), getattr(made, name)(axis=0, initial=2))


@pytest.mark.parametrize("fill", [np.nan, np.inf])
def test_spread_where_nothing_is_absent(fill):
    made = array(3, (4, 5))
    coords = np.indices(made.shape).reshape(2, -1)
    found = tamis.coo(coords, made.ravel(), shape=made.shape, fill_value=fill)
    same(np.var(found), np.var(made), exact=False)
    same(np.std(found, axis=0), np.std(made, axis=0), exact=False)


COMPLEX = "tan tanh arcsin arccos arctan arcsinh arccosh arctanh sqrt exp log sin cosh".split()


@pytest.mark.parametrize("name", COMPLEX)
def test_functions_of_complex_numbers(name):
    made = np.array([0, 0.5 + 2j, 3, -1j])
    function = getattr(np, name)
    with np.errstate(all="ignore"):
        same(function(tamis.asarray(made, format="sparse")), function(made), exact=False)


def test_powers_of_complex_numbers():
    made = np.array([0, 0.5 + 2j, 3, -1j])
    found = tamis.asarray(made, format="sparse")
    same(found**0.5, made**0.5, exact=False)
    same(2j**found, 2j**made, exact=False)
    same(found**2, made**2, exact=False)
    same(tamis.compute(tamis.lazy(found) ** 0.5 * 2), made**0.5 * 2, exact=False)


def test_lists_beside_tensors():
    made = array(3, (4, 3))
    found = tamis.asarray(made, format="csr")
    same(found + [1, 2, 3], made + [1, 2, 3])
    same([1, 2, 3] + found, [1, 2, 3] + made)
    same(found * (1, 2, 3), made * (1, 2, 3))
    same(found @ [1, 2, 3], made @ [1, 2, 3])
    same(found == [0, 1, 2], made == [0, 1, 2])
    same(found // [1, 2, 3], made // [1, 2, 3])
    with pytest.raises(TypeError):
        found + [1, "a", 3]


def test_only_what_is_borrowed_is_not_copied():
    for copied in ([1, 2], 3, (1.0, 2.0)):
        with pytest.raises(ValueError, match="cannot be borrowed"):
            tamis.asarray(copied, copy=False)
    stored = sp.csr_array(np.eye(3))
    assert np.shares_memory(tamis.asarray(stored, copy=False).values, stored.data)


HALF = {
    "values": lambda x: x.values,
    "entries": lambda x: x.entries()[1],
    "pickled": lambda x: pickle.loads(pickle.dumps(x)),
    "row": lambda x: x[1],
    "columns": lambda x: x[:, [2, 0]],
    "wider": lambda x: x.astype("f8"),
    "flat": lambda x: x.reshape(-1),
    "isnan": lambda x: np.isnan(x),
    "twice": lambda x: x * 2,
    "sum": lambda x: x.sum(),
    "greatest": lambda x: x.max(),
    "joined": lambda x: np.concatenate([x, x]),
    "copied": lambda x: x.copy(),
    "places": lambda x: x.nonzero()[0],
}


@pytest.mark.parametrize("name", HALF)
def test_floats_of_half_the_digits(name):
    made = array(1, (4, 5), "f4")
    call = HALF[name]
    found = call(tamis.asarray(made, format="csr{bf16}"))
    same(
        found,
        call(tamis.asarray(made, format="csr")).to_numpy()
        if isinstance(found, tamis.Tensor)
        else call(tamis.asarray(made, format="csr")),
    )


def test_types_of_half_the_digits():
    made = tamis.asarray(array(1, (4, 5)), format="csr").astype("bf16")
    for x in (made, made.copy(), made.astype("bf16"), pickle.loads(pickle.dumps(made))):
        assert x.storage.startswith("csr{bf16,")
    assert made.astype("f4").storage.startswith("csr{f32,")
    assert "float32" in made._repr_html_()
    # A little more than halfway between two, which 32 bits do not tell from halfway.
    near = 1 + 2**-8 + 2**-30
    for value in (near, complex(near, 3)):
        rounded = tamis.asarray(np.array([value])).astype("bf16").astype("f8")
        assert rounded.to_numpy()[0] == 1 + 2**-7


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize("dtype", ["c8", "c16", "f4", "f8", "f2"])
@pytest.mark.parametrize("fill", [NAN, INF, -INF, complex(NAN, NAN), complex(1, NAN), complex(NAN, -1),
    complex(INF, -INF), complex(-0.0, -0.0), complex(1e-30, 1e30), 0.1])
def test_fill_values_are_read_as_they_are_written(dtype, fill):
    if isinstance(fill, complex) and dtype[0] == "f":
        return
    fill = np.dtype(dtype).type(fill)
    found = tamis.coo(([0],), np.ones(1, dtype), shape=(3,), fill_value=fill)
    for made in (found, pickle.loads(pickle.dumps(found)), copy.deepcopy(found), found.asformat("coo")):
        same(made.fill_value, fill)
        same(made, found.to_numpy())
        if made.format == found.format:
            assert made.storage == found.storage


def test_expressions_are_not_saved():
    x = tamis.lazy(tamis.asarray(np.eye(2), format="csr")) * 2
    with pytest.raises(tamis.TamisTypeError, match="before it is computed"):
        pickle.dumps(x)
    same(tamis.compute(copy.deepcopy(x)), tamis.compute(copy.copy(x)).to_numpy())


def test_small_problems_of_eigenvalues():
    from scipy.sparse.linalg import lobpcg

    with pytest.warns(UserWarning, match="dense eigensolver"):
        found, _ = lobpcg(tamis.asarray(np.diag([1.0, 2, 3, 4]), format="csr"), np.eye(4)[:, :1])
    np.testing.assert_allclose(found, [4.0])


def test_powers_beyond_64_bits_are_refused():
    for dtype in ("i4", "i2", "u4"):
        found = tamis.asarray(np.array([2**8 if dtype == "i2" else 2**16], dtype), format="sparse")
        for power in (4, 8, 16):
            with pytest.raises(tamis.TamisOverflowError):
                found**power
