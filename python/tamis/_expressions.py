"""Expressions of tensors that are computed as one kernel.

``lazy(A) * lazy(B) + 1`` is a tree; ``compute`` writes it in index notation, every operand by name,
and evaluates that. Tensors compute each operator at once, by the same trees.

    out(i0,i1) = t0(i0,i1) * t1(i0,i1) + 1
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _native
from ._errors import TamisOverflowError, TamisTypeError, TamisValueError
from ._operands import plain, type_name
from ._programs import Kernel, keep

_kernels: dict[Any, Kernel] = {}

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
_REAL = {"divide", "arctan2", "heaviside", *list(FUNCTIONS)[list(FUNCTIONS).index("sqrt") :]}
_COMPARED = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}
_LOGICAL = {name for name in FUNCTIONS if name.startswith("logical")}
_TRUTH = _COMPARED | _LOGICAL
#: The functions of which there is no kernel for complex numbers.
_NOT_COMPLEX = {
    *("power", "tan", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"),
}
#: Beyond every integer that has a type.
_BEYOND = 2.0**100


class Expression:
    """An expression that is not computed yet: shape, type, and how its element at some index
    variables is written."""

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        leaves: tuple[Any, ...],
        write: Callable[[tuple[str, ...], _Names], str],
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self._leaves = leaves
        self._write = write

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)


class _Names:
    """The names of a program: its operands, and index variables that nothing else has."""

    def __init__(self, leaves: Sequence[Any]) -> None:
        self.operands = {id(leaf): f"t{k}" for k, leaf in enumerate(leaves)}
        self._fresh = 0

    def fresh(self) -> str:
        self._fresh += 1
        return f"k{self._fresh}"


def leaf(operand: Any) -> Expression:
    """The expression that an array, a tensor or a number is."""
    if isinstance(operand, Expression):
        return operand
    if not isinstance(operand, _native.Tensor) and not hasattr(operand, "dtype"):
        operand = plain(operand)
    shape = tuple(operand.shape)
    dtype = np.dtype(operand.dtype)
    type_name(dtype)

    def write(indices: tuple[str, ...], names: _Names) -> str:
        name = names.operands[id(operand)]
        return f"{name}({','.join(indices)})" if indices else name

    return Expression(shape, dtype, (operand,), write)


def number(value: Any, beside: np.dtype[Any], name: str) -> Expression:
    """A number of Python's beside operands of a type, in a function. As a literal it is part of
    the program, so that what it makes of absent elements is known when that is compiled."""
    value = _read(value, beside, name)
    dtype = _beside(value, beside)
    literal = name not in ("multiply", "divide")
    finite = not isinstance(value, complex) and math.isfinite(value)
    if not (literal and finite):
        return leaf(np.asarray(value, dtype=dtype))
    text = str(int(value)) if isinstance(value, numbers.Integral) else repr(float(value))
    return Expression((), dtype, (), lambda indices, names: f"({text})" if text[0] == "-" else text)


def _read(value: Any, beside: np.dtype[Any], name: str) -> Any:
    """A number as a function means it: whether it is 0, or as a float, or as itself."""
    if name in _LOGICAL:
        return bool(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    if beside.kind not in "iub":
        return value if abs(value) < 2**53 else _float(value)
    if name in _COMPARED and not _fits(value, beside):
        return math.copysign(_BEYOND, value)
    return _float(value) if name in _REAL else value


def _beside(value: Any, beside: np.dtype[Any]) -> np.dtype[Any]:
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


def elementwise(name: str, *operands: Any) -> Expression:
    """A function of elements, by its NumPy name; axes of one element fit any size."""
    if _is_repeated(name, operands):
        return elementwise("square" if operands[1] == 2 else "cube", operands[0])
    if not has_kernel(name, *operands):
        text = f"error[type-mismatch]: no kernel has the {name} of complex numbers\n"
        text += "  = help: compute the operands first: of tensors NumPy computes it"
        raise TamisTypeError("type-mismatch", text)
    known = [leaf(x) for x in operands if not _is_number(x)]
    beside = np.result_type(*(x.dtype for x in known)) if known else np.dtype(np.int64)
    inputs = [number(x, beside, name) if _is_number(x) else leaf(x) for x in operands]
    shape = broadcast_shapes(*(x.shape for x in inputs))
    dtype = _result_type(name, inputs)
    # Integers become floats first.
    real = name in _REAL and beside.kind in "iub"

    def write(indices: tuple[str, ...], names: _Names) -> str:
        texts = [_fitted(x, shape, indices, names) for x in inputs]
        if real:
            texts[0] = f"(1.0 * {texts[0]})"
        return f"({FUNCTIONS[name].format(*texts)})"

    leaves = tuple(leaf for x in inputs for leaf in x._leaves)
    return Expression(shape, dtype, leaves, write)


def has_kernel(name: str, *operands: Any) -> bool:
    """Whether kernels compute a function of elements of such types."""
    if name not in _NOT_COMPLEX or _is_repeated(name, operands):
        return True
    return not any(
        isinstance(x, complex) or getattr(getattr(x, "dtype", None), "kind", "") == "c"
        for x in operands
    )


def _is_repeated(name: str, operands: Sequence[Any]) -> bool:
    """Whether it is a repeated product, which integers and complex numbers have too."""
    exponent = operands[-1]
    return name == "power" and _is_number(exponent) and exponent is not True and exponent in (2, 3)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that all are broadcast to: NumPy's, which refuses more elements than memory has."""
    longest = max(map(len, shapes), default=0)
    found = []
    for sizes in zip(*((1,) * (longest - len(shape)) + tuple(shape) for shape in shapes)):
        size = next((n for n in sizes if n != 1), 1)
        if any(n not in (1, size) for n in sizes):
            text = f"error[dimension-mismatch]: the shapes {' and '.join(map(str, shapes))} do not"
            text += " fit\n  = help: sizes are equal, or 1"
            raise TamisValueError("dimension-mismatch", text)
        found.append(size)
    return tuple(found)


