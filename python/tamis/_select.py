"""What keys of numbers, slices and one array select of a tensor's entries."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from . import _native
from ._errors import TamisIndexError, TamisValueError

if TYPE_CHECKING:
    from ._tensor import Tensor

Entries = tuple[list[np.ndarray[Any, Any]], np.ndarray[Any, Any]]


class Selection(NamedTuple):
    """What a key selects.

    t[0, :, [2, 1]]    chosen (0, None, [2, 1]), kept (2, 1): NumPy has the axis of the array first
                       where something stands between it and a number
    """

    #: Per axis the coordinates: a number, a range, an array, or none for all.
    chosen: list[Any]
    #: The axes that the result has, in its order.
    kept: list[int]
    #: The shape of the result, with new axes of one element.
    shape: tuple[int, ...]


def picks(tensor: Tensor, key: tuple[Any, ...]) -> Selection:
    """What a key selects of a tensor."""
    parts = _parts(tensor, key)
    chosen: list[Any] = []
    # The axes of the result, none for a new one; those of numbers and arrays stand together.
    axes: list[int | None] = []
    advanced: list[int] = []
    for place, part in enumerate(parts):
        if part is None or part is Ellipsis:
            axes.extend([None] * (part is None))
            continue
        axis = len(chosen)
        pick = _pick(part, tensor.shape[axis], axis)
        if not isinstance(part, slice):
            advanced.append(place)
        if not isinstance(pick, np.integer):
            axes.append(axis)
        chosen.append(pick)
    array = next((k for k, pick in enumerate(chosen) if isinstance(pick, np.ndarray)), None)
    if array is not None and advanced[-1] - advanced[0] >= len(advanced):
        axes.remove(array)
        axes.insert(0, array)
    sizes = [
        1 if k is None else tensor.shape[k] if chosen[k] is None else len(chosen[k]) for k in axes
    ]
    return Selection(chosen, [k for k in axes if k is not None], tuple(sizes))


def _parts(tensor: Tensor, key: tuple[Any, ...]) -> tuple[Any, ...]:
    """The parts of a key, with one for each axis, and the dots where they stand."""
    if sum(part is Ellipsis for part in key) > 1:
        raise _refused("order-mismatch", "the key has ... twice", "write it once")
    taken = sum(part is not None and part is not Ellipsis for part in key)
    if taken > tensor.ndim:
        reason = f"the key has {taken} parts for {tensor.ndim} axes"
        raise _refused("order-mismatch", reason, "give one for each axis at most")
    if sum(_is_array(part) for part in key) > 1:
        raise _refused("order-mismatch", "the key has several arrays", "index once for each")
    at = next((k for k, part in enumerate(key) if part is Ellipsis), len(key))
    return (*key[: at + 1], *(slice(None),) * (tensor.ndim - taken), *key[at + 1 :])


def _is_array(part: Any) -> bool:
    if isinstance(part, _native.Tensor):
        return part.ndim > 0
    return isinstance(part, (list, np.ndarray)) and np.ndim(part) > 0


def entries(tensor: Tensor, selection: Selection) -> Entries:
    """The entries of what is selected, with an axis for each that is kept."""
    chosen = selection.chosen
    first = chosen[0] if chosen else None
    if first is not None and tensor.format == "csr":
        coords, values = _of_rows(tensor, np.asarray(first, dtype=np.int64).reshape(-1))
        chosen = [None, *chosen[1:]]
    else:
        coords, values = tensor.entries()
    for axis, pick in enumerate(chosen):
        if pick is None:
            continue
        which, places = _found(coords[axis], pick, tensor.shape[axis])
        coords = [c[which] for c in coords]
        coords[axis] = places
        values = values[which]
    return [coords[axis] for axis in selection.kept], values


def expression(selection: Selection) -> str | None:
    """The statement that computes what numbers and slices select, with every axis."""
    chosen = selection.chosen
    if any(isinstance(pick, np.ndarray) for pick in chosen) or len(chosen) > len(_NAMES):
        return None
    names = _NAMES[: len(chosen)]
    picked = zip(names, chosen, strict=True)
    indices = ",".join(name + ("" if pick is None else _slice(pick)) for name, pick in picked)
    return f"R({','.join(names)}) = A({indices})"


#: Index variables.
_NAMES = "ijklmnopqrstuvwxyz"


def _slice(pick: range | np.integer[Any]) -> str:
    """A range as index notation has it."""
    if isinstance(pick, np.integer):
        return f"[{pick}:{pick + 1}]"
    if not pick:
        return "[0:0]"
    stop = "" if pick.stop < 0 else str(pick.stop)
    return f"[{pick.start}:{stop}:{pick.step}]"


def _found(coords: np.ndarray[Any, Any], pick: Any, size: int) -> tuple[Any, Any]:
    """Which of some coordinates of an axis are picked, each as often as it is, and their places
    there."""
    if isinstance(pick, range):
        steps = coords - pick.start
        places = steps // pick.step
        which = np.flatnonzero((places >= 0) & (places < len(pick)) & (steps % pick.step == 0))
        return which, places[which]
    wanted = np.atleast_1d(pick)
    if _ascend(wanted) and _ascend(coords):
        # Two lists in order are soon one: what both have stands side by side.
        both = np.concatenate([coords, wanted])
        order = np.argsort(both, kind="stable")
        both = both[order]
        shared = np.flatnonzero(both[1:] == both[:-1])
        return order[shared], order[shared + 1] - len(coords)
    order = np.argsort(wanted, kind="stable")
    if size <= 4 * (len(coords) + len(wanted)):
        often = np.bincount(wanted, minlength=size)
        times = often[coords]
        low = (np.cumsum(often) - often)[coords]
    else:
        low = np.searchsorted(wanted, coords, side="left", sorter=order)
        times = np.searchsorted(wanted, coords, side="right", sorter=order) - low
    return np.repeat(np.arange(len(coords)), times), order[np.repeat(low, times) + within(times)]


def _ascend(numbers: np.ndarray[Any, Any]) -> bool:
    return bool((numbers[1:] > numbers[:-1]).all())


def _of_rows(tensor: Tensor, rows: np.ndarray[Any, Any]) -> Entries:
    """The entries of some rows of csr, which are counted anew."""
    times, crd, values = _rows(tensor, rows)
    return [np.repeat(np.arange(len(rows)), times), crd.astype(np.int64)], values


def rows(tensor: Tensor, selection: Selection) -> Tensor | None:
    """What a key selects that names nothing but rows of csr, by its arrays."""
    if tensor.format != "csr" or len(selection.chosen) != 2:
        return None
    first, other = selection.chosen
    if not isinstance(first, np.ndarray) or other is not None:
        return None
    times, crd, values = _rows(tensor, first)
    pos = np.concatenate([[0], np.cumsum(times)])
    if pos[-1] <= np.iinfo(crd.dtype).max:
        pos = pos.astype(crd.dtype)
    shape = (len(first), tensor.shape[1])
    return tensor._of_levels(shape, [{}, {"pos": pos, "crd": crd}], values)


def columns(tensor: Tensor, selection: Selection) -> Tensor | None:
    """What a key selects that names nothing but columns of csr, each once, by its arrays."""
    if tensor.format != "csr" or len(selection.chosen) != 2:
        return None
    first, wanted = selection.chosen
    size, stored = tensor.shape[1], len(tensor.values)
    if first is not None or not isinstance(wanted, np.ndarray):
        return None
    if size > 4 * (stored + len(wanted)) or len(wanted) > np.iinfo(np.int32).max:
        return None
    tensor.validate()
    level = tensor.levels[1]
    places = np.full(size, -1, dtype=level["crd"].dtype)
    places[wanted] = np.arange(len(wanted))
    if not np.array_equal(places[wanted], np.arange(len(wanted))):
        return None
    found = places[level["crd"]]
    kept = found >= 0
    pos = np.concatenate([[0], np.cumsum(kept)]).astype(level["pos"].dtype)[level["pos"]]
    levels, values = [{}, {"pos": pos, "crd": found[kept]}], tensor.values[kept]
    shape = (tensor.shape[0], len(wanted))
    if _ascend(wanted):
        return tensor._of_levels(shape, levels, values)
    return tensor._of_levels(shape, levels, values, format=_ANY_ORDER).asformat("csr")


#: csr whose rows are in any order. That their columns differ is known: finding out takes long.
_ANY_ORDER = "csr(nonordered, nonunique)"


def _rows(tensor: Tensor, rows: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
    """How many entries some rows of csr have, their columns and their values."""
    tensor.validate()
    level = tensor.levels[1]
    begin = level["pos"][rows].astype(np.int64)
    times = level["pos"][rows + 1] - begin
    places = np.repeat(begin, times) + within(times)
    return times, level["crd"][places], tensor.values[places]


def ordered(keys: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any] | None:
    """The order in which keys ascend, the first one first; none if they do as they are."""
    ascends = np.ones(max(len(keys[0]) - 1, 0), dtype=bool) if keys else np.ones(0, dtype=bool)
    for key in reversed(keys):
        ascends = (key[1:] > key[:-1]) | ((key[1:] == key[:-1]) & ascends)
    return None if ascends.all() else np.lexsort(keys[::-1])


def within(times: np.ndarray[Any, Any]) -> Any:
    """0, 1, .. for each of what is repeated so many times."""
    ends = np.cumsum(times)
    count = int(ends[-1]) if len(ends) else 0
    return np.arange(count) - np.repeat(ends - times, times).astype(np.int64)


def _pick(part: Any, size: int, axis: int) -> Any:
    """What a part of a key selects: a number, a range, an array, or none for all coordinates."""
    if isinstance(part, slice):
        if part.step == 0:
            text = "error[invalid-option]: the step of a slice is 0\n  = help: give it another"
            raise TamisValueError("invalid-option", text)
        chosen = range(*part.indices(size))
        return None if chosen == range(size) else chosen
    if _is_array(part):
        return _of_array(part, size, axis)
    if isinstance(part, bool) or getattr(part, "dtype", None) == bool:
        raise _refused("type-mismatch", f"{part} is no coordinate", "None makes a new axis")
    try:
        index = operator.index(cast(Any, part))
    except TypeError:
        way_out = "use integers, slices, ..., None, or an array"
        raise _refused("type-mismatch", f"{part!r} is no part of a key", way_out) from None
    if not -size <= index < size:
        raise _outside(part, axis, size)
    return np.int64(index + size if index < 0 else index)


def _of_array(part: Any, size: int, axis: int) -> Any:
    """The coordinates that an array of integers or of truth values selects."""
    array: Any = part if isinstance(part, _native.Tensor) else np.asarray(part)
    if array.dtype == bool and array.shape == (size,):
        return array.nonzero()[0]
    if array.ndim != 1 or array.shape[0] and array.dtype.kind not in "iu":
        reason = f"the key of axis {axis} is {array.dtype} of shape {array.shape}"
        way_out = "use integers, or as many truth values as the axis has elements"
        raise _refused("type-mismatch", reason, way_out)
    found = array.to_numpy() if isinstance(array, _native.Tensor) else array
    found = found.astype(np.int64)
    found = np.where(found < 0, found + size, found)
    if found.size and not (0 <= found.min() and found.max() < size):
        raise _outside(part, axis, size)
    return found


def _outside(part: Any, axis: int, size: int) -> TamisIndexError:
    reason = f"{part} is outside of axis {axis}, which has {size} elements"
    return _refused("dimension-mismatch", reason, "count from 0, or backwards from -1")


def _refused(code: str, reason: str, way_out: str) -> TamisIndexError:
    return TamisIndexError(code, f"error[{code}]: {reason}\n  = help: {way_out}")
