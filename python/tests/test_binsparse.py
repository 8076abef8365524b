"""Binsparse files, as the specification and its reference package have them."""

import json
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import tamis
from conftest import array, seeds
from forms import FORMATS, tensor
from hypothesis import given
from hypothesis import strategies as st

h5py = pytest.importorskip("h5py", reason="binsparse files need h5py")

NAMES = {
    "csr": "CSR",
    "csc": "CSC",
    "dcsr": "DCSR",
    "dcsc": "DCSC",
    "coo": "COOR",
    "(i, j) -> (j: compressed(nonunique), i: singleton)": "COOC",
    "dense": "DMATR",
    "dense-column": "DMATC",
}


def written(path, header, **arrays):
    """A file by hand."""
    with h5py.File(path, "w") as file:
        file.attrs["binsparse"] = json.dumps({"binsparse": header})
        for name, made in arrays.items():
            file.create_dataset(name, data=np.asarray(made))
    return path


def header_of(path):
    with h5py.File(path) as file:
        return json.loads(file.attrs["binsparse"])


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=4),
    st.sampled_from(["f8", "f4", "i8", "i2", "u1", "c8", "c16", "?"]),
    st.sampled_from(FORMATS),
    st.booleans(),
    seeds,
)
def test_there_and_back(tmp_path_factory, shape, dtype, format, filled, seed):
    path = tmp_path_factory.mktemp("binsparse") / "a.bsp.h5"
    made = array(seed, tuple(shape), dtype)
    found = tensor(made, format)
    if filled:
        found = tamis.Tensor(found.with_fill("true" if dtype == "?" else "1"))
    tamis.write(path, found)
    back = tamis.read(path)
    assert back.dtype == made.dtype and not back.is_borrowed
    np.testing.assert_array_equal(back.to_numpy(), found.to_numpy())
    if format in ("csr", "csc", "dcsr", "dcsc", "coo", "csf") and len(shape) == 2:
        assert back.storage == found.storage


@pytest.mark.parametrize(("format", "name"), NAMES.items())
def test_the_reference_reads_what_is_written(tmp_path, format, name):
    binsparse = pytest.importorskip("binsparse")
    made = array(3, (4, 5))
    path = tmp_path / "a.bsp.h5"
    tamis.write(path, tamis.asarray(made, format=format), comments=["random"])
    read = binsparse.load_binsparse(path)
    assert (read.format, read.shape) == (name, (4, 5))
    if name in ("CSR", "CSC", "COOR"):
        from binsparse.conversions.scipy import to_scipy

        np.testing.assert_array_equal(to_scipy(read).toarray(), made)
    custom = binsparse.load_binsparse(path, alias=False)
    again = tmp_path / "b.bsp.h5"
    binsparse.save_binsparse(custom, again)
    assert header_of(again)["binsparse"]["format"] == "custom"
    np.testing.assert_array_equal(tamis.read(again).to_numpy(), made)
    assert tamis.read(again).format == tamis.asarray(made, format=format).format
    assert header_of(path)["comments"] == ["random"]


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", ["f8", "c8", "?", "i4"])
def test_what_the_reference_writes_is_read(tmp_path, form, dtype):
    binsparse = pytest.importorskip("binsparse")
    from binsparse.conversions.scipy import from_scipy

    made = array(4, (4, 5), dtype)
    stored = sp.csr_array(made).asformat(form)
    binsparse.save_binsparse(from_scipy(stored), tmp_path / "a.bsp.h5")
    found = tamis.read(tmp_path / "a.bsp.h5")
    assert (found.format, found.dtype) == (form, made.dtype)
    np.testing.assert_array_equal(found.to_numpy(), made)


def test_custom_levels_of_tensors(tmp_path):
    made = array(5, (3, 4, 5))
    for format, levels, order in (
        ("csf", ["sparse 1", "sparse 1", "sparse 1"], None),
        ("coo", ["sparse 3"], None),
        (
            "(i, j, k) -> (k: dense, i: compressed(nonunique), j: singleton)",
            ["dense 1", "sparse 2"],
            [2, 0, 1],
        ),
        (
            "(i, j, k) -> (i: compressed, k: dense, j: dense)",
            ["sparse 1", "dense 1", "dense 1"],
            [0, 2, 1],
        ),
    ):
        path = tmp_path / "a.bsp.h5"
        tamis.write(path, tamis.asarray(made, format=format))
        custom = header_of(path)["binsparse"]["custom"]
        assert custom.get("transpose") == order
        level, found = custom["level"], []
        while level["level_desc"] != "element":
            found.append(f"{level['level_desc']} {level['rank']}")
            level = level["level"]
        assert found == levels
        back = tamis.read(path)
        np.testing.assert_array_equal(back.to_numpy(), made)
        assert back.nnz == tamis.asarray(made, format=format).nnz


CSR = {
    "version": "0.1",
    "format": "CSR",
    "shape": [5, 5],
    "number_of_stored_values": 6,
    "data_types": {"pointers_to_1": "uint64", "indices_1": "uint64", "values": "iso[int8]"},
}
ARRAYS = {
    "pointers_to_1": np.array([0, 1, 3, 3, 5, 6], "u8"),
    "indices_1": np.array([3, 1, 4, 1, 2, 3], "u8"),
    "values": np.array([7], "i1"),
}


