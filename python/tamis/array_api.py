"""The functions of the array API standard that sparse tensors honour.

``tensor.__array_namespace__()`` is this module. What is sparse stays sparse; results of which every
element is stored are NumPy's arrays, and functions take these as well. What would make a sparse
tensor dense unasked is not here, but for indices and sums so far, which are arrays of NumPy's.
"""

from __future__ import annotations

from builtins import all as _all
from builtins import max as _max
from builtins import min as _min
from importlib import import_module
from inspect import isfunction
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy import (
    arange,
    bool,
    complex64,
    complex128,
    e,
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

from . import _cumulative, _expressions, _formulas, _moves
from . import _tensor as _tensors
from ._cumulative import cumulative_prod, cumulative_sum
from ._elements import apply as _apply
from ._elements import computed as _computed
from ._errors import TamisValueError
from ._guard import guarded as _guarded
from ._expressions import broadcast_shapes
from ._moves import broadcast_to
from ._operands import fitted as _fitted
from ._operands import sizes_of as _sizes_of
from ._reductions import std, var
from ._searching import (
    argmax,
    argmin,
    count_nonzero,
    isin,
    searchsorted,
    sort,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from ._tensor import Tensor
from ._tensor import _of_entries as _packed

__array_api_version__ = "2024.12"

#: The names of the standard for functions that NumPy has by other names.
_NAMES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "conjugate": "conj",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
}
#: NumPy's functions that are computed of what is stored, since no kernel has them.
_BY_NUMPY = (
    "bitwise_and bitwise_or bitwise_xor conjugate copysign expm1 floor_divide hypot imag invert "
    "isfinite isinf isnan left_shift log1p log2 logaddexp nextafter positive real reciprocal "
    "right_shift sign signbit"
).split()
_ROUNDED = ("ceil", "floor", "round", "trunc")


def _named(name: str, computed: Any, operands: int) -> None:
    """A function of one or two arrays by its name in the standard."""

    def unary(x: Any, /) -> Any:
        return computed(x)

    def binary(x1: Any, x2: Any, /) -> Any:
        return computed(x1, x2)

    function: Any = unary if operands == 1 else binary
    function.__name__ = function.__qualname__ = _NAMES.get(name, name)
    function.__doc__ = f"``{function.__name__}`` of elements, as the standard has it."
    globals()[function.__name__] = function


def _by_kernel(name: str) -> Any:
    return lambda *x: _computed(name, *x)


def _by_numpy(name: str) -> Any:
    own = getattr(np, name)
    return _by_kernel(name) if isinstance(own, np.ufunc) else lambda *x: _apply(own, *x)


def _rounded(name: str) -> Any:
    # Integers stay what they are.
    own = getattr(np, name)
    return lambda x: _apply(lambda v: v if np.asarray(v).dtype.kind in "iu" else own(v), x)


for _name in _formulas.FUNCTIONS:
    if _name not in ("cbrt", "cube", "heaviside"):
        _named(_name, _by_kernel(_name), getattr(np, _name).nin)
for _name in _BY_NUMPY:
    _named(_name, _by_numpy(_name), getattr(getattr(np, _name), "nin", 1))
for _name in _ROUNDED:
    _named(_name, _rounded(_name), 1)


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Tensor:
    """The tensor of an array, a matrix or a number, as ``tamis.asarray`` makes it."""
    _on_processor(device)
    return _tensors.asarray(obj, dtype=dtype, copy=copy)


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Tensor:
    """The tensor of an array that another library lends."""
    return asarray(np.from_dlpack(x), device=device, copy=copy)


def astype(x: Any, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Any:
    """The elements in another type."""
    _on_processor(device)
    return x.astype(dtype, copy=copy)


def _on_processor(device: Any) -> None:
    if device not in (None, "cpu"):
        text = f"error[invalid-option]: tensors are in the memory of the processor, not of {device}"
        raise TamisValueError("invalid-option", f"{text}\n  = help: leave out device")


def finfo(type: Any, /) -> SimpleNamespace:
    """What floats of a type, or of an array, hold, as numbers of Python's."""
    is_array = isinstance(type, (Tensor, np.ndarray, np.generic))
    found: Any = np.finfo(type.dtype if is_array else type)
    numbers = {name: float(getattr(found, name)) for name in ("eps", "max", "min", "smallest_normal")}
    return SimpleNamespace(bits=found.bits, dtype=found.dtype, **numbers)


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The type that the elements of all can be converted to."""
    return np.result_type(*(x.dtype if isinstance(x, Tensor) else x for x in arrays_and_dtypes))


def can_cast(from_: Any, to: Any, /) -> Any:
    """Whether every element of a type is one of another."""
    return np.can_cast(from_.dtype if isinstance(from_, Tensor) else from_, to)


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    """The elements of ``x1`` where a condition holds, of ``x2`` elsewhere."""
    return _apply(np.where, condition, x1, x2)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """The elements, those below ``min`` or above ``max`` replaced by these."""
    bounds = [bound for bound in (min, max) if bound is not None]
    if not bounds:
        return x

    def clipped(values: Any, *bounds: Any) -> Any:
        rest = iter(bounds)
        low = None if min is None else next(rest)
        high = None if max is None else next(rest)
        return np.clip(values, low, high)

    return _apply(clipped, x, *bounds)


def matmul(x1: Any, x2: Any, /) -> Any:
    """The matrix product of the last two axes."""
    return _expressions.compute(_expressions.product(x1, x2))


def permute_dims(x: Any, /, axes: tuple[int, ...]) -> Any:
    """The axes in another order, of tensors by the same arrays: csr becomes csc."""
    return x.transpose(axes)


def moveaxis(x: Any, source: Any, destination: Any, /) -> Any:
    """Some axes at other indices, the others in their order."""
    taken, places = (_expressions.axes_of(k, x.ndim) for k in (source, destination))
    if len(taken) != len(places):
        reason = f"{len(taken)} axes go to {len(places)} destinations"
        raise _moves.refused(reason, "give one destination for each axis")
    order = [k for k in range(x.ndim) if k not in taken]
    for place, axis in sorted(zip(places, taken)):
        order.insert(place, axis)
    return permute_dims(x, tuple(order))


def matrix_transpose(x: Any, /) -> Any:
    """The last two axes exchanged."""
    if x.ndim < 2:
        raise _moves.refused(f"an array of {x.ndim} axes is no matrix", "give it two axes")
    axes = list(range(x.ndim))
    axes[-2:] = axes[:-3:-1]
    return permute_dims(x, tuple(axes))


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """The sum of products over some axes of both."""
    from ._einsum import einsum

    x1, x2 = (x if hasattr(x, "ndim") else asarray(x) for x in (x1, x2))
    if not np.iterable(axes):
        axes = (tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes)))
    taken, others = (_expressions.axes_of(k, x.ndim) for k, x in zip(axes, (x1, x2)))
    if [x1.shape[k] for k in taken] != [x2.shape[k] for k in others]:
        reason = f"the axes {taken} of {x1.shape} are not the axes {others} of {x2.shape}"
        raise _moves.refused(reason, "make them equal")
    of_left = list(range(x1.ndim))
    of_right = list(range(x1.ndim, x1.ndim + x2.ndim))
    for one, other in zip(taken, others):
        of_right[other] = of_left[one]
    shared = set(of_left) & set(of_right)
    result = [k for k in of_left + of_right if k not in shared]
    return einsum(x1, of_left, x2, of_right, result)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The sums of products over an axis, of which the first factor is conjugated."""
    from ._einsum import einsum

    if not (x1.ndim and x2.ndim):
        raise _moves.refused("a number has no axis to sum over", "multiply by it")
    if axis >= 0 and x1.ndim != x2.ndim:
        raise _moves.refused("an axis from 0 is not the same in both", "count it from -1")
    left, right = (moveaxis(x, axis, -1) if axis != -1 else x for x in (x1, x2))
    if x1.dtype.kind == "c":
        left = _apply(np.conj, left)
    if left.shape[-1] != right.shape[-1]:
        reason = f"the axis {axis} has {left.shape[-1]} and {right.shape[-1]} elements"
        raise _moves.refused(reason, "make them equal")
    return einsum("...i,...i->...", left, right)


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Any:
    """The sum over some axes, or over all."""
    return _tensors.asarray(x).sum(axis, dtype=dtype, keepdims=keepdims)


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Any:
    """The product over some axes, or over all."""
    return _tensors.asarray(x).prod(axis, dtype=dtype, keepdims=keepdims)


def min(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Any:
    """The least element over some axes, or over all."""
    return _tensors.asarray(x).min(axis, keepdims=keepdims)


def max(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Any:
    """The greatest element over some axes, or over all."""
    return _tensors.asarray(x).max(axis, keepdims=keepdims)


def any(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Any:
    """Whether some element is not 0, over some axes, or over all."""
    return _tensors.asarray(x).any(axis, keepdims=keepdims)


def all(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Any:
    """Whether no element is 0, over some axes, or over all."""
    return _tensors.asarray(x).all(axis, keepdims=keepdims)


def mean(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Any:
    """The mean over some axes, or over all."""
    if isinstance(x, np.ndarray):
        return np.mean(x, axis=axis, keepdims=keepdims)
    return _tensors.asarray(x).mean(axis, keepdims=keepdims)


def reshape(x: Any, /, shape: tuple[int, ...], *, copy: Any = None) -> Any:
    """The elements in the order of rows in axes of other sizes."""
    if copy is False and tuple(shape) != x.shape and isinstance(x, Tensor):
        raise _moves.refused("coordinates of other axes are made anew", "leave out copy=False")
    made = x.reshape(shape)
    return made.copy() if copy else made


def expand_dims(x: Any, /, axis: Any) -> Any:
    """More axes, of one element."""
    added = axis if isinstance(axis, (tuple, list)) else (axis,)
    places = _expressions.axes_of(added, x.ndim + len(added))
    shape = list(x.shape)
    for place in sorted(places):
        shape.insert(place, 1)
    return x.reshape(tuple(shape))


def squeeze(x: Any, /, axis: Any) -> Any:
    """Without some axes of one element."""
    axes = _expressions.axes_of(axis, x.ndim)
    long = [k for k in axes if x.shape[k] != 1]
    if long:
        reason = f"axis {long[0]} has {x.shape[long[0]]} elements"
        raise _moves.refused(reason, "leave out axes of one element only")
    return x.reshape(tuple(n for k, n in enumerate(x.shape) if k not in axes))


def broadcast_arrays(*arrays: Any) -> list[Any]:
    """The arrays repeated along the axes that others have."""
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return [broadcast_to(x, shape) for x in arrays]


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Any]:
    """For each vector an array that has its elements along an axis of its own, and repeats them along those
    of the others; ``"xy"`` exchanges the first two axes."""
    if indexing not in ("xy", "ij"):
        raise _moves.refused(f"there is no indexing {indexing!r}", "write 'xy' or 'ij'")
    order = list(range(len(arrays)))
    if indexing == "xy":
        order[:2] = order[:2][::-1]
    parts = [x if isinstance(x, np.ndarray) else asarray(x) for x in arrays]
    long = [[-1 if k == own else 1 for k in range(len(order))] for own in order]
    framed = [x.reshape(tuple(shape)) for x, shape in zip(parts, long)]
    return list(broadcast_arrays(*framed))


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """Arrays one behind the other along an axis, or all their elements."""
    parts = [x if isinstance(x, np.ndarray) else asarray(x) for x in arrays]
    if _all(isinstance(x, np.ndarray) for x in parts):
        return np.concatenate(parts, axis=axis)
    if axis is None:
        return concat([x.reshape(-1) for x in parts], axis=0)
    (at,) = _expressions.axes_of(axis, parts[0].ndim)
    dtype = result_type(*parts)
    return _moves.concat([x.astype(dtype, copy=False) for x in parts], at)


def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    """Arrays side by side along a new axis."""
    parts = [x if isinstance(x, np.ndarray) else asarray(x) for x in arrays]
    if len({x.shape for x in parts}) > 1:
        shapes = " and ".join(str(x.shape) for x in parts)
        raise _moves.refused(f"the shapes {shapes} are not equal", "make them equal")
    return concat([expand_dims(x, axis) for x in parts], axis=axis)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The parts of an array along an axis, without that axis."""
    (at,) = _expressions.axes_of(axis, x.ndim)
    return tuple(x[(slice(None),) * at + (k,)] for k in range(x.shape[at]))


def flip(x: Any, /, *, axis: Any = None) -> Any:
    """The elements in reverse order along some axes, or all."""
    return np.flip(x, axis=axis) if isinstance(x, np.ndarray) else _moves.flip(x, axis)


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    """The elements moved along axes, those beyond the end to the begin."""
    if isinstance(x, np.ndarray):
        return np.roll(x, shift, axis=axis)
    if isinstance(shift, tuple) and np.shape(shift) != np.shape(axis):
        raise _moves.refused(f"{len(shift)} shifts along {axis}", "give one for each axis")
    return _moves.roll(x, shift, axis)


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    """Each element so many times, one behind the other."""
    if isinstance(x, np.ndarray) and not isinstance(repeats, Tensor):
        return np.repeat(x, repeats, axis=axis)
    return _moves.repeat(x, repeats, axis)


def tile(x: Any, repetitions: Any, /) -> Any:
    """The array so many times along each axis."""
    if isinstance(x, np.ndarray):
        return np.tile(x, repetitions)
    return _moves.tile(asarray(x), _sizes_of(repetitions))


def tril(x: Any, /, *, k: int = 0) -> Any:
    """The elements on a diagonal and below."""
    if isinstance(x, np.ndarray):
        return np.tril(x, k)
    return _moves.triangle(x, lambda row, column: column - row <= k)


def triu(x: Any, /, *, k: int = 0) -> Any:
    """The elements on a diagonal and above."""
    if isinstance(x, np.ndarray):
        return np.triu(x, k)
    return _moves.triangle(x, lambda row, column: column - row >= k)


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """The elements at some coordinates of an axis, which a vector names."""
    if axis is None and x.ndim != 1:
        raise _moves.refused(f"the array has {x.ndim} axes", "say which: axis=0")
    (at,) = _expressions.axes_of(0 if axis is None else axis, x.ndim)
    places = indices.to_numpy() if isinstance(indices, Tensor) else np.asarray(indices)
    return x[(slice(None),) * at + (places,)]


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """Of each line along an axis the elements at coordinates of its own."""
    places = indices.to_numpy() if isinstance(indices, Tensor) else indices
    return np.take_along_axis(x, places, axis=axis)


def argsort(x: Any, /, *, axis: int = -1, descending: Any = False, stable: Any = True) -> Any:
    """Where the least element is along an axis, the next, and so on, or the greatest, those that are equal in
    the order in which they are: an array of NumPy's."""
    if not descending:
        return np.argsort(x, axis=axis, stable=True)
    # Backwards, those that are equal stay in their order.
    order = np.flip(np.argsort(flip(x, axis=axis), axis=axis, stable=True), axis=axis)
    return x.shape[axis] - 1 - order


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbours along an axis, so many times."""
    (at,) = _expressions.axes_of(axis, x.ndim)
    around = [part for part in (prepend, x, append) if part is not None]
    whole = concat(around, axis=at) if len(around) > 1 else x
    before = (slice(None),) * at
    if n < 0:
        raise _moves.refused(f"differences are taken {n} times", "give a number from 0")
    for _ in range(_min(n, whole.shape[at])):
        later, earlier = whole[(*before, slice(1, None))], whole[(*before, slice(-1))]
        differ = _by_kernel("not_equal") if whole.dtype == np.bool_ else _by_kernel("subtract")
        whole = differ(later, earlier)
    return whole


def nonzero(x: Any, /) -> Any:
    """The coordinates of the elements that are not 0."""
    return x.nonzero()


def zeros(shape: Any, *, dtype: Any = float64, device: Any = None) -> Tensor:
    """A tensor without entries."""
    return _filled(shape, 0, dtype, device)


def empty(shape: Any, *, dtype: Any = float64, device: Any = None) -> Tensor:
    """A tensor without entries, as ``zeros``."""
    return _filled(shape, 0, dtype, device)


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor without entries, of the shape and the type of another."""
    return _filled(x.shape, 0, dtype or x.dtype, device)


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor without entries, as ``zeros_like``."""
    return zeros_like(x, dtype=dtype, device=device)


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor without entries and of fill value 1, of the shape and the type of another."""
    return _filled(x.shape, 1, dtype or x.dtype, device)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor without entries and of this fill value, of the shape and the type of another."""
    return _filled(x.shape, fill_value, dtype or x.dtype, device)


def _filled(shape: Any, fill: Any, dtype: Any, device: Any) -> Tensor:
    _on_processor(device)
    sizes = _sizes_of(shape)
    empty = np.zeros(0, dtype=np.int64)
    kind = np.dtype(dtype).kind
    if kind in "iub" and np.asarray(fill).dtype.kind == "f" and np.isfinite(fill):
        # As NumPy does: what is behind the point is lost; what is not 0 is true.
        fill = np.trunc(fill) if kind != "b" else fill != 0
    value = _fitted(fill, dtype)[()]
    if not sizes:
        return _packed((), [], np.asarray([value]))
    return _packed(sizes, [empty] * len(sizes), np.zeros(0, dtype=value.dtype), value)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = float64,
    device: Any = None,
) -> Tensor:
    """Ones on a diagonal."""
    _on_processor(device)
    columns = n_rows if n_cols is None else n_cols
    k = _min(_max(k, -n_rows), columns)
    rows = np.arange(n_rows)
    rows = rows[(rows + k >= 0) & (rows + k < columns)]
    return _packed((n_rows, columns), [rows, rows + k], np.ones(len(rows), dtype=dtype))


def __array_namespace_info__() -> Any:
    """What the namespace can do."""
    numpy = np.__array_namespace_info__()
    return SimpleNamespace(
        capabilities=lambda: {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": None,
        },
        default_device=numpy.default_device,
        default_dtypes=numpy.default_dtypes,
        devices=numpy.devices,
        dtypes=numpy.dtypes,
    )


for _name, _function in list(globals().items()):
    if _name[0] != "_" and isfunction(_function) and _function.__module__.startswith("tamis."):
        globals()[_name] = _guarded(_function)

__all__ = [
    name
    for name in globals()
    if not name.startswith(("_", "Tamis", "Tensor"))
    and name not in ("np", "Any", "annotations", "import_module", "isfunction", "SimpleNamespace")
]
__all__.append("linalg")


def __getattr__(name: str) -> Any:
    if name == "linalg":
        return import_module("tamis._linalg_of_standard")
    # Beside the standard: xarray asks for these.
    if name == "einsum":
        return import_module("tamis._einsum").einsum
    if name == "pad":
        return import_module("tamis._arranging").pad
    if name == "transpose":
        return np.transpose
    raise AttributeError(f"module 'tamis.array_api' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
