"""Sparse tensors with the manners of NumPy arrays."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from . import _native
from ._absent_names import missing
from ._errors import TamisTypeError, TamisValueError
from ._expressions import Expression, axes_of, compute, compute_kept, order_of, product
from ._guard import guard, guarded
from ._methods import Methods
from ._methods_of_scipy import ScipyMethods
from ._operands import is_by_columns, is_sequence, number_text, refused, sizes_of, type_name, typed
from ._operators import Operators, for_scipy, is_operand, kept, written
from ._plans import key_of, plan_of
from ._programs import check_text
from ._select import is_truth, ordered, picks, selected

#: So many rows without entries take little memory.
_FEW_ROWS = 1 << 20
#: So many elements are a small array.
_SMALL = 1 << 24
#: The axes that matrix products have anyway.
_USUAL_AXES = ([(-2, -1), (-2, -1), (-2, -1)], [(-1,), (-2, -1), (-1,)])


class Tensor(Operators, Methods, ScipyMethods, _native.Tensor):
    """A tensor in any format: levels that store its axes, and one array of values.

    Made by ``tamis.asarray``, ``tamis.coo``, ``tamis.read``, and as the result of computations.
    Operators, NumPy's functions of elements and reductions give tensors where the result is
    sparse and NumPy's arrays where every element is stored. The arrays cannot be written: a
    tensor never changes, unless it borrows arrays of NumPy or SciPy that do; those are checked
    again each time it is used.
    """

    __array_priority__ = 1000
    #: Tables of pandas leave their operators to the other side.
    __pandas_priority__ = 5000

    def _made(self, tree: Expression) -> Any:
        return compute(tree)

    def _elements(self, name: str, *operands: Any) -> Any:
        from ._elements import computed

        return computed(name, *operands)

    def _product(self, left: Any, right: Any) -> Any:
        key = key_of("matmul", (left, right))
        plan = plan_of(key)
        return plan(left, right) if plan else compute_kept(product(left, right), key, (left, right))

    @cached_property
    def _kind(self) -> Any:
        """What decides how operators compute with the tensor, as a key; none where values may."""
        if self.is_full or self.has_duplicates or self.size == 1:
            return None
        return self.shape, self.storage, len(self.values) > 0

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
        if out is not None:
            return written(out, self._reduced(name, axis, None, keepdims, where, dtype, initial))
        if where is True and dtype is None and initial is None:
            from ._reductions import by_groups, whole

            is_whole = axis is None or len(axes_of(axis, self.ndim)) == self.ndim
            made = whole(self, name) if is_whole and not keepdims else None
            if made is not None:
                return made
            if name in ("prod", "min", "max", "all") and self.size > _FEW_ROWS:
                axes = axes_of(axis, self.ndim)
                rows = math.prod(n for k, n in enumerate(self.shape) if k not in axes)
                # Kernels make a row for each result that a fill value may change.
                if has_many_rows(rows, len(self.values)):
                    return kept(by_groups(self, name, axes), self, axes, keepdims)
        return super()._reduced(name, axis, None, keepdims, where, dtype, initial)

    def _permuted(self, axes: Any) -> Any:
        made = self.permuted(order_of(self.ndim, axes))
        return super()._permuted(axes) if made is None else Tensor(made)

    @property
    def size(self) -> int:
        """How many elements there are, stored or not."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return int(self.dtype.itemsize)

    @property
    def nnz(self) -> int:
        """How many entries are stored; of truth values how many differ from the fill value, so that
        ``(A != B).nnz == 0`` is whether all elements are equal."""
        stored = super().nnz
        if self.dtype != bool or self.is_full or self.has_duplicates:
            return stored
        values = compact(self).values
        return int(np.count_nonzero(values != self.fill_value))

    @property
    def density(self) -> float:
        """The share of elements that are stored."""
        return self.nnz / self.size if self.size else 0.0

    def to_scipy(self, *, matrix: bool = False) -> Any:
        """SciPy's sparse array, or matrix, with the same arrays where SciPy has the format.

        Its arrays cannot be written, since the tensor has them too: ``.copy()`` can. Formats that
        SciPy lacks become csr, or coo beyond two axes; fill values other than 0 are refused.
        """
        return self.as_scipy(matrix)

    def canonical(self) -> Tensor:
        """The tensor with each coordinate once, entries of the same coordinate added up: itself,
        unless its format is one of duplicate coordinates."""
        if self.has_duplicates:
            return self.asformat(usual(self.shape, len(self.values)))
        return self

    def todense(self, order: Any = None, out: Any = None) -> np.ndarray[Any, Any]:
        """Every element as a NumPy array, in the order of rows, or of columns if ``order`` is F; in ``out`` if
        that is an array."""
        if out is not None:
            if order is not None:
                raise refused("an array has its order already", "leave out order, or out")
            return written(out, self.to_numpy())  # type: ignore[no-any-return]
        return np.asarray(self.to_numpy(), order=order)

    toarray = todense

    def asformat(self, format: str, copy: bool = False) -> Tensor:
        """The same tensor in another format, such as ``csc`` or ``bcsr(4,4)``."""
        check_text("format", format)
        made = Tensor(self.to_format(format))
        return made.copy() if copy else made

    def astype(
        self, dtype: Any, order: Any = "K", casting: Any = "unsafe", *, copy: bool = False
    ) -> Tensor:
        """The same tensor with elements of another type, cut off towards zero as NumPy does, unless
        ``casting`` refuses that. ``order`` is NumPy's, and says nothing of formats."""
        name = type_name(dtype)
        is_by_columns(order, "CFAK")
        if casting != "unsafe" and name != "bf16" and not np.can_cast(self.dtype, dtype, casting):
            reason = f"elements of {self.dtype} do not become {name} by {casting!r}"
            raise refused(reason, 'leave out casting, or use "unsafe"')
        is_half = "{bf16," in self.storage
        if name == ("bf16" if is_half else type_name(self.dtype)):
            return self.copy() if copy else self
        if name == "bf16":
            real = self.astype(np.float64) if self.dtype.kind == "c" else self
            return real.asformat(f"{self.format}{{bf16}}")
        elements = self.canonical()
        values, fill = elements.values, elements.fill_value
        if self.dtype.kind == "c" and np.dtype(dtype).kind not in "cb":
            values, fill = values.real, fill.real
        return elements._with_values(values.astype(dtype), np.asarray(fill).astype(dtype)[()])

    def _with_values(self, values: np.ndarray[Any, Any], fill: Any) -> Tensor:
        """Other values at the same positions, in an array that nobody else has, or a copy of it."""
        values = values if values.base is None else values.copy()
        return Tensor(self.with_values(values, number_text(fill)))

    def _of_levels(
        self,
        shape: tuple[int, ...],
        levels: list[dict[str, np.ndarray[Any, Any]]],
        values: np.ndarray[Any, Any],
        fill: Any = None,
        format: str | None = None,
    ) -> Tensor:
        """A tensor in the same format, or another, of these arrays, which nobody else has."""
        fill = self.fill_value if fill is None else fill
        storage = f"{format or self.format}{{{type_name(values.dtype)}, fill: {number_text(fill)}}}"
        return Tensor(_native.Tensor.of_arrays(shape, storage, levels, values, True))

    def copy(self, order: Any = "C") -> Tensor:
        """The same tensor in arrays of its own. ``order`` is NumPy's, and says nothing of formats."""
        is_by_columns(order, "CFAK")
        return Tensor(self.copied())

    def __copy__(self) -> Tensor:
        return Tensor(self)

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.shape, self.storage, self.levels, self.values)
        return _rebuilt, parts

    @property
    def mT(self) -> Any:
        """The last two axes exchanged."""
        from .array_api import matrix_transpose

        return matrix_transpose(self)

    @property
    def device(self) -> str:
        """Where the tensor is: in the memory of the processor, always."""
        return "cpu"

    def to_device(self, device: Any, /, *, stream: None = None) -> Tensor:
        """The tensor itself, which is on the only device there is."""
        if device != "cpu":
            text = f"error[invalid-option]: there is no device {device}"
            raise TamisValueError("invalid-option", f"{text}\n  = help: the only one is 'cpu'")
        return self

    def nonzero(self) -> tuple[np.ndarray[Any, Any], ...]:
        """The coordinates of the elements that are not 0, an array for each axis."""
        if not self.ndim:
            raise _refused("a number has no coordinates", "give it an axis: tensor[None]")
        if self.fill_value != 0:
            return self.to_numpy().nonzero()
        from ._rows import entries

        coords, values = entries(self.canonical())
        if (values != 0).all():
            # The tensor's own arrays cannot be written.
            found = [c if c.flags.writeable else c.copy() for c in coords]
        else:
            found = [c[values != 0] for c in coords]
        order = None if _native.is_in_rows(self) else ordered(found)
        return tuple(c if order is None else c[order] for c in found)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Tensor:
        """The elements in the order of rows, or of columns if ``order`` is F, in axes of other
        sizes, of which one may be -1; in arrays of their own if ``copy``."""
        if len(shape) == 1 and is_sequence(shape[0]):
            shape = tuple(shape[0])
        if is_by_columns(order):
            by_columns: Tensor = self.T.reshape(*shape[::-1]).T
            return by_columns.copy() if copy else by_columns
        made = self._reshaped(shape)
        return made.copy() if copy else made

    def _reshaped(self, shape: tuple[Any, ...]) -> Tensor:
        sizes = list(sizes_of(shape))
        if sizes.count(-1) == 1 and -math.prod(sizes):
            sizes[sizes.index(-1)] = self.size // -math.prod(sizes)
        if math.prod(sizes) != self.size or min(sizes, default=0) < 0:
            raise _refused(f"{self.size} elements do not fit {shape}", "keep their number")
        if tuple(sizes) == self.shape:
            return self
        from . import _rows

        if _long(self.shape) == _long(sizes):
            framed = _rows.reframed(self, sizes)
            if framed is not None:
                return framed
            coords, values = _rows.entries(self)
            rest = iter([axis for axis, size in zip(coords, self.shape) if size != 1])
            zeros = np.zeros(len(values), dtype=np.int64)
            made = [zeros if n == 1 else next(rest) for n in sizes]
            return _rows.like(self, tuple(sizes), made, values)
        if self.size >= 2**63:
            grouped = _rows.regrouped(self, sizes)
            if grouped is not None:
                return grouped
            reason = f"{self.size} elements are more than coordinates along one axis reach"
            raise _refused(reason, "keep the axes, or take parts of them")
        by_rows = _rows.is_in_columns(self) or self.ndim == 2 and self.format.startswith("coo")
        if by_rows and self.shape[0] <= 4 * len(self.values):
            # Rows are found by counting, where a sort takes longer.
            return self.asformat("csr").reshape(sizes)
        if self.ndim and _native.is_in_rows(self):
            return _rows.reshaped(self, sizes)
        return Tensor(self.reshaped(sizes, usual(sizes, len(self.values))))

    def __len__(self) -> int:
        if not self.shape:
            raise TamisTypeError("order-mismatch", "error[order-mismatch]: a number has no length")
        return self.shape[0]

    def __contains__(self, value: Any) -> bool:
        equal = self == value
        # What is no operand is equal to no tensor.
        return bool(equal if isinstance(equal, bool) else equal.any())

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Tensor) and key.dtype == bool and _native.is_in_rows(key):
            from ._elements import masked

            made = masked(self, key)
            if made is not None:
                return made
        if is_truth(key):
            # As NumPy has it: along a new axis it is there, or not.
            return self.reshape((1, *self.shape))[: int(key)]
        selection = picks(self, key if isinstance(key, tuple) else (key,))
        if not selection.kept:
            element = self.get([int(pick) for pick in selection.chosen])
            # As NumPy has it: with dots it stays an array.
            has_dots = any(part is Ellipsis for part in (key if isinstance(key, tuple) else (key,)))
            is_array = selection.shape or has_dots
            return asarray(np.reshape(element, selection.shape)) if is_array else element
        made = self if selection.is_all else selected(self, selection)
        return made if made.shape == selection.shape else made.reshape(selection.shape)

    def __bool__(self) -> bool:
        return bool(self._only())

    def __float__(self) -> float:
        return float(self._only())

    def __int__(self) -> int:
        return int(self._only())

    def __complex__(self) -> complex:
        return complex(self._only())

    def __index__(self) -> int:
        value = self._only()
        if self.ndim or not isinstance(value, np.integer):
            text = "error[type-mismatch]: only a tensor of no axes and of integers is an index"
            raise TamisTypeError("type-mismatch", f"{text}\n  = help: use int()")
        return int(value)

    def __pos__(self) -> Tensor:
        return self

    def _only(self) -> Any:
        if self.size != 1:
            text = f"error[order-mismatch]: a tensor of {self.size} elements is no number"
            raise TamisValueError("order-mismatch", f"{text}\n  = help: use any(), all() or [..]")
        return self.get([0] * self.ndim)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        caller = sys._getframe(1)
        alone = for_scipy(self, caller) if dtype is None else None
        if alone is not None:
            return alone
        module = caller.f_globals.get("__name__", "")
        if module.startswith("scipy.sparse.linalg._eigen."):
            # SciPy's solvers of eigenvalues make small problems dense.
            return self.to_numpy()
        if module.startswith("numpy.testing"):
            # Who compares looks at every element.
            return self.to_numpy()
        reason = f"the tensor of {self.size} elements is not made dense unasked"
        raise refused(reason, self._way_out(module))

    def _way_out(self, asks: str) -> str:
        """What to call instead, where a module asks for an array of all elements."""
        if asks.startswith("pandas."):
            return "use the array of the table: table.to_numpy() @ tensor"
        found = "call to_scipy() for SciPy and what takes its arrays"
        if self.dtype == bool:
            found += ", nonzero() for a key: array[tensor.nonzero()]"
        return f"{found}, or call to_numpy()" if self.size <= _SMALL else found

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(missing("Tensor", name), name=name, obj=self)

    def __setitem__(self, key: Any, value: Any) -> None:
        way_out = "make another one: numpy.where(condition, value, tensor), or tamis.coo(coords, values)"
        raise refused("tensors never change", way_out)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        out, where = options.get("out", ()), options.pop("where", True)
        if len(out) == 1 and isinstance(out[0], np.ndarray) and method == "__call__":
            del options["out"]
            if ufunc is np.matmul and options.get("axes") in _USUAL_AXES:
                # What array @= tensor names.
                del options["axes"]
            made = self.__array_ufunc__(ufunc, method, *inputs, **options)
            return _written(out[0], made, where)
        if method == "reduce" and out and out[0] is not None:
            del options["out"]
            return written(out, self.__array_ufunc__(ufunc, method, *inputs, **options, where=where))
        if method == "__call__" and options:
            inputs = typed(ufunc, inputs, options)
        if method in ("reduce", "at"):
            options |= {} if where is True else {"where": where}
        elif where is not True:
            reason = f"numpy.{ufunc.__name__} of tensors has where beside out only"
            raise refused(reason, "numpy.where(condition, result, other) chooses elements")
        if method == "outer" and not options and ufunc.nin == 2:
            from ._arranging import outer

            return outer(ufunc, *inputs)
        if method in ("accumulate", "reduceat") and ufunc.nin == 2 and ufunc.nout == 1:
            from . import _cumulative

            return getattr(_cumulative, method)(ufunc, *inputs, **options)
        made = super().__array_ufunc__(ufunc, method, *inputs, **options)
        if made is not NotImplemented:
            return made
        if any(isinstance(x, Expression) or not is_operand(x) for x in inputs):
            return NotImplemented
        if method == "__call__" and ufunc.__name__ in ("vecdot", "matvec", "vecmat"):
            from . import _linalg

            return getattr(_linalg, ufunc.__name__)(*inputs, **options)
        if options or method != "__call__" or ufunc.signature is not None:
            asked = method if method != "__call__" else ", ".join(options) or "such form"
            reason = f"numpy.{ufunc.__name__} of tensors has no {asked}"
            raise refused(reason, "call to_numpy() of the tensors first")
        from ._elements import apply, computed

        if ufunc.nout > 1:
            return tuple(apply(lambda *x, k=k: ufunc(*x)[k], *inputs) for k in range(ufunc.nout))
        is_numpys = getattr(np, ufunc.__name__, None) is ufunc
        return computed(ufunc.__name__, *inputs) if is_numpys else apply(ufunc, *inputs)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        from ._functions import call

        return call(function, arguments, options)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        from . import array_api

        return array_api

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape)) or "number"
        fill = "" if self.fill_value == 0 else f", fill {self.fill_value}"
        stored = f"{self.nnz} stored ({100 * self.density:.3g} %), {_bytes(self.nbytes)}"
        return f"<tamis.Tensor {shape} {self.dtype} {self.format}: {stored}{fill}>"

    def _repr_html_(self) -> str:
        from ._html import drawn

        return drawn(self)


