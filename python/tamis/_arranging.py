"""Arrays of parts of others, as NumPy's functions have them: joined in blocks, turned, with elements
put in between or left out.

delete(A, 1, axis=0)    the rows 0, 2, 3, .. of A
pad(A, 1, mode="edge")  the rows 0, 0, 1, .., n - 1, n - 1 of A, and of that the columns likewise
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _moves, array_api
from ._elements import apply
from ._errors import TamisIndexError
from ._expressions import axes_of, broadcast_shapes
from ._native import check_memory
from ._operands import fitted, refused
from ._tensor import Tensor, _of_entries, asarray, compact

xp: Any = array_api

#: How coordinates beyond the ends of an axis are found, by NumPy's names.
_REPEATING = ("edge", "reflect", "symmetric", "wrap")
#: What elements beyond the ends are of those along an axis.
_MEASURED: dict[str, Any] = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}


def block(arrays: Any) -> Any:
    """Arrays in nested lists as one: those of the innermost lists side by side along the last axis."""
    depth = _depth(arrays)
    parts: list[Any] = []
    _collect(arrays, parts)
    axes = max([depth, *(x.ndim for x in parts)])
    rest = iter(parts)

    def joined(x: Any, level: int) -> Any:
        if isinstance(x, list):
            return xp.concat([joined(y, level - 1) for y in x], axis=-level)
        part = next(rest)
        return part.reshape((1,) * (axes - part.ndim) + part.shape)

    return joined(arrays, depth)


def _depth(x: Any) -> int:
    if not isinstance(x, list):
        return 0
    depths = {_depth(y) for y in x}
    if len(depths) != 1:
        raise refused("the lists of blocks are not nested alike", "nest them, each as deep")
    return 1 + depths.pop()


def _collect(x: Any, parts: list[Any]) -> None:
    if isinstance(x, list):
        for y in x:
            _collect(y, parts)
    else:
        parts.append(asarray(x))


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """The elements turned by right angles in the plane of two axes."""
    one, other = axes_of(tuple(axes), m.ndim)
    turns = k % 4
    if turns % 2 == 0:
        return xp.flip(m, axis=(one, other)) if turns else m
    if turns == 1:
        return xp.flip(m, axis=other).swapaxes(one, other)
    return xp.flip(m.swapaxes(one, other), axis=other)


def diag(v: Any, k: int = 0) -> Any:
    """The elements of a diagonal, or the matrix that has them on one and is 0 elsewhere."""
    if v.ndim == 2:
        return _moves.diagonal(v, k, 0, 1)
    if v.ndim != 1:
        raise refused(f"an array of {v.ndim} axes has no diagonal", "give it one axis, or two")
    tensor = asarray(v)
    n = v.shape[0] + abs(k)
    if tensor.fill_value != 0:
        coords, values = [np.arange(v.shape[0])], tensor.to_numpy()
    else:
        coords, values = compact(tensor).entries()
    rows, columns = coords[0] + max(-k, 0), coords[0] + max(k, 0)
    return _of_entries((n, n), [rows, columns], values)


def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """Without the elements at some coordinates of an axis."""
    x, at = _along(arr, axis)
    size = x.shape[at]
    if _is_mask(obj) and np.shape(obj) != (size,):
        reason = f"truth values of shape {np.shape(obj)} for an axis of {size} elements"
        raise _moves.refused(reason, "give one for each element")
    gone = np.unique(_places(obj, size, size))

    def move(coords: _moves.Arrays) -> tuple[_moves.Arrays, Any]:
        which = np.flatnonzero(~np.isin(coords[at], gone))
        made = [c[which] for c in coords]
        made[at] = made[at] - np.searchsorted(gone, made[at])
        return made, which

    return _moves.moved(x, _resized(x, at, size - len(gone)), move, keeps_order=True)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """With elements before those at some coordinates of an axis."""
    x, at = _along(arr, axis)
    tensor, size = asarray(x), x.shape[at]
    # Along an axis, since a tensor of no axes stores its element, whatever that is.
    added = _typed(asarray(values), tensor.dtype)
    added = added if added.ndim else added.reshape(1)
    if _is_mask(obj) and np.ndim(obj) != 1:
        raise _moves.refused(f"truth values of {np.ndim(obj)} axes for one", "give a vector")
    places = _places(obj, size, size + 1)
    added = _of_fill(added, tensor.fill_value)
    if not places.ndim:
        added = added.reshape((1,) * (tensor.ndim - added.ndim) + added.shape)
        added = xp.moveaxis(added, 0, at)
        places = np.full(added.shape[at], places)
    count = len(places)
    added = _moves.broadcast_to(added, _resized(tensor, at, count))
    order = np.argsort(places, kind="stable")
    # Where those that are put in go, and behind how many of them the others are.
    ends = np.empty(count, dtype=np.int64)
    ends[order] = places[order] + np.arange(count)

    def move(coords: _moves.Arrays) -> tuple[_moves.Arrays, Any]:
        made = list(coords)
        own = coords[at] < size
        behind = np.searchsorted(places[order], coords[at][own], side="right")
        made[at] = np.empty_like(coords[at])
        made[at][own] = coords[at][own] + behind
        made[at][~own] = ends[coords[at][~own] - size]
        return made, None

    both = xp.concat([tensor, added], axis=at)
    return _moves.moved(both, both.shape, move)


def _places(obj: Any, size: int, bound: int) -> Any:
    """The coordinates that a slice, truth values or integers name along an axis, from 0."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(size))
    places = asarray(obj).to_numpy() if np.size(obj) else np.zeros(0, dtype=np.int64)
    if places.dtype == bool:
        places = np.flatnonzero(places)
    if places.dtype.kind not in "iu":
        raise refused(f"{places.dtype} are no coordinates", "use integers, or truth values")
    if places.size and not -size <= places.min() <= places.max() < bound:
        text = f"error[dimension-mismatch]: {obj} is outside of an axis of {size} elements"
        raise TamisIndexError("dimension-mismatch", f"{text}\n  = help: count from 0, or from -1")
    return np.where(places < 0, places + size, places).astype(np.int64)


