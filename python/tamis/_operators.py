"""The operators of Python on tensors, which compute at once, and on ``lazy`` expressions.

A * 2 + A              two kernels, a tensor in between
lazy(A) * 2 + A        one tree: ``compute`` makes one kernel of it
"""

from __future__ import annotations

import math
import sys
from types import FrameType
from typing import Any

import numpy as np

from . import _native
from ._errors import TamisValueError
from ._expressions import (
    Expression,
    axes_of,
    elementwise,
    leaf,
    permutation,
    product,
    reduction,
)
from ._formulas import FUNCTIONS
from ._guard import guard, guarded
from ._operands import is_by_columns, is_sequence, refused

#: The reductions that NumPy's functions of two elements make, by name.
_REDUCED = {
    "add": "sum",
    "multiply": "prod",
    "minimum": "min",
    "maximum": "max",
    "logical_or": "any",
    "logical_and": "all",
}
#: What joins the results of two reductions.
_JOINED = {reduction: name for name, reduction in _REDUCED.items()}


class Operators:
    """The operators of Python as expressions: computed at once, or later."""

    def _made(self, tree: Expression) -> Any:
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        return self._binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._binary("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._binary("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._binary("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._binary("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._binary("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._binary("divide", other, self)

    def __mod__(self, other: Any) -> Any:
        return self._binary("remainder", self, other)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __rmod__(self, other: Any) -> Any:
        return self._binary("remainder", other, self)

    def __pow__(self, other: Any) -> Any:
        if type(other) is int and other == 2:
            # As NumPy does: the square of truth values has another type than their power.
            return self._elements("square", self)
        return self._binary("power", self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._binary("power", other, self)

    def __eq__(self, other: Any) -> Any:
        return self._binary("equal", self, other)

    def __ne__(self, other: Any) -> Any:
        return self._binary("not_equal", self, other)

    def __lt__(self, other: Any) -> Any:
        return self._binary("less", self, other)

    def __le__(self, other: Any) -> Any:
        return self._binary("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return self._binary("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return self._binary("greater_equal", self, other)

    __hash__ = None  # type: ignore[assignment]

    def __neg__(self) -> Any:
        return self._elements("negative", self)

    def __abs__(self) -> Any:
        return self._elements("absolute", self)

    def __round__(self, ndigits: int | None = None) -> Any:
        return self.round(ndigits or 0)  # type: ignore[attr-defined]

    def __matmul__(self, other: Any) -> Any:
        if not is_operand(other) or self._is_earlier(self, other):
            return NotImplemented
        return self._product(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return self._product(other, self) if is_operand(other) else NotImplemented

    def _product(self, left: Any, right: Any) -> Any:
        return self._made(product(left, right))

    def _binary(self, name: str, left: Any, right: Any) -> Any:
        if not (is_operand(left) and is_operand(right)) or self._is_earlier(left, right):
            return NotImplemented
        if name == "multiply" and (_is_matrix(left) or _is_matrix(right)):
            # What matrices of SciPy and NumPy mean by *, and nothing else does.
            reason = "* of a matrix of SciPy or NumPy may be either product"
            raise refused(reason, "write @, or use their arrays")
        return self._elements(name, left, right)

    def _elements(self, name: str, *operands: Any) -> Any:
        return self._made(elementwise(name, *operands))

    def _is_earlier(self, *operands: Any) -> bool:
        """Whether this computes at once what is computed later for one of the operands."""
        return not isinstance(self, Lazy) and any(isinstance(x, Lazy) for x in operands)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if not all(is_operand(x) for x in inputs) or self._is_earlier(*inputs):
            return NotImplemented
        no_out(options.pop("out", None))
        if isinstance(self, Lazy) and method == "__call__" and options:
            inputs, options = _in_type(ufunc, inputs, options)
        if method == "reduce" and ufunc.__name__ in _REDUCED:
            return getattr(inputs[0], _REDUCED[ufunc.__name__])(**{"axis": 0, **options})
        if options or method != "__call__":
            return NotImplemented
        if ufunc.__name__ == "matmul":
            return self._product(*inputs)
        if ufunc is np.divmod:
            return np.floor_divide(*inputs), np.remainder(*inputs)
        if ufunc.__name__ in FUNCTIONS:
            return self._elements(ufunc.__name__, *inputs)
        return NotImplemented

    def sum(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        """The sum over some axes, or all; integers under 64 bits are summed in 64."""
        return self._reduced("sum", axis, out, keepdims, where, dtype, initial)

    def prod(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        """The product over some axes, or all."""
        return self._reduced("prod", axis, out, keepdims, where, dtype, initial)

    def min(
        self,
        axis: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        """The least element over some axes, or all."""
        return self._reduced("min", axis, out, keepdims, where, initial=initial)

    def max(
        self,
        axis: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        """The greatest element over some axes, or all."""
        return self._reduced("max", axis, out, keepdims, where, initial=initial)

    def any(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
    ) -> Any:
        """Whether some element is not zero."""
        return self._reduced("any", axis, out, keepdims, where)

    def all(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
    ) -> Any:
        """Whether no element is zero."""
        return self._reduced("all", axis, out, keepdims, where)

    def _reduced(
        self,
        name: str,
        axis: Any,
        out: Any,
        keepdims: bool,
        where: Any,
        dtype: Any = None,
        initial: Any = None,
    ) -> Any:
        no_out(out)
        if where is not True:
            given = {"dtype": dtype, "initial": initial}
            options = {key: x for key, x in given.items() if x is not None}
            chosen = self._where(name, where, initial)
            return getattr(chosen, name)(axis=axis, keepdims=keepdims, **options)
        known = leaf(self) if dtype is None else _typed(self, np.dtype(dtype))
        axes = axes_of(axis, known.ndim)
        if initial is not None and name in ("min", "max") and 0 in [known.shape[k] for k in axes]:
            # Of no elements it is the result.
            rest = [n for k, n in enumerate(known.shape) if k not in axes]
            numbers = np.full(rest, _number(initial, known.dtype))
            return kept(self._made(leaf(numbers)), self, axes, keepdims)
        tree = reduction(name, known, axes)
        if dtype is not None:
            tree.dtype = np.dtype(dtype)
        if initial is not None:
            tree = elementwise(_JOINED[name], tree, _number(initial, tree.dtype))
        return kept(self._made(tree), self, axis, keepdims)

    def _where(self, name: str, where: Any, initial: Any) -> Any:
        """The elements where a condition holds; what changes no reduction is elsewhere."""
        others = {"sum": 0, "prod": 1, "any": False, "all": True}.get(name, initial)
        if others is None or isinstance(self, Expression):
            reason = f"the {name} of some elements has to begin with a number"
            raise refused(reason, "give it: initial=")
        if name in ("min", "max"):
            others = _number(others, leaf(self).dtype)
        return np.where(where, self, others)  # type: ignore[call-overload]

    def mean(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        *,
        where: Any = True,
    ) -> Any:
        """The mean over some axes, or all."""
        if out is not None and not isinstance(self, Expression):
            dtype = wider(self, out) if dtype is None else dtype
            return written(out, self.mean(axis, dtype, None, keepdims, where=where), "unsafe")
        no_out(out)
        if where is not True:
            return self._mean_where(axis, dtype, keepdims, where)
        tree = leaf(self)
        axes = axes_of(axis, tree.ndim)
        count = math.prod(tree.shape[k] for k in axes)
        usual = tree.dtype if tree.dtype.kind in "fc" else np.dtype(np.float64)
        made = usual if dtype is None else np.dtype(dtype)
        if made.kind in "fc" and tree.dtype.kind in "iub":
            # Sums of integers may not fit their type.
            total = reduction("sum", elementwise("multiply", tree, 1.0), axes)
        else:
            total = reduction("sum", _typed(tree, made if made.kind in "fc" else _wide(made)), axes)
        # Floats of 16 bits are added up in 32.
        total.dtype = np.result_type(made, np.float32) if made.kind in "fc" else _wide(made)
        if not count and made.kind in "fc":
            rest = [n for k, n in enumerate(tree.shape) if k not in axes]
            _native.check_memory("the mean", 16.0 * math.prod(rest))
            nothing = leaf(np.full(rest, np.nan, dtype=made))
            return kept(self._made(nothing), self, axes, keepdims)
        if not count:
            text = "error[dimension-mismatch]: the mean of no elements has no value\n"
            text += "  = help: leave out axes of size 0"
            raise TamisValueError("dimension-mismatch", text)
        mean = elementwise("divide", total, float(count))
        if made.kind in "fc":
            mean.dtype = made
        else:
            mean = _typed(mean, made)
        return kept(self._made(mean), self, axes, keepdims)

    def _mean_where(self, axis: Any, dtype: Any, keepdims: bool, where: Any) -> Any:
        """The mean of the elements where a condition holds."""
        chosen: Any = self._where("sum", where, None)
        usual = chosen.dtype if chosen.dtype.kind in "fc" else np.dtype(np.float64)
        made = usual if dtype is None else np.dtype(dtype)
        wide = np.result_type(made, np.float32)
        total = chosen.sum(axis=axis, dtype=wide, keepdims=keepdims)
        held: Any = np.broadcast_to(where, chosen.shape)
        count = held.sum(axis=axis, keepdims=keepdims)
        from ._elements import apply

        # Of nothing that is held the mean is NaN, also where the total is absent.
        mean = apply(lambda x, n: (x / n).astype(made), total, count)
        return mean if np.ndim(mean) else np.asarray(mean)[()]

    def transpose(self, *order: Any, axes: Any = None, copy: bool = False) -> Any:
        """The axes in another order; reversed if none is given. ``axes`` and ``copy`` are SciPy's:
        tensors never change, so that the same arrays serve."""
        if axes is not None:
            if order:
                raise refused("the order of axes is given twice", "leave out axes=")
            order = (axes,)
        if len(order) == 1 and (order[0] is None or is_sequence(order[0])):
            order = order[0]
        return self._permuted(order if order is not None and len(order) else None)

    @property
    def T(self) -> Any:
        """The axes in reverse order."""
        return self._permuted(None)

    def _permuted(self, axes: Any) -> Any:
        return self._made(permutation(self, axes))


guard(Operators)


class Lazy(Operators, Expression):
    """An expression of arrays, tensors and numbers, made by ``tamis.lazy`` and operators; its
    value is what ``tamis.compute`` makes of it."""

    def _made(self, tree: Expression) -> Lazy:
        return _lazy(tree)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        alone = for_scipy(self, sys._getframe(1)) if dtype is None else None
        if alone is not None:
            return alone
        raise refused("an expression is no array yet", "make it one: tamis.compute(x)")

    def __bool__(self) -> bool:
        raise refused("an expression is not true or false yet", "compute it: tamis.compute(x)")

    def __copy__(self) -> Lazy:
        return self

    def __deepcopy__(self, memo: Any) -> Lazy:
        return self

    def __reduce__(self) -> Any:
        raise refused("an expression is not saved before it is computed", "tamis.compute(x) first")

    def __repr__(self) -> str:
        return f"<tamis.Lazy {'x'.join(map(str, self.shape))} {self.dtype}>"


@guarded
def lazy(operand: Any) -> Lazy:
    """An expression of an array, tensor or number, that ``compute`` evaluates as a whole.

    >>> import tamis
    >>> A = tamis.asarray(np.eye(3), format="csr")
    >>> tamis.compute((tamis.lazy(A) * 2 + A).sum(axis=0))
    array([3., 3., 3.])
    """
    return _lazy(leaf(operand))


def _lazy(tree: Expression) -> Lazy:
    made = Lazy.__new__(Lazy)
    made.__dict__.update(tree.__dict__)
    return made


def for_scipy(x: Any, frame: FrameType | None) -> Any:
    """An array of this one object, if an operator of SciPy's sparse arrays asks NumPy whether its other
    side is an array: where it is none, the operator is left to that side."""
    asks = ""
    while frame and frame.f_globals.get("__name__", "").startswith("scipy.sparse._"):
        asks, frame = frame.f_code.co_name, frame.f_back
    if not asks.startswith("__") or asks == "__init__":
        return None
    alone = np.empty((), dtype=object)
    alone[()] = x
    return alone


def is_operand(x: Any) -> bool:
    """Whether an expression may have it as a part."""
    known = (Expression, _native.Tensor, bool, int, float, complex, np.ndarray, np.generic)
    if isinstance(x, (*known, list, tuple)):
        return True
    lends = hasattr(x, "__array__") or hasattr(x, "__dlpack__")
    return lends or type(x).__module__.startswith(("scipy.sparse", "sparse"))


def kept(result: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """The result of a reduction of ``x``, with the reduced axes of one element if asked for."""
    if not keepdims:
        return result
    if isinstance(result, Expression):
        raise refused("lazy expressions leave out the axes of a sum", "compute, then reshape")
    axes = axes_of(axis, x.ndim)
    shape = tuple(1 if k in axes else n for k, n in enumerate(x.shape))
    return result.reshape(shape) if hasattr(result, "reshape") else np.reshape(result, shape)


def no_out(out: Any) -> None:
    """Refuses what a result is to be written to, where that is no array."""
    if out is not None:
        raise refused("results are new: none is written to out", "assign it, or give an array of NumPy's")


def wider(operand: Any, out: Any) -> Any:
    """The type of means of floats that are written to an array; none for other types."""
    held = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    types = [getattr(x, "dtype", None) for x in (operand, held)]
    is_float = all(isinstance(dtype, np.dtype) and dtype.kind in "fc" for dtype in types)
    return np.result_type(*types) if is_float else None


def written(out: Any, made: Any, casting: Any = "same_kind") -> Any:
    """An array of NumPy's that gets the elements of a result of its shape."""
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if not isinstance(out, np.ndarray):
        no_out(out)
    if out.shape != np.shape(made):
        reason = f"a result of shape {np.shape(made)} does not fit an array of shape {out.shape}"
        text = f"error[dimension-mismatch]: {reason}\n  = help: give one of shape {np.shape(made)}"
        raise TamisValueError("dimension-mismatch", text)
    full = made.to_numpy() if hasattr(made, "to_numpy") else made
    try:
        np.copyto(out, full, casting)
    except TypeError as error:
        reason = f"a result of {full.dtype} is not written to an array of {out.dtype}"
        raise refused(reason, "give an array of a type that holds it") from error
    return out


def _number(x: Any, dtype: np.dtype[Any]) -> Any:
    """A number with which a reduction begins, in the type of the elements, which has to hold it."""
    return np.array(np.asarray(x).item(), dtype)[()]


def _in_type(ufunc: Any, inputs: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Operands of a function of elements in the type in which it is to compute, and what else is asked for."""
    rest = {key: x for key, x in options.items() if key not in ("order", "subok", "dtype")}
    is_by_columns(options.get("order"), "CFAK")
    dtype = options.get("dtype")
    if dtype is None:
        return inputs, rest
    to = np.dtype(dtype)
    if f"{to.char * ufunc.nin}->{to.char}" not in ufunc.types:
        return inputs, {**rest, "dtype": dtype}
    trees = [leaf(x) for x in inputs]
    wrong = [x.dtype for x in trees if not np.can_cast(x.dtype, to, "same_kind")]
    if wrong:
        reason = f"numpy.{ufunc.__name__} does not cast {wrong[0]} to {to} (same_kind)"
        raise refused(reason, "use other operands, or leave out dtype")
    return [x if x.dtype == to else _cast(x, to) for x in trees], rest


def _cast(tree: Expression, dtype: np.dtype[Any]) -> Expression:
    return Expression(tree.shape, dtype, (tree,), step=lambda value: value.astype(dtype))


def _typed(x: Any, dtype: np.dtype[Any]) -> Any:
    """What is added or multiplied in a type: what that does not hold, such as fractions, is lost
    before."""
    tree = leaf(x)
    # Integers are added up in 64 bits, and what does not fit is refused.
    are_narrow = tree.dtype.kind in "iu" and dtype.kind in "iu" and dtype.itemsize < 8
    if dtype != bool and (are_narrow or np.can_cast(tree.dtype, dtype, "same_kind")):
        return tree

    def step(value: Any) -> Any:
        return value.astype(dtype)

    return Expression(tree.shape, dtype, (tree,), step=step)


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of 64 bits for integers of a type."""
    return np.dtype(np.uint64 if dtype.kind == "u" and dtype.itemsize == 8 else np.int64)


def _is_matrix(x: Any) -> bool:
    scipy_sparse = sys.modules.get("scipy.sparse")
    return isinstance(x, np.matrix) or scipy_sparse is not None and isinstance(x, scipy_sparse.spmatrix)
