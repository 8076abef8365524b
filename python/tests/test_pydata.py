"""Arrays of pydata/sparse are operands where they are."""

import numpy as np
import pytest
import sparse
import tamis
from conftest import array


@pytest.mark.parametrize("shape", [(5,), (4, 5), (3, 4, 5)])
@pytest.mark.parametrize("fill", [0.0, 2.0])
def test_coo(shape, fill):
    made = array(3, shape) + fill
    operand = sparse.COO.from_numpy(made, fill_value=fill)
    found = tamis.asarray(operand)
    assert found.fill_value == fill
    assert found.nnz == operand.nnz
    assert np.shares_memory(found.values, operand.data)
    np.testing.assert_array_equal(found.to_numpy(), made)


@pytest.mark.parametrize("axes", [(0,), (1,)])
def test_gcxs(axes):
    made = array(4, (4, 5))
    operand = sparse.GCXS.from_numpy(made, compressed_axes=axes)
    found = tamis.asarray(operand)
    assert found.format == ("csr" if axes == (0,) else "csc")
    assert np.shares_memory(found.values, operand.data)
    np.testing.assert_array_equal(found.to_numpy(), made)
    result = tamis.einsum("ij,kj->ik", operand, operand)
    assert isinstance(result, tamis.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), made @ made.T)


def test_other_axes_and_kinds():
    made = array(5, (3, 4, 5))
    np.testing.assert_array_equal(tamis.asarray(sparse.GCXS.from_numpy(made)).to_numpy(), made)
    dok = sparse.DOK.from_numpy(made)
    np.testing.assert_array_equal(tamis.asarray(dok).to_numpy(), made)
    number = sparse.COO.from_numpy(np.array(3.0))
    assert tamis.evaluate("a = b + 1", b=number) == 4.0
