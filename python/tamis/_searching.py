"""Where elements are, and how often: by NumPy, of the entries of tensors.

argmax(A, axis=1)   of each row the first of its greatest entries, or of its absent elements
unique_counts(A)    the values that occur, the fill value among them
unique_inverse(A)   of each element, stored or not, which of these it is: an array of NumPy's
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from . import _expressions
from ._elements import apply
from ._expressions import axes_of
from ._moves import refused
from ._native import check_memory, is_in_rows, line_counts
from ._operators import kept
from ._reductions import Groups
from ._tensor import Tensor, _of_entries, asarray

#: The most values NaN, one for each element that is not stored, beside which entries are no bound.
_MOST_NAN = 1 << 16


class Counted(NamedTuple):
    """What ``unique_counts`` gives: values in ascending order, and how often each occurs."""

    values: np.ndarray[Any, Any]
    counts: np.ndarray[Any, Any]


class Inverse(NamedTuple):
    """What ``unique_inverse`` gives: values in ascending order, and of each element which it is."""

    values: np.ndarray[Any, Any]
    inverse_indices: np.ndarray[Any, Any]


class Located(NamedTuple):
    """What ``unique_all`` gives: also where each value is first, and how often it occurs."""

    values: np.ndarray[Any, Any]
    indices: np.ndarray[Any, Any]
    inverse_indices: np.ndarray[Any, Any]
    counts: np.ndarray[Any, Any]


def unique_all(x: Any, /) -> Located:
    """The values that occur, in ascending order, where each is first in the order of rows, of each element
    which it is, and how often each occurs; each NaN by itself."""
    found = located(x, equal_nan=False)
    return Located(found.values, found.indices, found.inverse(), found.counts)


def unique_inverse(x: Any, /) -> Inverse:
    """The values that occur, in ascending order, and of each element which it is; each NaN by itself."""
    found = located(x, equal_nan=False)
    return Inverse(found.values, found.inverse())


def unique_counts(x: Any, /) -> Counted:
    """The values that occur, in ascending order, and how often; each NaN by itself."""
    return counted(x, equal_nan=False)


def unique_values(x: Any, /, *, equal_nan: bool = False) -> Any:
    """The values that occur, in ascending order; NaN once, or each by itself."""
    return np.unique(_every(asarray(x), equal_nan)[0], equal_nan=equal_nan)


def counted(x: Any, equal_nan: bool) -> Counted:
    """The values that occur, in ascending order, and how often; NaN once, or each by itself."""
    tensor = asarray(x)
    every, rest = _every(tensor, equal_nan)
    if rest >= 2**63:
        reason = f"{tensor.size} elements are more than a count reaches"
        raise refused(reason, "take parts of the tensor")
    found, counts = np.unique(every, return_counts=True, equal_nan=equal_nan)
    if rest:
        fill = np.asarray(tensor.fill_value, dtype=tensor.dtype)
        counts[(found == fill) | (found != found) & (fill != fill)] += rest
    return Counted(found, counts)


class Places(NamedTuple):
    """Values that occur, where each is first in the order of rows, and how often it occurs; which values the
    entries are at their own indices, the fill value behind them."""

    values: np.ndarray[Any, Any]
    indices: np.ndarray[Any, Any]
    counts: np.ndarray[Any, Any]
    shape: tuple[int, ...]
    places: np.ndarray[Any, Any]
    which: np.ndarray[Any, Any]

    def inverse(self) -> np.ndarray[Any, Any]:
        """Of each element, stored or not, which value it is."""
        size = math.prod(self.shape)
        check_memory("the array", 8.0 * size)
        made = np.full(size, self.which[-1] if size else 0, dtype=np.int64)
        made[self.places] = self.which[: len(self.places)]
        return made.reshape(self.shape)


def located(x: Any, equal_nan: bool) -> Places:
    """The values that occur, in ascending order, and where; NaN once, or each by itself."""
    tensor = asarray(x).canonical()
    line = tensor.reshape(-1)
    (places,), values = line.entries()
    fill = np.asarray(line.fill_value, dtype=values.dtype)
    if fill != fill and not equal_nan:
        places, values = np.arange(line.size), line.to_numpy()
    if not is_in_rows(line):
        order = np.argsort(places)
        places, values = places[order], values[order]
    absent = line.size - len(values)
    every = np.append(values, fill) if absent else values
    found, firsts, which, counts = np.unique(every, True, True, True, equal_nan=equal_nan)
    gaps = np.flatnonzero(places != np.arange(len(places)))
    first = gaps[0] if len(gaps) else len(places)
    indices = np.append(places, first)[firsts]
    if absent:
        indices[which[-1]] = min(indices[which[-1]], first)
        counts[which[-1]] += absent - 1
    return Places(found, indices, counts, tensor.shape, places, which)


def unique_lines(x: Any, axis: Any) -> tuple[Any, Any, Any, Any]:
    """The parts along an axis that differ, in the order of their first elements, then of the next; where each is
    first, of each part which it is, and how often it occurs. NaN differs from NaN."""
    tensor = asarray(x).canonical()
    (at,) = axes_of((axis,), tensor.ndim)
    fill = np.asarray(tensor.fill_value, dtype=tensor.dtype)[()]
    if fill != fill:
        raise refused("the fill value is NaN, which differs from itself", "use to_numpy() of a small tensor")
    count, others = tensor.shape[at], [k for k in range(tensor.ndim) if k != at]
    matrix = tensor.transpose((at, *others)).reshape((count, math.prod(tensor.shape[k] for k in others)))
    (own, columns), values = matrix.entries()
    apart = values != fill
    own, columns, values = own[apart], columns[apart], values[apart]
    order = np.lexsort((columns, own))
    own, columns, values = own[order], columns[order], values[order]
    # A part is a sequence of its entries, each with a number: a lesser value makes it less the earlier it is,
    # a greater one greater; the end, behind which all is the fill value, is between them.
    is_less = values < fill
    signed = np.where(is_less, columns, -columns)
    order = np.lexsort((values, signed, ~is_less))
    is_new = np.zeros(len(order), dtype=bool)
    for key in (is_less, signed, values):
        is_new[1:] |= key[order][1:] != key[order][:-1]
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(is_new)
    end = numbers[is_less].max(initial=-1) + 1
    numbers += ~is_less
    lengths = np.bincount(own, minlength=count)
    longest = max(int(lengths.max(initial=0)), 1)
    check_memory("the entries of all parts", 8.0 * count * longest)
    sequences = np.full((count, longest), end, dtype=np.int64)
    sequences[own, np.arange(len(own)) - np.repeat(np.cumsum(lengths) - lengths, lengths)] = numbers
    _, indices, inverse, counts = np.unique(sequences, True, True, True, axis=0)
    return tensor[(slice(None),) * at + (indices,)], indices, inverse.reshape(-1), counts


def _every(tensor: Any, equal_nan: bool) -> tuple[np.ndarray[Any, Any], int]:
    """The values of the entries, the fill value behind them if it occurs, and how often it occurs
    beside that. Where each NaN is a value by itself, it is there so many times."""
    _, values = tensor.entries()
    absent = tensor.size - len(values)
    fill = np.asarray(tensor.fill_value, dtype=values.dtype)
    times = 1 if absent else 0
    if fill != fill and not equal_nan:
        if absent > max(len(values), _MOST_NAN):
            reason = f"{absent} elements that are not stored are NaN, each a value by itself"
            raise refused(reason, "use numpy.unique, for which NaN is one value")
        times = absent
    return np.append(values, np.repeat(fill, times)), absent - times


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
    axes = axes_of(axis, x.ndim)
    is_sparse = isinstance(x, Tensor) and x.ndim > 0 and not x.fill_value
    if is_sparse and len(axes) == x.ndim:
        tensor = x.canonical()
        if tensor.is_compact:
            return kept(np.int64(np.count_nonzero(tensor.values)), x, axes, keepdims)
    if is_sparse and len(axes) == 1 and x.ndim > 1:
        counts = line_counts(x, axes[0])
        if counts is not None:
            rest = [n for k, n in enumerate(x.shape) if k != axes[0]]
            return kept(counts if len(rest) == 1 else counts.reshape(rest), x, axes, keepdims)
    tree = _expressions.reduction("sum", _expressions.elementwise("not_equal", x, 0), axis)
    tree.dtype = np.dtype(np.int64)
    return kept(_expressions.compute(tree), x, axis, keepdims)


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The elements along an axis in order, NaN behind all numbers: those that are not stored stay together,
    between lesser and greater ones."""
    if isinstance(x, np.ndarray):
        made = np.sort(x, axis=axis, stable=stable)
        return np.flip(made, axis=axis) if descending else made
    tensor = asarray(x).canonical()
    (at,) = axes_of(axis, tensor.ndim)
    coords, values = tensor.entries()
    fill = np.asarray(tensor.fill_value).astype(values.dtype)
    rest = [c for k, c in enumerate(coords) if k != at]
    order = np.lexsort((values, *reversed(rest)))
    values = values[order]
    coords = [c[order] for c in coords]
    others = [c for k, c in enumerate(coords) if k != at]
    shape = [n for k, n in enumerate(tensor.shape) if k != at]
    groups = Groups.of(shape, others, len(values))
    ends = np.repeat(groups.begins + groups.lengths, groups.lengths)
    places = np.arange(len(values)) - (ends - np.repeat(groups.lengths, groups.lengths))
    is_behind = (values > fill) | ((values != values) & (fill == fill))
    behind = tensor.shape[at] - (ends - np.arange(len(values)))
    places = np.where(is_behind, behind, places)
    coords[at] = tensor.shape[at] - 1 - places if descending else places
    return _of_entries(tensor.shape, coords, values, tensor.fill_value)


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
    tensor = asarray(x).canonical()
    shape = tensor.shape
    found = _beyond(tensor, numpy, better) if axis is None and not keepdims else None
    if found is not None:
        return found
    flat = tensor.reshape(-1) if axis is None else tensor
    (at,) = axes_of(0 if axis is None else axis, flat.ndim)
    rest = (*flat.shape[:at], *flat.shape[at + 1 :])
    if not flat.shape[at]:
        raise refused("no elements have no greatest, and no least", "leave out axes of size 0")
    if flat.format == "csr" and at == 0 or flat.format == "csc" and at == 1:
        # Lines along the axis are counted together, which a sort of all entries takes longer for.
        flat = flat.asformat("csc" if at == 0 else "csr")
    coords, values = flat.entries()
    others = [c for k, c in enumerate(coords) if k != at]
    groups = Groups.of(rest, [*others, coords[at]], len(values))
    entries = (groups.sorted(coords[at]), groups.sorted(values))
    result = groups.spread(_first(groups, entries, flat.fill_value, better, flat.shape[at]), 0)
    if keepdims:
        result = result.reshape([1] * len(shape) if axis is None else (*rest[:at], 1, *rest[at:]))
    return result


