"""Medians, quantiles and variances of what is a number, by the entries of each group in order.

median(A, axis=1)        a row of 5 elements that stores 3, 1, -2: -2 0 0 1 3, of which the middle one is 0
quantile(A, 0.9, axis=0) of each column the element, or the two beside it, at 0.9 of the way to the greatest
nanvar(A)                the mean square of the distance of numbers from their mean
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ._errors import TamisValueError
from ._expressions import axes_of
from ._operands import refused
from ._operators import no_out
from ._reductions import _numbered, _sums, var
from ._tensor import Tensor, asarray

Array = np.ndarray[Any, Any]


def _rounded(at: Array, odd: bool) -> Array:
    """The next number, or the number itself where it is whole, and odd if that is asked for."""
    below = np.floor(at)
    stays = (at == below) & (below % 2 == 1 if odd else True)
    return np.maximum(np.where(stays, below, below + 1), 0)


def _between(alpha: float, beta: float) -> Callable[[Array, Any], Array]:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


#: By NumPy's names the rank of a quantile among so many elements in order, from 0.
_PLACES: dict[str, Callable[[Array, Any], Array]] = {
    "inverted_cdf": lambda n, q: _rounded(n * q - 1, odd=False),
    "averaged_inverted_cdf": lambda n, q: _halved(n * q - 1),
    "closest_observation": lambda n, q: _rounded(n * q - 1.5, odd=True),
    "interpolated_inverted_cdf": _between(0, 1),
    "hazen": _between(0.5, 0.5),
    "weibull": _between(0, 0),
    "linear": lambda n, q: (n - 1) * q,
    "median_unbiased": _between(1 / 3, 1 / 3),
    "normal_unbiased": _between(3 / 8, 3 / 8),
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
    "nearest": lambda n, q: np.around((n - 1) * q),
}


#: The methods whose quantiles are elements.
_ELEMENTS = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")


def _halved(at: Array) -> Array:
    """The middle between a whole number and the next; of others the next whole number."""
    below = np.floor(at)
    return below + np.where(at == below, 0.5, 1.0)


def _counted(x: Tensor, axes: tuple[int, ...]) -> int:
    """How many elements there are along axes, if integers of 64 bits count them."""
    size = math.prod(x.shape[k] for k in axes)
    if size >= 2**63:
        raise refused(f"{size} elements are more than a count reaches", "give an axis")
    return size


class Ranks:
    """The elements of each group in order: those that are stored, and the fill value as often as it is
    not stored. NaN is greater than any number."""

    def __init__(self, x: Tensor, axes: tuple[int, ...]) -> None:
        tensor = x.canonical()
        coords, values = tensor.entries()
        self.size = _counted(tensor, axes)
        own, lengths, self.spread = _numbered(tensor, coords, axes, len(values))
        if len(lengths) < 2:
            self.values = np.sort(values)
        else:
            order = np.lexsort((values, own))
            self.values, own = values[order], own[order]
        self.fill = np.asarray(tensor.fill_value).astype(values.dtype)[()]
        self.begins, self.absent = np.cumsum(lengths) - lengths, self.size - lengths
        is_nan, count = self.values != self.values, len(lengths)
        is_less = ~is_nan if self.fill != self.fill else self.values < self.fill
        self.less = np.bincount(own[is_less], minlength=count)
        self.missing = np.bincount(own[is_nan], minlength=count)
        if self.fill != self.fill:
            self.missing = self.missing + self.absent

    def at(self, ranks: Array) -> Array:
        """The element of each group that so many are before."""
        behind = ranks - self.absent
        is_less, is_fill = ranks < self.less, (ranks >= self.less) & (behind < self.less)
        if not len(self.values):
            return np.full(ranks.shape, self.fill)
        places = np.where(is_fill, 0, self.begins + np.where(is_less, ranks, behind))
        return np.where(is_fill, self.fill, self.values[np.minimum(places, len(self.values) - 1)])


def _between_ranks(ranks: Ranks, places: Array, count: Array, made: np.dtype[Any]) -> Array:
    """The elements at ranks that are no whole numbers, from the two beside them."""
    places = np.clip(places, 0, np.maximum(count - 1, 0))
    low = np.floor(places).astype(np.int64)
    part = places.astype(np.float64) - low
    below = ranks.at(low)
    if not part.any():
        return below.astype(made)
    above = ranks.at(np.where(part > 0, low + 1, low))
    below, above = (x.astype(np.result_type(x, made)) for x in (below, above))
    apart = above - below
    found = np.where(part < 0.5, below + apart * part, above - apart * (1 - part))
    return np.where(part > 0, found, below).astype(made)


def _found(
    a: Any, axis: Any, keepdims: Any, leaves_out: str, one: Callable[[Ranks, Array], list[Array]]
) -> list[Any]:
    """Some numbers of each group, of its elements in order: ``one`` gives them, of so many elements."""
    tensor = asarray(a)
    axes = axes_of(axis, tensor.ndim)
    ranks = Ranks(tensor, axes)
    shape = [1 if k in axes else n for k, n in enumerate(tensor.shape)]
    count = np.full(len(ranks.absent), ranks.size)
    if leaves_out == "nan":
        count = count - ranks.missing
    # Of a group without entries.
    empty = 0 if leaves_out == "nan" and ranks.fill != ranks.fill else ranks.size
    results = []
    with np.errstate(all="ignore"):
        for values in one(ranks, count):
            alone = ranks.fill if empty else np.nan
            if values.dtype.kind in "fc":
                is_nan = count == 0 if leaves_out == "nan" else ranks.missing > 0
                values = np.where(is_nan | (count == 0), values.dtype.type(np.nan), values)
            result = ranks.spread(values, alone)
            results.append(np.reshape(result, shape) if keepdims else result)
    return results


def _median(a: Any, axis: Any, keepdims: Any, leaves_out: str) -> Any:
    x = asarray(a)
    made = np.dtype(np.float64) if x.dtype.kind in "iub" else x.dtype

    def middle(ranks: Ranks, count: Array) -> list[Array]:
        low, high = (ranks.at(np.maximum(k, 0)) for k in ((count - 1) // 2, count // 2))
        wide = np.result_type(made, np.float32)
        mean = (low.astype(wide) + high.astype(wide)) / 2
        # Two that are one have no sum, which may be infinite.
        return [np.where((low == high) & (count % 2 == 1), low.astype(wide), mean).astype(made)]

    return _found(x, axis, _is_true(keepdims), leaves_out, middle)[0]


def median(
    a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: Any = False
) -> Any:
    """The middle one of the elements in order, or the mean of the two in the middle."""
    no_out(out)
    return _median(a, axis, keepdims, "nothing")


def nanmedian(
    a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: Any = False
) -> Any:
    """The median of what is a number."""
    no_out(out)
    return _median(a, axis, keepdims, "nan")


def _quantiles(scale: int, leaves_out: str) -> Callable[..., Any]:
    """The function of NumPy's for quantiles in parts of so many."""
    numpys: Any = np.quantile if scale == 1 else np.percentile

    def quantile(
        a: Any,
        q: Any,
        axis: Any = None,
        out: None = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: Any = False,
    ) -> Any:
        no_out(out)
        x = asarray(a)
        wanted = q.to_numpy() if isinstance(q, Tensor) else np.asarray(q)
        given = q if np.ndim(q) == 0 and not isinstance(q, Tensor) else wanted
        _check(x, wanted, scale, method)
        if leaves_out == "nan" and not x.size:
            # As NumPy has it: the mean of nothing, once for all quantiles.
            return nanmedian(x, axis, keepdims=keepdims)
        if not math.prod(x.shape[k] for k in axes_of(axis, x.ndim)):
            raise _refused("no elements have no quantile", "leave out axes of size 0")
        # NumPy says of what type the result is.
        made = numpys(np.zeros(1, dtype=x.dtype), given, method=method).dtype
        place = _PLACES[method]
        # Ranks are computed in the type of the quantiles, as NumPy does.
        parts = wanted.reshape(-1).astype(wanted.dtype if wanted.dtype.kind == "f" else float) / scale

        def each(ranks: Ranks, count: Array) -> list[Array]:
            number = count.astype(parts.dtype)
            return [_between_ranks(ranks, place(number, part), count, made) for part in parts]

        found = _found(x, axis, _is_true(keepdims), leaves_out, each)
        if not wanted.ndim:
            return found[0]
        return _stacked(found, wanted.shape, x, made, axis, _is_true(keepdims))

    return quantile


