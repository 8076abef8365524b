"""Reductions that no kernel does: over all elements at once, in NumPy's order of complex numbers,
of rows by far more than there are entries, and variances.

max(A, axis=1)   the entries by row, each group with the fill value unless it has every element
var(A, axis=1)   of each group the squares of the distances from its mean
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ._expressions import axes_of
from ._moves import refused
from ._native import check_memory
from ._select import ordered
from ._tensor import Tensor, _of_entries, asarray, compact, has_many_rows

#: What joins two results of a reduction.
_JOINED: dict[str, np.ufunc] = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "any": np.logical_or,
    "all": np.logical_and,
}


class Groups(NamedTuple):
    """The entries of a tensor by their coordinates along some axes."""

    #: The sizes of these axes.
    shape: tuple[int, ...]
    #: The coordinates of the groups that have entries.
    coords: list[np.ndarray[Any, Any]]
    #: The order in which entries of one group follow each other; none if they do.
    order: np.ndarray[Any, Any] | None
    #: Where groups begin in this order, and how many entries they have.
    begins: np.ndarray[Any, Any]
    lengths: np.ndarray[Any, Any]

    @classmethod
    def of(
        cls, shape: Sequence[int], coords: Sequence[np.ndarray[Any, Any]], count: int
    ) -> Groups:
        """The groups of so many entries with coordinates along axes of these sizes. More arrays of
        coordinates order the entries of a group."""
        axes = len(shape)
        order = ordered(coords)
        own = [c if order is None else c[order] for c in coords[:axes]]
        is_first = np.zeros(count, dtype=bool)
        is_first[:1] = True
        for key in own:
            is_first[1:] |= key[1:] != key[:-1]
        begins = np.flatnonzero(is_first)
        lengths = np.diff(begins, append=count)
        return cls(tuple(shape), [c[begins] for c in own], order, begins, lengths)

    def sorted(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Something of each entry, in the order of the groups."""
        return x if self.order is None else x[self.order]

    def spread(self, values: np.ndarray[Any, Any], absent: Any) -> Any:
        """The array of a value for each group, and of another for those without entries. It is a
        tensor where these are by far more."""
        absent = np.asarray(absent).astype(values.dtype)[()]
        if has_many_rows(math.prod(self.shape), len(values)):
            return _of_entries(self.shape, self.coords, values, absent)
        made = np.full(self.shape, absent, dtype=values.dtype)
        if len(values):
            made[tuple(self.coords)] = values if self.shape else values[0]
        return made[()]


def whole(x: Tensor, name: str) -> Any:
    """``sum min max any all`` of all elements of a tensor, of its values and its fill value; nothing
    where that does not tell."""
    tensor = x.canonical()
    if name not in _JOINED or name == "prod" or not tensor.is_compact:
        return None
    values, fill = tensor.values, np.asarray(tensor.fill_value, dtype=tensor.dtype)[()]
    is_whole = len(values) == tensor.size
    if name == "sum":
        return values.sum() if is_whole or fill == 0 else None
    if not len(values):
        return fill if tensor.size and name in ("min", "max") else None
    with np.errstate(all="ignore"):
        made = getattr(values, name)()
        return made if is_whole else _JOINED[name](made, fill)


def by_groups(x: Any, name: str, axes: tuple[int, ...]) -> Any:
    """``prod min max any all`` over some axes, of complex numbers in NumPy's order."""
    if isinstance(x, np.ndarray):
        return getattr(x, name)(axis=axes)
    tensor, join = asarray(x), _JOINED[name]
    coords, values = tensor.entries()
    if name == "prod" and values.dtype.kind in "iub":
        values = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64)
    if name in ("any", "all"):
        values = values.astype(bool)
    groups, size = _groups(tensor, coords, axes, len(values))
    fill = np.asarray(tensor.fill_value).astype(values.dtype)[()]
    with np.errstate(all="ignore"):
        best = join.reduceat(groups.sorted(values), groups.begins)
        absent, others = fill, fill
        if name == "prod" and fill not in (0, 1):
            others, absent = fill ** (size - groups.lengths), fill**size
        best = np.where(groups.lengths == size, best, join(best, others))
    return groups.spread(best, absent)


def _groups(
    tensor: Tensor, coords: Sequence[np.ndarray[Any, Any]], axes: tuple[int, ...], count: int
) -> tuple[Groups, int]:
    """The entries by their coordinates along other axes, and how many elements a group has."""
    rest = [k for k in range(tensor.ndim) if k not in axes]
    shape = [tensor.shape[k] for k in rest]
    size = math.prod(tensor.shape[k] for k in axes)
    return Groups.of(shape, [coords[k] for k in rest], count), size