def _is_mask(obj: Any) -> bool:
    """Whether truth values are given, not coordinates."""
    if hasattr(obj, "dtype"):
        return bool(obj.dtype == bool)
    return not isinstance(obj, slice) and np.size(obj) > 0 and np.asarray(obj).dtype == bool


def _typed(x: Tensor, dtype: Any) -> Tensor:
    """The same elements in a type that has them."""
    if x.dtype == dtype:
        return x
    elements = x.canonical()
    fill = fitted(elements.fill_value, dtype)[()]
    return elements._with_values(fitted(elements.values, dtype), fill)


def _resized(x: Any, axis: int, size: int) -> tuple[int, ...]:
    """The shape with another size of an axis."""
    return (*x.shape[:axis], size, *x.shape[axis + 1 :])


def _along(x: Any, axis: int | None) -> tuple[Any, int]:
    """An array and its axis, or all elements along one."""
    if axis is None:
        return x.reshape(-1), 0
    (at,) = axes_of(axis, x.ndim)
    return x, at


def _of_fill(x: Any, fill: Any) -> Tensor:
    """The same elements beside another fill value: those that differ from it are stored then."""
    tensor = asarray(x)
    if not tensor.is_full and np.array_equal(tensor.fill_value, fill, equal_nan=True):
        return tensor
    values = tensor.to_numpy()
    coords = np.indices(values.shape).reshape(values.ndim, values.size)
    # Integers of 64 bits are not compared as floats.
    differs = ((values != fill) & ~((values != values) & (fill != fill))).reshape(-1)
    return _of_entries(values.shape, list(coords[:, differs]), values.reshape(-1)[differs], fill)


