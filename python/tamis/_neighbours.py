"""What is computed of neighbours along an axis, of as many entries as there are: differences, areas, products
with another vector that is moved along.

gradient(A, axis=1)      (A[:, k + 1] - A[:, k - 1]) / 2, at both ends the difference of two
trapezoid(A, axis=1)     the area below the line through the elements of each row
convolve(v, [1, 2, 1])   v[k - 2] + 2 * v[k - 1] + v[k]: a tensor
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import array_api
from ._elements import apply
from ._errors import TamisValueError
from ._expressions import axes_of
from ._moves import refused
from ._native import check_memory
from ._operands import refused as unfit
from ._tensor import Tensor, _of_entries, asarray, compact

xp: Any = array_api


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """The slope at each element along one axis, or along several, of each of them."""
    if edge_order not in (1, 2):
        raise unfit(f"slopes at ends are of order 1 or 2, not {edge_order!r}", "give one of these")
    tensor = asarray(f)
    axes = axes_of(axis, tensor.ndim)
    if tensor.is_full or not np.isfinite(tensor.fill_value):
        known: Any = np.gradient
        return known(tensor.to_numpy(), *varargs, axis=axis, edge_order=edge_order)
    if len(varargs) not in (0, 1, len(axes)) or len(varargs) == 1 and np.ndim(varargs[0]) and len(axes) > 1:
        raise unfit(f"{len(varargs)} spacings for {len(axes)} axes", "give one, or one for each axis")
    spacings = varargs or (1.0,)
    steps = [_steps(x, tensor, at) for x, at in zip(spacings * (len(axes) // len(spacings)), axes)]
    if tensor.dtype.kind in "iu":
        tensor = tensor.astype(np.float64)
    dtype = tensor.dtype
    if tensor.fill_value != 0:
        # What all elements have more is in no slope.
        tensor = tensor - tensor.fill_value
    made = [_slopes(tensor, at, step, edge_order).astype(dtype) for at, step in zip(axes, steps)]
    return made[0] if len(made) == 1 else tuple(made)


def _steps(spacing: Any, x: Tensor, at: int) -> Any:
    """The distance of neighbours along an axis: a number, or of each element to the next."""
    points = spacing.to_numpy() if isinstance(spacing, Tensor) else np.asarray(spacing)
    if not points.ndim:
        return points[()]
    if points.shape != (x.shape[at],):
        reason = f"coordinates of shape {points.shape} for an axis of {x.shape[at]} elements"
        raise refused(reason, "give one for each element")
    steps = np.diff(points.astype(np.float64) if points.dtype.kind in "iu" else points)
    return steps[0] if len(steps) and (steps == steps[0]).all() else steps


def _slopes(f: Any, at: int, step: Any, edge_order: int) -> Any:
    size = f.shape[at]
    if size <= edge_order:
        raise refused(f"an axis of {size} elements", f"slopes need {edge_order + 1} at least")

    def part(begin: int | None, end: int | None) -> Any:
        return f[(slice(None),) * at + (slice(begin, end),)]

    first, last = (step[0], step[-1]) if np.ndim(step) else (step, step)
    if edge_order == 1:
        ends = [(part(1, 2) - part(0, 1)) / first, (part(-1, None) - part(-2, -1)) / last]
    else:
        second, before = (step[1], step[-2]) if np.ndim(step) else (step, step)
        ends = [
            _weighed(_weights(first, second, -first), [part(k, k + 1) for k in range(3)]),
            _weighed(_weights(before, last, last), [part(-3, -2), part(-2, -1), part(-1, None)]),
        ]
    three = [part(None, -2), part(1, -1), part(2, None)]
    if np.ndim(step):
        one, other = (x.reshape((-1,) + (1,) * (f.ndim - at - 1)) for x in (step[:-1], step[1:]))
        between = _weighed(_weights(one, other, 0.0), three)
    else:
        between = (three[2] - three[0]) / (2.0 * step)
    return xp.concat([ends[0], between, ends[1]], axis=at)


def _weights(one: Any, other: Any, at: Any) -> list[Any]:
    """What three elements, of these distances, count in the slope of the parabola through them, at a distance
    from the middle one."""
    return [
        (2.0 * at - other) / (one * (one + other)),
        (other - one - 2.0 * at) / (one * other),
        (2.0 * at + one) / (other * (one + other)),
    ]


def _weighed(weights: list[Any], parts: list[Any]) -> Any:
    return weights[0] * parts[0] + weights[1] * parts[1] + weights[2] * parts[2]


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The area below the lines through neighbours along an axis, at coordinates, or so far from each other."""
    tensor = asarray(y)
    (at,) = axes_of(axis, tensor.ndim)
    widths = dx
    if x is not None:
        points = x.to_numpy() if isinstance(x, Tensor) else np.asarray(x)
        widths = np.diff(points, axis=-1 if points.ndim == 1 else axis)
        if points.ndim == 1:
            widths = widths.reshape((-1,) + (1,) * (tensor.ndim - at - 1))
    before = (slice(None),) * at
    both = tensor[(*before, slice(1, None))] + tensor[(*before, slice(None, -1))]
    return asarray(widths * both / 2.0).sum(axis=at)


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    """The elements, from each great step to a neighbour on by so many periods that the step is small: a tensor
    where no step is great."""
    tensor = asarray(p)
    (at,) = axes_of(axis, tensor.ndim)
    steps = asarray(xp.diff(tensor, axis=at))
    dtype = np.result_type(steps.dtype, period)
    half: Any = period / 2
    is_even = True
    if dtype.kind in "iu":
        half, rest = divmod(period, 2)
        is_even = rest == 0
    great = half if discont is None else discont

    def corrected(step: Any) -> Any:
        small = np.mod(step + half, period) - half
        if is_even:
            small = np.where((small == -half) & (step > 0), half, small)
        return np.where(np.abs(step) < great, 0, small - step)

    added = asarray(apply(corrected, steps))
    if not np.any(added):
        return tensor if dtype == tensor.dtype else tensor.astype(dtype)
    total: Any = np.cumsum(added, axis=at)
    widths = [(int(k == at), 0) for k in range(tensor.ndim)]
    return tensor + np.pad(total, widths)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The powers of the elements of a vector, from the greatest, or from 1, which are a column each."""
    vector = asarray(x)
    if vector.ndim != 1:
        raise unfit(f"powers are of one axis, not of {vector.ndim}", "give a vector")
    count = len(vector) if N is None else N
    dtype = np.promote_types(vector.dtype, int)
    powers: list[Any] = [np.ones(len(vector), dtype=dtype)]
    while len(powers) < count:
        powers.append(powers[-1] * vector)
    powers = [asarray(power).astype(dtype) for power in powers[:count]]
    if not powers:
        return _of_entries((len(vector), 0), [np.zeros(0, dtype=np.int64)] * 2, np.zeros(0, dtype=dtype))
    return xp.stack(powers if increasing else powers[::-1], axis=1)


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours among all elements, between others if these are given."""
    tensor = asarray(ary)
    made = xp.diff(tensor.reshape(-1))
    around = [_beside(x, made.dtype) for x in (to_begin, to_end)]
    parts = [x for x in (around[0], made, around[1]) if x is not None]
    return xp.concat(parts) if len(parts) > 1 else made