def _is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic)


def _result_type(name: str, inputs: list[Expression]) -> np.dtype[Any]:
    if name in _TRUTH:
        return np.dtype(bool)
    both = np.result_type(*(x.dtype for x in inputs))
    if name in _REAL and both.kind in "iub":
        return np.dtype(np.float64)
    if name == "absolute" and both.kind == "c":
        return np.dtype(np.float32 if both == np.complex64 else np.float64)
    if name == "subtract" and both.kind == "b":
        return np.dtype(np.int64)
    return both


def _fitted(x: Expression, shape: Sequence[int], indices: tuple[str, ...], names: _Names) -> str:
    """An operand at the index variables of a result that its axes are broadcast to."""
    own = list(indices[len(indices) - x.ndim :])
    bound = []
    for axis, (size, wanted) in enumerate(zip(x.shape, shape[len(shape) - x.ndim :])):
        if size == 1 and wanted != 1:
            own[axis] = names.fresh()
            bound.append(own[axis])
    text = x._write(tuple(own), names)
    for var in bound:
        text = f"sum({var}, {text})"
    return text


def reduction(name: str, operand: Any, axis: Any = None) -> Expression:
    """``sum prod min max any all`` over some axes, or over all."""
    x = leaf(operand)
    axes = axes_of(axis, x.ndim)
    if name in ("min", "max") and any(x.shape[k] == 0 for k in axes):
        text = f"error[dimension-mismatch]: the {name} of no elements has no value\n"
        text += "  = help: leave out axes of size 0"
        raise TamisValueError("dimension-mismatch", text)
    dtype = x.dtype
    if name in ("any", "all"):
        dtype = np.dtype(bool)
    elif name in ("sum", "prod") and dtype.kind in "iub":
        dtype = np.dtype(np.uint64 if dtype.kind == "u" else np.int64)
    shape = tuple(n for k, n in enumerate(x.shape) if k not in axes)

    def write(indices: tuple[str, ...], names: _Names) -> str:
        rest = iter(indices)
        own = [names.fresh() if k in axes else next(rest) for k in range(x.ndim)]
        text = x._write(tuple(own), names)
        for k in reversed(axes):
            text = f"{name}({own[k]}, {text})"
        return text

    return Expression(shape, dtype, x._leaves, write)