guard(Tensor)


def _written(array: np.ndarray[Any, Any], made: Any, where: Any = True) -> Any:
    """An array, as ``array += tensor`` names it, that gets the elements of a result, or some."""
    if made is NotImplemented:
        return made
    chosen = where.to_numpy() if isinstance(where, Tensor) else where
    try:
        full = made.to_numpy() if isinstance(made, Tensor) else made
        np.copyto(array, full, "same_kind", where=chosen)
    except (TypeError, ValueError) as error:
        result = f"a result of {made.dtype} and shape {made.shape}"
        reason = f"{result} does not fit an array of {array.dtype} and shape {array.shape}"
        raise refused(reason, "name the result: y = x + tensor") from error
    return array


def _long(sizes: Sequence[int]) -> list[int]:
    """The sizes of the axes of more or less than one element."""
    return [n for n in sizes if n != 1]


@guarded
def asarray(
    object: Any,
    *,
    format: str | None = None,
    dtype: Any = None,
    copy: bool | None = None,
) -> Tensor:
    """The tensor of an array, a matrix or a number.

    Arrays of NumPy and SciPy, and everything with the buffer protocol or ``__dlpack__``, are
    borrowed where a format describes their memory; ``copy=True`` copies them, and
    ``copy=False`` raises ``ValueError`` where they would have to be. ``format`` is a name, such
    as ``bcsr(4,4)``, or levels; elements of dense arrays that are 0 are no entries of a sparse
    format. ``dtype`` converts the elements.
    """
    is_tensor = isinstance(object, Tensor)
    tensor = object if is_tensor else Tensor(_native.borrow(object, copy=bool(copy)))
    if format is not None:
        tensor = tensor.asformat(format)
    if dtype is not None:
        tensor = tensor.astype(dtype)
    if copy is False and not _shares(object, tensor):
        raise _refused("the array cannot be borrowed as it is", "leave out copy=False")
    return tensor.copy() if copy and tensor.is_borrowed | is_tensor else tensor


