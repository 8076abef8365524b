"""Programs in index notation as graphs of Dask's tasks.

>>> import dask.array as da, numpy as np, tamis.dask
>>> A = da.from_array(np.arange(12.0).reshape(4, 3), chunks=(2, 3))
>>> y = tamis.dask.evaluate("y(i) = A(i,j) * x(j)", A=A, x=np.ones(3))
>>> y
dask.array<concatenate, shape=(4,), dtype=float64, chunksize=(2,), chunktype=numpy.ndarray>
>>> y.compute()
array([ 3., 12., 21., 30.])

A task computes a part of the result from pieces of the operands, where the plan of the program has
one: what a rank of MPI would have. Results have the bits of ``tamis.evaluate``.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

# Says what is missing where Dask is.
from ._pieces import Tensor, assembled, dtype_of, from_delayed, invalid, of_shape, read, storage_of

import dask.array as da
from dask.delayed import Delayed, delayed

from . import _native
from ._guard import guarded
from ._operands import refused, type_name
from ._programs import check_text, compile, keep
from ._tensor import Tensor as Whole
from ._tensor import asarray

__all__ = ["Tensor", "evaluate", "explain", "from_delayed", "read"]

#: The options of ``tamis.evaluate``, and what they are if nothing is said.
_OPTIONS = {
    "format": None,
    "dtype": None,
    "dims": None,
    "shapes": None,
    "schedule": "",
    "backend": "auto",
    "fill_value": None,
    "strict": False,
}


class _Operand(NamedTuple):
    """What is known of an operand before it is there."""

    shape: tuple[int, ...]
    storage: str
    entries: int | None
    #: The sizes of chunks along each axis.
    chunks: tuple[tuple[int, ...], ...]
    #: The chunks, each of which a task makes.
    blocks: Any

    def cuts(self, axis: int) -> list[int]:
        """Where chunks along an axis begin, and its end."""
        return [0, *np.cumsum(self.chunks[axis]).tolist()]


class _Graph(NamedTuple):
    """A program for operands that are not there yet."""

    #: By which tasks compile it.
    source: tuple[Any, ...]
    tasks: Any
    operands: dict[str, _Operand]
    #: What a task needs, or why one computes all.
    pieces: Any
    #: Where parts of the cut variable begin, and its size; those of the first axis if none is cut.
    cuts: list[int]


@guarded
def evaluate(
    expression: str,
    *,
    format: str | Mapping[str, str] | None = None,
    formats: Mapping[str, str] | None = None,
    dtype: Any = None,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    schedule: str = "",
    backend: str = "auto",
    fill_value: Any = None,
    strict: bool = False,
    chunks: int | None = None,
    entries: Mapping[str, int] | None = None,
    operands: Mapping[str, Any] | None = None,
    **named: Any,
) -> Any:
    """The last result of ``expression``, computed by tasks: an array of Dask's where every element
    is stored, else a ``tamis.dask.Tensor``.

    Operands are arrays of Dask's, whose chunks are arrays of NumPy, matrices of SciPy or tensors, a
    ``tamis.dask.Tensor``, or what ``tamis.evaluate`` takes. ``formats`` says how operands are
    stored, where the ``meta`` of an array does not, and ``entries`` about how many entries they
    have. Results are cut as the operand in most chunks, or into ``chunks`` coordinates for each
    task. Other options are those of ``tamis.evaluate``.
    """
    options = (format, dtype, dims, shapes, schedule, backend, fill_value, strict)
    graph = _graph(expression, options, formats, chunks, entries, {**(operands or {}), **named})
    run = delayed(_run, pure=True)
    tasks, names = graph.tasks, list(graph.operands)
    shape, storage = tuple(tasks.shape), tasks.storage
    cut: dict[str, int | None] = {} if isinstance(graph.pieces, str) else graph.pieces["operands"]
    axis = 0 if isinstance(graph.pieces, str) else graph.pieces["mode"]
    whole = {n: _cut(own, None) for n, own in graph.operands.items() if cut.get(n) is None}
    parts = []
    for interval in zip(graph.cuts[:-1], graph.cuts[1:]):
        given = [
            whole[name] if name in whole else _cut(operand, (cut[name], *interval))
            for name, operand in graph.operands.items()
        ]
        parts.append(run(graph.source, names, given))
    if not tasks.is_full:
        return Tensor(parts, shape, axis, graph.cuts[:-1], storage)
    kind, arrays = dtype_of(storage), []
    for part, size in zip(parts, np.diff(graph.cuts).tolist()):
        own = tuple(size if k == axis else n for k, n in enumerate(shape))
        arrays.append(da.from_delayed(part, shape=own, dtype=kind))
    return da.concatenate(arrays, axis=axis) if len(arrays) > 1 else arrays[0]


@guarded
def explain(
    expression: str,
    *,
    formats: Mapping[str, str] | None = None,
    chunks: int | None = None,
    entries: Mapping[str, int] | None = None,
    operands: Mapping[str, Any] | None = None,
    **named: Any,
) -> str:
    """How ``evaluate`` with these arguments makes tasks: which variable is cut, and what of each
    operand a task gets, or why one task computes all."""
    options = tuple(named.pop(name, usual) for name, usual in _OPTIONS.items())
    graph = _graph(expression, options, formats, chunks, entries, {**(operands or {}), **named})
    pieces = graph.pieces
    if isinstance(pieces, str):
        return f"one task, with all of the operands: {pieces}"
    count, var = len(graph.cuts) - 1, pieces["var"]
    lines = [f"{count} {'task' if count == 1 else 'tasks'}, each with a part of {var}"]
    for name, mode in pieces["operands"].items():
        lines.append(f"  {name}: {'all of it' if mode is None else f'its part of axis {mode}'}")
    return "\n".join(lines)


def _graph(
    expression: str,
    options: tuple[Any, ...],
    formats: Mapping[str, str] | None,
    chunks: int | None,
    entries: Mapping[str, int] | None,
    named: Mapping[str, Any],
) -> _Graph:
    """A program for what is known of its operands."""
    check_text("expression", expression)
    unknown = {*(formats or {}), *(entries or {})} - {*named}
    if unknown:
        raise invalid(f"no operand is named {min(unknown)}", "name one that is given")
    kinds = [value.dtype for value in named.values() if hasattr(value, "dtype")]
    operands = {}
    for name, value in named.items():
        made = _operand(name, value, (formats or {}).get(name), kinds)
        count = (entries or {}).get(name, made.entries)
        operands[name] = made._replace(entries=count)
    said = {name: (own.shape, own.storage, own.entries) for name, own in operands.items()}
    source = (expression, options, said)
    tasks = _compiled(source)
    pieces = tasks.pieces()
    if isinstance(pieces, str):
        return _Graph(source, tasks, operands, pieces, [0, *(tasks.shape or [1])[:1]])
    size, block = pieces["size"], pieces["block"]
    if chunks is None:
        modes = {name: mode for name, mode in pieces["operands"].items() if mode is not None}
        cuts = max((operands[name].cuts(mode) for name, mode in modes.items()), key=len)
    elif isinstance(chunks, int) and chunks > 0:
        cuts = list(range(0, size, chunks))
    else:
        raise invalid(f"chunks are {chunks!r}", "give the number of coordinates for each task")
    inner = sorted({at // block * block for at in cuts if 0 < at // block * block < size})
    return _Graph(source, tasks, operands, pieces, [0, *inner, size])


def _operand(name: str, value: Any, format: str | None, kinds: Sequence[Any]) -> _Operand:
    if isinstance(value, Tensor):
        axes = [1] * value.ndim
        axes[value.axis] = value.npartitions
        blocks = np.empty(value.npartitions, dtype=object)
        blocks[:] = value.to_delayed()
        storage = value._storage if format is None else storage_of(format, value.dtype, value.ndim)
        return _Operand(value.shape, storage, value.nnz, value.chunks, blocks.reshape(axes))
    if isinstance(value, da.Array):
        if np.isnan(value.shape).any():
            raise invalid(f"sizes of {name} are not known", "call compute_chunk_sizes() first")
        storage = _of_meta(value) if format is None else storage_of(format, value.dtype, value.ndim)
        entries = value.size if storage.startswith("dense") else None
        shape = tuple(int(n) for n in value.shape)
        return _Operand(shape, storage, entries, value.chunks, value.to_delayed())
    if isinstance(value, Delayed):
        way_out = "say it: tamis.dask.from_delayed([value], shapes=[shape])"
        raise refused(f"the shape of {name} is not known before it is computed", way_out)
    if isinstance(value, (bool, int, float, complex)):
        value = np.asarray(value, np.result_type(value, *kinds))
    # The caller may change its arrays before tasks run.
    known = asarray(value, copy=True)
    if format is not None:
        known = known.asformat(format)
    blocks = np.empty((1,) * known.ndim, dtype=object)
    blocks[(0,) * known.ndim] = delayed(known, pure=True, traverse=False)
    chunks = tuple((n,) for n in known.shape)
    return _Operand(known.shape, known.storage, len(known.values), chunks, blocks)


def _of_meta(array: Any) -> str:
    """How the chunks of an array are stored."""
    meta = array._meta
    if isinstance(meta, (np.ndarray, np.generic)):
        return f"dense{{{type_name(array.dtype)}}}" if array.ndim else _scalar(array.dtype)
    known = asarray(meta)
    if known.ndim == array.ndim and known.dtype == array.dtype:
        return known.storage
    return storage_of(known.format, array.dtype, array.ndim)


def _scalar(dtype: Any) -> str:
    return asarray(np.zeros((), dtype)).storage


def _cut(operand: _Operand, clip: tuple[Any, int, int] | None) -> Any:
    """Chunks as one; or the elements whose coordinate of an axis lies in an interval."""
    cuts = [operand.cuts(axis) for axis in range(len(operand.shape))]
    found, bounds = [], []
    shape, begins = list(operand.shape), [0] * len(operand.shape)
    if clip is not None:
        axis, begin, end = clip
        shape[axis], begins[axis] = end - begin, begin
    for place in np.ndindex(*operand.blocks.shape):
        offset = tuple(cuts[axis][k] for axis, k in enumerate(place))
        last = [cuts[axis][k + 1] for axis, k in enumerate(place)]
        if clip is None or offset[axis] < end and last[axis] > begin:
            found.append(operand.blocks[place])
            bounds.append((offset, tuple(np.subtract(last, offset).tolist())))
    if bounds == [(tuple(begins), tuple(shape))]:
        return delayed(of_shape, pure=True)(found[0], tuple(shape))
    return delayed(assembled, pure=True)(found, bounds, clip, tuple(shape), operand.storage)


#: The programs that tasks of this process ran.
_programs: dict[str, Any] = {}
_lock = threading.Lock()


def _compiled(source: tuple[Any, ...]) -> Any:
    """A program, compiled once in each process for the sizes of the whole."""
    key = repr(source)
    with _lock:
        made = _programs.get(key)
        if made is None:
            expression, options, said = source
            kernel = compile(expression, **dict(zip(_OPTIONS, options)))
            made = _native.Tasks(kernel, said)
            keep(_programs, key, made)
    return made


def _run(source: tuple[Any, ...], names: Sequence[str], operands: Sequence[Any]) -> Any:
    """A task: a program on pieces of its operands."""
    made = _compiled(source).run(**dict(zip(names, operands)))
    return Whole(made) if isinstance(made, _native.Tensor) else made
