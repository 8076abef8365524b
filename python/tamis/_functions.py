"""NumPy's functions of tensors: ``np.concatenate([A, B])`` is ``array_api.concat([A, B])``.

Those that are not here do what NumPy does with any object: call the method of their name, or ask
for an array, which is refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from . import _arranging, _cumulative, _missing, _neighbours, _quantiles, _statistics, array_api
from ._einsum import einsum
from ._elements import apply, is_like
from ._errors import TamisError, TamisValueError
from ._expressions import axes_of, broadcast_shapes, compute, elementwise
from ._guard import FOREIGN, refusal
from ._linalg import dot, inner, kron, matrix_norm, norm, outer, vector_norm
from ._moves import diagonal, roll
from ._operands import is_by_columns, plain, refused
from ._operators import wider, written
from ._searching import counted, located, unique_lines
from ._tensor import Tensor, asarray

xp: Any = array_api


def call(function: Any, arguments: Any, options: Any) -> Any:
    """What a function of NumPy gives for arguments with tensors among them."""
    try:
        return _called(function, arguments, options)
    except TamisError:
        raise
    except FOREIGN as error:
        name = f"{function.__module__}.{function.__name__}"
        raise refusal(name, error, arguments, options) from error


def _called(function: Any, arguments: Any, options: Any) -> Any:
    own = _OWN.get(function)
    if own is None:
        numpys = getattr(function, "_implementation", None)
        return NotImplemented if numpys is None else numpys(*arguments, **options)
    is_alone = len(arguments) == 1 and type(arguments[0]) is Tensor
    if is_alone and all(type(x) in _PLAIN and key in _options(own) for key, x in options.items()):
        return own(*arguments, **options)
    try:
        given = _signature(own).bind(*arguments, **options)
    except TypeError as error:
        raise refused(
            f"numpy.{function.__name__} of tensors: {error}",
            "leave it out, or call to_numpy() of the tensors first",
        ) from error
    out = given.arguments.pop("out", None)
    given.arguments.update({name: _known(name, x) for name, x in given.arguments.items()})
    if out is not None and function in _MEANS and given.arguments.get("dtype") is None:
        given.arguments["dtype"] = wider(given.args[0], out)
    made = own(*given.args, **given.kwargs)
    if out is None:
        return made
    return written(out, made, "unsafe" if function in _MEANS else "same_kind")


#: The functions whose results NumPy writes to arrays of any type.
_MEANS = {np.mean, np.nanmean, np.nanstd, np.nanvar, np.std, np.var}


#: The parameters of a function, which are looked up once.
_signature = cache(inspect.signature)


@cache
def _options(function: Any) -> frozenset[str]:
    """The names that a function takes behind a tensor."""
    first, *others = _signature(function).parameters.values()
    taken = [x.name for x in others if x.kind in (x.POSITIONAL_OR_KEYWORD, x.KEYWORD_ONLY)]
    return frozenset(taken) - {"out"}


#: The types of options that are taken as they are.
_PLAIN = {bool, int, type(None), str}

#: The parameters that are arrays, by NumPy's names, and those that are several.
_ARRAYS = set("a a1 a2 A ar arr array b condition element m test_elements val values x y".split())
_SEVERAL = {"arrays", "choices"}


def _known(name: str, given: Any) -> Any:
    """An argument as functions take it: a sequence that stands for an array is one."""
    if name in _SEVERAL and isinstance(given, tuple):
        return tuple(_known("a", x) for x in given)
    is_known = hasattr(given, "ndim") or isinstance(given, (bool, int, float, complex))
    return given if is_known or name not in _ARRAYS else plain(given)


def _method(function: Any, name: str) -> Callable[..., Any]:
    """The method of a name, with the parameters of NumPy's function."""
    signature = inspect.signature(function)
    others = list(signature.parameters)[1:]

    def method(a: Any, *arguments: Any, **options: Any) -> Any:
        return getattr(a, name)(**dict(zip(others, arguments)), **options)

    method.__signature__ = signature  # type: ignore[attr-defined]
    return method


