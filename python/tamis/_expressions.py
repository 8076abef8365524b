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
from ._errors import TamisAxisError, TamisTypeError, TamisValueError
from ._formulas import (
    DIVIDING,
    FUNCTIONS,
    OF_TRUTH,
    REAL,
    VANISHING,
    has_kernel,
    is_number,
    is_repeated,
    read,
    result_type,
    type_of,
)
from ._guard import guarded
from ._operands import is_sequence, plain, type_name
from ._plans import by_kernel, keep_plan
from ._programs import Kernel, keep

_kernels: dict[Any, Kernel] = {}

#: Index variables, one for each axis; none for an axis of one element that is left out.
Indices = tuple[str | None, ...]

#: The most functions that one kernel computes. What is longer takes several: compiling it takes
#: time, and what occurs many times in it would be computed each time.
_LONGEST = 64


class Expression:
    """An expression that is not computed yet: shape, type, and what it is made of."""

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        parts: tuple[Expression, ...] = (),
        *,
        operand: Any = None,
        write: Callable[[Indices, _Program], str] | None = None,
        step: Callable[..., Any] | None = None,
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self._parts = parts
        # An array, a tensor or a number; or how the element at some index variables is written; or
        # a function of the values of the parts, where no kernel has it.
        self._operand = operand
        self._write = write
        self._step = step
        #: Whether absent elements are 0, as far as is known without compiling.
        self._vanishes = False
        #: Whether integers are divided, which no floats do as they.
        self._divides = False

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)


class _Program:
    """A program that is being written: its operands, and index variables that nothing else has."""

    def __init__(self, values: dict[int, Any]) -> None:
        #: The values of expressions that were computed before.
        self._values = values
        self.operands: dict[str, Any] = {}
        #: The names of operands, and of those without some of their axes.
        self._names: dict[tuple[int, tuple[int, ...]], str] = {}
        self._fresh = 0

    def fresh(self) -> str:
        self._fresh += 1
        return f"k{self._fresh}"

    def element(self, x: Expression, indices: Indices) -> str:
        """The element of an expression at index variables."""
        operand = x._operand
        if operand is None:
            operand = self._values.get(id(x))
        if operand is None and x._write is not None:
            return x._write(indices, self)
        left_out = tuple([axis for axis, index in enumerate(indices) if index is None])
        key = (id(operand), left_out)
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"t{len(self._names)}"
            self.operands[name] = _without(operand, left_out) if left_out else operand
        own = [index for index in indices if index is not None]
        return f"{name}({','.join(own)})" if own else name


def _without(operand: Any, left_out: tuple[int, ...]) -> Any:
    """An array or a tensor without some axes, which have one element."""
    shape = tuple(n for axis, n in enumerate(operand.shape) if axis not in left_out)
    if isinstance(operand, _native.Tensor) or not hasattr(operand, "tocoo"):
        return operand.reshape(shape)
    import scipy.sparse

    # Matrices of SciPy's have no other number of axes.
    coo = scipy.sparse.coo_array(operand)
    return coo.reshape(shape) if shape else coo.sum()


def leaf(operand: Any) -> Expression:
    """The expression that an array, a tensor or a number is."""
    if isinstance(operand, Expression):
        return operand
    known = (_native.Tensor, np.ndarray, np.generic)
    if not isinstance(operand, known) and not hasattr(operand, "tocoo"):
        operand = plain(operand)
    dtype = np.dtype(operand.dtype)
    type_name(dtype)
    made = Expression(tuple(operand.shape), dtype, operand=operand)
    made._vanishes = not isinstance(operand, np.ndarray) and not getattr(operand, "fill_value", 0)
    return made


def number(value: Any, beside: np.dtype[Any], name: str, is_literal: bool = True) -> Expression:
    """A number of Python's beside operands of a type, in a function. As a literal it is part of
    the program, so that what it makes of absent elements is known when that is compiled."""
    value = read(value, beside, name)
    dtype = type_of(value, beside)
    is_finite = not isinstance(value, complex) and math.isfinite(value)
    if not (is_literal and is_finite):
        return leaf(np.asarray(value, dtype=dtype))
    text = str(int(value)) if isinstance(value, numbers.Integral) else repr(float(value))
    text = f"({text})" if text[0] == "-" else text
    return Expression((), dtype, write=lambda indices, program: text)


