"""Functions of elements in index notation: how they are written, their types, and numbers in them.

add of A and 2    {} + {}, of the type that NumPy gives it
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._errors import TamisOverflowError
from ._operands import refused

#: How functions of elements are written, by the names that NumPy's ufuncs have.
FUNCTIONS = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "negative": "-{}",
    "absolute": "abs({})",
    "minimum": "min({}, {})",
    "maximum": "max({}, {})",
    "power": "pow({}, {})",
    "remainder": "mod({}, {})",
    "equal": "{} == {}",
    "not_equal": "{} != {}",
    "less": "{} < {}",
    "less_equal": "{} <= {}",
    "greater": "{} > {}",
    "greater_equal": "{} >= {}",
    "logical_and": "and({}, {})",
    "logical_or": "or({}, {})",
    "logical_xor": "xor({}, {})",
    "logical_not": "not({})",
    "arctan2": "atan2({}, {})",
    "heaviside": "heaviside({}, {})",
    "square": "square({})",
    "cube": "cube({})",
    "sqrt": "sqrt({})",
    "cbrt": "cbrt({})",
    "exp": "exp({})",
    "log": "log({})",
    "log10": "log10({})",
    "sin": "sin({})",
    "cos": "cos({})",
    "tan": "tan({})",
    "arcsin": "asin({})",
    "arccos": "acos({})",
    "arctan": "atan({})",
    "sinh": "sinh({})",
    "cosh": "cosh({})",
    "tanh": "tanh({})",
    "arcsinh": "asinh({})",
    "arccosh": "acosh({})",
    "arctanh": "atanh({})",
}
REAL = {"divide", "arctan2", "heaviside", *list(FUNCTIONS)[list(FUNCTIONS).index("sqrt") :]}
_COMPARED = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}
_LOGICAL = {name for name in FUNCTIONS if name.startswith("logical")}
#: What sums and products of truth values are.
OF_TRUTH = {"add": "logical_or", "multiply": "logical_and"}
#: The functions of which there is no kernel for complex numbers.
_NOT_COMPLEX = {
    *("power", "tan", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"),
    *("minimum", "maximum", "less", "less_equal", "greater", "greater_equal"),
}
#: The functions that are 0 only of 0.
VANISHING = {
    *("add", "subtract", "multiply", "negative", "absolute", "minimum", "maximum", "square"),
    *("cube", "sqrt", "cbrt", "sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh"),
}
#: The functions that are 0 where their first operand is an absent 0, whatever the second one is.
DIVIDING = {"divide", "remainder"}
#: Beyond every integer that has a type.
_BEYOND = 2.0**100


def result_type(name: str, operands: Sequence[Any]) -> np.dtype[Any]:
    """The type that NumPy gives a function of elements of such operands."""
    types: list[Any] = [type(x) if is_number(x) else x.dtype for x in operands]
    wanted: Any = [np.dtype(bool) if x is bool else x for x in types]
    try:
        return getattr(np, name).resolve_dtypes((*wanted, None))[-1]  # type: ignore[no-any-return]
    except TypeError as error:
        shown = " and ".join(x.__name__ if isinstance(x, type) else str(x) for x in types)
        raise refused(
            f"there is no {name} of {shown}", "convert the operands: astype(float)"
        ) from error


def has_kernel(name: str, operands: Sequence[Any]) -> bool:
    """Whether kernels compute a function of elements of such types."""
    if name in _COMPARED and _is_mixed([x.dtype for x in operands if not is_number(x)]):
        return False
    if name == "divide" and np.result_type(*map(_type, operands[1:])).kind == "c":
        # NumPy has rules of its own for what a complex 0 divides.
        return False
    if name == "arctan2":
        # Kernels make 0 of an absent 0 beside negative numbers, too, where NumPy makes pi.
        return False
    if name != "power" and name not in _NOT_COMPLEX:
        return True
    kinds = {np.dtype(type(x) if is_number(x) else x.dtype).kind for x in operands}
    if name == "power" and kinds <= set("iub") or "c" in kinds:
        return is_repeated(name, operands)
    return True


def _type(x: Any) -> Any:
    return type(x) if is_number(x) else x.dtype


def _is_mixed(dtypes: Sequence[np.dtype[Any]]) -> bool:
    """Whether integers are of no type in common, so that a kernel would compare them as floats."""
    kinds = {dtype.kind for dtype in dtypes}
    return kinds == {"i", "u"} and np.result_type(*dtypes).kind == "f"


def is_repeated(name: str, operands: Sequence[Any]) -> bool:
    """Whether it is a repeated product, which integers and complex numbers have too."""
    if name != "power" or not is_number(operands[1]) or isinstance(operands[1], bool):
        return False
    is_integer = getattr(operands[0], "dtype", np.dtype(float)).kind in "iub"
    return operands[1] in (2, 3) and (isinstance(operands[1], int) or not is_integer)


def read(value: Any, beside: np.dtype[Any], name: str) -> Any:
    """A number as a function means it: whether it is 0, or as a float, or as itself."""
    if name in _LOGICAL:
        return bool(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    if beside.kind not in "iub":
        return value if abs(value) < 2**53 else _float(value)
    if name in _COMPARED and not _fits(value, beside):
        return math.copysign(_BEYOND, value)
    return _float(value) if name in REAL else value


def type_of(value: Any, beside: np.dtype[Any]) -> np.dtype[Any]:
    """The type of a number beside operands of a type, which it has to fit."""
    if isinstance(value, bool):
        return np.dtype(bool)
    if isinstance(value, int) and beside.kind in "iub" and not _fits(value, beside):
        raise _too_large(value, beside)
    return np.result_type(value, beside)


def _fits(value: int, beside: np.dtype[Any]) -> bool:
    range = np.iinfo(np.result_type(0, beside))
    return int(range.min) <= value <= int(range.max)


def _float(value: int) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise _too_large(value, np.dtype(np.float64)) from error


def _too_large(value: int, dtype: np.dtype[Any]) -> TamisOverflowError:
    shown = value if value.bit_length() <= 128 else f"an integer of {value.bit_length()} bits"
    text = f"error[integer-overflow]: {shown} does not fit {dtype}"
    return TamisOverflowError("integer-overflow", f"{text}\n  = help: use astype first")


def is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic)
