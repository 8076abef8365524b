"""What begins at the first element of a line and goes on to its end: sums and products so far, and the
order of elements.

cumsum(A, axis=1)    of each row the sums of its first element, of two, of three: an array of NumPy's
cumprod(A, axis=1)   of each row the products: a tensor, since an implicit 0 makes all behind it 0
reduceat(A, [0, 3])  of each column the sums of its first three elements and of the others: a tensor
argsort(A, axis=1)   of each row where its least element is, the next, .., the greatest
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._errors import TamisIndexError, TamisOverflowError
from ._expressions import axes_of
from ._missing import without_nan
from ._moves import refused
from ._native import check_memory
from ._operators import no_out
from ._reductions import Groups
from ._tensor import Tensor, _of_entries, asarray, has_many_rows

Array = np.ndarray[Any, Any]


def _along(a: Any, axis: Any) -> tuple[Tensor, int]:
    """A tensor and one of its axes, or all its elements along one."""
    tensor = asarray(a)
    if axis is None or not tensor.ndim:
        axes_of((0 if axis is None else axis,), 1)
        return tensor.reshape(-1), 0
    (at,) = axes_of((axis,), tensor.ndim)
    return tensor, at


def _type_of(name: str, x: Tensor, dtype: Any) -> np.dtype[Any]:
    """The type of results: integers below 64 bits become those of 64 unless a type is asked for."""
    given = dtype if dtype is not None else getattr(np, name)(np.zeros(1, dtype=x.dtype)).dtype
    made: np.dtype[Any] = np.dtype(given)
    if made.kind in "iu" and not (np.isfinite(x.values).all() and np.isfinite(x.fill_value)):
        raise refused(f"NaN and infinity are no values of {made}", "ask for a type of floats")
    return made


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which a type is added up."""
    if dtype.kind in "iu":
        return np.dtype(np.uint64 if dtype.kind == "u" else np.int64)
    return np.dtype(np.result_type(dtype, np.float64)) if dtype.kind in "fc" else dtype


def _fitted(x: Array, dtype: np.dtype[Any]) -> Array:
    """Numbers in a type, if they fit."""
    if dtype.kind in "iu" and dtype.itemsize < 8 and x.size:
        known = np.iinfo(dtype)
        for value in (x.min(), x.max()):
            if not known.min <= value <= known.max:
                text = f"error[integer-overflow]: the value {value} does not fit {dtype}"
                way_out = 'ask for a wider type: dtype="int64"'
                raise TamisOverflowError("integer-overflow", f"{text}\n  = help: {way_out}")
    return x.astype(dtype, copy=False)


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
    """The sums of the elements up to each along an axis, or of all in the order of rows."""
    no_out(out)
    x, at = _along(a, axis)
    return _accumulated("cumsum", x, at, _type_of("cumsum", x, dtype))


def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
    """The products of the elements up to each along an axis, or of all in the order of rows."""
    no_out(out)
    x, at = _along(a, axis)
    made = _type_of("cumprod", x, dtype)
    found = _products(x, at, made) if x.fill_value == 0 else None
    return _accumulated("cumprod", x, at, made) if found is None else found


def cumulative_sum(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    out: None = None,
    include_initial: bool = False,
) -> Any:
    """``cumsum`` along an axis, which of a vector is its own; behind a 0 if that is asked for."""
    return _from_initial(cumsum(x, _only_axis(x, axis), dtype, out), axis, include_initial, 0)


def cumulative_prod(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    out: None = None,
    include_initial: bool = False,
) -> Any:
    """``cumprod`` along an axis, which of a vector is its own; behind a 1 if that is asked for."""
    return _from_initial(cumprod(x, _only_axis(x, axis), dtype, out), axis, include_initial, 1)


def _only_axis(x: Any, axis: int | None) -> int:
    if axis is None and x.ndim != 1:
        raise refused(f"of {x.ndim} axes none is the only one", "name one: axis=0")
    return 0 if axis is None else axis


def _from_initial(made: Any, axis: int | None, includes: bool, first: int) -> Any:
    """The sums or products behind that of nothing, if that is asked for."""
    if not includes:
        return made
    (at,) = axes_of((0 if axis is None else axis,), made.ndim)
    shape = (*made.shape[:at], 1, *made.shape[at + 1 :])
    return np.concatenate([np.full(shape, first, dtype=made.dtype), made], axis=at)


def accumulate(
    function: Any, array: Any, axis: Any = 0, dtype: Any = None, out: None = None
) -> Any:
    """What ``function.accumulate`` gives: sums and products so far, of others an array of NumPy's."""
    x, at = _only(array, axis)
    if function in (np.add, np.multiply):
        return (cumsum if function is np.add else cumprod)(x, at, dtype, out)
    no_out(out)
    check_memory("the array", 8.0 * x.size)
    return function.accumulate(x.to_numpy(), at, dtype)


