"""Tensors as pages of notebooks: what they are, and where their entries lie."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ._tensor import Tensor

#: Cells along the longer side of the drawing, and its size in pixels.
_CELLS, _PIXELS = 48, 192


def drawn(tensor: Tensor) -> str:
    """A table of facts, and for two axes a drawing of the pattern: the darker, the more entries."""
    facts = {
        "shape": " x ".join(map(str, tensor.shape)) or "number",
        "type": str(tensor.dtype),
        "format": tensor.format,
        "stored": f"{tensor.nnz} ({100 * tensor.density:.3g} %)",
        "bytes": str(tensor.nbytes),
        "fill value": str(tensor.fill_value),
    }
    rows = "".join(f"<tr><th>{k}</th><td>{escape(v)}</td></tr>" for k, v in facts.items())
    pattern = _pattern(tensor) if tensor.ndim == 2 and tensor.size else ""
    return f'<div style="display:flex;gap:1em"><table>{rows}</table>{pattern}</div>'


def _pattern(tensor: Tensor) -> str:
    longest = max(tensor.shape)
    cells = [max(1, round(min(_CELLS, longest) * n / longest)) for n in tensor.shape]
    (rows, columns), _ = tensor.entries()
    row, column = (c * n // size for c, n, size in zip((rows, columns), cells, tensor.shape))
    counts = np.bincount(row * cells[1] + column, minlength=math.prod(cells)).reshape(cells)
    shade = np.sqrt(counts / max(1.0, counts.max()))
    side = _PIXELS / max(cells)
    boxes = "".join(
        f'<rect x="{j * side:.1f}" y="{i * side:.1f}" width="{side:.1f}" height="{side:.1f}" '
        f'fill-opacity="{shade[i, j]:.2f}"/>'
        for i, j in zip(*counts.nonzero())
    )
    height, width = (n * side for n in cells)
    return (
        f'<svg width="{width:.0f}" height="{height:.0f}" role="img" '
        f'aria-label="where entries are stored">'
        f'<rect width="100%" height="100%" fill="none" stroke="currentColor"/>'
        f'<g fill="currentColor">{boxes}</g></svg>'
    )