def _check(x: Tensor, wanted: Array, scale: int, method: str) -> None:
    """Refuses what has no quantiles, and what are none."""
    is_between = method not in _ELEMENTS and method in _PLACES
    if x.dtype.kind == "c" or x.dtype.kind == "b" and is_between:
        reason = f"elements of {x.dtype} have no quantiles by {method!r}, which are of real numbers"
        raise refused(reason, "convert them: astype(float)")
    if wanted.dtype.kind not in "iuf":
        raise refused(f"{wanted.dtype} are no quantiles", f"use numbers from 0 to {scale}")
    wrong = wanted[~((wanted >= 0) & (wanted <= scale))]
    if wrong.size:
        raise _refused(f"the quantile {wrong.flat[0]} is out of the range", f"use 0 to {scale}")
    if method not in _PLACES:
        raise _refused(f"{method!r} is not a valid method", f"use one of {', '.join(_PLACES)}")


def _refused(reason: str, way_out: str) -> TamisValueError:
    return TamisValueError(
        "invalid-option", f"error[invalid-option]: {reason}\n  = help: {way_out}"
    )


def _stacked(
    found: list[Any], shape: tuple[int, ...], x: Tensor, made: Any, axis: Any, keepdims: bool
) -> Any:
    """Several results along axes before theirs."""
    if not found:
        axes = axes_of(axis, x.ndim)
        rest = [1 if k in axes else n for k, n in enumerate(x.shape) if keepdims or k not in axes]
        return np.zeros((*shape, *rest), dtype=made)
    return np.stack(found).reshape((*shape, *np.shape(found[0])))


