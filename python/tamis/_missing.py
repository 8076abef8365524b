"""Reductions that leave out NaN, as NumPy's functions of their names do, and weighted means.

nanmax(A, axis=1)   of each row the greatest of what is a number; NaN where nothing is
nanmean(A)          the sum of what is a number, divided by how many there are
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._elements import apply
from ._expressions import axes_of
from ._moves import broadcast_to, refused
from ._operators import no_out
from ._tensor import Tensor, asarray, compact


def _is_float(x: Any) -> bool:
    return x.dtype.kind in "fc"


def without_nan(x: Any, instead: Any) -> Any:
    """The elements, those that are NaN replaced."""
    if not _is_float(x):
        return asarray(x)
    known = apply(lambda v: np.where(np.isnan(v), np.asarray(instead, v.dtype), v), x)
    return asarray(known)


def nansum(a: Any, axis: Any = None, dtype: Any = None, out: None = None, **how: Any) -> Any:
    """The sum of what is a number."""
    no_out(out)
    return without_nan(a, 0).sum(axis, dtype=dtype, **how)


def nanprod(a: Any, axis: Any = None, dtype: Any = None, out: None = None, **how: Any) -> Any:
    """The product of what is a number."""
    no_out(out)
    return without_nan(a, 1).prod(axis, dtype=dtype, **how)


def nanmax(a: Any, axis: Any = None, out: None = None, keepdims: Any = False, **how: Any) -> Any:
    """The greatest of what is a number."""
    return _extreme(a, "max", -np.inf, axis, out, keepdims, how)


def nanmin(a: Any, axis: Any = None, out: None = None, keepdims: Any = False, **how: Any) -> Any:
    """The least of what is a number."""
    return _extreme(a, "min", np.inf, axis, out, keepdims, how)


def _extreme(
    a: Any, name: str, beyond: float, axis: Any, out: Any, keepdims: Any, how: dict[str, Any]
) -> Any:
    no_out(out)
    keepdims = bool(keepdims) and keepdims is not np._NoValue
    how = {key: x for key, x in how.items() if x is not np._NoValue}
    best = getattr(without_nan(a, beyond), name)(axis, keepdims=keepdims, **how)
    if not _is_float(a) or "initial" in how:
        return best
    made = apply(lambda x, n: np.where(n == 0, np.nan, x).astype(x.dtype), best, _count(a, axis, keepdims))
    return made if np.ndim(made) else np.asarray(made)[()]


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = False
) -> Any:
    """The mean of what is a number."""
    no_out(out)
    keepdims = bool(keepdims) and keepdims is not np._NoValue
    if not _is_float(a):
        return a.mean(axis, dtype=dtype, keepdims=keepdims)
    made = np.dtype(dtype or a.dtype)
    # Floats of 16 bits are added up in 32.
    wide = np.result_type(made, np.float32)
    total = without_nan(a, 0).sum(axis, dtype=wide, keepdims=keepdims)
    mean = apply(lambda x, n: (x / n).astype(made), total, _count(a, axis, keepdims))
    return mean if np.ndim(mean) else np.asarray(mean)[()]


def nanargmax(a: Any, axis: Any = None, out: None = None, *, keepdims: Any = False) -> Any:
    """Where the first of the greatest numbers is."""
    return _place(np.argmax, -np.inf, a, axis, out, keepdims)


def nanargmin(a: Any, axis: Any = None, out: None = None, *, keepdims: Any = False) -> Any:
    """Where the first of the least numbers is."""
    return _place(np.argmin, np.inf, a, axis, out, keepdims)


def _place(search: Any, beyond: float, a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    no_out(out)
    if _is_float(a) and np.any(_count(a, axis, False) == 0):
        raise refused("all elements, if any, are NaN: none is the greatest or least", "leave these out")
    kept = bool(keepdims) and keepdims is not np._NoValue
    return search(without_nan(a, beyond), axis=axis, keepdims=kept)


def _count(a: Any, axis: Any, keepdims: bool) -> Any:
    """How many elements are numbers."""
    missing = asarray(apply(np.isnan, a))
    axes = axes_of(axis, a.ndim)
    size = math.prod(a.shape[k] for k in axes)
    if len(axes) == a.ndim:
        # All elements may be more than integers of 64 bits count.
        stored = compact(missing)
        found = int(np.count_nonzero(stored.values))
        absent = size - len(stored.values) if missing.fill_value else 0
        return float(size - found - absent)
    # Absent elements that are NaN make every group have some: the number of those is dense then.
    return size - missing.sum(axis, dtype=np.int64, keepdims=keepdims)


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    """The mean, of elements that count as much as weights say."""
    keepdims = bool(keepdims) and keepdims is not np._NoValue
    x = asarray(a)
    if weights is None:
        made = x.mean(axis, keepdims=keepdims)
        each = np.asarray(x.size / max(np.size(made), 1)).astype(made.dtype)
        return (made, np.broadcast_to(each, np.shape(made))) if returned else made
    given = weights if isinstance(weights, (Tensor, np.ndarray)) else np.asarray(weights)
    if given.shape != x.shape:
        given = _fitted(given, x, axis)
    dtype = np.result_type(x.dtype, given.dtype, np.float64 if x.dtype.kind in "iub" else x.dtype)
    total = (x * given).sum(axis, dtype=dtype, keepdims=keepdims)
    scale = _scale(given, x, axis, dtype)
    scale = scale.reshape(np.shape(total)) if scale.size > 1 else scale.reshape(())
    if np.any(scale == 0):
        raise refused("weights add up to 0", "give others, or leave them out")
    made = total / scale
    return (made, np.broadcast_to(scale, np.shape(made))) if returned else made


def _scale(weights: Any, x: Tensor, axis: Any, dtype: Any) -> Any:
    """What weights add up to along axes, of which those that they lack count as often as they are."""
    axes = axes_of(axis, x.ndim) if axis is not None else tuple(range(x.ndim))
    total = weights.sum(axes, dtype=dtype, keepdims=True)
    repeats = math.prod(x.shape[k] for k in axes if weights.shape[k] == 1)
    total = total.to_numpy() if isinstance(total, Tensor) else total
    return total * np.asarray(repeats, dtype)


def _fitted(weights: Any, x: Tensor, axis: Any) -> Any:
    """Weights of some axes, beside the others."""
    axes = axes_of(axis, x.ndim) if axis is not None else ()
    if weights.shape != tuple(x.shape[k] for k in axes):
        reason = f"weights of shape {weights.shape} for {x.shape} along {axis}"
        raise refused(reason, "give one for each element of the axis")
    order = np.argsort(axes)
    sizes = [x.shape[k] if k in axes else 1 for k in range(x.ndim)]
    return weights.transpose([int(k) for k in order]).reshape(tuple(sizes))