def _place(search: Callable[..., Any]) -> Callable[..., Any]:
    def place(a: Any, axis: Any = None, out: None = None, *, keepdims: Any = False) -> Any:
        return search(a, axis=axis, keepdims=keepdims)

    return place


def _spread(measure: Callable[..., Any]) -> Callable[..., Any]:
    def spread(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        ddof: float = 0,
        keepdims: Any = False,
        *,
        correction: float | None = None,
    ) -> Any:
        taken = ddof if correction is None else correction
        return measure(a, axis=axis, correction=taken, keepdims=keepdims, dtype=dtype)

    return spread


def _extent(a: Any, axis: Any = None, out: None = None, keepdims: Any = False) -> Any:
    most, least = a.max(axis, keepdims=keepdims), a.min(axis, keepdims=keepdims)
    if isinstance(most, Tensor) != isinstance(least, Tensor):
        # An infinity that is not stored would absorb one that is: their difference is NaN.
        most, least = (x.to_numpy() if isinstance(x, Tensor) else x for x in (most, least))
    return most - least


def _trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None
) -> Any:
    return diagonal(a, offset, axis1, axis2).sum(axis=-1, dtype=dtype)


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    one, other = asarray(a1), asarray(a2)
    return one.shape == other.shape and _all_equal(one, other, equal_nan)


def _array_equiv(a1: Any, a2: Any) -> bool:
    one, other = asarray(a1), asarray(a2)
    try:
        broadcast_shapes(one.shape, other.shape)
    except TamisValueError:
        return False
    return _all_equal(one, other)


def _all_equal(one: Any, other: Any, equal_nan: bool = False) -> bool:
    equal = one == other
    if equal_nan:
        equal = equal | (xp.isnan(one) & xp.isnan(other))
    return bool(xp.all(equal))