def test_the_examples_of_the_specification(tmp_path):
    path = tmp_path / "a.bsp.h5"
    found = tamis.read(written(path, CSR, **ARRAYS))
    expected = np.zeros((5, 5), "i1")
    expected[[0, 1, 1, 3, 3, 4], [3, 1, 4, 1, 2, 3]] = 7
    assert found.dtype == np.int8 and found.format == "csr"
    np.testing.assert_array_equal(found.to_numpy(), expected)
    shifted = {name: x + np.array(1, x.dtype) for name, x in ARRAYS.items() if name != "values"}
    based = written(path, {**CSR, "index_base": 1}, values=ARRAYS["values"], **shifted)
    np.testing.assert_array_equal(tamis.read(based).to_numpy(), expected)
    lower = {
        **CSR,
        "structure": "symmetric_lower",
        "number_of_stored_values": 9,
        "data_types": {**CSR["data_types"], "values": "int8"},
    }
    arrays = {
        "pointers_to_1": np.array([0, 1, 3, 5, 7, 9], "u8"),
        "indices_1": np.array([0, 0, 1, 0, 2, 1, 3, 2, 4], "u8"),
        "values": np.array([1, 2, 9, 7, 2, 2, 3, 3, 7], "i1"),
    }
    full = tamis.read(written(path, lower, **arrays)).to_numpy()
    np.testing.assert_array_equal(full, full.T)
    assert (full[0, 1], full[1, 0], full[4, 2], full[2, 4], full[1, 1]) == (2, 2, 3, 3, 9)


@pytest.mark.parametrize("structure", ["hermitian_upper", "skew_symmetric_upper"])
def test_triangles(tmp_path, structure):
    upper = np.triu(array(6, (4, 4), "c16"), 1)
    stored = sp.coo_array(upper)
    header = {
        "version": "0.1.0",
        "format": "COO",
        "shape": [4, 4],
        "number_of_stored_values": stored.nnz,
        "structure": structure,
        "data_types": {"indices_0": "int32", "indices_1": "int32", "values": "complex[float64]"},
    }
    path = tmp_path / "a.h5"
    order = np.lexsort((stored.col, stored.row))
    written(
        path,
        header,
        indices_0=stored.row[order].astype("i4"),
        indices_1=stored.col[order].astype("i4"),
        values=stored.data[order].view("f8"),
    )
    mirrored = upper.conj().T if structure[0] == "h" else -upper.T
    np.testing.assert_array_equal(tamis.read(path).to_numpy(), upper + mirrored)


def test_lists_in_no_order(tmp_path):
    header = {
        "version": "0.1",
        "format": "custom",
        "custom": {
            "level": {
                "level_desc": "sparse",
                "rank": 2,
                "sorted": False,
                "level": {"level_desc": "element"},
            }
        },
        "shape": [3, 3],
        "number_of_stored_values": 2,
        "fill": True,
        "data_types": {
            "indices_0": "int8",
            "indices_1": "int64",
            "values": "bint8",
            "fill_value": "bint8",
        },
    }
    arrays = {
        "indices_0": np.array([2, 0], "i1"),
        "indices_1": np.array([0, 1]),
        "values": np.array([0, 0], "u1"),
        "fill_value": np.array([1], "u1"),
    }
    found = tamis.read(written(tmp_path / "a.h5", header, **arrays))
    expected = np.ones((3, 3), bool)
    expected[2, 0] = expected[0, 1] = False
    assert found.dtype == bool and found.fill_value
    np.testing.assert_array_equal(found.to_numpy(), expected)


WRONG = {
    "a version": {"version": "7.0"},
    "a format": {"format": "XYZ"},
    "a shape": {"shape": [5, -1]},
    "another shape": {"shape": [5]},
    "a bound": {"shape": [5, 3]},
    "more rows": {"shape": [7, 5]},
    "a count": {"number_of_stored_values": 5},
    "a count of text": {"number_of_stored_values": "6"},
    "a type": {"data_types": {**CSR["data_types"], "values": "float128"}},
    "another type": {"data_types": {**CSR["data_types"], "values": "float32"}},
    "complex integers": {"data_types": {**CSR["data_types"], "values": "complex[int8]"}},
    "a type too few": {"data_types": {"values": "iso[int8]"}},
    "types": {"data_types": 3},
    "a base": {"index_base": 2},
    "another base": {"index_base": 1},
    "a structure": {"structure": "round"},
    "an upper triangle": {"structure": "symmetric_lower"},
    "no levels": {"format": "custom"},
    "a level": {"format": "custom", "custom": {"level": {"level_desc": "dense", "rank": 0}}},
    "no element": {"format": "custom", "custom": {"level": {"level_desc": "dense", "rank": 2}}},
    "an order": {
        "format": "custom",
        "custom": {
            "transpose": [0, 0],
            "level": {"level_desc": "dense", "rank": 2, "level": {"level_desc": "element"}},
        },
    },
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_wrong_files_are_refused(tmp_path, name):
    path = written(tmp_path / "a.bsp.h5", {**CSR, **WRONG[name]}, **ARRAYS)
    with pytest.raises((ValueError, OSError)) as refused:
        tamis.read(path)
    assert isinstance(refused.value, tamis.TamisError)


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="file-not-readable"):
        tamis.read(tmp_path / "none.bsp.h5")
    (tmp_path / "text.bsp.h5").write_text("nonsense")
    with pytest.raises(OSError, match="file-not-readable"):
        tamis.read(tmp_path / "text.bsp.h5")
    with h5py.File(tmp_path / "empty.h5", "w"):
        pass
    with pytest.raises(ValueError, match="no attribute binsparse"):
        tamis.read(tmp_path / "empty.h5")
    with pytest.raises(OSError, match="file-not-writable"):
        tamis.write(tmp_path / "none" / "a.bsp.h5", np.eye(3))


def test_a_package_that_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(OSError, match="pip install h5py"):
        tamis.read(tmp_path / "a.bsp.h5")
