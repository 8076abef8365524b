"""The functions of the array API standard that sparse tensors honour.

``tensor.__array_namespace__()`` is this module. What is sparse stays sparse; results of which every
element is stored are NumPy's arrays, and functions take these as well. What would make a sparse
tensor dense unasked, such as sorting, is not here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import (
    arange,
    bool,
    complex64,
    complex128,
    e,
    finfo,
    float32,
    float64,
    full,
    iinfo,
    inf,
    int8,
    int16,
    int32,
    int64,
    isdtype,
    linspace,
    nan,
    newaxis,
    ones,
    pi,
    uint8,
    uint16,
    uint32,
    uint64,
)

from . import _expressions
from ._errors import TamisTypeError, TamisValueError
from ._tensor import Tensor, asarray
from ._tensor import _of_entries as _packed

__array_api_version__ = "2023.12"


def _function(name: str, numpy_name: str) -> Any:
    def function(*operands: Any) -> Any:
        return _expressions.compute(_expressions.elementwise(numpy_name, *operands))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{name}`` of elements, as the standard has it."
    return function


_NAMES = {
    "abs": "absolute",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "pow": "power",
}
for _numpy_name in _expressions.FUNCTIONS:
    _name = {v: k for k, v in _NAMES.items()}.get(_numpy_name, _numpy_name)
    if _name not in ("cbrt", "cube", "heaviside"):
        globals()[_name] = _function(_name, _numpy_name)


def astype(x: Any, dtype: Any, /, *, copy: Any = True) -> Any:
    """The elements in another type."""
    return x.astype(dtype, copy=copy)


def result_type(*operands: Any) -> np.dtype[Any]:
    """The type that the elements of all can be converted to."""
    return np.result_type(*(x.dtype if isinstance(x, Tensor) else x for x in operands))


def matmul(left: Any, right: Any, /) -> Any:
    """The matrix product of the last two axes."""
    return _expressions.compute(_expressions.product(left, right))


def permute_dims(x: Any, /, axes: tuple[int, ...]) -> Any:
    """The axes in another order."""
    return _expressions.compute(_expressions.permutation(x, axes))


def matrix_transpose(x: Any, /) -> Any:
    """The last two axes exchanged."""
    axes = list(range(x.ndim))
    axes[-2:] = axes[:-3:-1]
    return permute_dims(x, tuple(axes))


def tensordot(left: Any, right: Any, /, *, axes: Any = 2) -> Any:
    """The sum of products over some axes of both."""
    from ._einsum import einsum

    if isinstance(axes, int):
        axes = (tuple(range(left.ndim - axes, left.ndim)), tuple(range(axes)))
    of_left = list(range(left.ndim))
    of_right = list(range(left.ndim, left.ndim + right.ndim))
    for one, other in zip(axes[0], axes[1]):
        of_right[other] = of_left[one]
    shared = set(of_left) & set(of_right)
    result = [k for k in of_left + of_right if k not in shared]
    return einsum(left, of_left, right, of_right, result)


def vecdot(left: Any, right: Any, /) -> Any:
    """The sums of products over the last axis."""
    from ._einsum import einsum

    return einsum("...i,...i->...", left, right)


def _reduction(name: str) -> Any:
    def function(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Any:
        result = _expressions.compute(_expressions.reduction(name, x, axis))
        if not keepdims:
            return result
        axes = _expressions.axes_of(axis, x.ndim)
        shape = tuple(1 if k in axes else n for k, n in enumerate(x.shape))
        return result.reshape(shape)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{name}`` over some axes, or over all."
    return function


sum, prod, min, max, any, all = map(_reduction, ("sum", "prod", "min", "max", "any", "all"))


def mean(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Any:
    """The mean over some axes, or over all."""
    count = np.prod([x.shape[k] for k in _expressions.axes_of(axis, x.ndim)])
    return sum(x, axis=axis, keepdims=keepdims) / count


def reshape(x: Any, /, shape: tuple[int, ...]) -> Any:
    """The elements in the order of rows in axes of other sizes."""
    return x.reshape(shape)


def expand_dims(x: Any, /, *, axis: int = 0) -> Any:
    """One more axis, of one element."""
    shape = list(x.shape)
    shape.insert(axis + x.ndim + 1 if axis < 0 else axis, 1)
    return x.reshape(tuple(shape))


def squeeze(x: Any, /, axis: Any) -> Any:
    """Without some axes of one element."""
    axes = _expressions.axes_of(axis, x.ndim)
    return x.reshape(tuple(n for k, n in enumerate(x.shape) if k not in axes))


def concat(arrays: Any, /, *, axis: int = 0) -> Tensor:
    """Tensors one behind the other along an axis."""
    parts = [asarray(x) for x in arrays]
    axis = _expressions.axes_of(axis, parts[0].ndim)[0]
    shape = list(parts[0].shape)
    shape[axis] = 0
    coords, values = [], []
    for part in parts:
        others = [n for k, n in enumerate(part.shape) if k != axis]
        if others != [n for k, n in enumerate(shape) if k != axis]:
            shapes = " and ".join(str(x.shape) for x in parts)
            text = f"error[dimension-mismatch]: the shapes {shapes} do not fit along axis {axis}"
            raise TamisValueError("dimension-mismatch", f"{text}\n  = help: make others equal")
        if part.fill_value != 0:
            text = f"error[type-mismatch]: a part has the fill value {part.fill_value}"
            raise TamisTypeError("type-mismatch", f"{text}\n  = help: join to_numpy() of it")
        own, own_values = part.entries()
        own[axis] = own[axis] + shape[axis]
        shape[axis] += part.shape[axis]
        coords.append(own)
        values.append(own_values)
    joined = [np.concatenate(c) for c in zip(*coords)]
    return _packed(tuple(shape), joined, np.concatenate(values))


def stack(arrays: Any, /, *, axis: int = 0) -> Tensor:
    """Tensors side by side along a new axis."""
    return concat([expand_dims(asarray(x), axis=axis) for x in arrays], axis=axis)


def nonzero(x: Any, /) -> Any:
    """The coordinates of the elements that are not 0."""
    return x.nonzero()


def zeros(shape: Any, *, dtype: Any = float64) -> Tensor:
    """A tensor without entries."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    empty = np.zeros(0, dtype=np.int64)
    return _packed(sizes, [empty] * len(sizes), np.zeros(0, dtype=dtype))


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = float64) -> Tensor:
    """Ones on a diagonal."""
    columns = n_rows if n_cols is None else n_cols
    rows = np.arange(n_rows)
    rows = rows[(rows + k >= 0) & (rows + k < columns)]
    return _packed((n_rows, columns), [rows, rows + k], np.ones(len(rows), dtype=dtype))


__all__ = [
    name
    for name in globals()
    if not name.startswith(("_", "Tamis", "Tensor")) and name not in ("np", "Any", "annotations")
]
