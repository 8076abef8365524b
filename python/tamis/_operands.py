"""What the native module asks Python about operands, and builds with Python's libraries."""

from __future__ import annotations

import operator
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import _native
from ._errors import TamisOverflowError, TamisTypeError, TamisValueError

#: The codes of SciPy's formats that share arrays with tensors: 10 more for arrays, 20 for matrices.
_SCHEMES = {"csr": 1, "csc": 2, "coo": 3, "bsr": 4, "dia": 5}
_ARRAY, _NUMBER, _OTHER = 1, 2, 0


def classify(kind: type) -> int:
    """The code of a class of operands, see ``Class::of`` in the native module."""
    if issubclass(kind, np.ma.MaskedArray):
        return _OTHER
    if issubclass(kind, (np.ndarray, np.generic)):
        return _ARRAY
    if issubclass(kind, (bool, int, float, complex)):
        return _NUMBER
    scipy_sparse = sys.modules.get("scipy.sparse")
    if scipy_sparse is not None:
        for name, code in _SCHEMES.items():
            if issubclass(kind, getattr(scipy_sparse, f"{name}_array")):
                return 10 + code
            if issubclass(kind, getattr(scipy_sparse, f"{name}_matrix")):
                return 20 + code
    return _OTHER


def plain(operand: Any) -> Any:
    """An operand of any other class as one that the native module knows."""
    scipy_sparse = sys.modules.get("scipy.sparse")
    if scipy_sparse is not None and scipy_sparse.issparse(operand):
        return operand.tocsr() if operand.ndim == 2 else operand.tocoo()
    pydata = sys.modules.get("sparse")
    if pydata is not None and isinstance(operand, pydata.SparseArray):
        return _of_pydata(operand)
    if isinstance(operand, np.ma.MaskedArray):
        raise refused(
            "a masked array has elements without a value",
            "fill them: array.filled(0)",
        )
    if hasattr(operand, "__dlpack__"):
        try:
            return np.from_dlpack(operand)
        except (BufferError, RuntimeError, TypeError) as error:
            if not hasattr(operand, "__array__"):
                raise refused(
                    f"the array cannot be lent to NumPy: {error}",
                    "copy it to the processor first",
                ) from error
    if operand is None or isinstance(operand, (str, bytes, dict, set)):
        raise refused(
            f"a {type(operand).__name__} is no tensor",
            "pass a NumPy or SciPy array, a tensor, or a number",
        )
    try:
        return _lent(operand)
    except TypeError:
        # It has no memory of its own.
        pass
    try:
        return plain_array(operand)
    except (TypeError, ValueError) as error:
        if isinstance(error, TamisTypeError):
            raise
        raise refused(
            f"NumPy makes no array of the {type(operand).__name__}: {error}",
            "pass a NumPy or SciPy array, a tensor, or a number",
        ) from error


def _lent(operand: Any) -> np.ndarray[Any, Any]:
    """The memory that an object lends by the buffer protocol."""
    array = np.asarray(memoryview(operand))
    type_name(array.dtype)
    return array


def _of_pydata(operand: Any) -> Any:
    """A tensor of the arrays of a ``sparse.COO``, or of what becomes one."""
    if type(operand).__name__ == "GCXS" and operand.ndim == 2 and _ascend(operand):
        name = "csr" if operand.compressed_axes == (0,) else "csc"
        level = {"pos": operand.indptr, "crd": operand.indices}
        storage = _storage(name, operand.dtype, operand.fill_value)
        return _native.Tensor.of_arrays(operand.shape, storage, [{}, level], operand.data)
    coo = operand.asformat("coo")
    if coo.ndim == 0:
        return coo.todense()
    levels: list[dict[str, Any]] = [{"crd": crd} for crd in coo.coords]
    levels[0]["pos"] = np.array([0, len(coo.data)])
    storage = _storage("coo", coo.dtype, coo.fill_value)
    return _native.Tensor.of_arrays(coo.shape, storage, levels, coo.data)