def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    """The elements with others before and behind them along each axis."""
    widths = _pairs(pad_width, array.ndim)
    if options.get("reflect_type") == "even" and mode in ("reflect", "symmetric"):
        options = {}
    if mode in _REPEATING and not options:
        made = array
        for axis, width in enumerate(widths):
            if any(width):
                places = np.pad(np.arange(array.shape[axis]), width, mode=mode)
                made = xp.take(made, places, axis=axis)
        return made
    tensor = asarray(array)
    if options == {"reflect_type": "odd"} and mode in ("reflect", "symmetric"):
        for at, width in enumerate(widths):
            if any(width):
                tensor = asarray(_reflected(tensor, at, width, mode))
        return tensor
    if mode in _MEASURED and not set(options) - {"stat_length"}:
        asked: Any = options.get("stat_length")
        lengths = np.broadcast_to(asked, (tensor.ndim, 2)).tolist()
        return _padded(tensor, widths, lambda x, at, k, n: _measured(x, at, k, n, mode, lengths[at][k]))
    if mode == "linear_ramp" and not set(options) - {"end_values"}:
        ends = np.broadcast_to(options.get("end_values", 0), (tensor.ndim, 2)).tolist()
        return _padded(tensor, widths, lambda x, at, k, n: _ramp(x, at, k, n, ends[at][k]))
    values = fitted(options.pop("constant_values", 0), array.dtype)
    if options or mode not in ("constant", "empty"):
        known = ", ".join((*_REPEATING, *_MEASURED, "linear_ramp", "constant", "empty"))
        raise refused(f"tensors are padded by {known}, not by {mode!r}", "pad to_numpy() of a small tensor")
    if mode == "empty" or np.array_equal(values, tensor.fill_value, equal_nan=True):
        return _moves.pad(tensor, widths)
    given = np.broadcast_to(values, (array.ndim, 2)).tolist()
    return _padded(tensor, widths, lambda x, at, k, n: _constant(x, at, n, given[at][k]))


def _reflected(x: Tensor, at: int, width: Sequence[int], mode: Any) -> Any:
    """The elements with those beyond each end of an axis that are as much more than it as those within are less:
    each is a sum of an element within and of multiples of those at the ends."""
    if x.dtype == bool:
        raise refused("truth values are no more or less than others", "pad by even reflections, or use astype")
    size = x.shape[at]
    within, first, last = np.ones(size), np.zeros(size), np.zeros(size)
    within[[0, -1]], first[0] = 0, 1
    last[-1] = float(size > 1)
    places: Any = np.pad(np.arange(size), width, mode=mode)
    wide = np.result_type(x.dtype, np.int8)
    made: Any = None
    for where, share in ((places, within), (np.zeros_like(places), first), (np.full_like(places, size - 1), last)):
        factors = np.pad(share, width, mode=mode, reflect_type="odd").astype(wide)
        (own,) = factors.nonzero()
        # What is multiplied by 0 is no part of the sum, infinite or not.
        line = _of_entries((len(places),), [own], factors[own])
        part = xp.take(x, where, axis=at) * line.reshape([-1 if k == at else 1 for k in range(x.ndim)])
        made = part if made is None else made + part
    return _typed(asarray(made), x.dtype)


def _padded(x: Tensor, widths: Sequence[Sequence[int]], beside: Callable[..., Any]) -> Any:
    """The elements with others along each axis, of which there are so many before (0) and behind (1)."""
    for at, width in enumerate(widths):
        around = [beside(x, at, k, n) if n else None for k, n in enumerate(width)]
        x = xp.concat([part for part in (around[0], x, around[1]) if part is not None], axis=at)
    return x


def _measured(x: Tensor, at: int, side: int, size: int, mode: str, length: int | None) -> Any:
    """The greatest, least, middle one or mean of elements at one side, so many times."""
    count = x.shape[at] if length is None else min(length, x.shape[at])
    if not count:
        raise _moves.refused(f"{mode} of no elements", "pad by a number, or give a longer stat_length")
    begin = (0, x.shape[at] - count)[side]
    part = x[(slice(None),) * at + (slice(begin, begin + count),)]
    found = asarray(_MEASURED[mode](part, axis=at, keepdims=True))
    rounded = found.round() if x.dtype.kind in "iu" else found
    return _moves.broadcast_to(_of_fill(rounded.astype(x.dtype), x.fill_value), _resized(x, at, size))


