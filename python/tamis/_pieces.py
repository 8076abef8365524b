"""Sparse tensors in pieces that Dask's tasks make, and how pieces become others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

try:
    import dask.array
    import dask.threaded
    from dask.base import DaskMethodsMixin, compute
    from dask.delayed import Delayed, delayed, optimize
    from dask.highlevelgraph import HighLevelGraph
except ImportError as error:
    raise ImportError("tamis.dask needs Dask: pip install 'dask[array]'") from error

from . import _native
from ._errors import TamisValueError
from ._files import read as read_file
from ._guard import guarded
from ._operands import _NAMES, refused, sizes_of
from ._programs import check_text
from ._tensor import Tensor as Whole
from ._tensor import asarray, coo


class Tensor(DaskMethodsMixin):
    """A sparse tensor in pieces along one axis that tasks make; ``compute()`` gives a
    ``tamis.Tensor``.

    Made by ``tamis.dask.read``, ``tamis.dask.from_delayed``, and as the result of
    ``tamis.dask.evaluate``. It is one of Dask's collections: ``dask.compute``, ``persist`` and
    ``visualize`` take it.
    """

    __dask_scheduler__ = staticmethod(dask.threaded.get)

    def __init__(
        self,
        parts: Sequence[Delayed],
        shape: tuple[int, ...],
        axis: int,
        starts: Sequence[int],
        storage: str,
        nnz: int | None = None,
    ) -> None:
        self._parts, self._starts, self._storage = list(parts), list(starts), storage
        #: The sizes of the axes.
        self.shape = shape
        #: The axis along which it is in pieces.
        self.axis = axis
        #: How many entries there are, if that is known before they are computed.
        self.nnz = nnz

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of elements."""
        return dtype_of(self._storage)

    @property
    def format(self) -> str:
        """How it is stored."""
        return self._storage.partition("{")[0]

    @property
    def npartitions(self) -> int:
        """How many pieces there are."""
        return len(self._parts)

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """The sizes of pieces along each axis."""
        return tuple(
            tuple(np.diff([*self._starts, size]).tolist()) if axis == self.axis else (size,)
            for axis, size in enumerate(self.shape)
        )

    def to_delayed(self) -> list[Delayed]:
        """The pieces, each a tensor of its own."""
        return list(self._parts)

    def __repr__(self) -> str:
        text = f"shape={self.shape}, format={self.format}, dtype={self.dtype}"
        return f"<tamis.dask.Tensor {text}, {self.npartitions} pieces along axis {self.axis}>"

    def _layout(self) -> tuple[Any, ...]:
        return self.shape, self.axis, self._starts, self._storage

    def __dask_graph__(self) -> Any:
        return HighLevelGraph.merge(*(part.__dask_graph__() for part in self._parts))

    def __dask_keys__(self) -> list[Any]:
        return [part.key for part in self._parts]

    @staticmethod
    def __dask_optimize__(graph: Any, keys: Any, **options: Any) -> Any:
        return optimize(graph, keys, **options)

    def __dask_tokenize__(self) -> Any:
        return (type(self).__name__, self.__dask_keys__(), self._layout())

    def __dask_postcompute__(self) -> tuple[Any, ...]:
        return joined, self._layout()

    def __dask_postpersist__(self) -> tuple[Any, ...]:
        return _persisted, (self.__dask_keys__(), self._layout(), self.nnz)


def _persisted(
    graph: Any,
    keys: list[Any],
    layout: tuple[Any, ...],
    nnz: int | None,
    rename: Mapping[Any, Any] | None = None,
) -> Tensor:
    shape, axis, starts, storage = layout
    parts = [Delayed((rename or {}).get(key, key), graph) for key in keys]
    return Tensor(parts, shape, axis, starts, storage, nnz)


def joined(
    parts: Sequence[Any], shape: tuple[int, ...], axis: int, starts: Sequence[int], storage: str
) -> Whole:
    """The whole of pieces along an axis."""
    ends = [*starts[1:], shape[axis]]
    bounds = []
    for begin, end in zip(starts, ends):
        offset = tuple(begin if k == axis else 0 for k in range(len(shape)))
        sizes = tuple(end - begin if k == axis else size for k, size in enumerate(shape))
        bounds.append((offset, sizes))
    whole: Whole = assembled(list(parts), bounds, None, shape, storage)
    return whole


@guarded
def from_delayed(
    parts: Sequence[Any],
    *,
    shapes: Sequence[Sequence[int]],
    dtype: Any = np.float64,
    format: str = "csr",
    axis: int = 0,
    nnz: int | None = None,
) -> Tensor:
    """A tensor of pieces that tasks make: objects of ``dask.delayed``, each of which becomes a
    matrix of SciPy, a tensor or an array of its shape in ``shapes``. They follow each other along
    ``axis``."""
    sizes = [sizes_of(shape) for shape in shapes]
    if not parts or len(sizes) != len(parts):
        raise invalid(f"{len(parts)} pieces have {len(sizes)} shapes", "give each its shape")
    if not 0 <= axis < len(sizes[0]):
        raise invalid(f"there is no axis {axis}", f"give one below {len(sizes[0])}")
    others = {shape[:axis] + shape[axis + 1 :] for shape in sizes}
    if len(others) != 1:
        raise invalid("pieces differ along other axes", f"they may differ along axis {axis}")
    lengths = [shape[axis] for shape in sizes]
    starts = [0, *np.cumsum(lengths).tolist()]
    shape = (*sizes[0][:axis], starts[-1], *sizes[0][axis + 1 :])
    storage = storage_of(format, dtype, len(shape))
    return Tensor([delayed(part) for part in parts], shape, axis, starts[:-1], storage, nnz)