def _writing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that writes elements of tensors to an array; to a tensor it is refused."""

    def write(into: Any, *others: Any, **options: Any) -> Any:
        if isinstance(into, Tensor):
            into[...] = others
        return function(into, *map(_every, others), **{key: _every(x) for key, x in options.items()})

    return write


def _where(condition: Any, *choices: Any) -> Any:
    return xp.where(condition, *choices) if choices else condition.nonzero()


def _einsum(*operands: Any, out: None = None, optimize: Any = False, **options: Any) -> Any:
    return einsum(*operands, **options)


def _reshape(a: Any, shape: Any, order: Any = "C", *, copy: bool | None = None) -> Any:
    if is_by_columns(order):
        return asarray(a).reshape(shape, order=order, copy=copy)
    return xp.reshape(a, shape, copy=copy)


def _squeeze(a: Any, axis: Any = None) -> Any:
    ones = tuple(k for k, n in enumerate(a.shape) if n == 1)
    return xp.squeeze(a, ones if axis is None else axis)


def _round(a: Any, decimals: int = 0, out: None = None) -> Any:
    return apply(lambda values: np.round(values, decimals), a)


def _nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """The elements, with numbers for NaN and infinities; in a new tensor, as all results are."""
    return apply(lambda values: np.nan_to_num(values, True, nan, posinf, neginf), x)


def _isclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Any:
    if np.ndim(rtol) or np.ndim(atol):
        return apply(lambda x, y, r, t: np.isclose(x, y, r, t, equal_nan), a, b, rtol, atol)
    is_usual = 0 <= rtol < np.inf and 0 <= atol < np.inf
    if is_usual and _is_finite(a) and (a is b or _is_finite(b)):
        if is_like(a, b):
            return apply(lambda x, y: _near(x, y, rtol, atol), a, b)
        # What NumPy computes then, as one kernel.
        distance = elementwise("absolute", elementwise("subtract", a, b))
        share = elementwise("multiply", elementwise("absolute", b), float(rtol))
        bound = elementwise("add", share, float(atol))
        return compute(elementwise("less_equal", distance, bound))
    return apply(lambda x, y: np.isclose(x, y, rtol, atol, equal_nan), a, b)


def _near(x: Any, y: Any, rtol: float, atol: float) -> Any:
    """Whether finite numbers are close: in few arrays, since new ones take longer than numbers."""
    distance, bound = np.asarray(x - y), np.asarray(abs(y))
    np.abs(distance, out=distance)
    bound *= rtol
    bound += atol
    return distance <= bound


def _is_finite(x: Any) -> bool:
    """Whether it is a tensor of floats all of which are finite."""
    if not isinstance(x, Tensor) or x.dtype != np.float64 or not len(x.values):
        return False
    return bool(np.isfinite([x.values.min(), x.values.max(), x.fill_value]).all())


def _allclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> bool:
    return bool(xp.all(_isclose(a, b, rtol, atol, equal_nan)))


def _at_least(axes: int) -> Callable[..., Any]:
    """Arrays with so many axes at least, as NumPy adds them."""

    def extended(x: Any) -> Any:
        array = x if hasattr(x, "ndim") else asarray(x)
        missing = axes - array.ndim
        if missing <= 0:
            return array
        # The third is the last: a matrix is a stack of one depth.
        last = 1 if axes == 3 and missing < 3 else 0
        return array.reshape((1,) * (missing - last) + tuple(array.shape) + (1,) * last)

    def at_least(*arrays: Any) -> Any:
        made = tuple(extended(x) for x in arrays)
        return made[0] if len(made) == 1 else made

    return at_least


def _joined(join: Callable[..., Any]) -> Callable[..., Any]:
    """Several arrays as one, their elements in a type if that is asked for."""

    def joined(
        arrays: Any,
        axis: int | None = 0,
        out: None = None,
        *,
        dtype: Any = None,
        casting: Any = "same_kind",
    ) -> Any:
        parts = list(arrays)
        if dtype is not None:
            parts = [asarray(x) for x in parts]
            wrong = [x.dtype for x in parts if not np.can_cast(x.dtype, dtype, casting)]
            if wrong:
                reason = f"elements of {wrong[0]} do not become {np.dtype(dtype)} by {casting!r}"
                raise refused(reason, 'convert them: astype, or casting="unsafe"')
            parts = [x.astype(dtype) for x in parts]
        return join(parts, axis=axis)

    return joined


def _append(arr: Any, values: Any, axis: int | None = None) -> Any:
    parts = [asarray(arr), asarray(values)]
    return xp.concat(parts, axis=axis)


def _column_stack(tup: Any) -> Any:
    parts = [asarray(x) for x in tup]
    return xp.concat([x.reshape(-1, 1) if x.ndim < 2 else x for x in parts], axis=1)


def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    axes = list(range(a.ndim))
    for one, other in zip(axes_of((axis1,), a.ndim), axes_of((axis2,), a.ndim)):
        axes[one], axes[other] = axes[other], axes[one]
    return xp.permute_dims(a, tuple(axes))


def _clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: None = None, *, min: Any = None, max: Any = None
) -> Any:
    return xp.clip(a, a_min if min is None else min, a_max if max is None else max)


def _unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    if axis is not None:
        every = unique_lines(ar, axis)
        asked = (True, return_index, return_inverse, return_counts)
        chosen = [x for x, is_asked in zip(every, asked) if is_asked]
        return tuple(chosen) if len(chosen) > 1 else chosen[0]
    if not (return_index or return_inverse):
        if return_counts:
            return tuple(counted(ar, equal_nan))
        return xp.unique_values(ar, equal_nan=equal_nan)
    found = located(ar, equal_nan)
    made = [found.values]
    made += [found.indices] if return_index else []
    made += [found.inverse()] if return_inverse else []
    made += [found.counts] if return_counts else []
    return tuple(made)


def _intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    # What is assumed changes the time alone.
    numpys: Any = np.intersect1d
    return numpys(xp.unique_values(ar1), xp.unique_values(ar2), assume_unique=True)


def _lexsort(keys: Any, axis: int = -1) -> Any:
    # Each element has a position in the order, stored or not.
    return np.lexsort(_every(keys) if hasattr(keys, "ndim") else [_every(x) for x in keys], axis)


def _compress(condition: Any, a: Any, axis: int | None = None, out: None = None) -> Any:
    return _take(a, np.flatnonzero(asarray(condition).to_numpy()), axis)


def _interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    xp, fp = _every(xp), _every(fp)
    return _applied(lambda values: np.interp(values, xp, fp, left, right, period), x)


def _digitize(x: Any, bins: Any, right: bool = False) -> Any:
    bins = _every(bins)
    return _applied(lambda values: np.digitize(values, bins, right), x)


def _every(x: Any) -> Any:
    """Points or edges, of which functions of elements need every one, as an array."""
    return x.to_numpy() if isinstance(x, Tensor) else x


def _applied(function: Callable[..., Any], x: Any) -> Any:
    """A function of elements of a tensor, or of an array beside tensors."""
    return apply(function, x) if isinstance(x, Tensor) else function(x)


def _einsum_path(*operands: Any, **options: Any) -> Any:
    # NumPy looks at nothing but shapes.
    like = [np.broadcast_to(0, x.shape) if isinstance(x, Tensor) else x for x in operands]
    return np.einsum_path(*like, **options)


def _like(fill: int) -> Callable[..., Any]:
    def like(
        a: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None
    ) -> Any:
        return _full_like(a, fill, dtype, order, subok, shape)

    return like


def _full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: Any = True,
    shape: Any = None,
) -> Any:
    return _full(a.shape if shape is None else shape, fill_value, dtype or a.dtype, order)


def _full(
    shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, device: Any = None
) -> Any:
    is_by_columns(order, "CFAK")
    if np.ndim(fill_value):
        known = asarray(fill_value)
        return xp.broadcast_to(known if dtype is None else known.astype(dtype), shape)
    return array_api._filled(shape, fill_value, dtype or np.asarray(fill_value).dtype, None)


def _eye(
    N: int, M: Any = None, k: int = 0, dtype: Any = float, order: Any = "C", *, device: Any = None
) -> Any:
    is_by_columns(order, "CFAK")
    return xp.eye(N, M, k=k, dtype=np.dtype(dtype), device=device)


def _array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: Any = "K",
    subok: Any = False,
    ndmin: int = 0,
) -> Any:
    """What ``numpy.array(x, like=tensor)`` asks for."""
    is_by_columns(order, "CFAK")
    made = asarray(object, dtype=dtype, copy=copy)
    return made.reshape((1,) * max(ndmin - made.ndim, 0) + made.shape)


def _asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: bool | None = None
) -> Any:
    return _array(a, dtype, copy=copy, order=order)


def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    (at,) = axes_of(axis, a.ndim)

    def beside(x: Any) -> Any:
        """What stands before or behind: a number stands for one of each line."""
        if x is None or x is np._NoValue:
            return None
        known = asarray(x)
        return known if known.ndim else xp.broadcast_to(known, (*a.shape[:at], 1, *a.shape[at + 1 :]))

    return xp.diff(a, axis=at, n=n, prepend=beside(prepend), append=beside(append))


def _isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Any:
    # What is assumed, and the kind of search, change the time alone.
    return xp.isin(element, test_elements, invert=invert)


def _take(a: Any, indices: Any, axis: Any = None, out: None = None) -> Any:
    if not isinstance(indices, Tensor):
        indices = np.asarray(indices)
    if indices.dtype == bool:
        # Numbers, as NumPy takes them, no mask.
        indices = indices.astype(np.intp)
    return xp.take(a.reshape(-1) if axis is None else a, indices, axis=axis or 0)


#: What NumPy's functions are for tensors.
_OWN: dict[Any, Callable[..., Any]] = {
    np.all: _method(np.all, "all"),
    np.allclose: _allclose,
    np.amax: _method(np.amax, "max"),
    np.amin: _method(np.amin, "min"),
    np.any: _method(np.any, "any"),
    np.angle: lambda z, deg=False: apply(lambda v: np.angle(v, deg), z),
    np.append: _append,
    np.apply_along_axis: _arranging.apply_along_axis,
    np.apply_over_axes: _arranging.apply_over_axes,
    np.arange: lambda *ends, **options: asarray(np.arange(*ends, **options)),
    np.argmax: _place(xp.argmax),
    np.argmin: _place(xp.argmin),
    np.argsort: _cumulative.argsort,
    np.around: _round,
    np.asarray: _asarray,
    np.asanyarray: _asarray,
    np.array: _array,
    np.array_equal: _array_equal,
    np.array_equiv: _array_equiv,
    np.atleast_1d: _at_least(1),
    np.atleast_2d: _at_least(2),
    np.atleast_3d: _at_least(3),
    np.average: _missing.average,
    np.bincount: _statistics.bincount,
    np.block: _arranging.block,
    np.broadcast_arrays: lambda *arrays, subok=False: tuple(xp.broadcast_arrays(*arrays)),
    np.broadcast_to: lambda array, shape, subok=False: xp.broadcast_to(array, shape),
    np.choose: _arranging.choose,
    np.clip: _clip,
    np.column_stack: _column_stack,
    np.compress: _compress,
    np.concatenate: _joined(xp.concat),
    np.convolve: _neighbours.convolve,
    np.copy: lambda a, order="K", subok=False: a.copy(order),
    np.correlate: _neighbours.correlate,
    np.copyto: _writing(np.copyto),
    np.corrcoef: _statistics.corrcoef,
    np.count_nonzero: lambda a, axis=None, *, keepdims=False: xp.count_nonzero(
        a, axis=axis, keepdims=keepdims
    ),
    np.cov: _statistics.cov,
    np.cumprod: _cumulative.cumprod,
    np.cumsum: _cumulative.cumsum,
    np.delete: _arranging.delete,
    np.diag: _arranging.diag,
    np.diagflat: lambda v, k=0: _arranging.diag(asarray(v).reshape(-1), k),
    np.diagonal: lambda a, offset=0, axis1=0, axis2=1: diagonal(a, offset, axis1, axis2),
    np.diff: _diff,
    np.digitize: _digitize,
    np.dot: dot,
    np.einsum: _einsum,
    np.einsum_path: _einsum_path,
    np.empty: lambda shape, dtype=None, order="C", *, device=None: _full(
        shape, 0, dtype or float, order
    ),
    np.empty_like: _like(0),
    np.ediff1d: _neighbours.ediff1d,
    np.expand_dims: lambda a, axis: xp.expand_dims(a, axis),
    np.meshgrid: lambda *xi, indexing="xy": tuple(xp.meshgrid(*xi, indexing=indexing)),
    np.fill_diagonal: _writing(np.fill_diagonal),
    np.flip: lambda m, axis=None: xp.flip(m, axis=axis),
    np.fliplr: lambda m: xp.flip(m, axis=1),
    np.flipud: lambda m: xp.flip(m, axis=0),
    np.eye: _eye,
    np.full: _full,
    np.full_like: _full_like,
    np.gradient: _neighbours.gradient,
    np.histogram: _statistics.histogram,
    np.histogram_bin_edges: _statistics.histogram_bin_edges,
    np.identity: lambda n, dtype=float: xp.eye(n, dtype=np.dtype(dtype)),
    np.imag: lambda val: apply(np.imag, val),
    np.inner: inner,
    np.insert: _arranging.insert,
    np.interp: _interp,
    np.intersect1d: _intersect1d,
    np.isclose: _isclose,
    np.isin: _isin,
    np.kron: kron,
    np.lexsort: _lexsort,
    np.linalg.matrix_norm: matrix_norm,
    np.linalg.matrix_power: _arranging.matrix_power,
    np.linalg.matrix_transpose: lambda x: xp.matrix_transpose(x),
    np.linalg.multi_dot: lambda arrays, *, out=None: _arranging.multi_dot(arrays),
    np.linalg.norm: norm,
    np.linalg.outer: lambda x1, x2: outer(x1, x2),
    np.linalg.vector_norm: vector_norm,
    np.matrix_transpose: lambda x: xp.matrix_transpose(x),
    np.max: _method(np.max, "max"),
    np.mean: _method(np.mean, "mean"),
    np.median: _quantiles.median,
    np.min: _method(np.min, "min"),
    np.moveaxis: lambda a, source, destination: xp.moveaxis(a, source, destination),
    np.nan_to_num: _nan_to_num,
    np.nanargmax: _missing.nanargmax,
    np.nanargmin: _missing.nanargmin,
    np.nancumprod: _cumulative.nancumprod,
    np.nancumsum: _cumulative.nancumsum,
    np.nanmax: _missing.nanmax,
    np.nanmean: _missing.nanmean,
    np.nanmedian: _quantiles.nanmedian,
    np.nanmin: _missing.nanmin,
    np.nanpercentile: _quantiles.nanpercentile,
    np.nanprod: _missing.nanprod,
    np.nanquantile: _quantiles.nanquantile,
    np.nanstd: _quantiles.nanstd,
    np.nansum: _missing.nansum,
    np.nanvar: _quantiles.nanvar,
    np.ones: lambda shape, dtype=None, order="C", *, device=None: _full(
        shape, 1, dtype or float, order
    ),
    np.ones_like: _like(1),
    np.outer: outer,
    np.pad: _arranging.pad,
    np.percentile: _quantiles.percentile,
    np.piecewise: _arranging.piecewise,
    np.place: _writing(np.place),
    np.prod: _method(np.prod, "prod"),
    np.ptp: _extent,
    np.put: _writing(np.put),
    np.putmask: _writing(np.putmask),
    np.quantile: _quantiles.quantile,
    np.ravel: lambda a, order="C": a.ravel(order),
    np.real: lambda val: apply(np.real, val),
    np.repeat: lambda a, repeats, axis=None: xp.repeat(a, repeats, axis=axis),
    np.reshape: _reshape,
    np.result_type: xp.result_type,
    np.roll: lambda a, shift, axis=None: roll(a, shift, axis),
    np.rot90: _arranging.rot90,
    np.round: _round,
    np.searchsorted: lambda a, v, side="left", sorter=None: xp.searchsorted(
        a, v, side=side, sorter=_every(sorter)
    ),
    np.select: _arranging.select,
    np.sinc: lambda x: apply(np.sinc, x),
    np.squeeze: _squeeze,
    np.sort: lambda a, axis=-1, kind=None, order=None, *, stable=None: xp.sort(
        a.reshape(-1) if axis is None else a, axis=-1 if axis is None else axis
    ),
    np.stack: _joined(xp.stack),
    np.std: _spread(xp.std),
    np.sum: _method(np.sum, "sum"),
    np.swapaxes: _swapaxes,
    np.take: _take,
    np.tensordot: lambda a, b, axes=2: xp.tensordot(a, b, axes=axes),
    np.tile: lambda A, reps: xp.tile(A, reps),
    np.trace: _trace,
    np.trapezoid: _neighbours.trapezoid,
    np.tril: lambda m, k=0: xp.tril(m, k=k),
    np.triu: lambda m, k=0: xp.triu(m, k=k),
    np.unwrap: _neighbours.unwrap,
    np.unique: _unique,
    np.unique_all: xp.unique_all,
    np.unique_counts: xp.unique_counts,
    np.unique_inverse: xp.unique_inverse,
    np.unique_values: xp.unique_values,
    np.vander: _neighbours.vander,
    np.var: _spread(xp.var),
    np.vdot: lambda a, b: xp.vecdot(asarray(a).reshape(-1), asarray(b).reshape(-1)),
    np.where: _where,
    np.zeros: lambda shape, dtype=None, order="C", *, device=None: _full(
        shape, 0, dtype or float, order
    ),
    np.zeros_like: _like(0),
}
if hasattr(np, "astype"):
    # Of NumPy 2.1.
    _OWN[np.astype] = lambda x, dtype, copy=True: x.astype(dtype, copy=copy)
    _OWN[np.cumulative_prod] = _cumulative.cumulative_prod
    _OWN[np.cumulative_sum] = _cumulative.cumulative_sum
