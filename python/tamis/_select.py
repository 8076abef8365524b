"""What keys select of a tensor's entries: numbers, slices, arrays, and new axes, as in NumPy.

T[2:5, 0]          by the arrays of T, where its format has them (the native module)
T[[2, 0], [1, 1]]  of the rows and columns that occur the elements (2, 1) and (0, 1)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from . import _native
from ._errors import TamisIndexError, TamisValueError

if TYPE_CHECKING:
    from ._tensor import Tensor

Entries = tuple[list[np.ndarray[Any, Any]], np.ndarray[Any, Any]]

#: The axis of the elements that arrays of a key name together.
_JOINT = -1


class Selection(NamedTuple):
    """What a key selects.

    t[0, :, [2, 1]]    chosen (0, None, [2, 1]), kept (2, 1): NumPy has the axis of the array first
                       where something stands between it and a number
    """

    #: Per axis the coordinates: a number, a range, an array, or none for all.
    chosen: list[Any]
    #: The axes of which the arrays name coordinates together, element by element.
    joint: list[int]
    #: The axes that the result has, in its order; the elements that are named together are one.
    kept: list[int]
    #: The shape of the result, with new axes of one element.
    shape: tuple[int, ...]

    @property
    def is_all(self) -> bool:
        """Whether it is every element where it is."""
        return all(pick is None for pick in self.chosen)


def picks(tensor: Tensor, key: tuple[Any, ...]) -> Selection:
    """What a key selects of a tensor."""
    parts = _parts(tensor, key)
    chosen: list[Any] = []
    # The axes of the result, none for a new one; those of numbers and arrays stand together.
    axes: list[int | None] = []
    advanced: list[int] = []
    arrays: list[int] = []
    for place, part in enumerate(parts):
        if part is None or part is Ellipsis:
            axes.extend([None] * (part is None))
            continue
        axis = len(chosen)
        if not isinstance(part, slice):
            advanced.append(place)
        if _is_array(part):
            found = _of_array(part, tensor.shape[axis : axis + _axes(part)], axis)
            if not arrays:
                axes.append(_JOINT)
            arrays.extend(range(axis, axis + len(found)))
            chosen.extend(found)
            continue
        pick = _pick(part, tensor.shape[axis], axis)
        if not isinstance(pick, np.integer):
            axes.append(axis)
        chosen.append(pick)
    if arrays and advanced[-1] - advanced[0] >= len(advanced):
        axes.remove(_JOINT)
        axes.insert(0, _JOINT)
    return _selection(tensor.shape, chosen, axes, arrays)


def _selection(
    shape: tuple[int, ...], chosen: list[Any], axes: list[int | None], arrays: list[int]
) -> Selection:
    """The selection whose arrays name coordinates, each of its axis or together with others."""
    try:
        sizes = np.broadcast_shapes(*(chosen[axis].shape for axis in arrays))
    except ValueError:
        shapes = " and ".join(str(chosen[axis].shape) for axis in arrays)
        reason = f"the arrays of the key have the shapes {shapes}"
        raise _refused("dimension-mismatch", reason, "make sizes equal, or 1") from None
    grid = _grid([chosen[axis].shape for axis in arrays], sizes)
    joint: list[int] = []
    if grid is None and len(arrays) > 1:
        joint, block = arrays, [_JOINT]
        for axis in arrays:
            chosen[axis] = np.broadcast_to(chosen[axis], sizes).reshape(-1)
    else:
        block = arrays if grid is None else [arrays[k] for k in grid]
        for axis in arrays:
            flat = chosen[axis].reshape(-1)
            chosen[axis] = flat if axis in block else np.int64(flat[0])
    kept: list[int] = []
    lengths: list[int] = []
    for own in axes:
        if own == _JOINT:
            kept.extend(block)
            lengths.extend(sizes)
        elif own is None:
            lengths.append(1)
        else:
            kept.append(own)
            lengths.append(shape[own] if chosen[own] is None else len(chosen[own]))
    return Selection(chosen, joint, kept, tuple(lengths))


def _grid(shapes: list[tuple[int, ...]], sizes: tuple[int, ...]) -> list[int] | None:
    """Which array names the coordinates along each axis of several that is longer than one; none if
    arrays have such axes together, as those of ``numpy.ix_`` do not."""
    if len(shapes) < 2:
        return None
    owners = []
    for axis in range(-len(sizes), 0):
        own = [k for k, shape in enumerate(shapes) if -axis <= len(shape) and shape[axis] != 1]
        if len(own) > 1 or own and own[0] in owners:
            return None
        owners.extend(own)
    return owners


def _parts(tensor: Tensor, key: tuple[Any, ...]) -> tuple[Any, ...]:
    """The parts of a key, with one for each axis, and the dots where they stand."""
    parts = [_read(part) for part in key]
    if sum(part is Ellipsis for part in parts) > 1:
        raise _refused("order-mismatch", "the key has ... twice", "write it once")
    taken = sum(_axes(part) for part in parts)
    if taken > tensor.ndim:
        reason = f"the key has {taken} parts for {tensor.ndim} axes"
        raise _refused("order-mismatch", reason, "give one for each axis at most")
    at = next((k for k, part in enumerate(parts) if part is Ellipsis), len(parts))
    return (*parts[: at + 1], *(slice(None),) * (tensor.ndim - taken), *parts[at + 1 :])


def _read(part: Any) -> Any:
    """A part of a key: as it is, or an array of NumPy's, or a tensor."""
    given: Any = part
    if part is None or part is Ellipsis or isinstance(part, (int, slice, np.integer)):
        return part
    if isinstance(part, (str, bytes)) or np.isscalar(part):
        return part
    if isinstance(part, (_native.Tensor, np.ndarray)):
        return given if given.ndim else given[()]
    if isinstance(part, (list, range)) or hasattr(part, "__array__"):
        return np.asarray(part)
    if hasattr(part, "tocoo"):
        from ._tensor import asarray

        return asarray(part)
    return part