def elementwise(name: str, *operands: Any) -> Expression:
    """A function of elements, by its NumPy name; axes of one element fit any size."""
    given = [x if is_number(x) else leaf(x) for x in operands]
    dtype = result_type(name, given)
    known = [x for x in given if isinstance(x, Expression)]
    beside = _common([x.dtype for x in known])
    arrays = [x.dtype for x in known if not _is_scalar(x)]
    if arrays and len(arrays) < len(known) and _common(arrays) == beside:
        given = [
            x._operand.item() if isinstance(x, Expression) and _is_scalar(x) else x for x in given
        ]
    is_scaled = name == "multiply" and any(isinstance(x, Expression) and x._vanishes for x in given)
    inputs = [number(x, beside, name, not is_scaled) if is_number(x) else x for x in given]
    by_array = name == "divide" and inputs[0].ndim and _is_full_array(inputs[1]._operand)
    # A zero in a kernel is absent, and would not be divided.
    of_zero = name in DIVIDING and is_number(given[0]) and given[0] == 0
    if by_array or of_zero or not has_kernel(name, given):
        return _step(name, given, dtype)
    form = FUNCTIONS[name]
    if is_repeated(name, given):
        form, inputs = FUNCTIONS["square" if given[1] == 2 else "cube"], inputs[:1]
    elif name in OF_TRUTH and dtype == bool:
        form = FUNCTIONS[OF_TRUTH[name]]
    shape = broadcast_shapes(*[x.shape for x in inputs])
    # Integers become floats first.
    real = name in REAL and beside.kind in "iub"

    def write(indices: Indices, program: _Program) -> str:
        texts = [_fitted(x, shape, indices, program) for x in inputs]
        if real:
            texts[0] = f"(1.0 * {texts[0]})"
        return f"({form.format(*texts)})"

    made = Expression(shape, dtype, tuple(inputs), write=write)
    made._vanishes = is_scaled or name in VANISHING and all([x._vanishes for x in inputs])
    divides = name == "remainder" or any([x._divides for x in inputs])
    made._divides = divides and beside.kind in "iub"
    return made


def _step(name: str, given: Sequence[Any], dtype: np.dtype[Any]) -> Expression:
    """A function that tensors compute at once: by NumPy, or in knowledge of an array's elements."""
    parts = tuple([x for x in given if isinstance(x, Expression)])
    shape = broadcast_shapes(*[x.shape for x in parts])

    def step(*values: Any) -> Any:
        from ._elements import computed

        rest = iter(values)
        return computed(name, *(next(rest) if isinstance(x, Expression) else x for x in given))

    return Expression(shape, dtype, parts, step=step)


def _common(dtypes: list[np.dtype[Any]]) -> np.dtype[Any]:
    """The type that operands have together."""
    if not dtypes:
        return np.dtype(np.int64)
    return dtypes[0] if len(dtypes) == 1 else np.result_type(*dtypes)


def _is_scalar(x: Expression) -> bool:
    """Whether it is a number of NumPy's."""
    is_numpys = isinstance(x._operand, (np.generic, np.ndarray))
    return is_numpys and not x.shape and x.dtype.kind in "iufc"


def _is_full_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.ndim > 0


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


def _fitted(x: Expression, shape: Sequence[int], indices: Indices, program: _Program) -> str:
    """An operand at the index variables of a result that its axes are broadcast to: without those
    of one element that the result has more of, so that what is sparse stays so."""
    own = indices[len(indices) - x.ndim :]
    sizes = zip(own, x.shape, shape[len(shape) - x.ndim :])
    fitted = [None if size == 1 and wanted != 1 else index for index, size, wanted in sizes]
    return program.element(x, tuple(fitted))


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
    if name in ("min", "max") and dtype.kind == "c":
        return _extreme(x, name, axes, shape)

    # Truth values are counted.
    counted = name in ("sum", "prod") and x.dtype.kind == "b"

    def write(indices: Indices, program: _Program) -> str:
        rest = iter(indices)
        bound = {k: program.fresh() for k in axes}
        own = tuple([bound[k] if k in bound else next(rest) for k in range(x.ndim)])
        text = program.element(x, own)
        text = f"1 * {text}" if counted else text
        return f"{name}({','.join(bound.values())}, {text})" if axes else f"({text})"

    return Expression(shape, dtype, (x,), write=write)


def _extreme(x: Expression, name: str, axes: Any, shape: tuple[int, ...]) -> Expression:
    """The least or the greatest complex numbers, which kernels do not order."""

    def step(value: Any) -> Any:
        from ._reductions import by_groups

        return by_groups(value, name, axes)

    return Expression(shape, x.dtype, (x,), step=step)


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

    def write(indices: Indices, program: _Program) -> str:
        own = {k: index for k, index in zip(order, indices)}
        return program.element(x, tuple([own[k] for k in range(x.ndim)]))

    return Expression(shape, x.dtype, (x,), write=write)


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

    def write(indices: Indices, program: _Program) -> str:
        k = program.fresh()
        batches, rest = indices[: len(batch)], indices[len(batch) :]
        of_a = (*batches, *rest[: len(rows)], k)
        of_b = (*batches, k, *rest[len(rows) :])
        one = _fitted(a, (*batch, *rows, inner), of_a, program)
        two = _fitted(b, (*batch, inner, *columns), of_b, program)
        return f"{'any' if dtype == bool else 'sum'}({k}, {one} * {two})"

    return Expression((*batch, *rows, *columns), dtype, (a, b), write=write)


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes as NumPy understands them: none for all, from the end if negative, each once."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(axis) if is_sequence(axis) else (axis,)
    try:
        given = [operator.index(k) for k in axes]
    except TypeError as error:
        text = f"error[type-mismatch]: {axis!r} is no axis\n  = help: use integers"
        raise TamisTypeError("type-mismatch", text) from error
    found = tuple(k + ndim if k < 0 else k for k in given)
    if any(not 0 <= k < ndim for k in found) or len(set(found)) < len(found):
        text = f"error[order-mismatch]: {axis} names no axes of {ndim}\n"
        text += "  = help: name each axis once, from 0, or from -1 backwards"
        raise TamisAxisError("order-mismatch", text)
    return found


