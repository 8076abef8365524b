"""Binsparse files in HDF5: a text in JSON that says what the arrays beside it are.

    {"binsparse": {"version": "0.1", "format": "CSR", "shape": [2, 3], "number_of_stored_values": 2,
                   "data_types": {"pointers_to_1": "int32", "indices_1": "int32", ..}}}
    (m0, m1) -> (m0: dense, m1: compressed)

By the Binary Sparse Format Specification 0.1: its predefined formats, custom ones, fill values,
values that are all the same, and matrices of which a triangle is stored. What tensors have and it
has not (blocks, diagonals, hash maps) is written as rows or as a list of coordinates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _native
from ._errors import TamisFileError, TamisValueError
from ._files import reading, writing
from ._operands import number_text, type_name
from ._tensor import Tensor, _of_entries

#: A level of a file: "dense" or "sparse", and how many axes it has.
Level = tuple[str, int]

_ROWS: dict[str, list[Level]] = {
    "DVEC": [("dense", 1)],
    "CVEC": [("sparse", 1)],
    "DMATR": [("dense", 1), ("dense", 1)],
    "CSR": [("dense", 1), ("sparse", 1)],
    "DCSR": [("sparse", 1), ("sparse", 1)],
    "COOR": [("sparse", 2)],
}
#: Predefined formats: their levels, and the order of the axes.
_PREDEFINED = {
    name: (levels, [0] if name.endswith("VEC") else [0, 1]) for name, levels in _ROWS.items()
}
_PREDEFINED |= {
    columns: (_ROWS[rows], [1, 0])
    for columns, rows in (("DMATC", "DMATR"), ("CSC", "CSR"), ("DCSC", "DCSR"), ("COOC", "COOR"))
}
_ALIASES = {"DMAT": "DMATR", "COO": "COOR"}
#: Attributes of HDF5 with so many bytes are kept apart from it.
_LONGEST_TEXT = 60_000
#: So much longer than in the file arrays are, at most, that are packed there.
_MOST_PACKED = 1100
_TYPES = {
    **{f"{kind}int{bits}": f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)},
    "float32": "float32",
    "float64": "float64",
    "bint8": "bool",
}


def _h5py(path: str) -> Any:
    try:
        import h5py
    except ImportError as error:
        text = f"error[file-unsupported]: {path}: files of HDF5 are read and written by h5py"
        raise TamisFileError("file-unsupported", f"{text}\n  = help: pip install h5py") from error
    return h5py


def read(path: str) -> Tensor:
    """The tensor of a file, in the format that the file has."""
    h5py = _h5py(path)
    with reading(path), h5py.File(path, "r") as file:
        return _File(path, file).tensor()


class _File:
    """A file that is read."""

    def __init__(self, path: str, file: Any) -> None:
        self.path, self.file = path, file
        try:
            text = file.attrs["binsparse"]
            header = json.loads(text)["binsparse"]
        except (KeyError, TypeError, ValueError) as error:
            raise self.wrong("it has no attribute binsparse with a JSON object") from error
        self.header: Any = header
        self.want(isinstance(header, dict), "its JSON is no object")
        version = str(header.get("version"))
        if not re.fullmatch(r"0\.1(\.\d+)?", version):
            text = f"error[file-unsupported]: {path}: version {version} of binsparse"
            raise TamisFileError("file-unsupported", f"{text}\n  = help: write it as 0.1")

    def wrong(self, reason: str) -> TamisValueError:
        text = f"error[file-syntax]: {self.path}: {reason}"
        return TamisValueError("file-syntax", f"{text}\n  = help: see the binsparse specification")

    def want(self, holds: bool, reason: str) -> None:
        if not holds:
            raise self.wrong(reason)

    def tensor(self) -> Tensor:
        header = self.header
        shape = header.get("shape")
        self.want(_are_sizes(shape), f"{shape} is no shape")
        levels, order = self.levels(len(shape))
        arrays = self.indices(levels)
        count = header.get("number_of_stored_values")
        self.want(_are_sizes([count]), f"{count} is no number of stored values")
        values = self.array("values", count)
        modes = ", ".join(f"m{k}" for k in range(len(shape)))
        fill = self.array("fill_value", 1)[0] if header.get("fill") is True else 0
        braces = f"{{{type_name(values.dtype)}, fill: {number_text(fill)}}}"
        format = f"({modes}) -> ({', '.join(_texts(levels, order))})" if shape else "dense"
        made = _native.Tensor.of_arrays(shape, format + braces, arrays, values)
        return self.whole(Tensor(made.copied()))

    def levels(self, axes: int) -> tuple[list[tuple[str, int, bool]], list[int]]:
        """The levels, with the number of axes of each and whether they are sorted, and the order
        of the axes."""
        name = self.header.get("format")
        if name == "custom":
            custom = self.header.get("custom")
            self.want(isinstance(custom, dict), "its custom format has no levels")
            levels = self.custom(custom.get("level"))
            order = custom.get("transpose", list(range(axes)))
        else:
            known = _PREDEFINED.get(_ALIASES.get(str(name), str(name)))
            if known is None:
                raise self.wrong(f"the format {name} is not known")
            levels, order = [(kind, rank, True) for kind, rank in known[0]], known[1]
        is_order = _are_sizes(order) and sorted(order) == list(range(axes))
        fits = sum(rank for _, rank, _ in levels) == axes
        self.want(is_order and fits, f"the levels of {name} do not fit {axes} axes")
        return levels, order

    def custom(self, level: Any) -> list[tuple[str, int, bool]]:
        found: list[tuple[str, int, bool]] = []
        while True:
            self.want(isinstance(level, dict), "a level is no object")
            kind, rank = level.get("level_desc"), level.get("rank")
            if kind == "element":
                return found
            is_level = kind in ("dense", "sparse") and isinstance(rank, int) and rank > 0
            self.want(is_level, f"a level is {kind} of rank {rank}")
            found.append((kind, rank, level.get("sorted", True) is not False))
            level = level.get("level")

    def indices(self, levels: Sequence[tuple[str, int, bool]]) -> list[dict[str, Any]]:
        """The arrays of each axis in the order of levels, all of one type."""
        base = self.header.get("index_base", 0)
        self.want(base in (0, 1), f"indices count from {base}")
        found: list[dict[str, Any]] = []
        for kind, rank, _ in levels:
            depth = len(found)
            if kind == "dense":
                found += [{} for _ in range(rank)]
                continue
            for k in range(rank):
                found.append({"crd": self.array(f"indices_{depth + k}")})
            if depth:
                found[depth]["pos"] = self.array(f"pointers_to_{depth}")
            else:
                found[0]["pos"] = np.array([base, base + len(found[0]["crd"])], dtype=np.int32)
        every = [array for level in found for array in level.values()]
        self.want(all(a.dtype.kind in "iu" for a in every), "indices are no integers")
        narrow = all(np.can_cast(array.dtype, np.int32) for array in every)
        wide = np.dtype(np.int32 if narrow else np.int64)
        most = 2 ** (8 * wide.itemsize - 1) - 1
        for level in found:
            for name, array in level.items():
                self.want(not array.size or int(array.max()) <= most, f"an index is beyond {most}")
                level[name] = array.astype(wide) - base
        return found

    def array(self, name: str, count: int | None = None) -> np.ndarray[Any, Any]:
        """An array by name, as its declared type says, of so many elements."""
        types = self.header.get("data_types")
        declared = types.get(name) if isinstance(types, dict) else None
        if not isinstance(declared, str) or name not in self.file:
            raise self.wrong(f"it has no array {name}")
        match = re.fullmatch(r"(iso\[)?(complex\[)?(\w+)\]*", declared)
        own = None if match is None else _TYPES.get(match[3])
        if match is None or own is None or match[2] and own[:5] != "float":
            raise self.wrong(f"the array {name} is of type {declared}")
        stored = self.file[name]
        # An array that is not in the file would be as many zeros as its damaged size says.
        held = _MOST_PACKED * stored.id.get_storage_size()
        self.want(stored.size * stored.dtype.itemsize <= held, f"the array {name} is cut off")
        data = np.asarray(stored[()]).reshape(-1)
        fits = data.dtype == own or own == "bool" and data.dtype.kind in "biu"
        self.want(fits, f"the array {name} is {data.dtype}, not {declared}")
        data = data.astype(own)
        if match[2]:
            self.want(len(data) % 2 == 0, f"the array {name} has half a complex number")
            data = data.view(np.complex64 if own == "float32" else np.complex128)
        if match[1] and count is not None:
            self.want(len(data) == 1, f"the array {name} has {len(data)} elements, not 1")
            data = np.repeat(data, count)
        has = count is None or len(data) == count
        self.want(has, f"the array {name} has {len(data)} elements, not {count}")
        return data

    def whole(self, stored: Tensor) -> Tensor:
        """The matrix of which maybe only a triangle is stored."""
        structure = self.header.get("structure")
        if structure is None:
            return stored
        match = re.fullmatch(r"(symmetric|hermitian|skew_symmetric)_(lower|upper)", str(structure))
        square = stored.ndim == 2 and stored.shape[0] == stored.shape[1]
        if match is None or not square:
            raise self.wrong(f"its structure is {structure}")
        (rows, columns), values = stored.entries()
        beyond = rows < columns if match[2] == "lower" else rows > columns
        self.want(not beyond.any(), f"an entry is outside of the triangle of {structure}")
        apart = rows != columns
        mirrored = values[apart]
        if match[1] != "symmetric":
            mirrored = np.conj(mirrored) if match[1] == "hermitian" else -mirrored
        coords = [np.append(rows, columns[apart]), np.append(columns, rows[apart])]
        made = np.append(values, mirrored)
        return _of_entries(stored.shape, coords, made, stored.fill_value, stored.format)


def _are_sizes(numbers: Any) -> bool:
    return isinstance(numbers, list) and all(
        isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in numbers
    )


def _texts(levels: Sequence[tuple[str, int, bool]], order: Sequence[int]) -> list[str]:
    """The levels in the words of formats."""
    texts: list[str] = []
    for kind, rank, is_sorted in levels:
        for k in range(rank):
            properties = [] if is_sorted or kind == "dense" else ["nonordered"]
            if kind == "sparse" and k + 1 < rank:
                properties.append("nonunique")
            word = "dense" if kind == "dense" else "singleton" if k else "compressed"
            inside = f"({', '.join(properties)})" if properties else ""
            texts.append(f"m{order[len(texts)]}: {word}{inside}")
    return texts


def write(path: str, tensor: Tensor, comments: Sequence[str]) -> None:
    """Writes a tensor to a file. What was there stays until the new one is complete."""
    h5py = _h5py(path)
    is_list = tensor.format.startswith("coo(")
    plain = tensor.asformat("coo") if is_list else tensor.canonical()
    stored, levels, order = _expressible(plain)
    header, arrays = _described(stored, levels, order)
    described: dict[str, Any] = {"binsparse": header}
    if comments:
        described["comments"] = list(comments)
    text = json.dumps(described, indent=2)
    # Of a known length, as the reference in C has it; what is long does not fit beside the file's head.
    length = len(text) if len(text) < _LONGEST_TEXT else None
    with writing(path) as own, h5py.File(own, "x") as file:
        file.attrs.create("binsparse", text, dtype=h5py.string_dtype("utf-8", length))
        for name, array in arrays.items():
            file.create_dataset(name, data=array)


def _expressible(tensor: Tensor) -> tuple[Tensor, list[Level], list[int]]:
    """The tensor in a format that files have, its levels, and the order of its axes."""
    axes = tensor.ndim
    rows, columns = list(range(axes)), list(range(axes))[::-1]
    named = {
        "dense": ([("dense", 1)] * axes, rows),
        "dense-column": ([("dense", 1)] * axes, columns),
        "sparse": (_ROWS["CVEC"], rows),
        "csr": (_ROWS["CSR"], rows),
        "csc": (_ROWS["CSR"], columns),
        "dcsr": (_ROWS["DCSR"], rows),
        "dcsc": (_ROWS["DCSR"], columns),
        "csf": ([("sparse", 1)] * axes, rows),
        "coo": ([("sparse", axes)], rows),
        "coo-dense": ([("sparse", axes - 1), ("dense", 1)], rows),
    }
    known = named.get(tensor.format) or _parsed(tensor.format)
    if known is not None:
        return tensor, *known
    usual = {1: "sparse", 2: "csr"}.get(axes, "coo")
    return tensor.asformat(usual), *named[usual]


def _parsed(format: str) -> tuple[list[Level], list[int]] | None:
    """The levels of a format that is written out, if files have such."""
    match = re.fullmatch(r"\((.*)\) -> \((.*)\)", format)
    if match is None:
        return None
    modes = match[1].split(", ")
    levels: list[Level] = []
    order, goes_on = [], False
    for text in re.split(r", (?![^(]*\))", match[2]):
        mode, _, word = text.partition(": ")
        if mode not in modes:
            return None
        order.append(modes.index(mode))
        if goes_on and word in ("singleton", "singleton(nonunique)"):
            levels[-1] = ("sparse", levels[-1][1] + 1)
        elif not goes_on and word == "dense":
            levels.append(("dense", 1))
        elif not goes_on and word in ("compressed", "compressed(nonunique)"):
            levels.append(("sparse", 1))
        else:
            return None
        goes_on = word.endswith("(nonunique)")
    return (levels, order) if sorted(order) == list(range(len(modes))) else None


def _described(
    tensor: Tensor, levels: list[Level], order: list[int]
) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """What a file says of a tensor, and its arrays."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    axis = 0
    for kind, rank in levels:
        for k in range(rank if kind == "sparse" else 0):
            arrays[f"indices_{axis + k}"] = tensor.levels[axis + k]["crd"]
        if kind == "sparse" and axis:
            arrays[f"pointers_to_{axis}"] = tensor.levels[axis]["pos"]
        axis += rank
    arrays["values"] = tensor.values
    has_fill = bool(tensor.fill_value != 0)
    if has_fill:
        arrays["fill_value"] = np.array([tensor.fill_value], dtype=tensor.values.dtype)
    encoded = {name: _encoded(array) for name, array in arrays.items()}
    predefined = (name for name, known in _PREDEFINED.items() if known == (levels, order))
    header: dict[str, Any] = {
        "version": "0.1.0",
        "format": next(predefined, "custom"),
        "shape": list(tensor.shape),
        "number_of_stored_values": len(tensor.values),
        "data_types": {name: declared for name, (_, declared) in encoded.items()},
    }
    if has_fill:
        header["fill"] = True
    if header["format"] == "custom":
        level: dict[str, Any] = {"level_desc": "element"}
        for kind, rank in reversed(levels):
            level = {"level_desc": kind, "rank": rank, "level": level}
        header["custom"] = {"level": level}
        if order != sorted(order):
            header["custom"]["transpose"] = order
    return header, {name: array for name, (array, _) in encoded.items()}


def _encoded(array: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], str]:
    """An array as files have it, and the name of its type."""
    if array.dtype == np.bool_:
        return array.view(np.uint8), "bint8"
    if array.dtype.kind == "c":
        part = np.float32 if array.dtype == np.complex64 else np.float64
        return array.view(part), f"complex[{np.dtype(part).name}]"
    if array.dtype == np.float16:
        # Files have no floats of 16 bits; wider ones hold the same numbers.
        return array.astype(np.float32), "float32"
    return array, array.dtype.name
