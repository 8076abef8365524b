"""What SciPy's and PyData's sparse arrays have that NumPy's lack, where it leaves the tensor as it is: methods,
and the arrays of rows, columns, blocks and lists of coordinates.

A.multiply(B)   A * B, where SciPy's matrices have another product
A.getnnz(0)     of each column how many entries are stored
A.indptr        of rows or columns: where the entries of each begin
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ._errors import TamisValueError
from ._guard import guard
from ._methods import numpy
from ._operands import refused

#: The functions of elements that SciPy's arrays have as methods.
_FUNCTIONS = (
    "arcsin arcsinh arctan arctanh ceil deg2rad expm1 floor log1p rad2deg rint sign sin sinh sqrt tan tanh trunc"
).split()


class ScipyMethods:
    """Methods and arrays by SciPy's names."""

    # What each tensor has.
    T: Any
    conj: Any
    canonical: Any
    format: str
    levels: Any
    shape: tuple[int, ...]
    to_scipy: Any
    values: Any
    _with_values: Any

    def count_nonzero(self, axis: Any = None) -> Any:
        """How many elements are not 0, along an axis, or of all."""
        return numpy.count_nonzero(self, axis=axis)

    def getnnz(self, axis: Any = None) -> Any:
        """How many entries are stored, along an axis, or in all: 0 that is stored is one."""
        known: Any = self
        if axis is None:
            return known.nnz
        # Of truth values those that are the fill value are no entries.
        is_entry = self.values != known.fill_value if known.dtype == bool and not known.is_full else numpy.ones(len(self.values))
        return self._with_values(is_entry.astype(numpy.int64), 0).sum(axis=axis)

    def getrow(self, i: Any) -> Any:
        """A row, as a matrix of one."""
        return self._matrix()[[operator.index(i)]]

    def getcol(self, j: Any) -> Any:
        """A column, as a matrix of one."""
        return self._matrix()[:, [operator.index(j)]]

    def _matrix(self) -> Any:
        if len(self.shape) != 2:
            raise refused(f"a tensor of {len(self.shape)} axes has no rows and columns", "write keys")
        return self

    def getH(self) -> Any:
        """The transpose, of complex numbers conjugated."""
        return self.conj().T

    def maximum(self, other: Any) -> Any:
        """The greater of the elements of both."""
        return numpy.maximum(self, other)

    def minimum(self, other: Any) -> Any:
        """The lesser of the elements of both."""
        return numpy.minimum(self, other)

    def multiply(self, other: Any) -> Any:
        """The product of the elements of both."""
        return numpy.multiply(self, other)

    def nanmax(self, axis: Any = None, out: Any = None) -> Any:
        """The greatest element that is no NaN, along an axis, or of all."""
        return numpy.nanmax(self, axis, out)

    def nanmin(self, axis: Any = None, out: Any = None) -> Any:
        """The least element that is no NaN, along an axis, or of all."""
        return numpy.nanmin(self, axis, out)

    def power(self, n: Any, dtype: Any = None) -> Any:
        """The powers of the elements, also of those that are not stored, which SciPy leaves 0 or refuses; converted
        to a type before if one is given."""
        known: Any = self
        return (known if dtype is None else known.astype(dtype)) ** n

    def tobsr(self, blocksize: Any = None, copy: bool = False) -> Any:
        """SciPy's sparse array of blocks."""
        return self.canonical().to_scipy().tobsr(blocksize, copy=copy)

    def todia(self, copy: bool = False) -> Any:
        """SciPy's sparse array of diagonals."""
        return self.canonical().to_scipy().todia(copy=copy)

    def todok(self, copy: bool = False) -> Any:
        """SciPy's sparse array of a dictionary."""
        return self.canonical().to_scipy().todok(copy=copy)

    def tolil(self, copy: bool = False) -> Any:
        """SciPy's sparse array of lists."""
        return self.canonical().to_scipy().tolil(copy=copy)

    def tensordot(self, other: Any, axes: Any = 2) -> Any:
        """The sum of products over some axes of both."""
        return numpy.tensordot(self, other, axes)

    def broadcast_to(self, shape: Any) -> Any:
        """The elements repeated along axes of one element, and along new ones before."""
        return numpy.broadcast_to(self, shape)

    def isinf(self) -> Any:
        """Whether each element is infinite."""
        return numpy.isinf(self)

    def isnan(self) -> Any:
        """Whether each element is NaN."""
        return numpy.isnan(self)

    def to_scipy_sparse(self, accept_fv: Any = None) -> Any:
        """SciPy's sparse array of the entries, whose fill value, which that does not have, is 0 or accepted."""
        known: Any = self
        own, accepted = known.fill_value, numpy.atleast_1d(0 if accept_fv is None else accept_fv)
        if not ((accepted == own) | (accepted != accepted) & (own != own)).any():
            text = f"error[invalid-option]: the fill value is {own}, which is not accepted"
            raise TamisValueError("invalid-option", f"{text}\n  = help: accept_fv={own}, or asformat with another")
        if own != 0:
            known = known.canonical()
            known = known._with_values(known.values, 0)
        return known.to_scipy()

    @property
    def has_canonical_format(self) -> bool:
        """Whether each coordinate is stored once, in order."""
        known: Any = self
        return not known.has_duplicates and self.has_sorted_indices

    @property
    def has_sorted_indices(self) -> bool:
        """Whether entries, or blocks, are in the order of rows, or of columns."""
        return not any(word in self.format for word in ("nonordered", "hash", "dok"))

    @property
    def blocksize(self) -> tuple[int, int]:
        """The rows and columns of a block."""
        rows, columns = self._of("bcsr").format[5:-1].split(",")
        return int(rows), int(columns)

    # Where a tensor has no such array, the error says what has it.

    @property
    def data(self) -> Any:
        """The values of rows, columns or lists of coordinates, or of blocks."""
        known = self._of("csr", "csc", "coo", "sparse", "bcsr")
        return known.values.reshape(-1, *self.blocksize) if known.format[0] == "b" else known.values

    @property
    def indices(self) -> Any:
        """Of rows the column of each entry, or block, of columns the row."""
        return self._of("csr", "csc", "bcsr").levels[1]["crd"]

    @property
    def indptr(self) -> Any:
        """Where the entries of each row or column begin, and where the last ones end."""
        return self._of("csr", "csc", "bcsr").levels[1]["pos"]

    @property
    def coords(self) -> tuple[Any, ...]:
        """The coordinates of a list, an array for each axis."""
        return tuple(level["crd"] for level in self._of("coo", "sparse").levels)

    @property
    def row(self) -> Any:
        """The rows of a list of coordinates of two axes."""
        return self._of("coo", axes=(2,)).levels[0]["crd"]

    @property
    def col(self) -> Any:
        """The columns of a list of coordinates of two axes."""
        return self._of("coo", axes=(2,)).levels[1]["crd"]

    def _of(self, *formats: str, axes: Any = ()) -> ScipyMethods:
        """The tensor, if its format is one of those that have an array as SciPy has it."""
        name, _, properties = self.format.partition("(")
        if name not in formats or "aos" in properties or axes and len(self.shape) not in axes:
            raise AttributeError(name)
        return self


def _of_elements(name: str) -> Callable[..., Any]:
    function = getattr(numpy, name)

    def method(self: Any) -> Any:
        return function(self)

    method.__name__, method.__qualname__ = name, f"ScipyMethods.{name}"
    method.__doc__ = f"``numpy.{name}`` of the elements."
    return method


for _name in _FUNCTIONS:
    setattr(ScipyMethods, _name, _of_elements(_name))
guard(ScipyMethods)
