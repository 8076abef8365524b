"""Functions of elements that are not computed by kernels: NumPy computes them of what is stored.

A * 2           of the values of A, and of its fill value
where(C, A, B)  at the coordinates where the result may be no fill value, and of fill values
hypot(A, x)     with an array x: of the fill value and x, then at the coordinates of A
A / x           at the coordinates of A
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from ._errors import (
    TamisError,
    TamisMemoryError,
    TamisOverflowError,
    TamisTypeError,
    TamisValueError,
)
from ._expressions import broadcast_shapes, compute, compute_kept, elementwise
from ._formulas import FUNCTIONS, has_kernel, result_type
from ._moves import broadcast_to
from ._native import check_memory
from ._operands import number_text, type_name
from ._plans import keep_plan, key_of, plan_of
from ._tensor import Tensor, _of_entries, asarray, compact, usual

#: The operands whose absent elements, being 0, decide alone that those of the result are 0.
ANNIHILATED: dict[Any, tuple[int, ...]] = {
    np.bitwise_and: (0, 1),
    np.divide: (0,),
    np.floor_divide: (0,),
    np.fmod: (0,),
    np.left_shift: (0,),
    np.logical_and: (0, 1),
    np.multiply: (0, 1),
    np.remainder: (0,),
    np.right_shift: (0,),
}
#: The functions that are others for some operands: of truth values, and of numbers other than NaN.
OF_TRUTH = {"bitwise_and": "logical_and", "bitwise_or": "logical_or", "bitwise_xor": "logical_xor"}
OF_NUMBERS = {"fmax": "maximum", "fmin": "minimum"}

#: The functions of which absent elements may decide, whatever an array beside them has.
BOUNDING = {np.fmax, np.fmin, np.maximum, np.minimum}

#: What NumPy raises for operands that it refuses.
FOREIGN = (OverflowError, MemoryError, TypeError, ValueError)
#: The functions whose results may not fit the type of their operands.
_GROWING = {"add", "subtract", "multiply", "power", "negative", "absolute", "square"}


def computed(name: str, *operands: Any) -> Any:
    """A function of elements: of one tensor, or of what no kernel computes, by NumPy on what is
    stored; of several by a kernel."""
    key = key_of(name, operands)
    plan = plan_of(key)
    if plan is not None:
        return plan(*operands)
    parts = [_part(x) for x in operands]
    if any(_is_nothing(parts[k]) for k in ANNIHILATED.get(getattr(np, name), ())):
        shape = broadcast_shapes(*(getattr(x, "shape", ()) for x in parts))
        return _nothing(shape, result_type(name, parts), 0)
    numbers = _numbers(parts)
    # Kernels read dense tensors as they are; of lists of duplicates they take longer than a copy in order does.
    is_own = [x is part and not isinstance(x, Tensor) for x, part in zip(numbers, parts)]
    given = [whole if own else x for x, own, whole in zip(numbers, is_own, operands)]
    tensors = [x for x in numbers if isinstance(x, Tensor)]
    is_alone = len(tensors) == 1 and not any(_is_array(x) for x in numbers)
    is_quotient = name == "divide" and _is_array(numbers[1])
    own = _of_kernels(name, numbers)
    is_bounded = _bound(getattr(np, name), numbers) is not None
    if is_alone or is_quotient or is_bounded or not tensors or own is None:
        function = _numpys(name, numbers)
        made = apply(function, *numbers)
        if key is not None and is_alone:
            keep_plan(key, _on_values(function, numbers, made))
        return made
    has_others = name in OF_NUMBERS or len(tensors) < len(numbers) and getattr(np, name) in BOUNDING
    return compute_kept(elementwise(own, *given), None if has_others else key, operands)


def _on_values(function: Callable[..., Any], parts: Sequence[Any], made: Any) -> Callable[..., Any]:
    """What computes a function of the values of one tensor beside numbers, and has the fill value
    that it made of such operands before."""
    at = next(k for k, x in enumerate(parts) if isinstance(x, Tensor))
    fill = number_text(made.fill_value)

    def plan(*operands: Any) -> Any:
        tensor, given = operands[at], list(operands)
        given[at] = tensor.values
        try:
            with np.errstate(all="ignore"):
                values = function(*given)
        except FOREIGN as error:
            raise told(error) from error
        # What NumPy gives as it is, or a part of, is the operand's.
        return Tensor(tensor.with_values(values if values.base is None else values.copy(), fill))

    return plan


def _of_kernels(name: str, parts: Sequence[Any]) -> str | None:
    """The function that kernels have for one of NumPy's and such operands, if there is one."""
    if name in OF_TRUTH and all(np.dtype(getattr(x, "dtype", type(x))) == bool for x in parts):
        name = OF_TRUTH[name]
    elif name in OF_NUMBERS and not any(_has_nan(x) for x in parts):
        name = OF_NUMBERS[name]
    return name if name in FUNCTIONS and has_kernel(name, parts) else None