def _beside(x: Any, dtype: Any) -> Any:
    if x is None:
        return None
    added = asarray(x).reshape(-1)
    if not np.can_cast(added.dtype, dtype, "same_kind"):
        raise unfit(f"elements of {added.dtype} do not become {dtype}", "use astype first")
    return added.astype(dtype)


#: What of all sums of products convolutions give, by NumPy's words.
_MODES = ("full", "same", "valid")


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The sums of products of one vector and another that is moved along it backwards."""
    one, other = _vectors(a, v)
    return _cut(_products(one, other), one.size, other.size, mode, is_swapped=False)


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The sums of products of one vector and another, conjugated, that is moved along it."""
    one, other = _vectors(a, v)
    moved = asarray(xp.conj(other) if other.dtype.kind == "c" else other)[::-1]
    return _cut(_products(one, moved), one.size, other.size, mode, is_swapped=one.size < other.size)


def _vectors(a: Any, v: Any) -> list[Tensor]:
    made = [asarray(x).reshape(-1) if not np.ndim(x) else asarray(x) for x in (a, v)]
    wrong = [x for x in made if x.ndim != 1 or not x.size]
    if wrong:
        raise refused(f"an array of shape {wrong[0].shape} is no vector", "give two, with elements")
    return made


def _products(one: Tensor, other: Tensor) -> Any:
    """The sums of the products of elements whose indices have the same sum."""
    if one.is_full and other.is_full or one.fill_value != 0 or other.fill_value != 0:
        return np.convolve(one.to_numpy(), other.to_numpy())
    (own, values), (others, factors) = ((c[0], x) for c, x in (compact(y).entries() for y in (one, other)))
    check_memory("the products", 24.0 * len(own) * len(others))
    places = np.add.outer(own, others).reshape(-1)
    with np.errstate(all="ignore"):
        products = np.multiply.outer(values, factors).reshape(-1)
    return _of_entries((one.size + other.size - 1,), [places], products)


def _cut(x: Any, size: int, other: int, mode: Any, *, is_swapped: bool) -> Any:
    """The part of all sums that a mode names."""
    if mode not in _MODES:
        text = f"error[invalid-option]: there is no mode {mode!r}"
        raise TamisValueError("invalid-option", f"{text}\n  = help: use one of {', '.join(_MODES)}")
    if mode == "full":
        return x
    least, most = min(size, other), max(size, other)
    begin, count = ((least - 1) // 2, most) if mode == "same" else (least - 1, most - least + 1)
    # NumPy exchanges vectors of which the second is longer, and gives the result backwards.
    begin = size + other - 1 - begin - count if is_swapped else begin
    return x[begin : begin + count]
