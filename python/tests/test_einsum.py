"""``tamis.einsum`` is ``numpy.einsum``, for operands in any form."""

import numpy as np
import pytest
import scipy.sparse as sp
import tamis
from conftest import array, seeds, sizes
from forms import FORMATS, SCIPY, scipy, tensor
from hypothesis import given
from hypothesis import strategies as st


def full(result):
    """A result as a NumPy array."""
    if isinstance(result, tamis.Tensor):
        return result.to_numpy()
    return result.toarray() if sp.issparse(result) else np.asarray(result)


@st.composite
def programs(draw):
    """Subscripts, the shapes of operands, and a seed."""
    labels = draw(st.lists(st.sampled_from("ijkl"), min_size=1, max_size=4, unique=True))
    dims = {label: draw(sizes) for label in labels}
    spread = draw(st.lists(sizes, max_size=2))
    terms, shapes = [], []
    for _ in range(draw(st.integers(1, 4))):
        term = draw(st.lists(st.sampled_from(labels), max_size=3))
        own = draw(st.integers(0, len(spread)))
        place = draw(st.integers(0, len(term)))
        axes = [1 if draw(st.integers(0, 5)) == 0 else dims[label] for label in term]
        # NumPy takes a diagonal of equal sizes only.
        axes = [max(a for a, t in zip(axes, term) if t == label) for label in term]
        rest = [1 if draw(st.integers(0, 3)) == 0 else n for n in spread[len(spread) - own :]]
        terms.append("".join(term[:place]) + "..." + "".join(term[place:]))
        shapes.append((*axes[:place], *rest, *axes[place:]))
    text = ",".join(terms)
    if draw(st.booleans()):
        used = sorted({c for c in text if c in labels})
        chosen = draw(st.lists(st.sampled_from(used), unique=True)) if used else []
        text += "->..." + "".join(chosen)
    return text, shapes, draw(seeds)


def check(text, operands, forms):
    try:
        expected = np.einsum(text, *operands)
    except ValueError:
        # Broadcast axes that the result leaves out.
        with pytest.raises(ValueError):
            tamis.einsum(text, *forms)
            np.einsum(text, *operands)
        return
    result = full(tamis.einsum(text, *forms))
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


@given(programs(), st.data())
def test_dense_operands(program, data):
    text, shapes, seed = program
    operands = [array(seed + k, shape) for k, shape in enumerate(shapes)]
    check(text, operands, operands)


@given(programs(), st.data())
def test_tensors_in_any_format(program, data):
    text, shapes, seed = program
    operands = [array(seed + k, shape) for k, shape in enumerate(shapes)]
    forms = [tensor(x, data.draw(st.sampled_from(FORMATS))) for x in operands]
    check(text, operands, forms)


@given(
    st.sampled_from(["ij,jk->ik", "ij,ij->ij", "ij,kj", "ij->ji", "ij,ji->", "ij,ij,ij->j"]),
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    st.data(),
)
def test_scipy_operands(text, shape, data):
    sizes = dict(zip("ij", shape), k=shape[0])
    operands, forms = [], []
    for k, term in enumerate(text.partition("->")[0].split(",")):
        dims = tuple(sizes[label] for label in term)
        if term == "ji" or term == "ij" and k == 1 and "ji" in text:
            dims = (dims[0], dims[1])
        seed = data.draw(seeds)
        operands.append(array(seed, dims))
        form = data.draw(st.sampled_from(SCIPY))
        flags = [data.draw(st.booleans()) for _ in range(3)]
        forms.append(scipy(operands[-1], form, *flags, seed))
    expected = np.einsum(text, *operands)
    result = tamis.einsum(text, *forms)
    np.testing.assert_array_equal(full(result), expected)
    if expected.ndim == 2:
        arrays = any(isinstance(form, sp.sparray) for form in forms)
        assert isinstance(result, sp.sparray if arrays else sp.spmatrix)


def test_labels_as_integers(rng):
    a, b = array(1, (3, 4)), array(2, (4, 5))
    np.testing.assert_array_equal(tamis.einsum(a, [0, 1], b, [1, 2], [0, 2]), a @ b)
    np.testing.assert_array_equal(tamis.einsum(a, [0, 1], b, [1, 2]), a @ b)
    np.testing.assert_array_equal(tamis.einsum(a, [Ellipsis, 0], [0, Ellipsis]), a.T)


def test_formats_and_fill_values_of_results():
    a, b = array(3, (4, 5)), array(4, (5, 6))
    left = sp.csr_array(a)
    for form in ("csc", "coo", "bsr(2,3)", "csr{f32}"):
        result = tamis.einsum("ij,jk->ik", left, sp.csr_array(b), format=form)
        assert result.format == form[:3]
        np.testing.assert_array_equal(result.toarray(), a @ b)
    dense = tamis.einsum("ij,jk->ik", left, sp.csr_array(b), format="dense")
    assert isinstance(dense, np.ndarray)
    shifted = tamis.einsum("ij->ij", left, fill_value=1.0)
    assert isinstance(shifted, tamis.Tensor) and shifted.fill_value == 1.0
    np.testing.assert_array_equal(shifted.to_numpy(), a)