@guarded
def read(
    paths: Sequence[Any],
    *,
    format: str | None = None,
    axis: int = 0,
    shapes: Sequence[Sequence[int]] | None = None,
    dtype: Any = np.float64,
) -> Tensor:
    """A tensor of files, each with a piece of it along ``axis``, which tasks read by
    ``tamis.read``. Without ``shapes`` and ``dtype`` tasks look into the files once, now."""
    if isinstance(paths, (str, bytes)):
        raise refused("the paths are one text", "give a list of paths")
    load = delayed(read_file, pure=True)
    parts = [load(path, format=format) for path in paths]
    nnz = None
    if shapes is None:
        told = compute(*(delayed(_told)(part) for part in parts))
        shapes = [shape for shape, *_ in told]
        nnz = sum(n for *_, n in told)
        dtype = np.result_type(*(kind for _, kind, _, _ in told))
        format = format or told[0][2]
    if format is None:
        format = {1: "dense", 2: "csr"}.get(len(shapes[0]), "csf")
    return from_delayed(parts, shapes=shapes, dtype=dtype, format=format, axis=axis, nnz=nnz)


def _told(tensor: Whole) -> tuple[Any, ...]:
    return tensor.shape, tensor.dtype, tensor.format, len(tensor.values)


def assembled(
    chunks: Sequence[Any],
    bounds: Sequence[tuple[tuple[int, ...], tuple[int, ...]]],
    clip: tuple[int, int, int] | None,
    shape: tuple[int, ...],
    storage: str,
) -> Any:
    """A tensor of chunks that begin at these coordinates and have these sizes, or what of it has a
    coordinate of an axis in an interval."""
    chunks = [of_shape(chunk, sizes) for chunk, (_, sizes) in zip(chunks, bounds)]
    if storage.startswith("dense") and all(isinstance(chunk, np.ndarray) for chunk in chunks):
        return _copied(chunks, bounds, clip, shape, storage)
    all_coords, all_values = [], []
    for chunk, (offset, _) in zip(chunks, bounds):
        known = asarray(chunk)
        known = known if known.storage == storage else known.asformat(storage)
        coords, values = known.entries()
        moved = [crd.astype(np.int64) + at for crd, at in zip(coords, offset)]
        if clip is not None:
            axis, begin, end = clip
            inside = (moved[axis] >= begin) & (moved[axis] < end)
            moved[axis] -= begin
            moved, values = [crd[inside] for crd in moved], values[inside]
        all_coords.append(moved)
        all_values.append(values)
    kind = all_values[0].dtype if all_values else dtype_of(storage)
    none = [np.zeros(0, np.int64)] * len(shape)
    coords = [np.concatenate(crd) for crd in zip(*all_coords)] or none
    values = np.concatenate(all_values) if all_values else np.zeros(0, kind)
    return Whole(_native.Tensor.of_entries(shape, coords, values, storage))


def of_shape(chunk: Any, shape: Sequence[int]) -> Any:
    """A piece, if it has the shape that was said of it."""
    if tuple(np.shape(chunk) if isinstance(chunk, (list, tuple)) else chunk.shape) != tuple(shape):
        raise invalid(f"a piece has shape {tuple(chunk.shape)}, not {tuple(shape)}", "say its own in shapes=")
    return chunk


def _copied(
    chunks: Sequence[Any],
    bounds: Sequence[tuple[tuple[int, ...], tuple[int, ...]]],
    clip: tuple[int, int, int] | None,
    shape: tuple[int, ...],
    storage: str,
) -> np.ndarray[Any, Any]:
    made = np.empty(shape, dtype_of(storage))
    for chunk, (offset, _) in zip(chunks, bounds):
        if not np.can_cast(chunk.dtype, made.dtype):
            raise invalid(f"a piece is of {chunk.dtype}, not of {made.dtype}", "say dtype=, or convert it")
        to, of = [], []
        for axis, (at, size) in enumerate(zip(offset, chunk.shape)):
            begin, end = (0, shape[axis]) if clip is None or axis != clip[0] else clip[1:]
            first, last = max(at, begin), min(at + size, end)
            to.append(slice(first - begin, last - begin))
            of.append(slice(first - at, last - at))
        made[tuple(to)] = chunk[tuple(of)]
    return made


def storage_of(format: str, dtype: Any, order: int) -> str:
    """A format as tensors of a type have it."""
    check_text("format", format)
    empty = np.zeros(0, dtype)
    none = np.zeros((order, 0), np.int64)
    return coo(list(none), empty, shape=(1,) * order).asformat(format).storage


def dtype_of(storage: str) -> np.dtype[Any]:
    found = re.search(r"\{(\w+)", storage)
    names = {name: kind for kind, name in _NAMES.items()}
    # There is no such type in NumPy: values of bf16 are lent as float32.
    return np.dtype(names.get(found[1], "float32") if found else "float64")


def invalid(reason: str, way_out: str) -> TamisValueError:
    text = f"error[invalid-option]: {reason}\n  = help: {way_out}"
    return TamisValueError("invalid-option", text)