def _ascend(gcxs: Any) -> bool:
    """Whether the coordinates of each row ascend, as those of products do not."""
    is_later = np.ones(max(len(gcxs.indices), 1), dtype=bool)
    is_later[1:] = gcxs.indices[1:] > gcxs.indices[:-1]
    begins = gcxs.indptr[:-1]
    is_later[begins[begins < len(is_later)]] = True
    return bool(is_later.all())


def _storage(format: str, dtype: Any, fill: Any) -> str:
    return f"{format}{{{type_name(dtype)}, fill: {number_text(fill)}}}"


def plain_array(operand: Any) -> np.ndarray[Any, Any]:
    """A copy in the order of rows, of a type that tensors have."""
    array = np.asarray(operand)
    type_name(array.dtype)
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True)


def index_array(operand: Any) -> np.ndarray[Any, Any]:
    """A copy of positions or coordinates as signed integers, of 32 bits if they are now, else of 64."""
    array = np.asarray(operand)
    if array.size == 0 and array.ndim <= 1:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise refused(
            f"positions and coordinates are {array.dtype} of {array.ndim} axes",
            "give vectors of integers",
        )
    if array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max:
        raise refused("an index is beyond 2^63 - 1", "give indices below the dimensions")
    width = np.int32 if array.dtype == np.int32 else np.int64
    return np.array(array, dtype=width, order="C", copy=True)


def plain_diagonals(operand: Any) -> Any:
    """Diagonals in ascending order, inside the matrix, as long as it is wide."""
    rows, columns = operand.shape
    offsets = np.asarray(operand.offsets, dtype=np.int64)
    if operand.data.ndim != 2 or len(operand.data) != len(offsets):
        text = f"error[invalid-tensor]: {len(offsets)} offsets for diagonals of shape "
        text += f"{operand.data.shape}\n  = help: give data a row for each offset"
        raise TamisValueError("invalid-tensor", text)
    order = np.argsort(offsets, kind="stable")
    inside = order[(offsets[order] > -rows) & (offsets[order] < columns)]
    length = min(operand.data.shape[1], columns)
    data = np.zeros((len(inside), columns), dtype=operand.data.dtype)
    data[:, :length] = operand.data[inside, :length]
    return SimpleNamespace(offsets=offsets[inside], data=data)


def scipy_array(scheme: str, arrays: tuple[Any, ...], shape: tuple[int, ...], matrix: bool) -> Any:
    """SciPy's array or matrix of arrays, values first."""
    made = _template(f"{scheme}_{'matrix' if matrix else 'array'}", len(shape))
    if made is not None:
        # What the constructor does, without its checks: the arrays are valid.
        result = made.__new__(type(made))
        result.__dict__.update(made.__dict__)
        result._shape = shape
        result.data, result.indices, result.indptr = arrays
        return result
    import scipy.sparse

    values, *structure = arrays
    build = getattr(scipy.sparse, f"{scheme}_{'matrix' if matrix else 'array'}")
    if scheme == "coo":
        structure = [tuple(structure)]
    return build((values, *structure), shape=shape, copy=False)


#: What a compressed array of SciPy's consists of, if it is as it was in the versions known.
_PARTS = {"_shape", "maxprint", "indptr", "indices", "data"}
_templates: dict[tuple[str, int], Any] = {}


def _template(name: str, axes: int) -> Any:
    """An empty array of SciPy's with rows or columns, of which others are made by replacing its
    parts; none where SciPy may have other parts."""
    known = _templates.get((name, axes))
    if known is None and (name, axes) not in _templates:
        import scipy.sparse

        if name.startswith("cs"):
            made = getattr(scipy.sparse, name)((1,) * axes)
            known = made if set(made.__dict__) == _PARTS and made._shape == (1,) * axes else None
        _templates[name, axes] = known
    return known