def order_of(ndim: int, axes: Sequence[int] | None) -> tuple[int, ...]:
    """All axes in another order; reversed if none is given."""
    order = tuple(range(ndim))[::-1] if axes is None else axes_of(axes, ndim)
    if len(order) != ndim:
        text = f"error[dimension-mismatch]: {axes} are not the axes of {ndim}\n"
        text += "  = help: name each axis once"
        raise TamisValueError("dimension-mismatch", text)
    return order


def permutation(operand: Any, axes: Sequence[int] | None = None) -> Expression:
    """The axes in another order; reversed if none is given."""
    x = leaf(operand)
    order = order_of(x.ndim, axes)
    shape = tuple(x.shape[k] for k in order)

    def write(indices: tuple[str, ...], names: _Names) -> str:
        own = [""] * x.ndim
        for place, k in enumerate(order):
            own[k] = indices[place]
        return x._write(tuple(own), names)

    return Expression(shape, x.dtype, x._leaves, write)


def product(left: Any, right: Any) -> Expression:
    """The matrix product of the last two axes, as ``@`` has it."""
    a, b = leaf(left), leaf(right)
    if not a.ndim or not b.ndim:
        text = "error[order-mismatch]: a matrix product needs axes\n  = help: write * for numbers"
        raise TamisValueError("order-mismatch", text)
    inner, other = a.shape[-1], b.shape[-2] if b.ndim > 1 else b.shape[0]
    if inner != other:
        text = f"error[dimension-mismatch]: axis {a.ndim - 1} of the left side has {inner}, axis "
        text += f"{max(b.ndim - 2, 0)} of the right side {other}\n  = help: make them equal"
        raise TamisValueError("dimension-mismatch", text)
    rows, columns = a.shape[-2:-1], b.shape[-1:] if b.ndim > 1 else ()
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    dtype = np.result_type(a.dtype, b.dtype)

    def write(indices: tuple[str, ...], names: _Names) -> str:
        k = names.fresh()
        batches, rest = indices[: len(batch)], indices[len(batch) :]
        of_a = (*batches, *rest[: len(rows)], k)
        of_b = (*batches, k, *rest[len(rows) :])
        one = _fitted(a, (*batch, *rows, inner), of_a, names)
        two = _fitted(b, (*batch, inner, *columns), of_b, names)
        return f"{'any' if dtype == bool else 'sum'}({k}, {one} * {two})"

    return Expression((*batch, *rows, *columns), dtype, (*a._leaves, *b._leaves), write)


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes as NumPy understands them: none for all, from the end if negative, each once."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    try:
        given = [operator.index(k) for k in axes]
    except TypeError as error:
        text = f"error[type-mismatch]: {axis!r} is no axis\n  = help: use integers"
        raise TamisTypeError("type-mismatch", text) from error
    found = tuple(k + ndim if k < 0 else k for k in given)
    if any(not 0 <= k < ndim for k in found) or len(set(found)) < len(found):
        text = f"error[order-mismatch]: {axis} names no axes of {ndim}\n"
        text += "  = help: name each axis once, from 0, or from -1 backwards"
        raise TamisValueError("order-mismatch", text)
    return found


def compute(expression: Any, *, format: str | None = None, dtype: Any = None) -> Any:
    """Computes an expression of ``lazy`` by one kernel.

    ``format`` and ``dtype`` are those of the result, which is NumPy's, SciPy's or a tensor like
    that of ``evaluate``.
    """
    tree = leaf(expression)
    leaves = {id(leaf): leaf for leaf in tree._leaves}
    names = _Names(list(leaves.values()))
    indices = tuple(f"i{k}" for k in range(tree.ndim))
    result = f"out({','.join(indices)})" if indices else "out"
    text = f"{result} = {tree._write(indices, names)}"
    key = (text, format, type_name(dtype or tree.dtype))
    kernel = _kernels.get(key)
    if kernel is None:
        kernel = Kernel(text, {}, key[2], {}, {}, "", "auto", format, None)
        keep(_kernels, key, kernel)
    return kernel(**{names.operands[place]: leaf for place, leaf in leaves.items()})
