"""Arguments as NumPy takes them, sequences among them, and arguments that nothing takes: these are
refused by the package's own exceptions, in words of the call."""

import inspect

import numpy as np
import pytest
import tamis

pytestmark = pytest.mark.filterwarnings("ignore")

MATRIX = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
SEQUENCES = """np.dot(x, [1., 2., 3.]); np.dot(x, (1., 2., 3.)); x.dot([1., 2., 3.]); x.dot(range(3)); np.dot([1, 2], x)
np.inner(x, [1, 2, 3]); np.inner([1, 2, 3], x); np.inner(x, [[1, 2, 3], [4, 5, 6]]); np.outer(x, [1, 2])
np.outer((1, 2), x); np.kron(x, [1, 2]); np.kron([[1, 2]], x); np.vdot(x, [[1, 2, 3], [4, 5, 6]])
np.tensordot(x, [[1, 2], [3, 4], [5, 6]], 1); np.tensordot([[1, 2]], x, 1); np.tensordot(x, [[1, 0, 2], [0, 3, 0]], [[0, 1], [0, 1]])
np.tensordot(x, [1, 2], axes=(0, 0)); np.tensordot(x, [1, 2], axes=([0], [0])); np.tensordot(x, [1, 2], np.int64(0))
np.matmul(x, [1, 2, 3]); x @ [1, 2, 3]; [1, 2] @ x; np.vecdot(x, [1, 2, 3]); np.einsum("ij,j->i", x, [1, 2, 3])
np.add(x, [1, 2, 3]); x + [1, 2, 3]; (1, 2, 3) * x; x - [[1], [2]]; np.maximum(x, [1, 0, 5]); x == [1, 0, 2]
np.hypot(x, [1, 2, 3]); np.where([True, False, True], x, 0); np.where(x, [1, 2, 3], 0); np.where(x, 0, (1, 2, 3))
np.where([[True], [False]], x, x); np.where(x, [[1], [2]], [1, 2, 3]); np.append(x, [1, 2]); np.append([[1, 2, 3]], x, axis=0)
np.concatenate([x, [[1, 2, 3]]]); np.concatenate(([[1, 2, 3]], x)); np.stack((x, x)); np.vstack([x, [1, 2, 3]])
np.hstack([x, [[1], [2]]]); np.column_stack([x, [1, 2]]); np.isin(x, [1, 2]); np.isin(x, (1, 2)); np.isclose(x, [1, 0, 2])
np.allclose(x, [1, 0, 2]); np.array_equal(x, [[1, 0, 2], [0, 3, 0]]); np.array_equal([[1, 0, 2], [0, 3, 0]], x)
np.array_equiv(x, [1, 0, 2]); np.clip(x, [0, 1, 1], [2, 2, 1]); np.clip(x, min=[0, 1, 1]); x.clip([0, 1, 1], 2)
np.clip(x, min=0); np.clip(x, max=2); np.clip(x, 1, 2); np.take(x, [0, 2], axis=1)
np.take(x, [5, 0, -1]); np.take(x, [[0, 1], [1, 0]], axis=0); x.take((0, 1), 0); np.take(x, 1, axis=0)
x[[0, 1], [2, 0]]; x[[True, False]]; x[:, [0, 0, 2]]; np.repeat(x, [1, 2], axis=0); np.repeat(x, (2, 0, 1), axis=1)
x.repeat([2], 0); np.tile(x, [2, 2]); np.tile(x, 3); np.tile(x, (2, 1, 2)); np.tile(x, [2]); np.tile(x, np.array([1, 2])); np.tile(x, ())
np.roll(x, 1); np.roll(x, [1, 2], axis=[0, 1]); np.roll(x, (1, 2), (0, 1)); np.roll(x, 1, axis=(0, 1)); np.roll(x, [1, 2], axis=1)
np.roll(x, np.int64(-1), 1); np.pad(x, [[1, 0], [0, 2]]); np.pad(x, (1, 2)); np.pad(x, 1); np.moveaxis(x, [0], [1])
np.transpose(x, [1, 0]); x.transpose([1, 0]); x.transpose((1, 0)); np.swapaxes(x, 0, -1); np.expand_dims(x, [0, 2])
np.expand_dims(x, (0, 2)); np.reshape(x, [3, 2]); x.reshape([3, 2]); np.broadcast_to(x, [2, 2, 3]); np.flip(x, (0, 1))
np.broadcast_to(x[0], 3); np.sum(x, axis=(0, 1)); np.mean(x, axis=(0, 1)); np.count_nonzero(x, axis=(0, 1))
np.linalg.norm(x, axis=(0, 1)); np.broadcast_arrays(x, [1, 2, 3])[1]; np.broadcast_arrays([1, 2, 3], x)[0]; np.diagonal(x)
x.item(-1); x.item(2); x.item((0, 2)); x.item(1, 1); x.item(np.int64(-6)); 2.0 in x; 5.0 in x; np.nan in x; [1, 0, 2] in x; 'a' in x; None in x
np.unique(x); np.unique(x, return_counts=True)[1]; np.unique(x, equal_nan=False); np.atleast_3d(x); np.trace(x, 1)
x.min(axis=0, initial=5.0); x[:0].min(axis=0, initial=5.0); x[:0].max(initial=-1.0); x[:, :0].max(axis=1, initial=2)
np.var(x, correction=1); np.var(x, axis=1, ddof=1); np.std(x, correction=2); x.std(0, ddof=1); np.mean(x, dtype='f4')
x.transpose(np.array([1, 0])); x.reshape(np.array([3, 2])); np.tensordot(x, 5, 0); np.tensordot(5, x, 0)
np.unique_values(x); np.unique_counts(x)[1]; np.linalg.outer(x[0], [1, 2]); np.linalg.vecdot(x, [1, 2, 3])
np.linalg.matmul(x, [[1], [2], [3]]); np.linalg.tensordot(x, [[1], [2], [3]], axes=1)"""
#: What newer versions of NumPy have.
SEQUENCES += "; np.matvec(x, [1, 2, 3]); np.vecmat([1, 2], x)" if hasattr(np, "matvec") else ""
SEQUENCES += "; np.astype(x, 'f4')" if hasattr(np, "astype") else ""
CALLS = [c.strip() for line in SEQUENCES.splitlines() for c in line.split(";")]