def _only(array: Any, axis: Any) -> tuple[Tensor, int]:
    """A tensor and one of its axes, as functions of two elements take it."""
    x = asarray(array)
    (at,) = axes_of((_only_axis(x, axis) if axis is None else axis,), x.ndim)
    return x, at


def reduceat(
    function: Any, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: None = None
) -> Any:
    """What ``function.reduceat`` gives: one element for those of an axis from each index to the next."""
    no_out(out)
    x, at = _only(array, axis)
    begins, ends = _segments(indices, x.shape[at])
    before = (slice(None),) * at
    if function is not np.add or x.fill_value != 0:
        options = {} if dtype is None else {"dtype": dtype}
        parts = [
            function.reduce(x[(*before, slice(begin, end))], axis=at, keepdims=True, **options)
            for begin, end in zip(begins, ends)
        ]
        joined: Any = np.concatenate
        return joined(parts, axis=at)
    lengths = ends - begins
    # Each element as often as it is in a segment, those of one behind those of another.
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    taken = x[(*before, np.repeat(begins, lengths) + within)]
    coords, values = taken.astype(_type_of("cumsum", x, dtype)).canonical().entries()
    coords[at] = np.repeat(np.arange(len(lengths)), lengths)[coords[at]]
    return _of_entries((*x.shape[:at], len(lengths), *x.shape[at + 1 :]), coords, values)


def _segments(indices: Any, size: int) -> tuple[Array, Array]:
    """Where segments of an axis begin and end: at the next index, if it is greater, else behind one element."""
    begins = indices.to_numpy() if isinstance(indices, Tensor) else np.asarray(indices)
    if begins.ndim != 1 or begins.dtype.kind not in "iu" or not begins.size:
        raise refused(f"{indices!r} are no indices", "give a vector of integers, one at least")
    if not 0 <= begins.min() <= begins.max() < size:
        text = f"error[dimension-mismatch]: {indices!r} is outside of an axis of {size} elements"
        raise TamisIndexError("dimension-mismatch", f"{text}\n  = help: count from 0")
    begins = begins.astype(np.int64)
    following = np.append(begins[1:], size)
    return begins, np.where(following > begins, following, begins + 1)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
    """The sums of what is a number up to each element."""
    return cumsum(without_nan(a, 0), axis, dtype, out)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
    """The products of what is a number up to each element."""
    return cumprod(without_nan(a, 1), axis, dtype, out)


def _accumulated(name: str, x: Tensor, at: int, made: np.dtype[Any]) -> Any:
    """The array of sums or products. Where lines are by far more than those with entries it is a tensor,
    which stores lines from their first entry on."""
    wide, size = _wide(made), x.shape[at]
    numpys: Any = getattr(np, name)
    lines = math.prod(n for k, n in enumerate(x.shape) if k != at)
    if name == "cumsum" and x.fill_value == 0 and has_many_rows(lines, len(x.values)):
        return _lines_summed(x, at, made, wide)
    check_memory("the array", float(wide.itemsize) * lines * size)
    return _fitted(numpys(x.to_numpy(), axis=at, dtype=wide), made)


def _sorted(x: Tensor, at: int) -> tuple[Groups, Array, Array]:
    """The lines along an axis that have entries, with the coordinates and the values of these, ascending."""
    coords, values = x.canonical().entries()
    rest = [k for k in range(x.ndim) if k != at]
    shape = [x.shape[k] for k in rest]
    groups = Groups.of(shape, [*(coords[k] for k in rest), coords[at]], len(values))
    return groups, groups.sorted(coords[at]), groups.sorted(values)


def _put(x: Tensor, at: int, groups: Groups, own: Array, places: Array, values: Array) -> Tensor:
    """The tensor of values at coordinates along the lines of these numbers."""
    coords = [c[own] for c in groups.coords]
    coords.insert(at, places)
    return _of_entries(x.shape, coords, values)


def _lines_summed(x: Tensor, at: int, made: np.dtype[Any], wide: np.dtype[Any]) -> Tensor:
    groups, places, values = _sorted(x, at)
    # Each entry holds until the next one of its line.
    ends = np.append(places[1:], 0)
    ends[groups.begins + groups.lengths - 1] = x.shape[at]
    times = ends - places
    total = int(times.sum())
    check_memory("the sums", float(wide.itemsize + 8 * x.ndim) * total)
    sums = _by_lines(np.cumsum, groups, values, wide)
    own = np.repeat(np.arange(len(groups.lengths)), groups.lengths)
    within = np.arange(total) - np.repeat(np.cumsum(times) - times, times)
    found = np.repeat(places, times) + within
    return _put(x, at, groups, np.repeat(own, times), found, _fitted(np.repeat(sums, times), made))


