"""Operators keep how they compute by the kinds of their operands: what is kept gives what was decided."""

import operator

import numpy as np
import pytest
import scipy.sparse as sp
import tamis
from tamis import _elements, _expressions, _plans

BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.mod),
    *(operator.eq, operator.ne, operator.lt, operator.ge, operator.floordiv, operator.matmul),
    *(np.maximum, np.minimum, np.fmax, np.hypot, np.arctan2, np.bitwise_and, np.logical_or),
]
UNARY = [operator.neg, abs, np.sin, np.sqrt, np.sign, np.square, np.isnan, np.real, np.conjugate]


def operands():
    """Tensors of one shape in several formats, types and fill values, arrays and numbers."""
    full = np.array([[0, 2, 0], [1, 0, 0], [0, 0, 3]])
    for dtype in ("f8", "f4", "i8", "i1", "?", "c16"):
        yield tamis.asarray(full.astype(dtype), format="csr")
    for format in ("csc", "coo", "dcsr", "dense", "csr{fill: 1.0}", "csr{fill: nan}"):
        yield tamis.asarray(full.astype("f8"), format=format)
    yield tamis.coo([[0, 0], [1, 1]], [1.0, 2.0], shape=(3, 3), format="coo(nonunique)")
    yield tamis.asarray(np.zeros((3, 3)), format="csr")
    yield tamis.asarray(np.full((1, 1), 2.0), format="csr")
    yield tamis.asarray(np.array([[1.0, 0.0, 2.0]]), format="csr")
    yield tamis.asarray(sp.csr_array(full * 1.0))
    yield from (np.ones((3, 3)), np.ones(3), np.full(1, 3.0), np.zeros(0), np.array(2.0))
    yield from (2, 2.0, 0, 0.0, -0.0, True, 300, 1j, np.float32(2), float("nan"), sp.eye_array(3))


def result(function, *operands):
    """What a function gives, as text that tells all of it."""
    try:
        with np.errstate(all="ignore"):
            made = function(*operands)
    except (*_elements.FOREIGN, ArithmeticError, NotImplementedError) as error:
        return f"{type(error).__name__}: {error}"
    if isinstance(made, tamis.Tensor):
        levels = [{name: x.tolist() for name, x in level.items()} for level in made.levels]
        return f"{made.storage} {made.shape} {levels} {made.values.tolist()}"
    return repr(made)


@pytest.mark.parametrize("function", BINARY, ids=lambda function: function.__name__)
def test_a_kept_plan_gives_what_was_decided(function):
    for a in operands():
        for b in operands():
            if not any(isinstance(x, tamis.Tensor) for x in (a, b)):
                continue
            _plans._plans.clear()
            first = result(function, a, b)
            assert result(function, a, b) == first
            if isinstance(a, tamis.Tensor):
                copy = a.copy()
                _plans._plans.clear()
                other, same = result(function, a, copy), result(function, a, a)
                assert (result(function, a, copy), result(function, a, a)) == (other, same)


@pytest.mark.parametrize("function", UNARY, ids=lambda function: function.__name__)
def test_a_kept_plan_of_one_operand_gives_what_was_decided(function):
    for a in operands():
        if isinstance(a, tamis.Tensor):
            _plans._plans.clear()
            assert result(function, a) == result(function, a)


def test_plans_of_other_operands_do_not_mix():
    made = {}
    for _ in range(2):
        for n, a in enumerate(operands()):
            for k, b in enumerate(operands()):
                if any(isinstance(x, tamis.Tensor) for x in (a, b)):
                    for function in (operator.add, operator.mul, np.fmax):
                        found = result(function, a, b)
                        assert made.setdefault((n, k, function), found) == found


def test_values_that_decide_are_looked_at_each_time():
    a = tamis.asarray(np.diag([1.0, 2.0, 3.0]), format="csr")
    b = tamis.asarray(np.diag([2.0, np.nan, 1.0]), format="csr")
    for x, y in [(a, a * 2), (a, b), (b, a)]:
        np.testing.assert_array_equal(
            np.fmax(x, y).to_numpy(), np.fmax(x.to_numpy(), y.to_numpy())
        )
    for limit in (np.full(3, -1.0), np.array([-1.0, 1.0, 0.0])):
        expected = np.maximum(a.to_numpy(), limit)
        made = np.maximum(a, limit)
        made = made.to_numpy() if isinstance(made, tamis.Tensor) else made
        np.testing.assert_array_equal(made, expected)


def test_an_integer_that_does_not_fit_is_refused_by_a_kept_plan_too():
    small = tamis.asarray(np.diag([1, 2, 3]).astype("i1"), format="csr")
    assert (small * 3).values.tolist() == [3, 6, 9]
    large = tamis.asarray(np.diag([100, 2, 3]).astype("i1"), format="csr")
    with pytest.raises(tamis.TamisOverflowError):
        large * 3


def test_nothing_is_decided_a_second_time(monkeypatch):
    a = tamis.asarray(np.eye(3), format="csr")
    b = tamis.asarray(np.eye(3)[::-1].copy(), format="csr")
    x = np.arange(3.0)
    calls = [lambda: a @ x, lambda: a @ b, lambda: a + b, lambda: a + a, lambda: x @ a, lambda: a * x]
    calls += [lambda: a * 2, lambda: -a, lambda: 2 / a, lambda: np.sin(a), lambda: a > 1]
    expected = [result(call) for call in calls]

    def refuse(*arguments, **options):
        raise AssertionError("decided again")

    monkeypatch.setattr(_expressions, "compute", refuse)
    monkeypatch.setattr(_elements, "apply", refuse)
    monkeypatch.setattr(_elements, "elementwise", refuse)
    assert [result(call) for call in calls] == expected


def test_few_plans_are_kept():
    a = tamis.asarray(np.eye(3), format="csr")
    for k in range(1, 2000):
        a * k
    assert len(_plans._plans) <= 512