@pytest.mark.parametrize("format", ["csr", "coo"])
def test_sequences_are_arrays(format):
    x = tamis.asarray(MATRIX, format=format)
    for text in CALLS:
        call = eval(f"lambda x: {text}", {"np": np})
        expected, found = call(MATRIX), call(x)
        found = found.to_numpy() if isinstance(found, tamis.Tensor) else found
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6, err_msg=text)
        assert np.shape(found) == np.shape(expected), text
        assert np.asarray(found).dtype == np.asarray(expected).dtype, text


NONSENSE = [None, "a", 1.5, -7, [], (), {}, [[1], [2, 3]], np.array("b"), object(), 2**70, 1j, {1}, b"c"]
#: Methods and functions by what they are called with beside a tensor.
ONE = [
    *(f"T.{m}" for m in dir(tamis.Tensor) if m[0] != "_" and inspect.isfunction(getattr(tamis.Tensor, m))),
    *(f"np.{f.__name__}" for f in vars(np).values() if hasattr(f, "_implementation")),
    *(f"np.linalg.{f}" for f in ("norm", "vector_norm", "matrix_norm", "tensordot", "outer")),
    *(f"xp.{f}" for f in tamis.array_api.__all__ if inspect.isfunction(getattr(tamis.array_api, f))),
    *(f"tamis.{f}" for f in "asarray coo compile einsum evaluate lazy compute read write".split()),
]
#: What is not of tensors, waits for the terminal, or writes files.
LEFT = set("np.savetxt np.save np.savez np.savez_compressed np.show_config np.info np.copyto".split())
LEFT |= {"np.apply_along_axis", "np.apply_over_axes"}
LEFT |= {"xp.from_dlpack", "xp.meshgrid", "xp.full", "xp.ones", "xp.linspace", "xp.arange", "xp.isdtype"}


#: What Python says of the inside of a function.
INSIDE = ["has no attribute", "not subscriptable", "to unpack", "be interpreted", "not iterable"]


def is_of_python(error):
    """Whether Python refused the call itself: too many arguments, or others."""
    trace = error.__traceback__.tb_next
    return isinstance(error, TypeError) and (trace is None or trace.tb_next is None)


@pytest.mark.parametrize("name", sorted(set(ONE) - LEFT))
def test_nonsense_is_refused_in_words_of_the_call(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tensor = tamis.asarray(MATRIX, format="csr")
    function = eval(name, {"np": np, "T": tensor, "xp": tamis.array_api, "tamis": tamis})
    first = () if name[0] in "Tt" else (tensor,)
    for given in [(), *((x,) for x in NONSENSE), *((x, y) for x in NONSENSE[:4] for y in NONSENSE[:4])]:
        try:
            function(*first, *given)
        except tamis.TamisError as error:
            assert error.code and "help" in str(error), (given, str(error))
            for word in INSIDE:
                assert word not in str(error), (given, str(error))
        except Exception as error:
            assert is_of_python(error), (given, repr(error))
