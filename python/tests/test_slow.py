"""A word before it is slow: warnings of what takes many steps, where it is called."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import tamis


def operands(n):
    A = sp.random_array((n, n), density=5.0 / n**2, rng=np.random.default_rng(1), format="csr")
    return {"A": A, "d": np.arange(1.0, n + 1)}


def warned(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [w for w in found if issubclass(w.category, tamis.PerformanceWarning)]


def test_the_caller_is_warned_with_the_reason_and_the_way_out():
    given = operands(5000)
    call = lambda: tamis.evaluate("y(i) = A(i,j) / d(j)", strict=True, **given)  # noqa: E731
    [warning] = warned(call)
    assert issubclass(warning.category, UserWarning)
    assert warning.filename == __file__
    text = str(warning.message)
    assert text.startswith("warning[many-steps]: ")
    assert "`A(i,j) / d(j)` is `0.0 / d(j)`" in text and "`A(i,j) * (1 / d(j))`" in text
    assert "without strict" in text and "--strict" not in text


def test_a_compiled_program_warns_by_the_operands_of_each_call():
    kernel = tamis.compile("y(i) = A(i,j) / d(j)", strict=True)
    small, large = operands(50), operands(5000)
    assert not warned(lambda: kernel(**small))
    assert len(warned(lambda: kernel(**large))) == 1
    assert len(warned(lambda: kernel(**large))) == 1
    assert not warned(lambda: kernel(**small))


@pytest.mark.parametrize("order", [(2100, 4090), (4090, 2100)])
def test_dimensions_count_beside_entries(order):
    """Both have as many entries; 2100 x 2100 steps are few."""
    kernel = tamis.compile("y(i) = A(i,j) / d(j)", strict=True)
    for n in order:
        A = sp.random_array((n, n), density=5000.0 / n**2, rng=np.random.default_rng(1))
        given = {"A": A.tocsr(), "d": np.arange(1.0, n + 1)}
        assert len(warned(lambda: kernel(**given))) == (n == 4090)  # noqa: B023


def test_the_filter_shows_a_line_once():
    given = operands(5000)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            tamis.evaluate("y(i) = A(i,j) / d(j)", strict=True, **given)
    assert len(found) == 1


def test_operators_warn_where_a_tensor_becomes_dense():
    n = 5000
    t = tamis.asarray(operands(n)["A"])
    [warning] = warned(lambda: t + np.arange(float(n)))
    assert "dense-result" in str(warning.message) and warning.filename == __file__
    assert not warned(lambda: t / np.arange(1.0, n + 1))
    assert not warned(lambda: t @ np.arange(float(n)))


def test_warnings_may_be_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", tamis.PerformanceWarning)
        with pytest.raises(tamis.PerformanceWarning):
            tamis.evaluate("y(i) = A(i,j) / d(j)", strict=True, **operands(5000))