def _ramp(x: Tensor, at: int, side: int, size: int, end: Any) -> Any:
    """Elements from those at one side in equal steps to a value."""
    edge = x[(slice(None),) * at + ([0, -1][side : side + 1],)]
    steps = range(size) if side == 0 else range(size - 1, -1, -1)
    ramp: Any = lambda k: lambda v: np.linspace(end, v, size, endpoint=False, dtype=x.dtype)[k]
    return xp.concat([_of_fill(apply(ramp(k), edge), x.fill_value) for k in steps], axis=at)


def _pairs(pad_width: Any, axes: int) -> list[list[int]]:
    """Two widths for each axis."""
    if isinstance(pad_width, dict):
        pairs = [[0, 0]] * axes
        for axis, width in pad_width.items():
            pairs[axes_of(axis, axes)[0]] = np.broadcast_to(width, 2).tolist()
        return pairs
    made = [[operator.index(n) for n in pair] for pair in np.broadcast_to(pad_width, (axes, 2))]
    if any(n < 0 for pair in made for n in pair):
        raise _moves.refused("a width of padding is negative", "take a slice instead")
    return made


def _constant(beside: Tensor, axis: int, size: int, value: Any) -> Any:
    """Elements of one value, of the shape of others but for an axis, beside the same fill value."""
    shape = _resized(beside, axis, size)
    one = asarray(np.full((1,) * len(shape), value, dtype=beside.dtype))
    return _moves.broadcast_to(_of_fill(one, beside.fill_value), shape)