def is_truth(key: Any) -> bool:
    """Whether a key is one truth value, as a number or an array of no axes."""
    if isinstance(key, (_native.Tensor, np.ndarray)):
        return key.ndim == 0 and key.dtype == bool
    return isinstance(key, (bool, np.bool_))


def _is_array(part: Any) -> bool:
    return isinstance(part, (_native.Tensor, np.ndarray)) and part.ndim > 0


def _axes(part: Any) -> int:
    """How many axes a part of a key is for."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if _is_array(part) and part.dtype == bool else 1


def selected(tensor: Tensor, selection: Selection) -> Tensor:
    """The tensor of what is selected, but for new axes."""
    from ._tensor import Tensor

    joint = selection.joint
    chosen = list(selection.chosen)
    if len(joint) == tensor.ndim:
        from ._rows import elements

        single = elements(tensor.canonical(), chosen)
        if single is not None:
            return single
    named = {axis: chosen[axis] for axis in joint}
    for axis in joint:
        chosen[axis], named[axis] = np.unique(chosen[axis], return_inverse=True)
    made = tensor.select([_native_pick(pick) for pick in chosen])
    part = _of_list(tensor, chosen) if made is None else Tensor(made)
    kept = [axis for axis, pick in enumerate(chosen) if not isinstance(pick, np.integer)]
    lengths = [tensor.shape[axis] if chosen[axis] is None else len(chosen[axis]) for axis in kept]
    part = part.reshape(tuple(lengths))
    if joint:
        part = _joined(part, [(kept.index(axis), named[axis]) for axis in joint])
        kept = [_JOINT, *(axis for axis in kept if axis not in joint)]
    order = [kept.index(axis) for axis in selection.kept]
    return part if order == sorted(order) else part.transpose(order)


def _native_pick(pick: Any) -> Any:
    """A pick as the native module reads it."""
    return (pick.start, pick.step, len(pick)) if isinstance(pick, range) else pick


def _of_list(tensor: Tensor, chosen: Sequence[Any]) -> Tensor:
    """What is selected of a tensor whose arrays do not tell, of a list of its entries."""
    from ._tensor import _of_entries

    coords, values = tensor.entries()
    sizes = list(tensor.shape)
    for axis, pick in enumerate(chosen):
        if pick is None:
            continue
        which, places = _found(coords[axis], pick, tensor.shape[axis])
        coords = [c[which] for c in coords]
        coords[axis] = places
        values = values[which]
        sizes[axis] = 1 if isinstance(pick, np.integer) else len(pick)
    return _of_entries(tuple(sizes), coords, values, tensor.fill_value)


def _joined(part: Tensor, named: Sequence[tuple[int, np.ndarray[Any, Any]]]) -> Tensor:
    """The elements whose coordinates along several axes are named together, one behind the other
    along an axis before all others."""
    from ._tensor import _of_entries

    axes = [axis for axis, _ in named]
    sizes = [part.shape[axis] for axis in axes]
    if math.prod(sizes) >= 2**63:
        reason = f"the key names coordinates in {math.prod(sizes)} elements"
        raise _refused("dimension-mismatch", reason, "take parts of it")
    wanted = np.ravel_multi_index([places for _, places in named], sizes)
    coords, values = part.entries()
    keys = np.ravel_multi_index([coords[axis] for axis in axes], sizes)
    which, places = _found(keys, wanted, math.prod(sizes))
    rest = [axis for axis in range(part.ndim) if axis not in axes]
    shape = (len(wanted), *(part.shape[axis] for axis in rest))
    made = [places, *(coords[axis][which] for axis in rest)]
    return _of_entries(shape, made, values[which], part.fill_value)


def _found(coords: np.ndarray[Any, Any], pick: Any, size: int) -> tuple[Any, Any]:
    """Which of some coordinates of an axis are picked, each as often as it is, and their positions
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
    """What a number or a slice selects: a number, a range, or none for all coordinates."""
    if isinstance(part, slice):
        if part.step == 0:
            text = "error[invalid-option]: the step of a slice is 0\n  = help: give it another"
            raise TamisValueError("invalid-option", text)
        chosen = range(*part.indices(size))
        if len(chosen) < 2:
            # A step may be beyond 64 bits.
            chosen = range(chosen.start, chosen.start + len(chosen))
        return None if chosen == range(size) else chosen
    if isinstance(part, (bool, np.bool_)):
        raise _refused("type-mismatch", f"{part} is no coordinate", "None makes a new axis")
    try:
        index = operator.index(cast(Any, part))
    except TypeError:
        way_out = "use integers, slices, ..., None, or arrays"
        reason = f"{_shown(part)} is no part of a key"
        raise _refused("type-mismatch", reason, way_out) from None
    if not -size <= index < size:
        raise _outside(part, axis, size)
    return np.int64(index + size if index < 0 else index)


