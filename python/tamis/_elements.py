"""Functions of elements that no kernel has: NumPy computes them of what is stored.

isnan(A)        of the values of A, and of its fill value
where(C, A, B)  at the coordinates that C, A or B store, and of their fill values
hypot(A, x)     with an array x: of the fill value and x, then at the coordinates of A
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._errors import TamisOverflowError
from ._expressions import broadcast_shapes, compute, elementwise, has_kernel
from ._moves import broadcast_to
from ._tensor import Tensor, _of_entries, asarray, canonical

#: The operands whose absent elements, being 0, decide alone that those of the result are 0.
ANNIHILATED: dict[Any, tuple[int, ...]] = {
    np.bitwise_and: (0, 1),
    np.left_shift: (0,),
    np.right_shift: (0,),
}


def computed(name: str, *operands: Any) -> Any:
    """A function of elements by a kernel, or by NumPy where no kernel has it of such numbers."""
    if has_kernel(name, *operands):
        return compute(elementwise(name, *operands))
    return apply(getattr(np, name), *operands)


def apply(function: Callable[..., Any], *operands: Any) -> Any:
    """A function of NumPy of the elements of tensors, arrays and numbers, which broadcast."""
    try:
        return _applied(function, [_part(x) for x in operands])
    except OverflowError as error:
        text = f"error[integer-overflow]: {error}\n  = help: use astype first"
        raise TamisOverflowError("integer-overflow", text) from error


def _applied(function: Callable[..., Any], parts: list[Any]) -> Any:
    with np.errstate(all="ignore"):
        if not any(isinstance(x, Tensor) for x in parts):
            return function(*parts)
        shape = broadcast_shapes(*(getattr(x, "shape", ()) for x in parts))
        anchor = next(
            (parts[k] for k in ANNIHILATED.get(function, ()) if _annihilates(parts[k], shape)), None
        )
        if anchor is not None:
            parts = [at(x, anchor) if _is_array(x) else x for x in parts]
        arrays = [np.broadcast_to(x, shape) for x in parts if _is_array(x)]
        tensors = [x for x in parts if isinstance(x, Tensor)]
        if arrays:
            return _dense(function, parts, shape)
        if len(tensors) == 1:
            return _of_values(function, parts, tensors[0])
        return _joined(function, parts, shape)


def _part(x: Any) -> Any:
    """An operand: a sparse tensor, an array, or a number, whose type is weak as in NumPy."""
    if isinstance(x, (bool, int, float, complex, np.ndarray, np.generic)):
        return x
    tensor = asarray(x)
    return tensor.to_numpy() if is_full(tensor) or not tensor.ndim else canonical(tensor)


def is_full(tensor: Tensor) -> bool:
    """Whether every element is stored."""
    return not any(tensor.levels)


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.ndim > 0


def _annihilates(x: Any, shape: tuple[int, ...]) -> bool:
    return isinstance(x, Tensor) and x.shape == shape and x.fill_value == 0


def at(array: Any, pattern: Tensor) -> Tensor:
    """The elements of an array at the coordinates that a tensor stores."""
    coords, _ = pattern.entries()
    values = np.broadcast_to(array, pattern.shape)[tuple(coords)]
    return _of_entries(pattern.shape, coords, values)


def _fill(x: Any) -> Any:
    """The fill value of a tensor, in its type; a number is its own."""
    return np.asarray(x.fill_value, dtype=x.dtype)[()] if isinstance(x, Tensor) else x


def _dense(function: Callable[..., Any], parts: list[Any], shape: tuple[int, ...]) -> Any:
    """Every element: of fill values first, then at each coordinate that is stored."""
    result = np.broadcast_to(function(*map(_fill, parts)), shape).copy()
    coords, elements = _gathered(parts, shape)
    result[tuple(coords)] = function(*elements)
    return result


def _of_values(function: Callable[..., Any], parts: list[Any], tensor: Tensor) -> Any:
    """What is stored stays where it is."""
    values = tensor.values
    made = np.asarray(function(*[values if x is tensor else x for x in parts]))
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
    """Each coordinate once, and the place of each of those given."""
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
