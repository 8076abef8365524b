"""Tensors whose entries move to other coordinates: a few operations of NumPy per axis.

flip(A, axis=1)          (i, j) goes to (i, n - 1 - j)
broadcast_to(x, (3, 4))  (j) goes to (0, j), (1, j), (2, j)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from . import _native
from ._errors import TamisTypeError, TamisValueError
from ._expressions import axes_of
from ._native import check_memory, is_in_rows
from ._operands import sizes_of
from ._rows import entries, index_type, is_in_columns, like, of_rows
from ._select import within
from ._tensor import Tensor, _of_entries, asarray, has_many_rows, usual

Arrays = list[np.ndarray[Any, Any]]


def moved(
    x: Any,
    shape: Sequence[int],
    move: Callable[[Arrays], tuple[Arrays, Any]],
    *,
    keeps_order: bool = False,
) -> Tensor:
    """The tensor of a shape whose entries are those of ``x`` where ``move`` puts them: it gives
    coordinates, and which of the entries they are of, or none for all in their order. It keeps the
    order where along each axis greater coordinates stay greater."""
    tensor = asarray(x).canonical()
    coords, values = entries(tensor, index_type((*shape, *tensor.shape), len(tensor.values)))
    made, which = move(coords)
    values = values if which is None else values[which]
    if keeps_order:
        return like(tensor, shape, made, values)
    return _of_entries(tuple(shape), made, values, tensor.fill_value)


def _fits(entries: int, axes: int) -> None:
    """Refuses more entries than there is memory for coordinates and values of."""
    check_memory("the tensor", 8.0 * entries * (axes + 1))


def broadcast_to(x: Any, shape: Sequence[int]) -> Any:
    """The elements repeated along new axes, and along those of one element."""
    wanted = sizes_of(shape)
    if isinstance(x, np.ndarray):
        return np.broadcast_to(x, wanted)
    tensor = asarray(x)
    if tensor.shape == wanted:
        return tensor
    new = len(wanted) - tensor.ndim
    sizes = (1,) * max(new, 0) + tensor.shape
    if new < 0 or any(n not in (1, size) for n, size in zip(sizes, wanted)):
        reason = f"the shape {tensor.shape} is not broadcast to {wanted}"
        raise refused(reason, "make sizes equal, or 1")
    if not tensor.ndim and np.array_equal(tensor.values, [tensor.fill_value], equal_nan=True):
        # A tensor of no axes stores its element, whatever that is.
        nothing = np.zeros(0, dtype=np.int64)
        return _of_entries(wanted, [nothing] * len(wanted), tensor.values[:0], tensor.fill_value)
    times = math.prod(size for size, n in zip(wanted, sizes) if size != n)
    _fits(len(tensor.values) * times, len(wanted))

    def move(coords: Arrays) -> tuple[Arrays, Any]:
        which = np.arange(len(coords[0]) if coords else 1)
        zeros = np.zeros(len(which), dtype=np.int64)
        full = [zeros] * new + list(coords)
        for axis, (size, n) in enumerate(zip(wanted, sizes)):
            if size != n:
                times = len(which)
                which = np.repeat(which, size)
                full = [np.repeat(c, size) for c in full]
                full[axis] = np.tile(np.arange(size if times else 0), times)
        return full, which

    return moved(tensor, wanted, move)


def concat(parts: Sequence[Any], axis: int) -> Tensor:
    """Tensors one behind the other along an axis; their fill values are the same."""
    tensors = [asarray(x).canonical() for x in parts]
    shape = list(tensors[0].shape)
    fill = tensors[0].fill_value
    end = 0
    for part in tensors:
        others = [n for k, n in enumerate(part.shape) if k != axis]
        if others != [n for k, n in enumerate(shape) if k != axis]:
            shapes = " and ".join(str(x.shape) for x in tensors)
            raise refused(f"the shapes {shapes} do not fit along axis {axis}", "make others equal")
        if not np.array_equal(part.fill_value, fill, equal_nan=True):
            text = f"error[type-mismatch]: the parts have fill values {fill} and {part.fill_value}"
            raise TamisTypeError("type-mismatch", f"{text}\n  = help: join to_numpy() of them")
        end += part.shape[axis]
    shape[axis] = end
    made = _joined(tensors, axis)
    if made is None and all(is_in_columns(part) for part in tensors):
        # The same on the other side.
        return cast(Tensor, concat([part.T for part in tensors], 1 - axis).T)
    if made is None and len(shape) == 2 and usual(shape, sum(part.nnz for part in tensors)) == "csr":
        made = _joined([part.asformat("csr") for part in tensors], axis)
    return _entries_joined(tensors, axis, shape) if made is None else made


def _joined(tensors: Sequence[Tensor], axis: int) -> Tensor | None:
    """Tensors one behind the other by their arrays; none where these do not tell."""
    made = _native.joined(tensors, axis)
    return None if made is None else Tensor(made)


def _entries_joined(tensors: Sequence[Tensor], axis: int, shape: Sequence[int]) -> Tensor:
    """Tensors one behind the other by their entries."""
    coords, values, begin = [], [], 0
    for part in tensors:
        own, own_values = part.entries()
        own[axis] = own[axis] + begin
        begin += part.shape[axis]
        coords.append(own)
        values.append(own_values)
    joined, fill = [np.concatenate(c) for c in zip(*coords)], tensors[0].fill_value
    if axis == 0 and all(is_in_rows(part) for part in tensors):
        return of_rows(shape, joined, np.concatenate(values), fill)
    return _of_entries(tuple(shape), joined, np.concatenate(values), fill)


def flip(x: Any, axis: Any) -> Tensor:
    """The elements in reverse order along some axes, or all."""
    axes = axes_of(axis, x.ndim)
    tensor = asarray(x)
    key = tuple(slice(None, None, -1 if k in axes else None) for k in range(x.ndim))
    return tensor[key] if key else tensor


def roll(x: Any, shift: Any, axis: Any) -> Tensor:
    """The elements moved along axes, those beyond the end to the begin."""
    if axis is None:
        return roll(x.reshape(-1), shift, 0).reshape(x.shape)
    if np.ndim(shift) > 1 or np.ndim(axis) > 1 or not _fit(np.shape(shift), np.shape(axis)):
        raise refused(f"{np.size(shift)} shifts for {np.size(axis)} axes", "give one for each axis")
    steps = [(*axes_of(int(k), x.ndim), int(n)) for n, k in np.broadcast(shift, axis)]
    made = asarray(x)
    for at, by in steps:
        before, size = (slice(None),) * at, x.shape[at]
        if size and by % size:
            # Both parts have their order, and are joined in it.
            parts = [slice(size - by % size, None), slice(size - by % size)]
            made = concat([made[(*before, part)] for part in parts], at)
    return made


def _fit(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return one == other or math.prod(one) == 1 or math.prod(other) == 1


def repeat(x: Any, repeats: Any, axis: int | None) -> Tensor:
    """Each element so many times, one behind the other."""
    if axis is None:
        return repeat(x.reshape(-1), repeats, 0)
    (at,) = axes_of(axis, x.ndim)
    counts = np.asarray(repeats.to_numpy() if isinstance(repeats, Tensor) else repeats)
    if counts.dtype.kind not in "iu" or counts.ndim > 1 or counts.size and counts.min() < 0:
        raise refused("elements are repeated other than a number of times", "give numbers from 0")
    if counts.ndim and counts.shape not in ((1,), (x.shape[at],)):
        raise refused(f"{counts.size} repeats for {x.shape[at]} elements", "give one, or one each")
    counts = counts.astype(np.int64)
    alike = int(counts.reshape(-1)[0]) if counts.size == 1 else None
    begins = np.cumsum(counts) - counts
    if alike is not None:
        _fits(len(x.values) * alike, x.ndim)
    if not has_many_rows(x.shape[at], len(x.values)):
        key = np.repeat(np.arange(x.shape[at]), counts)
        made: Tensor = asarray(x)[(slice(None),) * at + (key,)]
        return made

    def move(coords: Arrays) -> tuple[Arrays, Any]:
        own = coords[at]
        times = counts[own] if alike is None else np.full(len(own), alike)
        which = np.repeat(np.arange(len(times)), times)
        made = [c[which] for c in coords]
        made[at] = (begins[made[at]] if alike is None else made[at] * alike) + within(times)
        return made, which

    size = int(counts.sum()) if alike is None else alike * x.shape[at]
    return moved(x, (*x.shape[:at], size, *x.shape[at + 1 :]), move)


def tile(x: Any, repetitions: Sequence[int]) -> Tensor:
    """The tensor so many times along each axis, the last for the last."""
    if any(n < 0 for n in repetitions):
        raise refused("a tensor is repeated less than 0 times", "give numbers from 0")
    times = (1,) * (x.ndim - len(repetitions)) + tuple(repetitions)
    sizes = (1,) * (len(times) - x.ndim) + tuple(x.shape)
    tensor = x.reshape(sizes)
    _fits(len(tensor.values) * math.prod(times), len(times))

    def move(coords: Arrays) -> tuple[Arrays, Any]:
        which = np.arange(len(coords[0]) if coords else 1)
        made = list(coords)
        for axis, n in enumerate(times):
            count = len(which)
            which = np.tile(which, n)
            made = [np.tile(c, n) for c in made]
            made[axis] = made[axis] + np.repeat(np.arange(n) * sizes[axis], count)
        return made, which

    return moved(tensor, [n * size for n, size in zip(times, sizes)], move)


def pad(x: Any, widths: Sequence[Sequence[int]]) -> Tensor:
    """The elements with so many absent ones before and behind them along each axis."""
    if any(width < 0 for pair in widths for width in pair):
        raise refused("a width of padding is negative", "take a slice instead")
    shape = [before + size + behind for size, (before, behind) in zip(x.shape, widths)]

    def move(coords: Arrays) -> tuple[Arrays, Any]:
        return [c + before for c, (before, _) in zip(coords, widths)], None

    return moved(x, shape, move, keeps_order=True)


def diagonal(x: Any, offset: int, axis1: int, axis2: int) -> Tensor:
    """The elements whose coordinate of one axis is by ``offset`` beyond that of another, along a
    last axis instead of both."""
    rows, columns = axes_of((axis1, axis2), x.ndim)
    if x.ndim == 2:
        bound = max(x.shape)
        shift = max(-bound, min(offset, bound))
        made = asarray(x).of_diagonal(-shift if rows else shift)
        if made is not None:
            return Tensor(made)
        if rows == 0 and asarray(x).format in ("coo", "coo(nonordered,nonunique)"):
            return _of_listed_diagonal(asarray(x), shift)
    length = max(min(x.shape[rows] + min(offset, 0), x.shape[columns] - max(offset, 0)), 0)
    rest = [k for k in range(x.ndim) if k not in (rows, columns)]

    def move(coords: Arrays) -> tuple[Arrays, Any]:
        on = np.flatnonzero(coords[columns] - coords[rows] == offset)
        places = np.minimum(coords[rows], coords[columns])[on]
        return [*(coords[k][on] for k in rest), places], on

    return moved(x, [*(x.shape[k] for k in rest), length], move)


def _of_listed_diagonal(x: Tensor, offset: int) -> Tensor:
    """The elements of a diagonal of a list of coordinates, of which no other element is sorted."""
    rows, columns = (level["crd"] for level in x.levels)
    on = np.flatnonzero(columns - rows == offset)
    length = max(min(x.shape[0] + min(offset, 0), x.shape[1] - max(offset, 0)), 0)
    places = np.minimum(rows[on], columns[on])
    return _of_entries((length,), [places], x.values[on], x.fill_value)


def triangle(x: Any, keeps: Callable[[Any, Any], Any]) -> Tensor:
    """The elements of matrices whose row and column ``keeps``; all others are 0."""
    tensor = asarray(x).canonical()
    if tensor.ndim < 2:
        raise refused(f"a tensor of {tensor.ndim} axes has no triangle", "give it two axes")
    if tensor.fill_value != 0:
        text = f"error[type-mismatch]: the fill value is {tensor.fill_value}, not 0"
        raise TamisTypeError("type-mismatch", f"{text}\n  = help: use to_numpy()")

    def move(coords: Arrays) -> tuple[Arrays, Any]:
        kept = np.flatnonzero(keeps(coords[-2], coords[-1]))
        return [c[kept] for c in coords], kept

    return moved(tensor, tensor.shape, move, keeps_order=True)


def refused(reason: str, way_out: str) -> TamisValueError:
    """The refusal of shapes that do not fit."""
    text = f"error[dimension-mismatch]: {reason}\n  = help: {way_out}"
    return TamisValueError("dimension-mismatch", text)