def _of_array(part: Any, sizes: tuple[int, ...], axis: int) -> list[np.ndarray[Any, Any]]:
    """The coordinates that an array of integers or of truth values names, for each of its axes."""
    if part.dtype == bool:
        # As NumPy has it, no truth values fit an axis of any size.
        if part.shape == sizes or 0 in part.shape and all(n in (0, size) for n, size in zip(part.shape, sizes)):
            return list(part.nonzero())
    elif part.dtype.kind in "iu" or not math.prod(part.shape):
        found: Any = part.to_numpy() if isinstance(part, _native.Tensor) else part
        found = found.astype(np.int64)
        if found.size:
            least = found.min()
            if not (-sizes[0] <= least and found.max() < sizes[0]):
                raise _outside(part, axis, sizes[0])
            found = found if least >= 0 else np.where(found < 0, found + sizes[0], found)
        return [found]
    reason = f"the key of axis {axis} is {part.dtype} of shape {part.shape}"
    way_out = "use integers, or as many truth values as the axes have elements"
    raise _refused("type-mismatch", reason, way_out)


def _outside(part: Any, axis: int, size: int) -> TamisIndexError:
    reason = f"{_shown(part)} is outside of axis {axis}, which has {size} elements"
    return _refused("dimension-mismatch", reason, "count from 0, or backwards from -1")


def _shown(part: Any) -> str:
    """A part of a key in a line."""
    text = " ".join(repr(part).split())
    return text if len(text) < 60 else f"{text[:50]} .."


def _refused(code: str, reason: str, way_out: str) -> TamisIndexError:
    return TamisIndexError(code, f"error[{code}]: {reason}\n  = help: {way_out}")
