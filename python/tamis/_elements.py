"""Functions of elements that are not computed by kernels: NumPy computes them of what is stored.

A * 2           of the values of A, and of its fill value
where(C, A, B)  at the coordinates that C, A or B store, and of their fill values
hypot(A, x)     with an array x: of the fill value and x, then at the coordinates of A
A / x           at the coordinates of A
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._errors import (
    TamisError,
    TamisMemoryError,
    TamisOverflowError,
    TamisTypeError,
    TamisValueError,
)
from ._expressions import broadcast_shapes, compute, elementwise
from ._formulas import has_kernel, result_type
from ._moves import broadcast_to
from ._tensor import Tensor, _of_entries, asarray, compact

#: The operands whose absent elements, being 0, decide alone that those of the result are 0.
ANNIHILATED: dict[Any, tuple[int, ...]] = {
    np.bitwise_and: (0, 1),
    np.divide: (0,),
    np.floor_divide: (0,),
    np.fmod: (0,),
    np.left_shift: (0,),
    np.multiply: (0, 1),
    np.remainder: (0,),
    np.right_shift: (0,),
}

#: The functions whose results may not fit the type of their operands.
_GROWING = {"add", "subtract", "multiply", "power", "negative", "absolute", "square"}


def computed(name: str, *operands: Any) -> Any:
    """A function of elements: of one tensor, or of what no kernel computes, by NumPy on what is
    stored; of several by a kernel."""
    parts = [_part(x) for x in operands]
    tensors = [x for x in parts if isinstance(x, Tensor)]
    is_alone = len(tensors) == 1 and not any(_is_array(x) for x in parts)
    is_quotient = name == "divide" and _is_array(parts[1])
    if is_alone or is_quotient or not tensors or not has_kernel(name, parts):
        return apply(_numpys(name, parts), *parts)
    return compute(elementwise(name, *operands))


def apply(function: Callable[..., Any], *operands: Any) -> Any:
    """A function of NumPy of the elements of tensors, arrays and numbers, which broadcast."""
    try:
        with np.errstate(all="ignore"):
            return _applied(function, [_part(x) for x in operands])
    except (OverflowError, MemoryError, TypeError, ValueError) as error:
        raise told(error) from error


def told(error: Exception) -> TamisError:
    """What NumPy refuses, as the package refuses it."""
    if isinstance(error, TamisError):
        return error
    for known, code, made, way_out in _TOLD:
        if isinstance(error, known):
            break
    is_inside = isinstance(error, TypeError) and "ufunc" not in str(error)
    reason = "these are no operands of the function" if is_inside else str(error)
    return made(code, f"error[{code}]: {reason}\n  = help: {way_out}")


_TOLD: tuple[tuple[type[Exception], str, type[TamisError], str], ...] = (
    (OverflowError, "integer-overflow", TamisOverflowError, "use astype first"),
    (MemoryError, "out-of-memory", TamisMemoryError, "use a smaller array, or parts of it"),
    (TypeError, "type-mismatch", TamisTypeError, "convert the operands: astype(float)"),
    (Exception, "invalid-option", TamisValueError, "convert the operands: astype(float)"),
)


def _numpys(name: str, parts: Sequence[Any]) -> Callable[..., Any]:
    """NumPy's function of a name. Integers below 64 bits are computed in 64, and what does not
    fit their type is refused."""
    function: Any = getattr(np, name)
    dtype = result_type(name, parts)
    if name not in _GROWING or dtype.kind not in "iu" or dtype.itemsize == 8:
        return function  # type: ignore[no-any-return]

    def checked(*values: Any) -> Any:
        made = function(*values)
        wide = np.asarray(function(*(np.asarray(x, dtype=np.int64) for x in values)))
        near = np.asarray(function(*(np.asarray(x, dtype=np.float64) for x in values)))
        # A power may be beyond 64 bits, too.
        wrong = np.flatnonzero((made != wide) | (abs(near) >= 2.0**63))
        if len(wrong):
            value = near.flat[wrong[0]]
            shown = wide.flat[wrong[0]] if abs(value) < 2.0**63 else f"{value:.6g}"
            raise OverflowError(f"the value {shown} does not fit {dtype}")
        return made

    return checked


def _applied(function: Callable[..., Any], parts: list[Any]) -> Any:
    if not any(isinstance(x, Tensor) for x in parts):
        return function(*parts)
    shape = broadcast_shapes(*(getattr(x, "shape", ()) for x in parts))
    zero = [k for k in ANNIHILATED.get(function, ()) if _is_absent_zero(parts[k])]
    if zero:
        k = min(zero, key=lambda k: parts[k].shape != shape)
        anchor = parts[k] = compact(broadcast_to(parts[k], shape))
        return _anchored(function, parts, anchor)
    if any(_is_array(x) for x in parts):
        return _dense(function, parts, shape)
    if sum(isinstance(x, Tensor) for x in parts) == 1:
        return _of_values(function, parts)
    return _joined(function, parts, shape)


def _anchored(function: Callable[..., Any], parts: list[Any], anchor: Tensor) -> Tensor:
    """At the coordinates of one of the operands, which is 0 elsewhere as the result is."""
    if not any(isinstance(x, Tensor) and x is not anchor for x in parts):
        arrays = [at(x, anchor).values if _is_array(x) else x for x in parts]
        values = function(*(x.values if x is anchor else x for x in arrays))
        return anchor._with_values(np.asarray(values), 0)
    is_stored = anchor._with_values(np.ones(len(anchor.values), dtype=bool), False)
    coords, elements = _gathered([*parts, is_stored], anchor.shape)
    *elements, chosen = elements
    elements = [x[chosen] if _is_array(x) else x for x in elements]
    return _of_entries(anchor.shape, [axis[chosen] for axis in coords], function(*elements))


def _part(x: Any) -> Any:
    """An operand: a sparse tensor, an array, or a number, whose type is weak as in NumPy."""
    if isinstance(x, (bool, int, float, complex, np.ndarray, np.generic)):
        return x
    tensor = x if isinstance(x, Tensor) else asarray(x)
    return tensor.to_numpy() if tensor.is_full else tensor.canonical()


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.ndim > 0


def _is_absent_zero(x: Any) -> bool:
    return isinstance(x, Tensor) and bool(x.fill_value == 0)


def at(array: Any, pattern: Tensor) -> Tensor:
    """The elements of an array at the coordinates that a tensor stores."""
    pattern = compact(pattern)
    coords, _ = pattern.entries()
    return pattern._with_values(np.broadcast_to(array, pattern.shape)[tuple(coords)], 0)


def _fill(x: Any) -> Any:
    """The fill value of a tensor, in its type; a number is its own."""
    return np.asarray(x.fill_value, dtype=x.dtype)[()] if isinstance(x, Tensor) else x


def _dense(function: Callable[..., Any], parts: list[Any], shape: tuple[int, ...]) -> Any:
    """Every element: of fill values first, then at each coordinate that is stored."""
    result = np.broadcast_to(function(*map(_fill, parts)), shape).copy()
    coords, elements = _gathered(parts, shape)
    result[tuple(coords)] = function(*elements)
    return result


def _of_values(function: Callable[..., Any], parts: list[Any]) -> Any:
    """What is stored stays where it is."""
    tensor = next(x for x in parts if isinstance(x, Tensor))
    made = np.asarray(function(*(x.values if x is tensor else x for x in parts)))
    fill = np.asarray(function(*map(_fill, parts))).astype(made.dtype)[()]
    return tensor._with_values(made, fill)


def _joined(function: Callable[..., Any], parts: list[Any], shape: tuple[int, ...]) -> Tensor:
    """Tensors of several patterns: at the coordinates of all."""
    coords, elements = _gathered(parts, shape)
    values = np.asarray(function(*elements))
    fill = np.asarray(function(*map(_fill, parts))).astype(values.dtype)[()]
    return _of_entries(shape, coords, values, fill)


def _gathered(
    parts: list[Any], shape: tuple[int, ...]
) -> tuple[Sequence[np.ndarray[Any, Any]], list[Any]]:
    """The coordinates that some tensor stores, and the elements of each operand there."""
    stored = [broadcast_to(x, shape).entries() for x in parts if isinstance(x, Tensor)]
    lengths = [len(values) for _, values in stored]
    joined = [np.concatenate(axis) for axis in zip(*(coords for coords, _ in stored))]
    coords, places = _unique(joined, shape)
    owns = iter(zip(np.split(places, np.cumsum(lengths)[:-1]), (v for _, v in stored)))
    elements = []
    for x in parts:
        if isinstance(x, Tensor):
            own, values = next(owns)
            element = np.full(len(coords[0]), x.fill_value, dtype=x.dtype)
            element[own] = values
        elif _is_array(x):
            element = np.broadcast_to(x, shape)[tuple(coords)]
        else:
            element = x
        elements.append(element)
    return coords, elements


def _unique(
    coords: list[np.ndarray[Any, Any]], shape: tuple[int, ...]
) -> tuple[Sequence[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """Each coordinate once, and the index of each of those given."""
    if math.prod(shape) < 2**63:
        keys = np.ravel_multi_index(tuple(coords), shape) if len(coords[0]) else coords[0]
        # The coordinates of each tensor ascend, which this sort makes use of.
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        is_first = np.ones(len(keys), dtype=bool)
        is_first[1:] = keys[1:] != keys[:-1]
        places = np.empty(len(keys), dtype=np.intp)
        places[order] = np.cumsum(is_first) - 1
        found = keys[is_first]
        return np.unravel_index(found, shape) if found.size else coords, places
    found, places = np.unique(np.stack(coords), axis=1, return_inverse=True)
    return list(found), places.reshape(-1)
