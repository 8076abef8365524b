"""Sparse tensors with the manners of NumPy arrays."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import _native
from ._operands import plain_array


class Tensor(_native.Tensor):
    """A tensor in any format: levels that store its axes, and one array of values.

    Made by ``tamis.asarray``, ``tamis.coo``, ``tamis.read``, and as the result of computations.
    The arrays cannot be written: a tensor never changes, unless it borrows arrays of NumPy or
    SciPy that do; those are checked again each time it is used.
    """

    def to_scipy(self, *, matrix: bool = False) -> Any:
        """SciPy's sparse array, or matrix, with the same arrays where SciPy has the format.

        Its arrays cannot be written, since the tensor has them too: ``.copy()`` can.
        """
        return self.as_scipy(matrix)

    def todense(self) -> np.ndarray[Any, Any]:
        """Every element as a NumPy array."""
        return self.to_numpy()

    def asformat(self, format: str) -> Tensor:
        """The same tensor in another format, such as ``csc`` or ``bcsr(4,4)``."""
        return Tensor(self.to_format(format))

    def __repr__(self) -> str:
        shape, size = "x".join(map(str, self.shape)), f"{self.nbytes} bytes"
        return f"<tamis.Tensor {shape} {self.dtype} {self.format}, {self.nnz} stored, {size}>"


def asarray(object: Any, *, format: str | None = None, dtype: Any = None, copy: bool | None = None) -> Tensor:
    """The tensor of an array, in ``format`` if it is given."""
    tensor = object if isinstance(object, Tensor) else Tensor(_native.borrow(object))
    if format is not None:
        tensor = tensor.asformat(format)
    return tensor


def read(path: str | os.PathLike[str], *, format: str | None = None) -> Tensor:
    """The tensor of a file."""
    tensor, _ = _native.read(os.fspath(path), format)
    return Tensor(tensor)


def write(path: str | os.PathLike[str], tensor: Any, *, comments: list[str] | None = None) -> None:
    """Writes a tensor to a file."""
    _native.write(os.fspath(path), asarray(tensor), comments or [])
