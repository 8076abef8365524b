"""Pieces that are not what was said of them are refused; what is lazy keeps what it was given."""

import threading

import numpy as np
import pytest

import tamis

td = pytest.importorskip("tamis.dask")
da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")


def pieces(parts, shapes, **how):
    return td.from_delayed([dask.delayed(part) for part in parts], shapes=shapes, **how)


def test_pieces_of_another_fill_value_keep_their_elements():
    whole = np.array([[1.0, 3], [3, 3]])
    part = tamis.asarray(whole).asformat("csr{fill: 3.0}")
    both = pieces([part, part], [(2, 2)] * 2)
    expected = np.concatenate([whole, whole])
    np.testing.assert_array_equal(both.compute().to_numpy(), expected)
    for chunks in (None, 1):
        how = {} if chunks is None else {"chunks": chunks}
        found = td.evaluate("y(i) = A(i,j) * x(j)", A=both, x=np.ones(2), **how)
        np.testing.assert_array_equal(np.asarray(found.compute()), expected.sum(axis=1))


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_pieces_of_another_shape_are_refused(form):
    wrong = pieces([np.ones((1, 4)), np.ones((2, 4))], [(2, 4)] * 2, format=form)
    with pytest.raises(tamis.TamisError, match="a piece has shape"):
        wrong.compute()
    one = pieces([np.ones((3, 2))], [(2, 2)])
    with pytest.raises(tamis.TamisError, match="a piece has shape"):
        np.asarray(td.evaluate("y(i) = A(i,j) * x(j)", A=one, x=np.ones(2)).compute())


@pytest.mark.parametrize("value, dtype", [(1.5, "int64"), (1 + 2j, "float64"), (np.int16(300), "int8")])
def test_pieces_of_another_type_are_refused(value, dtype):
    wrong = pieces([np.array([[value]])] * 2, [(1, 1)] * 2, format="dense", dtype=dtype)
    with pytest.raises(tamis.TamisError):
        wrong.compute()


def test_operands_are_what_they_were():
    a = da.from_array(np.arange(12.0).reshape(4, 3), chunks=(2, 3))
    x = np.ones(3)
    product = td.evaluate("y(i) = A(i,j) * x(j)", A=a, x=x)
    x[:] = 5
    np.testing.assert_array_equal(np.asarray(product.compute()), [3, 12, 21, 30])


def test_copies_share_nothing():
    scipy = pytest.importorskip("scipy.sparse")
    lent = scipy.csr_array([[1.0, 2, 0]])
    t = tamis.asarray(lent)
    reshaped = tamis.array_api.reshape(t, (3,), copy=True)
    flat = t.flatten()
    i, _ = t.nonzero()
    i += 1
    lent.data[:] = 9
    np.testing.assert_array_equal(reshaped.to_numpy(), [1, 2, 0])
    np.testing.assert_array_equal(flat.to_numpy(), [1, 2, 0])


def test_operands_may_be_named_kernel():
    with tamis.profile():
        found = tamis.evaluate("y(i) = kernel(i) * 2", operands={"kernel": np.ones(3)})
    np.testing.assert_array_equal(np.asarray(found), [2, 2, 2])


def test_many_numbers_from_threads():
    t = tamis.asarray(np.eye(3)).asformat("csr")
    failures = []

    def many(start):
        try:
            for k in range(600):
                t * float(start + k)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=many, args=(1000 * k,)) for k in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failures