def _shares(object: Any, tensor: Tensor) -> bool:
    """Whether a tensor has the memory of what it was made of."""
    source = object.values if isinstance(object, _native.Tensor) else _memory(object)
    return source is not None and (np.shares_memory(source, tensor.values) or not source.size)


def _memory(object: Any) -> np.ndarray[Any, Any] | None:
    """The array that an object is, has as its values, or lends."""
    data = getattr(object, "data", None)
    if isinstance(object, np.ndarray) or isinstance(data, np.ndarray):
        return object if isinstance(object, np.ndarray) else data
    try:
        lends = hasattr(object, "__dlpack__")
        return np.from_dlpack(object) if lends else np.asarray(memoryview(object))
    except (BufferError, RuntimeError, TypeError):
        return None


def compact(tensor: Tensor) -> Tensor:
    """The tensor in a format that has a value for each entry, once, and no other."""
    if tensor.is_compact and not tensor.has_duplicates:
        return tensor
    return tensor.asformat(usual(tensor.shape, len(tensor.values)))


def usual(shape: Sequence[int], entries: int) -> str:
    """The format of a sparse tensor of which nothing is said: rows have a position each, unless
    there are by far more of them than entries."""
    if len(shape) == 2:
        return "dcsr" if has_many_rows(shape[0], entries) else "csr"
    return {0: "dense", 1: "sparse"}.get(len(shape), "csf")