#: The names of data types in formats by NumPy's.
_NAMES = {
    "bool": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "c64",
    "complex128": "c128",
}
#: Those that were asked for; NumPy takes its time to find a name.
_TYPES: dict[np.dtype[Any], str] = {}


def type_name(dtype: Any) -> str:
    """The name in formats of a type that NumPy understands; ``"bf16"``, which it does not, too."""
    if isinstance(dtype, str) and dtype == "bf16":
        return dtype
    try:
        made = dtype if isinstance(dtype, np.dtype) else np.dtype(dtype)
    except (TypeError, ValueError) as error:
        raise refused(f"{dtype!r} is no type of elements", "use one of NumPy's") from error
    name = _TYPES.get(made)
    if name is None:
        name = _NAMES.get(made.name)
        if name is None:
            raise refused(
                f"tensors have no elements of type {made}",
                "convert them: array.astype(np.float64)",
            )
        _TYPES[made] = name
    return name


def fitted(values: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """Numbers as those of a type: rounded to its floats, but refused where a value would become
    another, as of 300 or NaN in 8 bits."""
    array, made = np.asarray(values), np.dtype(dtype)
    if array.dtype.kind == "O":
        # Integers beyond 64 bits are floats.
        try:
            array = array.astype(np.complex128 if made.kind == "c" else np.float64)
        except (OverflowError, TypeError, ValueError) as error:
            raise refused(f"{values!r} is no number", "give a number") from error
    if array.dtype.kind not in "biufc":
        raise refused(f"elements of {array.dtype} do not become {made}", "give numbers")
    if np.can_cast(array.dtype, made, "safe"):
        return array.astype(made)
    with np.errstate(all="ignore"):
        real = array.real if array.dtype.kind == "c" and made.kind != "c" else array
        cast = real.astype(made)
        if made.kind in "fc":
            fits = ~np.isfinite(real) | np.isfinite(cast)
        else:
            # The greatest integer may be rounded to a float beyond it.
            end = 2.0 ** (8 * made.itemsize - (made.kind == "i"))
            fits = (cast == real) & ((real.dtype.kind != "f") | (real < end))
        wrong = np.flatnonzero(~fits | (array.imag != real.imag))
    if not len(wrong):
        return cast
    value = array.flat[wrong[0]]
    if array.dtype.kind in "iu":
        text = f"error[integer-overflow]: the value {value} does not fit {made}"
        raise TamisOverflowError("integer-overflow", f"{text}\n  = help: use astype first")
    raise refused(f"the value {value} does not become {made}", "use astype first")


def number_text(value: Any) -> str:
    """A number as formats write it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (complex, np.complexfloating)):
        return f"{float(value.real)!r}{float(value.imag):+}j"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    try:
        return repr(float(value))
    except (TypeError, ValueError) as error:
        raise refused(f"{value!r} is no number", "give a number") from error


def sizes_of(shape: Any) -> tuple[int, ...]:
    """The sizes of axes: several, or one."""
    try:
        return tuple(operator.index(n) for n in (shape if np.iterable(shape) else (shape,)))
    except TypeError as error:
        raise refused(f"{shape!r} is no shape", "give integers, one for each axis") from error


def is_sequence(x: Any) -> bool:
    """Whether NumPy takes it for several sizes or axes."""
    return isinstance(x, (tuple, list)) or isinstance(x, np.ndarray) and x.ndim > 0


def unreadable(operand: Any) -> TamisTypeError:
    """The refusal of an array that NumPy cannot copy into a form that tensors have."""
    return refused(
        f"the array of type {getattr(operand, 'dtype', type(operand).__name__)} cannot be read",
        "convert it: numpy.ascontiguousarray(array, dtype=numpy.float64)",
    )


def refused(reason: str, way_out: str) -> TamisTypeError:
    """The refusal of an argument of a wrong type."""
    return TamisTypeError("type-mismatch", f"error[type-mismatch]: {reason}\n  = help: {way_out}")


def is_by_columns(order: Any, known: str = "CFA") -> bool:
    """Whether elements are in the order of columns, by NumPy's words for orders, of which none is that of rows."""
    name = "C" if order is None else order
    if not isinstance(name, str):
        raise refused(f"the order is {type(order).__name__}, no text", f"use one of {', '.join(known)}")
    if len(name) != 1 or name.upper() not in known:
        text = f"error[invalid-option]: there is no order {order!r} here"
        raise TamisValueError("invalid-option", f"{text}\n  = help: use one of {', '.join(known)}")
    return name.upper() == "F"


def typed(ufunc: Any, inputs: Any, options: dict[str, Any]) -> Any:
    """The operands of a function of NumPy in the type in which it is asked to compute. How arrays of
    the result would lie in memory says nothing of tensors, and is taken out of the options."""
    is_by_columns(options.pop("order", None), "CFAK")
    options.pop("subok", None)
    casting, dtype = options.pop("casting", "same_kind"), options.pop("dtype", None)
    if dtype is None:
        if casting != "same_kind":
            _check_casting(ufunc, inputs, casting)
        return inputs
    dtype = np.dtype(dtype)
    if dtype == bool and f"{'d' * ufunc.nin}->?" in ufunc.types:
        return inputs
    if f"{dtype.char * ufunc.nin}->{dtype.char * ufunc.nout}" not in ufunc.types:
        options["dtype"] = dtype
        return inputs
    return [_as_type(x, dtype, casting, ufunc.__name__) for x in inputs]


def _as_type(x: Any, dtype: np.dtype[Any], casting: Any, name: str) -> Any:
    """An operand in a type, if it may be cast to it. Of Python's numbers the kind alone counts, as NumPy has
    it, and the value has to fit."""
    given = x if hasattr(x, "astype") else np.asarray(x)
    is_weak = type(x) in (bool, int, float, complex) and casting != "unsafe"
    own, wanted = (np.dtype(y).kind.replace("u", "i") for y in (type(x) if is_weak else given.dtype, dtype))
    fits = is_weak and _KINDS.find(own) <= _KINDS.find(wanted)
    if not (fits or np.can_cast(given.dtype, dtype, casting)):
        reason = f"numpy.{name} does not cast {given.dtype} to {dtype} ({casting})"
        raise refused(reason, "use astype first, or casting='unsafe'")
    made = fitted(x, dtype) if fits and wanted == "i" else given.astype(dtype)
    return made[()] if isinstance(made, np.ndarray) and not made.ndim else made


#: The kinds of types, each with those behind it.
_KINDS = "bifc"


def _check_casting(ufunc: Any, inputs: Any, casting: Any) -> None:
    """Refuses operands whose types a function of NumPy converts by more than it is allowed to."""
    weak = (bool, int, float, complex)
    own = [x if hasattr(x, "dtype") or type(x) in weak else np.asarray(x) for x in inputs]
    types = [type(x) if type(x) in weak[1:] else np.dtype(getattr(x, "dtype", bool)) for x in own]
    try:
        # The same for types in the machine's byte order, and NumPy crashes on 'equiv' with numbers of Python.
        allowed = "no" if casting == "equiv" else casting
        ufunc.resolve_dtypes((*types, *[None] * ufunc.nout), casting=allowed)
    except ValueError as error:
        text = f"error[invalid-option]: {casting!r} is no way to cast"
        way_out = "use 'no', 'equiv', 'safe', 'same_kind' or 'unsafe'"
        raise TamisValueError("invalid-option", f"{text}\n  = help: {way_out}") from error
    except TypeError as error:
        shown = ", ".join(str(getattr(x, "dtype", type(x).__name__)) for x in own)
        reason = f"numpy.{ufunc.__name__} does not compute with {shown} as they are ({casting})"
        raise refused(reason, "use astype first, or leave out casting") from error