def _by_lines(numpys: Any, groups: Groups, values: Array, wide: np.dtype[Any]) -> Array:
    """Sums or products so far within each line: of the first entries of all, of the second, and so on, or
    line by line where there are fewer of these."""
    made = values.astype(wide)
    longest = int(groups.lengths.max(initial=0))
    if longest > len(groups.lengths):
        for begin, length in zip(groups.begins, groups.lengths):
            line = slice(begin, begin + length)
            made[line] = numpys(made[line])
        return made
    join = np.add if numpys is np.cumsum else np.multiply
    # Lines with more entries first: those that have a k-th one are the first of them.
    order = np.argsort(-groups.lengths, kind="stable")
    begins, lengths = groups.begins[order], groups.lengths[order]
    with np.errstate(all="ignore"):
        for k in range(1, longest):
            own = begins[: int(np.searchsorted(-lengths, -k, side="left"))] + k
            made[own] = join(made[own], made[own - 1])
    return made


def _products(x: Tensor, at: int, made: np.dtype[Any]) -> Tensor | None:
    """The products of lines as far as every element is stored: all behind are 0; none where 0 times one of them is
    not."""
    groups, places, values = _sorted(x, at)
    if not np.isfinite(values).all():
        return None
    within = np.arange(len(values)) - np.repeat(groups.begins, groups.lengths)
    # Coordinates ascend: where one is its number, so are those before it.
    kept = places == within
    number = np.repeat(np.arange(len(groups.lengths)), groups.lengths)[kept]
    is_first = np.append(True, number[1:] != number[:-1])[: len(number)]
    begins = np.flatnonzero(is_first)
    lengths = np.diff(begins, append=len(number))
    own = groups._replace(begins=begins, lengths=lengths)
    elements = values[kept].astype(made) if made.kind in "iub" else values[kept]
    products = _fitted(_by_lines(np.cumprod, own, elements, _wide(made)), made)
    if not np.isfinite(products).all():
        return None
    return _put(x, at, groups, number, places[kept], products)


#: What NumPy calls the ways to sort.
_KINDS = (None, "quicksort", "mergesort", "heapsort", "stable")

#: So many elements are sorted at a time.
_BLOCK = 1 << 20


def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None
) -> Any:
    """Where the least element is along an axis, the next, and so on; those that are equal in the order in
    which they are. NaN is behind all numbers."""
    if order is not None or (kind is not None and stable is not None) or kind not in _KINDS:
        reason = f"kind={kind!r}, order={order!r}, stable={stable!r} is no way to sort"
        raise refused(reason, "leave all out: the order of what is equal is kept")
    x, at = _along(a, axis)
    size, rest = x.shape[at], [n for k, n in enumerate(x.shape) if k != at]
    lines = math.prod(rest)
    check_memory("the array", 8.0 * lines * size)
    result = np.empty((lines, size), dtype=np.int64)
    own, places, values, fill = _unlike_fill(x, at, rest)
    is_less = values == values if fill != fill else values < fill
    step = max(_BLOCK // max(size, 1), 1)
    for first in range(0, lines if size else 0, step):
        count = min(step, lines - first)
        part = slice(*np.searchsorted(own, [first, first + count]))
        _put_in_order(result[first : first + count], own[part] - first, places[part], is_less[part])
    made = result.reshape([*rest, size])
    return np.moveaxis(made, -1, at)


def _unlike_fill(x: Tensor, at: int, rest: list[int]) -> tuple[Array, Array, Array, Any]:
    """The number of the line, the coordinate and the value of each entry that is not the fill value,
    lesser ones of a line first; and the fill value."""
    coords, values = x.canonical().entries()
    fill = np.asarray(x.fill_value).astype(values.dtype)[()]
    apart = values == values if fill != fill else values != fill
    coords, values = [c[apart] for c in coords], values[apart]
    own = np.zeros(len(values), dtype=np.int64)
    for k, n in zip((k for k in range(x.ndim) if k != at), rest):
        own = own * n + coords[k]
    order = np.lexsort((coords[at], values, own))
    return own[order], coords[at][order], values[order], fill


def _put_in_order(result: Array, own: Array, places: Array, is_less: Array) -> None:
    """Writes the coordinates of some lines: of lesser entries, of the fill value, of the others."""
    count, size = result.shape
    lengths = np.bincount(own, minlength=count)
    less = np.bincount(own[is_less], minlength=count)
    is_absent = np.ones((count, size), dtype=bool)
    is_absent[own, places] = False
    lines, columns = np.nonzero(is_absent)
    absent = size - lengths
    begins = np.cumsum(absent) - absent
    result[lines, np.arange(len(lines)) - begins[lines] + less[lines]] = columns
    within = np.arange(len(own)) - (np.cumsum(lengths) - lengths)[own]
    result[own, np.where(is_less, within, within + absent[own])] = places
