"""Random operands, and how results are compared."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

settings.register_profile(
    "ci",
    max_examples=int(os.environ.get("TAMIS_EXAMPLES", "200")),
    deadline=None,
    derandomize="TAMIS_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("ci")

DTYPES = ["f8", "f4", "i8", "i4", "i2", "u1", "c8", "c16", "?"]


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def array(seed, shape, dtype="f8", density=0.4):
    """Small whole numbers, so that sums are exact in any order; mostly zeros."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    low = 0 if dtype.kind in "ub" else -3
    made = rng.integers(low, 2 if dtype.kind == "b" else 4, size=shape)
    made = np.where(rng.random(shape) < density, made, 0).astype(dtype)
    if dtype.kind == "c":
        made = made + 1j * np.where(made != 0, rng.integers(-3, 4, size=shape), 0)
    return np.asarray(made, dtype=dtype)


seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(0, 5)