def outer(function: Callable[..., Any], a: Any, b: Any) -> Any:
    """A function of all elements of one with all of another."""
    one, other = asarray(a), asarray(b)
    return function(one.reshape(one.shape + (1,) * other.ndim), other)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Of each element the choice whose condition is the first that holds."""
    if len(condlist) != len(choicelist) or not condlist:
        reason = f"{len(condlist)} conditions for {len(choicelist)} choices"
        raise refused(reason, "give one choice for each condition")
    made = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist)):
        made = xp.where(condition, choice, made)
    return made


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Any:
    """Of each element the choice whose number it is."""
    numbers, parts = asarray(a), list(choices)
    count = len(parts)
    if numbers.dtype.kind not in "iub" or not count:
        raise refused(f"{numbers.dtype} chooses among {count}", "give integers, and choices")
    if mode == "wrap":
        numbers = asarray(numbers % count)
    elif mode == "raise" and numbers.size and not 0 <= numbers.min() <= numbers.max() < count:
        raise _moves.refused(f"a number is of no choice among {count}", 'use mode="clip", or "wrap"')
    elif mode not in ("raise", "clip"):
        raise refused(f"there is no mode {mode!r}", "use 'raise', 'wrap' or 'clip'")
    made = parts[-1]
    for k in range(count - 2, -1, -1):
        made = xp.where(numbers <= 0 if k == 0 else numbers == k, parts[k], made)
    weak = (int, float, complex)
    dtype = np.result_type(*(x if type(x) in weak else asarray(x).dtype for x in parts))
    return _moves.broadcast_to(asarray(made), broadcast_shapes(numbers.shape, np.shape(made))).astype(dtype)


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """The elements by functions, or numbers, of those for which conditions hold: the last one counts."""
    tensor = asarray(x)
    several = isinstance(condlist, (list, tuple)) and isinstance(condlist[0], (list, np.ndarray, Tensor))
    is_stack = several or np.ndim(condlist) > tensor.ndim
    conditions = [asarray(c).astype(bool) for c in (condlist if is_stack else [condlist])]
    functions = list(funclist)
    if len(functions) == len(conditions) + 1:
        # The last one is of what no condition holds for.
        held = conditions[0]
        for condition in conditions[1:]:
            held = held | condition
        conditions, functions = [~held, *conditions], [functions[-1], *functions[:-1]]
    if len(functions) != len(conditions):
        reason = f"{len(functions)} functions for {len(conditions)} conditions"
        raise _moves.refused(reason, "give one for each, or one more for what is left")
    made = xp.zeros_like(tensor)
    for condition, function in zip(conditions, functions):
        made = xp.where(condition, _piece(tensor, asarray(condition), function, args, kw), made)
    return made


def _piece(x: Tensor, condition: Tensor, function: Any, args: Any, kw: Any) -> Any:
    """A number, or a function of the elements for which a condition holds, at their coordinates."""
    if not callable(function) and not np.ndim(function):
        return np.asarray(function).astype(x.dtype)[()]
    places = condition.nonzero()
    values = function
    if callable(function):
        chosen = x[places]
        values = function(chosen.to_numpy() if isinstance(chosen, Tensor) else chosen, *args, **kw)
    elements = np.broadcast_to(np.asarray(values).astype(x.dtype), places[0].shape)
    return _of_entries(x.shape, list(places), elements)


#: So many elements of lines are made dense at a time.
_BLOCK = 1 << 20


def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """What a function gives for each line along an axis, an array of NumPy's, as one array of NumPy's."""
    x = asarray(arr)
    (at,) = axes_of((axis,), x.ndim)
    rest, size = [n for k, n in enumerate(x.shape) if k != at], x.shape[at]
    count = math.prod(rest)
    if not count:
        raise _moves.refused(f"of the shape {x.shape} there are no lines", "leave out axes of size 0")
    lines = xp.moveaxis(x, at, -1).reshape((count, size))
    made: Any = None
    step = max(_BLOCK // max(size, 1), 1)
    for first in range(0, count, step):
        for k, line in enumerate(lines[first : first + step].to_numpy(), first):
            found = np.asarray(func1d(line, *args, **kwargs))
            if made is None:
                check_memory("the array", float(found.itemsize) * found.size * count)
                made = np.empty((count, *found.shape), dtype=found.dtype)
            made[k] = found
    inner = made.shape[1:]
    # The axes of what the function gives are where that of the lines was.
    order = [*range(at), *range(len(rest), len(rest) + len(inner)), *range(at, len(rest))]
    return made.reshape((*rest, *inner)).transpose(order)


def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    """What a function of an array and an axis gives for one axis, of that for the next, and so on; an axis that
    it leaves out has one element."""
    made = asarray(a)
    for axis in axes_of(axes, made.ndim):
        found = func(made, axis)
        made = found if found.ndim == made.ndim else xp.expand_dims(found, axis)
        if made.ndim != a.ndim:
            raise _moves.refused(f"the function makes {found.ndim} axes of {a.ndim}", "keep them, or leave out one")
    return made


def matrix_power(a: Any, n: int) -> Any:
    """A square matrix multiplied by itself so many times."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise _moves.refused(f"the shape {a.shape} is that of no square matrix", "make axes equal")
    power = operator.index(n)
    if power < 0:
        reason = "the inverse of a sparse matrix is dense"
        raise refused(reason, "solve instead: scipy.sparse.linalg.spsolve(a.to_scipy(), b)")
    if power == 0:
        ones = xp.eye(a.shape[-1], dtype=a.dtype)
        return _moves.broadcast_to(ones, a.shape)
    made = None
    square = a
    while power:
        if power % 2:
            made = square if made is None else made @ square
        power //= 2
        square = square @ square if power else square
    return made


def multi_dot(arrays: Sequence[Any]) -> Any:
    """The matrix product of all, in the order that multiplies least numbers of dense ones."""
    parts = [x if hasattr(x, "ndim") else asarray(x) for x in arrays]
    if len(parts) < 2:
        raise _moves.refused("a product has two factors at least", "give more")
    # The smaller of the outer ends decides from which side a chain is multiplied.
    from_left = math.prod(parts[0].shape[:-1]) <= math.prod(parts[-1].shape[1:])
    order = parts if from_left else parts[::-1]
    made = order[0]
    for part in order[1:]:
        made = made @ part if from_left else part @ made
    return made