@pytest.mark.parametrize(
    ("name", "add", "multiply", "absent"),
    [
        ("min_plus", np.min, np.add, np.inf),
        ("max_plus", np.max, np.add, -np.inf),
        ("min_max", np.min, np.maximum, np.inf),
        ("max_min", np.max, np.minimum, -np.inf),
    ],
)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_semirings(name, add, multiply, absent, dtype):
    a, b = array(5, (6, 7), dtype), array(6, (7, 5), dtype)
    stored = [sp.csr_array(a), sp.csc_array(b)]
    full_a, full_b = np.where(a == 0, absent, a), np.where(b == 0, absent, b)
    expected = add(multiply(full_a[:, :, None], full_b[None, :, :]), axis=1)
    result = tamis.einsum("ij,jk->ik", *stored, semiring=name)
    assert isinstance(result, sp.csr_array)
    found = np.full(result.shape, absent)
    rows = np.repeat(np.arange(result.shape[0]), np.diff(result.indptr))
    found[rows, result.indices] = result.data
    np.testing.assert_array_equal(found, expected)


def test_truth_values_are_joined():
    a, b = array(7, (5, 6), "?"), array(8, (6, 4), "?")
    for forms in ((a, b), (sp.csr_array(a), sp.csr_array(b))):
        result = tamis.einsum("ij,jk->ik", *forms)
        assert result.dtype == bool
        np.testing.assert_array_equal(full(result), np.einsum("ij,jk->ik", a, b))
        counted = tamis.einsum("ij,jk->ik", *forms, dtype="i8")
        np.testing.assert_array_equal(full(counted), a.astype(int) @ b.astype(int))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "i8", "u1", "c8", "c16", "f2"])
@pytest.mark.parametrize("other", ["f4", "f8", "i4", "u8", "c8", "?"])
def test_types_are_promoted_as_numpy_does(dtype, other):
    a, b = array(9, (4, 5), dtype), array(10, (5,), other)
    expected = np.einsum("ij,j->i", a, b)
    operands = [a] if dtype == "f2" else [a, sp.csr_array(a)]
    for operand in operands:
        result = tamis.einsum("ij,j->i", operand, b)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (("ij,jk", np.ones((2, 3))), "2 terms for 1 operands"),
        (("ij", np.ones(3)), "operand 0 has 1 axes"),
        (("i->j", np.ones(3)), "the label 'j' of the result"),
        (("i->ii", np.ones(3)), "has the label 'i' twice"),
        (("i1", np.ones((3, 3))), "the character '1'"),
        (("ij,jk", np.ones((2, 3)), np.ones((4, 2))), "index j: mode 2 of op0 has 3"),
        (("i...j", np.ones(1)), "operand 0 has 1 axes"),
    ],
)
def test_mistakes(call, words):
    with pytest.raises(tamis.TamisValueError) as refused:
        tamis.einsum(*call)
    assert words in str(refused.value)
    assert isinstance(refused.value, ValueError)


def test_unknown_semirings_and_types():
    with pytest.raises(ValueError, match="no semiring named plus"):
        tamis.einsum("i", np.ones(2), semiring="plus")
    with pytest.raises(TypeError, match="no elements of type object"):
        tamis.einsum("i", np.array([{}, {}]))
    with pytest.raises(TypeError, match="subscripts first"):
        tamis.einsum(np.ones(2), np.ones(2))


def test_labels_of_any_integer_type():
    a = array(1, (3, 4))
    labels = [np.int64(1), np.uint8(0)]
    np.testing.assert_array_equal(tamis.einsum(a, labels, np.ones(3), [1], [0]), np.ones(3) @ a)
    for wrong in (["a", 1], [0.5, 1], [-1, 0], [99, 0]):
        with pytest.raises(tamis.TamisValueError, match="is no label"):
            tamis.einsum(a, wrong)


def test_results_have_the_axes_that_broadcast():
    a, b = np.ones((2, 3)), np.ones((2, 3, 2))
    for text, operands in (("...m->m", (a,)), ("il...,...->il", (b, a))):
        with pytest.raises(ValueError, match="broadcast"):
            np.einsum(text, *operands)
        with pytest.raises(tamis.TamisValueError, match="leaves out the axes"):
            tamis.einsum(text, *operands)
    np.testing.assert_array_equal(tamis.einsum("...ij->ij", a), a)


@pytest.mark.parametrize("format", ["csr", "dcsr", "dok"])
def test_results_of_semirings_are_operands_of_the_next(format):
    steps = sp.csr_array(np.array([[0, 4.0], [5.0, 0]]))
    one = tamis.einsum("ij->ij", steps, semiring="min_plus", format=format)
    two = tamis.einsum("ij,jk->ik", one, steps, semiring="min_plus")
    places = two.to_numpy() if isinstance(two, tamis.Tensor) else two.toarray()
    expected = np.array([[9, np.inf], [np.inf, 9]])
    absent = np.inf if isinstance(two, tamis.Tensor) else 0
    np.testing.assert_array_equal(places, np.where(np.isinf(expected), absent, expected))
