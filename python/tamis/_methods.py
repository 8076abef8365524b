"""The methods of NumPy's arrays that tensors have, too: what NumPy's functions of their names do."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ._errors import TamisIndexError, TamisTypeError, TamisValueError
from ._guard import guard
from ._operands import is_by_columns

#: Typed for arrays, but tensors come back.
numpy: Any = np


def _known(tensor: Any) -> Any:
    """The tensor, which has more methods than these."""
    return tensor


class Methods:
    """Methods by NumPy's functions, which come back to the package for tensors."""

    def __invert__(self) -> Any:
        return _known(self).__array_ufunc__(numpy.invert, "__call__", self)

    def __floordiv__(self, other: Any) -> Any:
        return _known(self).__array_ufunc__(numpy.floor_divide, "__call__", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _known(self).__array_ufunc__(numpy.floor_divide, "__call__", other, self)

    def __and__(self, other: Any) -> Any:
        return _known(self).__array_ufunc__(numpy.bitwise_and, "__call__", self, other)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return _known(self).__array_ufunc__(numpy.bitwise_or, "__call__", self, other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> Any:
        return _known(self).__array_ufunc__(numpy.bitwise_xor, "__call__", self, other)

    __rxor__ = __xor__

    def __lshift__(self, other: Any) -> Any:
        return _known(self).__array_ufunc__(numpy.left_shift, "__call__", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _known(self).__array_ufunc__(numpy.left_shift, "__call__", other, self)

    def __rshift__(self, other: Any) -> Any:
        return _known(self).__array_ufunc__(numpy.right_shift, "__call__", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return _known(self).__array_ufunc__(numpy.right_shift, "__call__", other, self)

    def argmax(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Where the first of the greatest elements is, along an axis, or among all."""
        return numpy.argmax(self, axis=axis, out=out, keepdims=keepdims)

    def argmin(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Where the first of the least elements is, along an axis, or among all."""
        return numpy.argmin(self, axis=axis, out=out, keepdims=keepdims)

    def argsort(
        self, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> Any:
        """Where the least element is along an axis, the next, and so on, as an array of NumPy's."""
        return numpy.argsort(self, axis, kind, order, stable=stable)

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Any:
        """The elements, those below ``min`` or above ``max`` replaced by these."""
        return numpy.clip(self, min, max, out=out)

    def conj(self, copy: bool = False) -> Any:
        """The complex conjugates."""
        return self.conjugate(copy)

    def conjugate(self, copy: bool = False) -> Any:
        """The complex conjugates; ``copy`` is SciPy's."""
        # As NumPy has it: the method gives truth values back, where the function makes numbers.
        made: Any = self
        if made.dtype.kind == "c":
            return numpy.conjugate(self)
        return made.copy() if copy else made

    def cumprod(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """The products of the elements up to each, along an axis, or of all."""
        return numpy.cumprod(self, axis, dtype, out)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """The sums of the elements up to each, along an axis, or of all, as an array of NumPy's."""
        return numpy.cumsum(self, axis, dtype, out)

    def diagonal(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1, *, k: int | None = None
    ) -> Any:
        """The elements of a diagonal of two axes, along a last axis; ``k`` is SciPy's ``offset``."""
        offset = offset if k is None else k
        return numpy.diagonal(self, offset, axis1, axis2)

    def dot(self, other: Any) -> Any:
        """The sums of products over the last axis, and the last but one of ``other``."""
        return numpy.dot(self, other)

    def flatten(self, order: str = "C") -> Any:
        """All elements along one axis, in arrays of their own."""
        return self.ravel(order).copy()

    @property
    def imag(self) -> Any:
        """The imaginary parts."""
        return numpy.imag(self)

    def item(self, *place: Any) -> Any:
        """The element at some coordinates, or the only one, as a number of Python's."""
        shape: tuple[int, ...] = self.shape  # type: ignore[attr-defined]
        if not place and any(size != 1 for size in shape):
            text = f"error[order-mismatch]: a tensor of shape {shape} is no number\n"
            raise TamisTypeError("order-mismatch", f"{text}  = help: give its coordinates: item(0, 0)")
        if len(place) == 1 and isinstance(place[0], tuple):
            (place,) = place
        elif len(place) == 1 and len(shape) != 1:
            size, at = math.prod(shape), operator.index(place[0])
            if not -size <= at < size:
                text = f"error[dimension-mismatch]: element {at} is outside of {size}\n"
                raise TamisIndexError("dimension-mismatch", f"{text}  = help: count from 0, or -1")
            place = tuple(int(k) for k in numpy.unravel_index(at % size, shape))
        if len(place) not in (0, len(shape)):
            text = f"error[order-mismatch]: {len(place)} coordinates for {len(shape)} axes\n"
            raise TamisValueError("order-mismatch", f"{text}  = help: give one for each axis")
        return self[place or (0,) * len(shape)].item()  # type: ignore[index]

    def matvec(self, x: Any) -> Any:
        """``self @ x``: what SciPy's solvers ask of a linear operator."""
        return operator.matmul(self, np.asarray(x))

    def rmatvec(self, x: Any) -> Any:
        """The transpose, of complex numbers conjugated, times a vector, or a column."""
        return np.conj(np.conj(np.asarray(x)).T @ self).T

    #: Several columns are multiplied as one is.
    rmatmat = rmatvec

    def ravel(self, order: str = "C") -> Any:
        """All elements along one axis, in the order of rows, or of columns if ``order`` is F."""
        by_columns = is_by_columns(order, "CFAK")
        return numpy.reshape(_known(self).T if by_columns else self, -1)

    @property
    def real(self) -> Any:
        """The real parts."""
        return numpy.real(self)

    def repeat(self, repeats: Any, axis: int | None = None) -> Any:
        """Each element so many times, one behind the other."""
        return numpy.repeat(self, repeats, axis)

    def round(self, decimals: int = 0) -> Any:
        """The elements with so many decimals."""
        return numpy.round(self, decimals)

    def squeeze(self, axis: Any = None) -> Any:
        """Without axes of one element."""
        return numpy.squeeze(self, axis)

    def std(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
    ) -> Any:
        """The square root of ``var``."""
        return numpy.std(self, axis, dtype, out, ddof, keepdims)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        """Two axes exchanged."""
        return numpy.swapaxes(self, axis1, axis2)

    def take(self, indices: Any, axis: int | None = None) -> Any:
        """The elements at some coordinates of an axis."""
        return numpy.take(self, indices, axis)

    def tocsr(self, copy: bool = False) -> Any:
        """SciPy's sparse array of rows."""
        return _known(self).canonical().to_scipy().tocsr(copy=copy)

    def tocsc(self, copy: bool = False) -> Any:
        """SciPy's sparse array of columns."""
        return _known(self).canonical().to_scipy().tocsc(copy=copy)

    def tocoo(self, copy: bool = False) -> Any:
        """SciPy's sparse array of coordinates."""
        return _known(self).to_scipy().tocoo(copy=copy)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
        """The sum of a diagonal."""
        return numpy.trace(self, offset, axis1, axis2, dtype)

    def var(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
    ) -> Any:
        """The mean square of the distance from the mean."""
        return numpy.var(self, axis, dtype, out, ddof, keepdims)


guard(Methods)
