"""Tensors whose entries are in the order of rows, or of columns: made by a pass over coordinates, where any
other order is sorted.

of_rows((2, 3), [[0, 1], [2, 0]], values)   csr: pos 0 1 2, crd 2 0
reshaped(A, (3, 2))                         element 2 of all is (1, 0) now; the order stays
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _native
from ._operands import number_text, type_name
from ._tensor import Tensor, _of_entries, usual

Array = np.ndarray[Any, Any]


def of_rows(shape: Sequence[int], coords: Sequence[Array], values: Array, fill: Any = 0) -> Tensor:
    """The tensor of entries in the order of rows, each once, in arrays that nobody else has."""
    if not shape:
        return _of_entries((), coords, values, fill)
    format, width = usual(shape, len(values)), index_type(shape, len(values))
    if format == "csr":
        pos = np.zeros(shape[0] + 1, dtype=width)
        np.cumsum(np.bincount(coords[0], minlength=shape[0]), dtype=width, out=pos[1:])
        levels: list[dict[str, Any]] = [{}, {"pos": pos, "crd": coords[1].astype(width)}]
    else:
        levels = _compressed(coords, len(values), width)
    storage = f"{format}{{{type_name(values.dtype)}, fill: {number_text(fill)}}}"
    return Tensor(_native.Tensor.of_arrays(shape, storage, levels, values, True))


def index_type(shape: Sequence[int], entries: int) -> Any:
    """The type of positions and coordinates of so many entries."""
    return np.int32 if max((*shape, entries)) <= np.iinfo(np.int32).max else np.int64


def _compressed(coords: Sequence[Array], count: int, width: Any) -> list[dict[str, Any]]:
    """The levels of entries in the order of rows, each of which lists its coordinates."""
    levels = []
    is_first = np.zeros(count, dtype=bool)
    is_first[:1] = True
    # The first entry of each position of the level above.
    above = np.zeros(1, dtype=np.int64)
    for k, axis in enumerate(coords):
        if k == len(coords) - 1:
            pos, crd = above, axis
        else:
            is_first[1:] |= axis[1:] != axis[:-1]
            firsts = np.flatnonzero(is_first)
            pos, crd, above = np.searchsorted(firsts, above), axis[firsts], firsts
        ends = np.append(pos, len(crd))
        levels.append({"pos": ends.astype(width), "crd": crd.astype(width)})
    return levels


def like(tensor: Tensor, shape: Sequence[int], coords: Sequence[Array], values: Array) -> Tensor:
    """The tensor of entries in the order in which those of another are stored: in rows, or in columns where
    these are; in arrays that nobody else has."""
    if len(shape) == 2 and is_in_columns(tensor):
        made: Tensor = of_rows(shape[::-1], coords[::-1], values, tensor.fill_value).T
        return made
    if _native.is_in_rows(tensor):
        return of_rows(shape, coords, values, tensor.fill_value)
    return _of_entries(tuple(shape), coords, values, tensor.fill_value)


def entries(tensor: Tensor, width: Any = np.int64) -> tuple[list[Array], Array]:
    """The coordinates of a tensor's entries, each once, as an array of integers for each axis, and their
    values; of compressed rows or columns they are the tensor's own arrays where these have the type."""
    if tensor.format not in ("csr", "csc") or tensor.is_borrowed:
        coords, values = tensor.entries()
        return [c.astype(width, copy=False) for c in coords], values
    level = tensor.levels[1]
    pos = level["pos"]
    coords = [_native.lines(pos, width == np.int64), level["crd"].astype(width, copy=False)]
    return coords if tensor.format == "csr" else coords[::-1], tensor.values


def is_in_columns(tensor: Tensor) -> bool:
    """Whether it is a matrix whose entries are in the order of columns, each once."""
    return tensor.ndim == 2 and _native.outer_axis(tensor) == 1 and _native.is_in_rows(tensor.T)


def reshaped(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """The elements of a tensor in the order of rows in axes of other sizes."""
    if len(shape) == 2 and usual(shape, len(tensor.values)) == "csr":
        matrix = _native.in_rows(tensor, *shape)
        if matrix is not None:
            return Tensor(matrix)
    coords, values = entries(tensor, index_type(tensor.shape, len(tensor.values)))
    places = coords[0].astype(np.int64)
    for axis, size in zip(coords[1:], tensor.shape[1:]):
        # In place, since new arrays take longer than numbers.
        places *= size
        places += axis
    made = []
    for size in shape[:0:-1]:
        above = places // size
        own = above * size
        made.append(np.subtract(places, own, out=own))
        places = above
    return of_rows(shape, [places, *made[::-1]], values, tensor.fill_value)


def regrouped(tensor: Tensor, shape: Sequence[int]) -> Tensor | None:
    """The elements of a tensor in the order of rows, where neighbouring axes become one, and one several; none
    where those that become others have too many elements to be numbered."""
    coords, values = entries(tensor)
    made: list[Array] = []
    own = 0
    for new in _groups(tensor.shape, shape):
        places, size = np.zeros(len(values), dtype=np.int64), 1
        while size < math.prod(new):
            size *= tensor.shape[own]
            if size >= 2**63:
                return None
            places = places * tensor.shape[own] + coords[own]
            own += 1
        below = size
        for n in new:
            below //= n
            made.append(places // below)
            places = places % below
    if _native.is_in_rows(tensor):
        return of_rows(shape, made, values, tensor.fill_value)
    return _of_entries(tuple(shape), made, values, tensor.fill_value)


def _groups(shape: Sequence[int], wanted: Sequence[int]) -> list[list[int]]:
    """The wanted sizes, those together that have as many elements as some of the axes in turn."""
    ends = {math.prod(shape[:k]) for k in range(len(shape) + 1)}
    groups: list[list[int]] = [[]]
    end = 1
    for size in wanted:
        end *= size
        groups[-1].append(size)
        if end in ends:
            groups.append([])
    return [group for group in groups if group]


def reframed(tensor: Tensor, shape: Sequence[int]) -> Tensor | None:
    """The tensor by the same arrays in a shape that differs by axes of one element alone; none where they do not
    tell."""
    axes: list[int | None] = []
    own = 0
    for size in shape:
        if size == 1 and (own == tensor.ndim or tensor.shape[own] != 1):
            axes.append(None)
            continue
        while tensor.shape[own] == 1 and size != 1:
            own += 1
        axes.append(own)
        own += 1
    made = _native.reframed(tensor, axes)
    return None if made is None else Tensor(made)


def elements(tensor: Tensor, coords: Sequence[Array]) -> Tensor | None:
    """The elements at some coordinates along one axis; none for formats in which they are not found by
    searches."""
    found = _native.positions(tensor, coords)
    if found is None:
        return None
    places = np.flatnonzero(found >= 0)
    return of_rows((len(found),), [places], tensor.values[found[places]], tensor.fill_value)
