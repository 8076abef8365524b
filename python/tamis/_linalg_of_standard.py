"""What of the extension ``linalg`` of the array API standard has sparse results, or few numbers.

linalg.trace(A)         of the last two axes
linalg.cross(A, B)      of vectors of three elements
"""

from __future__ import annotations

from typing import Any

from . import _linalg
from . import array_api as xp
from ._arranging import matrix_power as _power
from ._expressions import axes_of as _axes_of
from ._guard import guarded as _guarded
from ._linalg import matrix_norm, vector_norm
from ._moves import diagonal as _diagonal
from ._moves import refused as _refused
from ._tensor import asarray as _asarray
from .array_api import matmul, matrix_transpose, tensordot, vecdot

__all__ = [
    *("cross", "diagonal", "matmul", "matrix_norm", "matrix_power", "matrix_transpose", "outer"),
    *("tensordot", "trace", "vecdot", "vector_norm"),
]


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross products of vectors of three elements along an axis."""
    left, right = xp.broadcast_arrays(_asarray(x1), _asarray(x2))
    (at,) = _axes_of(axis, left.ndim)
    if left.shape[at] != 3:
        reason = f"axis {axis} has {left.shape[at]} elements"
        raise _refused(reason, "cross products are of vectors of 3")
    one, other = xp.unstack(left, axis=at), xp.unstack(right, axis=at)
    rest = [(1, 2), (2, 0), (0, 1)]
    return xp.stack([one[j] * other[k] - one[k] * other[j] for j, k in rest], axis=at)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The elements of a diagonal of the last two axes, along a last axis."""
    return _diagonal(_asarray(x), offset, -2, -1)


def matrix_power(x: Any, n: int, /) -> Any:
    """A square matrix multiplied by itself so many times."""
    return _power(x, n)


def outer(x1: Any, x2: Any, /) -> Any:
    """The products of all elements of one vector with all of another."""
    for x in (x1, x2):
        if x.ndim != 1:
            raise _refused(f"an array of {x.ndim} axes is no vector", "give vectors")
    return _linalg.outer(x1, x2)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sums of a diagonal of the last two axes."""
    return xp.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


for _name in ("cross", "diagonal", "matrix_power", "outer", "trace"):
    globals()[_name] = _guarded(globals()[_name])