quantile, nanquantile = _quantiles(1, "nothing"), _quantiles(1, "nan")
percentile, nanpercentile = _quantiles(100, "nothing"), _quantiles(100, "nan")


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: Any = False,
    *,
    correction: Any = None,
) -> Any:
    """The mean square of the distance of numbers from their mean."""
    no_out(out)
    taken = ddof if correction is None or correction is np._NoValue else correction
    x = asarray(a)
    if x.dtype.kind not in "fc":
        return var(x, axis=axis, correction=taken, keepdims=_is_true(keepdims), dtype=dtype)
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise refused(f"the variance of {x.dtype} is no {np.dtype(dtype)}", "use a type of floats")
    tensor = x.canonical()
    axes = axes_of(axis, tensor.ndim)
    coords, stored = tensor.entries()
    size = _counted(tensor, axes)
    wide = np.dtype(np.complex128 if tensor.dtype.kind == "c" else np.float64)
    fill = wide.type(tensor.fill_value)
    own, lengths, spread = _numbered(tensor, coords, axes, len(stored))
    is_number = stored == stored
    own, values = own[is_number], stored[is_number].astype(wide)
    numbers = np.bincount(own, minlength=len(lengths))
    absent = np.zeros(len(lengths)) if fill != fill else (size - lengths).astype(np.float64)
    fill = wide.type(0) if fill != fill else fill
    count = numbers + absent

    def total(x: Array, others: Any) -> Any:
        return _sums(own, x, len(lengths)) + np.where(absent, absent * others, 0)

    with np.errstate(all="ignore"):
        mean = total(values, fill) / count
        apart, others = values - mean[own], fill - mean
        squares = total(np.abs(apart) ** 2, np.abs(others) ** 2)
        rounded = np.abs(total(apart, others)) ** 2 / count
        squares = np.maximum(squares - np.where(np.isfinite(rounded), rounded, 0), 0)
        made = np.dtype(dtype) if dtype is not None else np.zeros(0, x.dtype).real.dtype
        found = np.where(count > taken, squares / (count - taken), np.nan).astype(made)
    is_known = tensor.fill_value == tensor.fill_value and size > taken
    result = spread(found, 0.0 if is_known else np.nan)
    shape = [1 if k in axes else n for k, n in enumerate(tensor.shape)]
    return np.reshape(result, shape) if _is_true(keepdims) else result


def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: Any = False,
    *,
    correction: Any = None,
) -> Any:
    """The square root of ``nanvar``."""
    return np.sqrt(nanvar(a, axis, dtype, out, ddof, keepdims, correction=correction))


def _is_true(keepdims: Any) -> bool:
    return bool(keepdims) and keepdims is not np._NoValue