def var(
    x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False, dtype: Any = None
) -> Any:
    """The mean square of the distance from the mean, over some axes, or over all; ``correction``
    is what is taken off the number of elements that the sum is divided by. It is computed in floats
    of 64 bits, whatever its type is."""
    if isinstance(x, np.ndarray):
        return np.var(x, axis=axis, ddof=correction, keepdims=keepdims, dtype=dtype)
    tensor = asarray(x)
    axes = axes_of(axis, tensor.ndim)
    size = math.prod(tensor.shape[k] for k in axes)
    made = np.dtype(dtype) if dtype is not None else _type_of_spread(tensor.dtype)
    kept_shape = [1 if k in axes else n for k, n in enumerate(tensor.shape)]
    if not size:
        if made.kind in "iu":
            raise refused("no elements have no mean", "leave out axes of size 0")
        rest = [n for k, n in enumerate(tensor.shape) if k not in axes]
        check_memory("the variance", 16.0 * math.prod(rest))
        return np.full(kept_shape if keepdims else rest, np.nan, dtype=made)[()]
    by_sums = _var_by_sums(tensor, axes, size) if made.kind not in "iu" else None
    if by_sums is not None:
        with np.errstate(all="ignore"):
            found = (by_sums * (size / np.float64(max(size - correction, 0)))).astype(made)
        return found.reshape(kept_shape) if keepdims else found
    if len(axes) == tensor.ndim:
        # One group, whose mean all elements have.
        stored = compact(tensor).values
        own: Any = ...
        spread: Any = _only
        lengths = np.array([len(stored)])
    else:
        coords, stored = tensor.entries()
        own, lengths, spread = _numbered(tensor, coords, axes, len(stored))
    # In a type of integers NumPy cuts off what it adds up.
    cut: Any = np.trunc if made.kind in "iu" else np.positive
    wide = np.dtype(np.complex128 if tensor.dtype.kind == "c" else np.float64)
    values, fill = stored.astype(wide), wide.type(tensor.fill_value)
    absent, divisor = float(size) - lengths, np.float64(max(size - correction, 0))

    def total(x: Any, others: Any) -> Any:
        # Of a fill value without a finite value 0 times is none.
        return _sums(own, x, len(lengths)) + np.where(absent, absent * others, 0)

    with np.errstate(all="ignore"):
        mean = cut(total(values, fill) / size)
        apart, others = values - mean[own], fill - mean
        squares = total(cut(np.abs(apart) ** 2), cut(np.abs(others) ** 2))
        if made.kind not in "iu":
            # The mean was rounded, by what distances from it add up to.
            rounded = np.abs(total(apart, others)) ** 2 / size
            squares = np.maximum(squares - np.where(np.isfinite(rounded), rounded, 0), 0)
        alone = size * cut(np.abs(fill - cut(fill)) ** 2) / divisor
        result = spread((squares / divisor).astype(made), alone)
    if not keepdims:
        return result
    return np.reshape(result, kept_shape)


def _var_by_sums(tensor: Tensor, axes: tuple[int, ...], size: int) -> Any:
    """The mean square less the square of the mean, by kernels; none where they might be nearly the same.
    They are not where half of each group is absent: what differs from the absent elements is spread."""
    rows = math.prod(n for k, n in enumerate(tensor.shape) if k not in axes)
    if len(axes) == tensor.ndim or has_many_rows(rows, len(tensor.values)):
        return None
    stored = compact(tensor)
    wide = np.complex128 if stored.dtype.kind == "c" else np.float64
    fill = wide(stored.fill_value)
    if not np.isfinite(fill):
        return None
    with np.errstate(all="ignore"):
        known = stored.values
        apart = known.astype(wide, copy=False)
        apart = apart - fill if fill else apart
        squares = (apart * apart.conj()).real if wide is np.complex128 else apart * apart

        def total(values: Any) -> Any:
            return (stored if values is known else stored._with_values(values, 0)).sum(axis=axes)

        counts = total(np.ones(len(apart), dtype=bool))
        if not isinstance(counts, np.ndarray) or (2 * counts > size).any():
            return None
        found = np.maximum(total(squares) / size - np.abs(total(apart) / size) ** 2, 0)
        # Squares may leave what floats hold where the spread is another.
        return found if np.isfinite(found).all() else None


def _only(x: Any, absent: Any) -> Any:
    """The value of the only group."""
    return x[0]


def _numbered(
    tensor: Tensor, coords: Sequence[np.ndarray[Any, Any]], axes: tuple[int, ...], count: int
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], Any]:
    """The number of each entry's group, the entries of each group, and what makes the result of a
    value for each. Groups without entries have numbers, unless they are by far too many."""
    rest = [k for k in range(tensor.ndim) if k not in axes]
    shape = tuple(tensor.shape[k] for k in rest)
    rows = math.prod(shape)
    if not has_many_rows(rows, count):
        own = np.zeros(count, dtype=np.int64)
        if count and rest:
            own = np.ravel_multi_index(tuple(coords[k] for k in rest), shape)
        return own, np.bincount(own, minlength=rows), lambda x, _: x.reshape(shape)[()]
    groups = Groups.of(shape, [coords[k] for k in rest], count)
    own = np.repeat(np.arange(len(groups.lengths)), groups.lengths)
    if groups.order is not None:
        own[groups.order] = own.copy()
    return own, groups.lengths, groups.spread


def _sums(own: Any, x: np.ndarray[Any, Any], count: int) -> Any:
    """The sums of numbers by group."""
    if count == 1:
        return x.sum(keepdims=True)
    if x.dtype.kind == "c":
        return _sums(own, x.real, count) + 1j * _sums(own, x.imag, count)
    return np.bincount(own, weights=x, minlength=count)


def _type_of_spread(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of the variance of elements of a type."""
    if dtype.kind in "iub":
        return np.dtype(np.float64)
    return np.zeros(0, dtype=dtype).real.dtype


def std(
    x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False, dtype: Any = None
) -> Any:
    """The square root of ``var``."""
    made = var(x, axis=axis, correction=correction, keepdims=keepdims, dtype=dtype)
    return np.sqrt(made)