def _beyond(tensor: Any, numpy: Any, better: np.ufunc) -> Any:
    """Where the first of the best entries is among all elements, if those that are absent are worse,
    and entries are in the order of rows; none otherwise."""
    if not is_in_rows(tensor) or not len(tensor.values):
        return None
    at = int(numpy(tensor.values))
    best, fill = tensor.values[at], np.asarray(tensor.fill_value, dtype=tensor.dtype)[()]
    is_better = best == best and better(best, fill) == best and best != fill
    if not is_better or tensor.size >= 2**63:
        return None
    if tensor.format == "csr":
        level = tensor.levels[1]
        row = int(np.searchsorted(level["pos"], at, side="right")) - 1
        return np.int64(row * tensor.shape[1] + int(level["crd"][at]))
    coords, _ = tensor.entries()
    return np.int64(np.ravel_multi_index([int(c[at]) for c in coords], tensor.shape))


def _first(
    groups: Groups, entries: tuple[np.ndarray[Any, Any], ...], fill: Any, better: np.ufunc, size: int
) -> np.ndarray[Any, Any]:
    """In each group the first index of its greatest or least value, where indices without an entry
    have the fill value. NaN is beyond all numbers."""
    (at, values), begins, lengths = entries, groups.begins, groups.lengths
    # The first index without an entry: entries before it are at their own number.
    absent = lengths.copy()
    number = np.repeat(np.arange(len(lengths)), lengths)
    numbers = np.arange(len(at)) - np.repeat(begins, lengths)
    apart = at != numbers
    np.minimum.at(absent, number[apart], numbers[apart])
    best = better.reduceat(values, begins)
    every = np.repeat(best, lengths)
    equal = np.flatnonzero((values == every) | (every != every) & (values != values))
    _, firsts = np.unique(number[equal], return_index=True)
    first = at[equal[firsts]]
    fill = np.asarray(fill, dtype=values.dtype)
    together = better(best, fill)
    is_best = (best == together) | (best != best)
    is_tie = is_best & ((fill == together) | (fill != fill))
    return np.where((absent == size) | (is_best & ~is_tie) | (is_tie & (first < absent)), first, absent)
