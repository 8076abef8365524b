"""Sparse tensors with the manners of NumPy arrays."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _native
from ._errors import TamisTypeError, TamisValueError
from ._expressions import Expression, Operators, compute
from ._operands import number_text, type_name
from ._select import entries, picks

#: The format of a sparse tensor of which nothing is said, by the number of its axes.
_USUAL = {0: "dense", 1: "sparse", 2: "csr"}


class Tensor(Operators, _native.Tensor):
    """A tensor in any format: levels that store its axes, and one array of values.

    Made by ``tamis.asarray``, ``tamis.coo``, ``tamis.read``, and as the result of computations.
    Operators, NumPy's functions of elements and reductions give tensors where the result is
    sparse and NumPy's arrays where every element is stored. The arrays cannot be written: a
    tensor never changes, unless it borrows arrays of NumPy or SciPy that do; those are checked
    again each time it is used.
    """

    __array_priority__ = 1000

    def _made(self, tree: Expression) -> Any:
        return compute(tree)

    @property
    def size(self) -> int:
        """How many elements there are, stored or not."""
        return math.prod(self.shape)

    @property
    def density(self) -> float:
        """The share of elements that are stored."""
        return self.nnz / self.size if self.size else 0.0

    def to_scipy(self, *, matrix: bool = False) -> Any:
        """SciPy's sparse array, or matrix, with the same arrays where SciPy has the format.

        Its arrays cannot be written, since the tensor has them too: ``.copy()`` can. Formats that
        SciPy lacks become csr, or coo beyond two axes; fill values other than 0 are refused.
        """
        return self.as_scipy(matrix)

    def todense(self) -> np.ndarray[Any, Any]:
        """Every element as a NumPy array."""
        return self.to_numpy()

    toarray = todense

    def asformat(self, format: str) -> Tensor:
        """The same tensor in another format, such as ``csc`` or ``bcsr(4,4)``."""
        return Tensor(self.to_format(format))

    def astype(self, dtype: Any, *, copy: bool = False) -> Tensor:
        """The same tensor with elements of another type, cut off towards zero as NumPy does."""
        name = type_name(dtype)
        if name == type_name(self.dtype):
            return self.copy() if copy else self
        levels, values = self.levels, self.values
        if self.dtype.kind == "c" and np.dtype(dtype).kind not in "cb":
            values = values.real
        fill = self.fill_value if name[0] == "c" else np.real(self.fill_value)
        fill = np.asarray(fill).astype(dtype)[()]
        storage = f"{self.format}{{{name}, fill: {number_text(fill)}}}"
        cast_values = values.astype(dtype)
        return Tensor(_native.Tensor.of_arrays(self.shape, storage, levels, cast_values).copied())

    def copy(self) -> Tensor:
        """The same tensor in arrays of its own."""
        return Tensor(self.copied())

    def __copy__(self) -> Tensor:
        return Tensor(self)

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.shape, self.storage, self.levels, self.values)
        return _rebuilt, parts

    def matvec(self, x: Any) -> Any:
        """``self @ x``: what SciPy's solvers ask of a linear operator."""
        return self @ np.asarray(x)

    def rmatvec(self, x: Any) -> Any:
        """The transpose, of complex numbers conjugated, times a vector."""
        return np.conj(np.conj(np.asarray(x)) @ self)

    def nonzero(self) -> tuple[np.ndarray[Any, Any], ...]:
        """The coordinates of the elements that are not 0, an array for each axis."""
        if self.fill_value != 0:
            return self.to_numpy().nonzero()
        coords, values = self.entries()
        kept = values != 0
        order = np.lexsort([c[kept] for c in coords[::-1]]) if self.ndim else slice(None)
        return tuple(c[kept][order] for c in coords)

    def reshape(self, *shape: Any) -> Tensor:
        """The elements in the order of rows in axes of other sizes, of which one may be -1."""
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        sizes = [int(n) for n in shape]
        if sizes.count(-1) == 1 and -math.prod(sizes):
            sizes[sizes.index(-1)] = self.size // -math.prod(sizes)
        if math.prod(sizes) != self.size or min(sizes, default=0) < 0:
            raise _refused(f"{self.size} elements do not fit {shape}", "keep their number")
        coords, values = self.entries()
        if not self.ndim:
            coords, places = [], np.zeros(len(values), dtype=np.int64)
        else:
            places = np.ravel_multi_index(tuple(coords), self.shape)
        made = np.unravel_index(places, tuple(sizes)) if sizes else ()
        return _of_entries(tuple(sizes), made, values, self.fill_value)

    def __len__(self) -> int:
        if not self.shape:
            raise TamisTypeError("order-mismatch", "error[order-mismatch]: a number has no length")
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        chosen, shape = picks(self, key if isinstance(key, tuple) else (key,))
        if len(chosen) == self.ndim and not shape:
            return self.get([int(pick) for pick in chosen])
        if all(pick is None for pick in chosen):
            return self if shape == self.shape else self.reshape(shape)
        coords, values = entries(self, chosen)
        sizes = [
            n if pick is None else len(pick)
            for n, pick in zip(self.shape, chosen)
            if pick is None or np.ndim(pick)
        ]
        made = _of_entries(tuple(sizes), coords, values, self.fill_value)
        return made if made.shape == shape else made.reshape(shape)

    def __bool__(self) -> bool:
        return bool(self._only())

    def __float__(self) -> float:
        return float(self._only())

    def __int__(self) -> int:
        return int(self._only())

    def __complex__(self) -> complex:
        return complex(self._only())

    def _only(self) -> Any:
        if self.size != 1:
            text = f"error[order-mismatch]: a tensor of {self.size} elements is no number"
            raise TamisValueError("order-mismatch", f"{text}\n  = help: use any(), all() or [..]")
        return self.get([0] * self.ndim)

    def __array__(self, *args: Any, **options: Any) -> Any:
        text = f"error[type-mismatch]: the tensor of {self.size} elements is not made dense unasked"
        raise TamisTypeError("type-mismatch", f"{text}\n  = help: call to_numpy()")

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        from . import array_api

        return array_api

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape)) or "number"
        fill = "" if self.fill_value == 0 else f", fill {self.fill_value}"
        stored = f"{self.nnz} stored ({100 * self.density:.3g} %), {_bytes(self.nbytes)}"
        return f"<tamis.Tensor {shape} {self.dtype} {self.format}: {stored}{fill}>"

    def _repr_html_(self) -> str:
        from ._html import drawn

        return drawn(self)


