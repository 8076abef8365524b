"""What keys of numbers, slices and one array select of a tensor's entries."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ._errors import TamisIndexError

if TYPE_CHECKING:
    from ._tensor import Tensor

Entries = tuple[list[np.ndarray[Any, Any]], np.ndarray[Any, Any]]


def picks(tensor: Tensor, key: tuple[Any, ...]) -> tuple[list[Any], tuple[int, ...]]:
    """Per axis the coordinates that a key selects, none for all; and the shape of the result."""
    dots = [k for k, part in enumerate(key) if part is Ellipsis]
    taken = sum(part is not None and part is not Ellipsis for part in key)
    if len(dots) > 1 or taken > tensor.ndim:
        reason = f"the key has {taken} parts for {tensor.ndim} axes"
        raise _refused("order-mismatch", reason, "give one for each axis at most")
    arrays = sum(isinstance(part, (list, np.ndarray)) and np.ndim(part) > 0 for part in key)
    if arrays > 1:
        raise _refused("order-mismatch", "the key has several arrays", "index once for each")
    at = dots[0] if dots else len(key)
    parts = (*key[:at], *(slice(None),) * (tensor.ndim - taken), *key[at + 1 :])
    chosen: list[Any] = []
    shape: list[int] = []
    for part in parts:
        if part is None:
            shape.append(1)
            continue
        size = tensor.shape[len(chosen)]
        pick = _pick(part, size, len(chosen))
        if pick is None:
            shape.append(size)
        elif np.ndim(pick):
            shape.append(len(pick))
        chosen.append(pick)
    return chosen, tuple(shape)


def entries(tensor: Tensor, chosen: list[Any]) -> Entries:
    """The entries of what is selected, with an axis for each pick that is no number."""
    first = chosen[0] if chosen else None
    if first is not None and tensor.format == "csr":
        coords, values = _of_rows(tensor, np.atleast_1d(first))
        chosen = [None, *chosen[1:]] if np.ndim(first) else chosen
        if not np.ndim(first):
            coords[0] = np.full(len(values), first)
    else:
        coords, values = tensor.entries()
    kept = []
    for axis, pick in enumerate(chosen):
        if pick is None:
            kept.append(axis)
            continue
        wanted = np.atleast_1d(pick)
        order = np.argsort(wanted, kind="stable")
        low = np.searchsorted(wanted, coords[axis], side="left", sorter=order)
        high = np.searchsorted(wanted, coords[axis], side="right", sorter=order)
        times = high - low
        coords = [np.repeat(c, times) for c in coords]
        coords[axis] = order[np.repeat(low, times) + within(times)]
        values = np.repeat(values, times)
        if np.ndim(pick):
            kept.append(axis)
    return [coords[axis] for axis in kept], values


def _of_rows(tensor: Tensor, rows: np.ndarray[Any, Any]) -> Entries:
    """The entries of some rows, which are counted anew."""
    tensor.validate()
    level = tensor.levels[1]
    begin, end = level["pos"][rows].astype(np.int64), level["pos"][rows + 1]
    times = end - begin
    places = np.repeat(begin, times) + within(times)
    row = np.repeat(np.arange(len(rows)), times)
    return [row, level["crd"][places].astype(np.int64)], tensor.values[places]


def within(times: np.ndarray[Any, Any]) -> Any:
    """0, 1, .. for each of what is repeated so many times."""
    ends = np.cumsum(times)
    count = int(ends[-1]) if len(ends) else 0
    return np.arange(count) - np.repeat(ends - times, times).astype(np.int64)


def _pick(part: Any, size: int, axis: int) -> Any:
    """The coordinates that a part of a key selects: an array, a number, or none for all."""
    if isinstance(part, slice):
        chosen = range(*part.indices(size))
        return None if chosen == range(size) else np.arange(chosen.start, chosen.stop, chosen.step)
    if isinstance(part, (list, np.ndarray)) and np.ndim(part):
        array = np.asarray(part)
        if array.dtype == bool and array.shape == (size,):
            return np.flatnonzero(array)
        if array.ndim != 1 or array.size and array.dtype.kind not in "iu":
            reason = f"the key of axis {axis} is {array.dtype} of shape {array.shape}"
            way_out = "use integers, or as many truth values as the axis has elements"
            raise _refused("type-mismatch", reason, way_out)
        found = array.astype(np.int64)
        found = np.where(found < 0, found + size, found)
        if found.size and not (0 <= found.min() and found.max() < size):
            raise _outside(part, axis, size)
        return found
    try:
        index = operator.index(cast(Any, part))
    except TypeError:
        way_out = "use integers, slices, ..., None, or an array"
        raise _refused("type-mismatch", f"{part!r} is no part of a key", way_out) from None
    if not -size <= index < size:
        raise _outside(part, axis, size)
    return np.int64(index + size if index < 0 else index)


def _outside(part: Any, axis: int, size: int) -> TamisIndexError:
    reason = f"{part} is outside of axis {axis}, which has {size} elements"
    return _refused("dimension-mismatch", reason, "count from 0, or backwards from -1")


def _refused(code: str, reason: str, way_out: str) -> TamisIndexError:
    return TamisIndexError(code, f"error[{code}]: {reason}\n  = help: {way_out}")
