"""The forms in which an array can come as an operand."""

import numpy as np
import scipy.sparse as sp
import tamis

SCIPY = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]
FORMATS = [
    "csr",
    "csc",
    "dcsr",
    "dcsc",
    "coo",
    "coo(nonordered)",
    "coo(aos)",
    "dok",
    "ell",
    "dia",
    "bcsr(2,3)",
    "csb(2,2)",
    "csf",
    "bitmap",
    "dense",
    "dense-column",
    "(i, j) -> (i: dense, j/3: dense, j%3: dense)",
    "(i, j) -> (i/2: dense, j/2: dense, i%2: dense, j%2: dense)",
    "(i, j) -> (j-i: dense, i: range)",
]
LAYOUTS = ["C", "F", "reversed", "strided", "swapped", "unaligned", "readonly", "list"]


def where_stored(found, expected):
    """The values of a function that is 0 where its first operand, a tensor, stores nothing."""
    if found.is_full:
        return expected
    stored = np.zeros(found.shape, dtype=bool)
    stored[tuple(found.entries()[0])] = True
    return np.where(stored, expected, np.zeros((), expected.dtype))


def laid_out(array, layout):
    """The same elements in memory of another layout."""
    if layout == "C":
        return np.array(array, order="C")
    if layout == "F":
        return np.array(array, order="F")
    if layout == "reversed":
        return np.ascontiguousarray(array[..., ::-1])[..., ::-1]
    if layout == "strided":
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), dtype=array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    if layout == "swapped":
        return array.astype(array.dtype.newbyteorder(">"))
    if layout == "unaligned":
        raw = np.zeros(array.nbytes + 1, dtype="u1")
        made = raw[1:].view(array.dtype).reshape(array.shape)
        made[...] = array
        return made
    if layout == "readonly":
        made = array.copy()
        made.setflags(write=False)
        return made
    return array.tolist()


def scipy(array, form, matrix, wide, shuffled, seed):
    """SciPy's array or matrix in a form, with wide indices, or with unordered columns."""
    made = getattr(sp, f"{form}_{'matrix' if matrix else 'array'}")(array)
    if form in ("csr", "csc") and shuffled:
        made = _shuffled(made, seed)
    if wide and form in ("csr", "csc", "bsr"):
        made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    return made


def _shuffled(matrix, seed):
    """Every row twice as long, its columns in any order: entries that are to be added up."""
    rng = np.random.default_rng(seed)
    indices, data, indptr = [], [], [0]
    for begin, end in zip(matrix.indptr, matrix.indptr[1:]):
        columns, values = matrix.indices[begin:end], matrix.data[begin:end]
        zeros = np.zeros_like(values)
        order = rng.permutation(2 * len(columns))
        indices.extend(np.concatenate([columns, columns])[order])
        data.extend(np.concatenate([values, zeros])[order])
        indptr.append(len(indices))
    parts = (
        np.array(data, dtype=matrix.dtype),
        np.array(indices, dtype=np.int32),
        np.array(indptr, dtype=np.int32),
    )
    return type(matrix)(parts, shape=matrix.shape)


def tensor(array, format):
    """A tensor in a format, or in the nearest for its order."""
    try:
        return tamis.asarray(array, format=format)
    except tamis.TamisValueError:
        return tamis.asarray(array, format="csf" if array.ndim else "dense")