def _has_nan(x: Any) -> bool:
    values = x.values if isinstance(x, Tensor) else np.asarray(x)
    # The least of elements is NaN if one is.
    return bool(values.size and np.isnan(values.min()) or np.isnan(_fill(x)).any())


def _numbers(parts: Sequence[Any]) -> list[Any]:
    """The operands, those of one element that stands for all of a tensor's as numbers."""
    axes = max((x.ndim for x in parts if isinstance(x, Tensor) and x.size != 1), default=0)

    def number(x: Any) -> Any:
        is_one = isinstance(x, (Tensor, np.ndarray)) and 0 < x.ndim <= axes and x.size == 1
        if not is_one:
            return x
        return (x.to_numpy() if isinstance(x, Tensor) else x).reshape(())

    return [number(x) for x in parts]


def _is_nothing(x: Any) -> bool:
    """Whether it is a tensor of which nothing is stored, and which is 0."""
    return _is_absent_zero(x) and not len(x.values)


def _nothing(shape: tuple[int, ...], dtype: Any, fill: Any) -> Tensor:
    """The tensor of which nothing is stored."""
    empty = np.zeros(0, dtype=np.int64)
    return _of_entries(shape, [empty] * len(shape), np.zeros(0, dtype=dtype), fill)


def apply(function: Callable[..., Any], *operands: Any) -> Any:
    """A function of NumPy of the elements of tensors, arrays and numbers, which broadcast."""
    try:
        with np.errstate(all="ignore"):
            return _applied(function, _numbers([_part(x) for x in operands]))
    except FOREIGN as error:
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
    tensors = [x for x in parts if isinstance(x, Tensor)]
    if not tensors:
        return function(*parts)
    shape = broadcast_shapes(*(getattr(x, "shape", ()) for x in parts))
    pattern = _pattern(function, parts)
    if pattern is None:
        return _dense(function, parts, shape)
    has_arrays = any(_is_array(x) for x in parts)
    if len(tensors) == 1 and has_arrays:
        own = compact(broadcast_to(tensors[0], shape))
        parts, tensors = [own if x is tensors[0] else x for x in parts], [own]
    if all(x.shape == shape and is_like(x, tensors[0]) for x in tensors):
        if not has_arrays or tensors[0].is_compact:
            return _of_values(function, parts, tensors[0], pattern.fill)
    if not pattern.terms:
        dtype = np.asarray(function(*map(_fill, parts))).dtype
        return _nothing(shape, dtype, np.asarray(pattern.fill).astype(dtype)[()])
    places, elements = _gathered(parts, shape, pattern.terms)
    values = np.asarray(function(*elements))
    return places._with_values(values, np.asarray(pattern.fill).astype(values.dtype)[()])


class Pattern(NamedTuple):
    """Where the result of a function may be something else than its fill value: where one of these
    terms holds, each of which holds where all of these operands store something."""

    terms: list[list[int]]
    fill: Any


def _pattern(function: Callable[..., Any], parts: list[Any]) -> Pattern | None:
    """Where a function has to be computed; none if at every coordinate."""
    zero = [k for k in ANNIHILATED.get(function, ()) if _is_absent_zero(parts[k])]
    if zero:
        return Pattern([zero], 0)
    if function is np.where:
        return _chosen(parts)
    terms = [[k] for k, x in enumerate(parts) if isinstance(x, Tensor)]
    if any(_is_array(x) for x in parts):
        bound = _bound(function, parts)
        return None if bound is None else Pattern(terms, bound)
    return Pattern(terms, np.asarray(function(*map(_fill, parts)))[()])


def _bound(function: Callable[..., Any], parts: list[Any]) -> Any:
    """The least or greatest that absent elements and those of an array all have together: the
    fill value of the result, which is sparse then; none if they differ."""
    if function not in BOUNDING or not any(_is_array(x) for x in parts):
        return None
    made = np.asarray(function(*map(_fill, parts)))
    first = made.flat[0] if made.size else None
    return first if first is not None and (made == first).all() else None