def has_many_rows(rows: int, entries: int) -> bool:
    """Whether rows are too many, beside so few entries, to have something for each."""
    return rows > max(_FEW_ROWS, 16 * entries)


@guarded
def coo(
    coords: Sequence[Any],
    values: Any,
    *,
    shape: int | Sequence[int] | None = None,
    format: str | None = None,
    fill_value: Any = 0,
) -> Tensor:
    """A tensor of entries: an array of coordinates for each axis, from 0, and the values. Values
    at the same coordinates are added up. Without ``format`` they stay a list of coordinates, without
    ``shape`` axes end behind the last coordinate."""
    if format is not None:
        check_text("format", format)
    vectors = [np.asarray(x.to_numpy() if isinstance(x, Tensor) else x) for x in (*coords, values)]
    wrong = [x for x in vectors if x.ndim != 1]
    if wrong:
        raise _refused(f"coordinates or values are {wrong[0]!r}", "give vectors, one for each axis")
    if shape is None and not all(len(x) for x in vectors[:-1]):
        raise _refused("no coordinates tell no sizes", "give shape=")
    ends = [int(x.max()) + 1 for x in vectors[:-1]] if shape is None else shape
    sizes = sizes_of(ends)
    listed = usual(sizes, 0) if len(sizes) < 2 else "coo"
    return _of_entries(sizes, vectors[:-1], vectors[-1], fill_value, format or listed)


