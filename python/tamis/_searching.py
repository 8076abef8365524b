"""Where elements are, how often, and how they spread: by NumPy, of the entries of tensors.

argmax(A, axis=1)   of each row the first of its greatest entries, or of its absent elements
unique_counts(A)    the values that occur, the fill value among them
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from . import _expressions
from ._elements import apply
from ._expressions import axes_of
from ._moves import refused
from ._operators import kept
from ._select import ordered
from ._tensor import Tensor, _of_entries, asarray, canonical


class Counted(NamedTuple):
    """What ``unique_counts`` gives: values in ascending order, and how often each occurs."""

    values: np.ndarray[Any, Any]
    counts: np.ndarray[Any, Any]


def unique_counts(x: Any, /) -> Counted:
    """The values that occur, in ascending order, and how often; each NaN by itself."""
    tensor = canonical(asarray(x))
    _, values = tensor.entries()
    found, counts = np.unique(values, return_counts=True, equal_nan=False)
    absent = tensor.size - len(values)
    if not absent:
        return Counted(found, counts)
    if absent >= 2**63:
        reason = f"{absent} elements are more than a count reaches"
        raise refused(reason, "take parts of the tensor")
    fill = np.asarray(tensor.fill_value, dtype=values.dtype)[()]
    at = np.flatnonzero(found == fill)
    if len(at):
        counts[at] += absent
        return Counted(found, counts)
    # Absent elements that are NaN are one each, like all others.
    times = absent if fill != fill else 1
    place = int(np.searchsorted(found, fill))
    found = np.insert(found, place, np.repeat(fill, times))
    return Counted(found, np.insert(counts, place, np.repeat(absent // times, times)))


def unique_values(x: Any, /) -> Any:
    """The values that occur, in ascending order; each NaN by itself."""
    tensor = canonical(asarray(x))
    _, values = tensor.entries()
    if tensor.size > len(values) and tensor.fill_value == tensor.fill_value:
        return np.unique(np.append(values, np.asarray(tensor.fill_value, dtype=values.dtype)))
    return unique_counts(tensor).values


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    """Which elements of ``x1`` are among those of ``x2``."""
    among = np.atleast_1d(x2) if _is_plain(x2) else unique_values(x2)
    return apply(lambda values: np.isin(values, among, invert=invert), x1)


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """Where elements of ``x2`` belong in the vector ``x1``, which ascends."""
    known: Any = x1 if _is_plain(x1) else asarray(x1).to_numpy()
    options: Any = {"side": side, "sorter": sorter}
    return apply(lambda values: np.searchsorted(known, values, **options), x2)


def _is_plain(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex, np.ndarray, np.generic))


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """How many elements are not 0, over some axes, or over all."""
    tree = _expressions.reduction("sum", _expressions.elementwise("not_equal", x, 0), axis)
    tree.dtype = np.dtype(np.int64)
    return kept(_expressions.compute(tree), x, axis, keepdims)


def reduced(x: Any, name: str) -> Any:
    """``sum min max any all`` of all elements of a tensor, of its values and its fill value; nothing
    where that does not tell."""
    tensor = canonical(x)
    if name not in _WHOLE or not tensor.is_compact:
        return None
    values, fill = tensor.values, np.asarray(tensor.fill_value, dtype=tensor.dtype)[()]
    is_whole = len(values) == tensor.size
    if name == "sum":
        return values.sum() if is_whole or fill == 0 else None
    if not len(values):
        return fill if tensor.size and name in ("min", "max") else None
    with np.errstate(all="ignore"):
        made = getattr(values, name)()
        return made if is_whole else _WHOLE[name](made, fill)


#: What joins the result of values and a fill value, by the names of reductions.
_WHOLE: dict[str, Any] = {
    "sum": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "any": np.logical_or,
    "all": np.logical_and,
}


def extreme(x: Any, name: str, axes: tuple[int, ...]) -> Any:
    """The least or the greatest elements over some axes, as NumPy orders complex numbers."""
    if isinstance(x, np.ndarray):
        return getattr(x, name)(axis=axes)
    tensor, better = canonical(asarray(x)), _WHOLE[name]
    coords, values = tensor.entries()
    rest = [k for k in range(tensor.ndim) if k not in axes]
    shape = [tensor.shape[k] for k in rest]
    groups = np.zeros(len(values), dtype=np.int64)
    if rest:
        groups = np.ravel_multi_index([coords[k] for k in rest], shape)
    order = np.argsort(groups, kind="stable")
    groups, values = groups[order], values[order]
    result = np.full(math.prod(shape), tensor.fill_value, dtype=values.dtype)
    begins = np.flatnonzero(np.append(True, groups[1:] != groups[:-1])[: len(groups)])
    if len(begins):
        best, places = better.reduceat(values, begins), groups[begins]
        is_whole = np.diff(begins, append=len(groups)) == tensor.size // math.prod(shape)
        result[places] = np.where(is_whole, best, better(best, result[places]))
    return result.reshape(shape)[()]


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Where the first of the greatest elements is, along an axis, or among all in the order of
    rows. NaN is greater than any number."""
    return _extreme(x, axis, keepdims, np.argmax, np.maximum)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Where the first of the least elements is, along an axis, or among all in the order of rows.
    NaN is less than any number."""
    return _extreme(x, axis, keepdims, np.argmin, np.minimum)


def _extreme(x: Any, axis: int | None, keepdims: bool, numpy: Any, better: np.ufunc) -> Any:
    if isinstance(x, np.ndarray):
        return numpy(x, axis=axis, keepdims=keepdims)
    tensor = canonical(asarray(x))
    shape = tensor.shape
    flat = tensor.reshape(-1) if axis is None else tensor
    (at,) = axes_of(0 if axis is None else axis, flat.ndim)
    rest = (*flat.shape[:at], *flat.shape[at + 1 :])
    if not flat.shape[at]:
        raise refused("no elements have no greatest, and no least", "leave out axes of size 0")
    coords, values = flat.entries()
    others = [c for k, c in enumerate(coords) if k != at]
    groups = np.ravel_multi_index(tuple(others), rest) if others else np.zeros_like(coords[0])
    entries = (groups, coords[at], values)
    found = _first(entries, flat.fill_value, better, math.prod(rest), flat.shape[at])
    result = found.reshape(rest)[()]
    if keepdims:
        result = result.reshape([1] * len(shape) if axis is None else (*rest[:at], 1, *rest[at:]))
    return result


def _first(
    entries: tuple[np.ndarray[Any, Any], ...], fill: Any, better: np.ufunc, count: int, size: int
) -> np.ndarray[Any, Any]:
    """In each group the first place of its greatest or least value, where places without an entry
    have the fill value. NaN is beyond all numbers."""
    groups, at, values = entries
    order = ordered([groups, at])
    if order is not None:
        groups, at, values = groups[order], at[order], values[order]
    lengths = np.bincount(groups, minlength=count)
    begins = np.cumsum(lengths) - lengths
    # The first place that is absent: entries before it are at their own number.
    absent = lengths.copy()
    numbers = np.arange(len(at)) - np.repeat(begins, lengths)
    apart = at != numbers
    np.minimum.at(absent, groups[apart], numbers[apart])
    some = np.flatnonzero(lengths)
    if not len(some):
        return absent
    best = better.reduceat(values, begins[some])
    every = np.repeat(best, lengths[some])
    equal = np.flatnonzero((values == every) | (every != every) & (values != values))
    _, firsts = np.unique(groups[equal], return_index=True)
    first = at[equal[firsts]]
    fill = np.asarray(fill, dtype=values.dtype)
    together = better(best, fill)
    is_best = (best == together) | (best != best)
    is_tie = is_best & ((fill == together) | (fill != fill))
    wins = (absent[some] == size) | (is_best & ~is_tie) | (is_tie & (first < absent[some]))
    place = absent.copy()
    place[some[wins]] = first[wins]
    return place


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The mean square of the distance from the mean, over some axes, or over all; ``correction``
    is what is taken off the number of elements that the sum is divided by."""
    if isinstance(x, np.ndarray):
        return np.var(x, axis=axis, ddof=correction, keepdims=keepdims)
    tensor = canonical(asarray(x))
    axes = axes_of(axis, tensor.ndim)
    number = math.prod(tensor.shape[k] for k in axes)
    if not number:
        raise refused("no elements have no mean", "leave out axes of size 0")
    mean = tensor.mean(axes, keepdims=True)
    mean = mean.to_numpy() if isinstance(mean, Tensor) else np.asarray(mean)
    coords, values = tensor.entries()
    own = mean[tuple(0 if k in axes else c for k, c in enumerate(coords))]
    squares = _of_entries(tensor.shape, coords, np.abs(values - own) ** 2)
    ones = _of_entries(tensor.shape, coords, np.ones(len(values)))
    total, absent = _sum(squares, axes), number - _sum(ones, axes)
    dtype = np.abs(mean).dtype
    with np.errstate(all="ignore"):
        # Of a fill value without a finite value 0 times is none.
        total = total + np.where(absent, absent * np.abs(tensor.fill_value - mean) ** 2, 0)
        result = (total / np.maximum(number - correction, 0.0)).astype(dtype)
    if keepdims:
        return result
    return result.reshape([n for k, n in enumerate(tensor.shape) if k not in axes])[()]


def _sum(x: Tensor, axes: tuple[int, ...]) -> np.ndarray[Any, Any]:
    total = x.sum(axes, keepdims=True)
    return total.to_numpy() if isinstance(total, Tensor) else np.asarray(total)


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The square root of ``var``."""
    return np.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))