def _chosen(parts: list[Any]) -> Pattern | None:
    """The pattern of ``where``: where the condition is absent, it is that of what is chosen then."""
    condition, *choices = parts
    fills: list[Any] = [None if _is_array(x) else _fill(x) for x in choices]
    are_known = not any(x is None for x in fills)
    are_alike = are_known and np.array_equal(fills[0], fills[1], equal_nan=True)
    stored = [[k] for k, x in enumerate(parts) if isinstance(x, Tensor)]
    if _is_array(condition):
        return Pattern(stored, fills[0]) if are_alike else None
    usual, other = (1, 2) if _fill(condition) else (2, 1)
    if _is_array(parts[usual]):
        return None
    terms = [[usual]] if isinstance(parts[usual], Tensor) else []
    if isinstance(condition, Tensor):
        if not are_alike:
            terms.append([0])
        elif isinstance(parts[other], Tensor):
            terms.append([0, other])
    return Pattern(terms, fills[usual - 1])


def is_like(x: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same arrays of coordinates, as far as one sees at once."""
    return x is other or x.format == other.format and _addresses(x) == _addresses(other)


def _addresses(x: Tensor) -> list[tuple[str, int, int]]:
    arrays = [(name, array) for level in x.levels for name, array in level.items()]
    return [(name, array.ctypes.data, array.size) for name, array in arrays]


def _part(x: Any) -> Any:
    """An operand: a sparse tensor, an array, or a number, whose type is weak as in NumPy."""
    if isinstance(x, (bool, int, float, complex, np.ndarray, np.generic)):
        if isinstance(x, (np.ndarray, np.generic)):
            # Refuses types that no tensor has.
            type_name(x.dtype)
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


def masked(x: Tensor, mask: Tensor) -> Tensor | None:
    """The elements where truth values with the same coordinates hold, along one axis, if both have
    them in the order of rows; none otherwise."""
    if mask.fill_value or x.shape != mask.shape or not is_like(x, mask):
        return None
    values = x.values[mask.values]
    level = {"pos": np.array([0, len(values)]), "crd": np.arange(len(values))}
    return x._of_levels((len(values),), [level], values, format="sparse")


def _dense(function: Callable[..., Any], parts: list[Any], shape: tuple[int, ...]) -> Any:
    """Every element: of fill values first, then at each coordinate that is stored."""
    made = np.asarray(function(*map(_fill, parts)))
    check_memory("the array", made.itemsize * math.prod(shape))
    result = np.broadcast_to(made, shape).copy()
    terms = [[k] for k, x in enumerate(parts) if isinstance(x, Tensor)]
    places, elements = _gathered(parts, shape, terms)
    coords, _ = places.entries()
    result[tuple(coords)] = function(*elements)
    return result


def _of_values(function: Callable[..., Any], parts: list[Any], tensor: Tensor, fill: Any) -> Any:
    """What is stored stays where it is: that of all tensors is at the same coordinates."""
    arrays = [at(x, tensor).values if _is_array(x) else x for x in parts]
    values = np.asarray(function(*(x.values if isinstance(x, Tensor) else x for x in arrays)))
    return tensor._with_values(values, np.asarray(fill).astype(values.dtype)[()])


def _gathered(
    parts: list[Any], shape: tuple[int, ...], terms: list[list[int]]
) -> tuple[Tensor, list[Any]]:
    """A tensor that stores the coordinates where one of the terms holds, and the elements of each
    operand there, in the order of its values. A kernel finds where each operand has them."""
    tensors = {k: compact(x) for k, x in enumerate(parts) if isinstance(x, Tensor)}
    stored = {k: x._with_values(np.ones(len(x.values), bool), False) for k, x in tensors.items()}
    holds = [_folded("logical_and", [stored[k] for k in term]) for term in terms]
    needed = _folded("logical_or", holds)
    count = sum(len(x.values) for x in tensors.values())
    elements = list(parts)
    for k, x in tensors.items():
        # What is stored has numbers from 2, what is not has 1; the product is stored where needed.
        number = elementwise("add", x._with_values(np.arange(len(x.values)) + 1, 0), 1)
        tree = elementwise("multiply", number, needed)
        found = compute(tree, format=usual(tree.shape, count))
        pattern = broadcast_to(found, shape)
        elements[k] = np.append(x.values, _fill(x))[pattern.values - 2]
    coords, _ = pattern.entries() if any(_is_array(x) for x in parts) else ([], None)
    for k, x in enumerate(parts):
        if _is_array(x):
            elements[k] = np.broadcast_to(x, shape)[tuple(coords)]
    return pattern, elements


def _folded(name: str, tensors: Sequence[Any]) -> Any:
    """Several tensors as the operands of a function of two."""
    return reduce(partial(elementwise, name), tensors)