def _of_entries(
    shape: tuple[int, ...],
    coords: Sequence[Any],
    values: np.ndarray[Any, Any],
    fill: Any = 0,
    format: str | None = None,
) -> Tensor:
    format = format or usual(shape, len(values))
    arrays = [np.asarray(c) for c in coords]
    if any(len(c) != len(values) for c in arrays):
        raise _refused("coordinates and values have different lengths", "give one of each")
    given = number_text(fill) if fill != 0 else None
    return Tensor(_native.Tensor.of_entries(shape, arrays, values, format, fill=given))


def _rebuilt(shape: Any, storage: str, levels: Any, values: Any) -> Tensor:
    arrays = [values, *(array for level in levels for array in level.values())]
    alone = all(map(_is_alone, arrays))
    made = Tensor(_native.Tensor.of_arrays(shape, storage, levels, values, alone))
    return made if alone else made.copy()


def _is_alone(array: np.ndarray[Any, Any]) -> bool:
    """Whether nobody else writes the memory of an array of a pickle: it is its own, or that of bytes."""
    owner: Any = array
    while isinstance(owner, np.ndarray) and not owner.flags.owndata:
        owner = owner.base
    return owner is array or isinstance(owner, bytes)


def _bytes(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"


def _refused(reason: str, way_out: str) -> TamisValueError:
    return TamisValueError(
        "invalid-tensor", f"error[invalid-tensor]: {reason}\n  = help: {way_out}"
    )