@guarded
def compute(expression: Any, *, format: str | None = None, dtype: Any = None) -> Any:
    """Computes an expression of ``lazy`` by one kernel, or by several where it is long, or where
    functions are in it that no kernel has.

    ``format`` and ``dtype`` are those of the result, which is NumPy's, SciPy's or a tensor like
    that of ``evaluate``.
    """
    tree = leaf(expression)
    values: dict[int, Any] = {}
    for x in () if _is_one(tree) else _steps(tree):
        if x._step is None:
            values[id(x)] = _run(x, values, None, x.dtype)
        else:
            values[id(x)] = x._step(*(values.get(id(part), part._operand) for part in x._parts))
    if tree._step is not None and format is None and dtype is None:
        return values[id(tree)]
    return _run(tree, values, format, dtype or tree.dtype)


def compute_kept(tree: Expression, key: Any, operands: Sequence[Any]) -> Any:
    """Computes a function of operands, and keeps by a key of these how, if one kernel does it."""
    made = compute(tree)
    if key is not None and _is_one(tree):
        kernel, named = _written(tree, {}, None, tree.dtype)
        keep_plan(key, by_kernel(kernel, named, operands))
    return made


def _is_one(tree: Expression) -> bool:
    """Whether an expression is a function of operands alone, which a kernel computes."""
    return tree._step is None and all([part._operand is not None for part in tree._parts])


def _run(tree: Expression, values: dict[int, Any], format: str | None, dtype: Any) -> Any:
    """Computes an expression by one kernel, in which others are operands that have values."""
    kernel, named = _written(tree, values, format, dtype)
    return kernel(**named)


def _written(
    tree: Expression, values: dict[int, Any], format: str | None, dtype: Any
) -> tuple[Kernel, dict[str, Any]]:
    """The kernel of an expression, and its operands by name."""
    program = _Program(values)
    indices = tuple([f"i{k}" for k in range(tree.ndim)])
    result = f"out({','.join(indices)})" if indices else "out"
    text = f"{result} = {program.element(tree, indices)}"
    key = (text, format, type_name(dtype))
    kernel = _kernels.get(key)
    if kernel is None:
        kernel = Kernel(text, {}, key[2], {}, {}, "", "auto", format, None)
        keep(_kernels, key, kernel)
    return kernel, program.operands


def _steps(tree: Expression) -> list[Expression]:
    """What is computed before an expression, in this order: what no kernel has, what that is made
    of, parts of what would be too long for a kernel, and parts of floats that are of integers which
    floats do not hold."""
    weights: dict[int, int] = {}
    before: set[int] = set()
    order = _inside_out(tree)
    for x in order:
        parts = {id(part): part for part in x._parts if part._operand is None}
        weights[id(x)] = 1 + sum(weights[id(part)] for part in x._parts if id(part) in parts)
        exact = [key for key, part in parts.items() if x.dtype.kind in "fc" and _is_exact(part)]
        while parts and (exact or x._step is not None or weights[id(x)] > _LONGEST):
            apart = exact.pop() if exact else max(parts, key=lambda part: weights[part])
            times = sum(part is parts[apart] for part in x._parts)
            weights[id(x)] -= times * (weights[apart] - 1)
            weights[apart] = 1
            before.add(apart)
            del parts[apart]
        if x._step is not None:
            before.add(id(x))
            weights[id(x)] = 1
    return [x for x in order if id(x) in before]


def _is_exact(x: Expression) -> bool:
    """Whether an expression is of integers that are wider than what floats hold of them, or that are
    divided: a kernel computes in one type."""
    known = (x, *x._parts)
    wide = any(y.dtype.kind in "iu" and y.dtype.itemsize == 8 for y in known)
    return x.dtype.kind in "iub" and (wide or any(y._divides for y in known))


def _inside_out(tree: Expression) -> list[Expression]:
    """The expressions that one is made of, each once, behind its own parts; itself the last."""
    order: list[Expression] = []
    seen: set[int] = set()
    open = [(tree, False)]
    while open:
        x, is_ready = open.pop()
        if is_ready:
            order.append(x)
        elif id(x) not in seen and x._operand is None:
            seen.add(id(x))
            open.append((x, True))
            open.extend((part, False) for part in reversed(x._parts))
    return order
