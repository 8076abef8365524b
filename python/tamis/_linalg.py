"""Norms and products of NumPy that have no method: by reductions, and by ``einsum``."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import array_api
from ._einsum import einsum
from ._expressions import axes_of
from ._moves import refused
from ._operands import refused as unfit
from ._tensor import Tensor, asarray, compact

xp: Any = array_api


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of all elements, of vectors along an axis, or of matrices along two."""
    if axis is None and (ord is None or ord in ("fro", 2) and x.ndim == 1):
        return vector_norm(x, keepdims=keepdims)
    axes = axes_of(axis, x.ndim)
    if len(axes) == 1:
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise refused(f"{len(axes)} axes are those of no matrix", "name two: axis=(0, 1)")
    return _matrix_norm(x, "fro" if ord is None else ord, axes, keepdims)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of vectors along some axes, or of all elements."""
    tensor = asarray(x)
    if axis is None and ord == 2 and not keepdims and tensor.fill_value == 0:
        values = compact(tensor).values
        # What NumPy computes of such values, which looks at more before it does.
        return np.sqrt(values.dot(values)) if values.dtype.char in "fd" else np.linalg.norm(values)
    sizes = _sizes(tensor)
    if ord in (np.inf, -np.inf):
        return (sizes.max if ord > 0 else sizes.min)(axis=axis, keepdims=keepdims)
    if ord == 0:
        return (sizes != 0).sum(axis=axis, keepdims=keepdims).astype(sizes.dtype)
    if ord == 1:
        return sizes.sum(axis=axis, keepdims=keepdims)
    if isinstance(ord, str):
        raise refused(f"vectors have no norm {ord!r}", "use a number, or numpy.inf")
    total = (sizes**ord).sum(axis=axis, keepdims=keepdims)
    return np.sqrt(total) if ord == 2 else total ** (1 / ord)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of the matrices of the last two axes."""
    if x.ndim < 2:
        raise refused(f"an array of {x.ndim} axes is no matrix", "give it two axes")
    return _matrix_norm(x, ord, (x.ndim - 2, x.ndim - 1), keepdims)


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if ord == "fro":
        return vector_norm(x, axis=axes, keepdims=keepdims)
    if ord not in (1, -1, np.inf, -np.inf):
        reason = f"the norm {ord!r} needs the singular values, which are those of a dense matrix"
        raise unfit(reason, "use scipy.sparse.linalg, or numpy.linalg with to_numpy()")
    rows, columns = axes
    summed, other = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = _sizes(asarray(x)).sum(axis=summed, keepdims=True)
    found = (sums.max if ord > 0 else sums.min)(axis=other, keepdims=True)
    if keepdims:
        return found
    made = found.to_numpy() if isinstance(found, Tensor) else np.asarray(found)
    return made.squeeze(axis=axes)[()]


def _sizes(x: Tensor) -> Any:
    """The sizes of elements, as floats: norms are none of integers."""
    return abs(x.astype(np.float64) if x.dtype.kind in "iub" else x)


def _number(x: Any) -> Any:
    """An operand; a number of Python's as one of NumPy's, whose type counts."""
    return np.asarray(x)[()] if isinstance(x, (int, float, complex)) else x


def dot(a: Any, b: Any, out: None = None) -> Any:
    """The sums of products over the last axis of one and the last but one of another."""
    if not (getattr(a, "ndim", 0) and getattr(b, "ndim", 0)):
        return _number(a) * _number(b)
    return np.tensordot(a, b, axes=((-1,), (-2 if b.ndim > 1 else -1,)))


def inner(a: Any, b: Any) -> Any:
    """The sums of products over the last axes of both."""
    if not (getattr(a, "ndim", 0) and getattr(b, "ndim", 0)):
        return _number(a) * _number(b)
    return np.tensordot(a, b, axes=((-1,), (-1,)))


def outer(a: Any, b: Any, out: None = None) -> Any:
    """The products of all elements of one with all of another."""
    return einsum("i,j->ij", asarray(a).reshape(-1), asarray(b).reshape(-1))


def vecdot(x1: Any, x2: Any, **how: Any) -> Any:
    """The sums of products over an axis, of which the first factor is conjugated."""
    return xp.vecdot(asarray(x1), asarray(x2), **how)


def matvec(x1: Any, x2: Any) -> Any:
    """Matrices times vectors, of the last axes."""
    return einsum("...ij,...j->...i", x1, x2)


def vecmat(x1: Any, x2: Any) -> Any:
    """Vectors, conjugated, times matrices, of the last axes."""
    return einsum("...i,...ij->...j", xp.conj(asarray(x1)), x2)


def kron(a: Any, b: Any) -> Any:
    """The products of all elements of one, each as a block, with another."""
    one, other = asarray(a), asarray(b)
    axes = max(one.ndim, other.ndim)
    one = one.reshape((1,) * (axes - one.ndim) + one.shape)
    other = other.reshape((1,) * (axes - other.ndim) + other.shape)
    places = [k for axis in range(axes) for k in (axis, axes + axis)]
    made = einsum(one, list(range(axes)), other, list(range(axes, 2 * axes)), places)
    return made.reshape(tuple(n * m for n, m in zip(one.shape, other.shape)))