def asarray(
    object: Any,
    *,
    format: str | None = None,
    dtype: Any = None,
    copy: bool | None = None,
) -> Tensor:
    """The tensor of an array, a matrix or a number.

    Arrays of NumPy and SciPy, and everything with the buffer protocol or ``__dlpack__``, are
    borrowed where a format describes their memory; ``copy=True`` copies them, and
    ``copy=False`` raises ``ValueError`` where they would have to be. ``format`` is a name, such
    as ``bcsr(4,4)``, or levels; elements of dense arrays that are 0 are no entries of a sparse
    format. ``dtype`` converts the elements.
    """
    tensor = object if isinstance(object, Tensor) else Tensor(_native.borrow(object))
    borrowed = tensor
    if format is not None:
        tensor = tensor.asformat(format)
    if dtype is not None:
        tensor = tensor.astype(dtype)
    if copy is False and not _shares(borrowed, tensor, object):
        raise _refused("the array cannot be borrowed as it is", "leave out copy=False")
    return tensor.copy() if copy else tensor


def _shares(borrowed: Tensor, tensor: Tensor, object: Any) -> bool:
    if isinstance(object, _native.Tensor):
        return np.shares_memory(object.values, tensor.values) or not tensor.values.size
    data = getattr(object, "data", object)
    source = data if isinstance(data, np.ndarray) else object
    if not isinstance(source, np.ndarray):
        return np.shares_memory(borrowed.values, tensor.values)
    return np.shares_memory(source, tensor.values) or not tensor.values.size


def coo(
    coords: Sequence[Any],
    values: Any,
    *,
    shape: Sequence[int],
    format: str | None = None,
    fill_value: Any = 0,
) -> Tensor:
    """A tensor of entries: an array of coordinates for each axis, from 0, and the values. Values
    at the same coordinates are added up. Without ``format`` they stay a list of coordinates."""
    usual = _USUAL[len(shape)] if len(shape) < 2 else "coo"
    return _of_entries(tuple(shape), coords, np.asarray(values), fill_value, format or usual)


def _of_entries(
    shape: tuple[int, ...],
    coords: Sequence[Any],
    values: np.ndarray[Any, Any],
    fill: Any = 0,
    format: str | None = None,
) -> Tensor:
    format = format or _USUAL.get(len(shape), "csf")
    if fill != 0 and not format.rstrip().endswith("}"):
        format = f"{format}{{fill: {number_text(fill)}}}"
    arrays = [np.asarray(c) for c in coords]
    if any(len(c) != len(values) for c in arrays):
        raise _refused("coordinates and values have different lengths", "give one of each")
    return Tensor(_native.Tensor.of_entries(shape, arrays, values, format))


def _rebuilt(shape: Any, storage: str, levels: Any, values: Any) -> Tensor:
    return Tensor(_native.Tensor.of_arrays(shape, storage, levels, values).copied())


def read(path: str | os.PathLike[str], *, format: str | None = None) -> Tensor:
    """The tensor of a file: Matrix Market ``.mtx``, Rutherford-Boeing ``.rb``, FROSTT ``.tns``,
    each also ``.gz``, or SciPy's ``.npz``. Without ``format`` a matrix is csr, a tensor of more
    axes csf, a vector dense; SciPy's are as they were saved."""
    name = os.fspath(path)
    if name.endswith(".npz"):
        import scipy.sparse

        return asarray(scipy.sparse.load_npz(name), format=format).copy()
    tensor, _ = _native.read(name, format)
    return Tensor(tensor)


def write(path: str | os.PathLike[str], tensor: Any, *, comments: Sequence[str] = ()) -> None:
    """Writes a tensor, array or matrix to a file, whose name tells the format as in ``read``.
    What was there stays until the new file is complete."""
    name = os.fspath(path)
    if name.endswith(".npz"):
        import scipy.sparse

        scipy.sparse.save_npz(name, asarray(tensor).to_scipy())
        return
    _native.write(name, asarray(tensor), list(comments))


def _bytes(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"


def _refused(reason: str, way_out: str) -> TamisValueError:
    return TamisValueError(
        "invalid-tensor", f"error[invalid-tensor]: {reason}\n  = help: {way_out}"
    )
