"""How an estimator reads frames: as numbers, or as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from labelgap.frames._frame_encoder import FrameEncoder, in_order, is_raw_frame
from labelgap.frames._frame_estimator import wants_categories, wants_frame
from labelgap.frames._frame_rows import FrameRows


@dataclass(frozen=True)
class FrameReader:
    """Read frames as the estimator inside takes them.

    A pipeline sees the frame as it is; models that take categories get numbers and categories; all
    others get a matrix of numbers.

    Parameters
    ----------
    columns : list
        The columns of the frame.
    encoder : FrameEncoder, default=None
        None for pipelines.

    Examples
    --------
    >>> import pandas as pd
    >>> from labelgap.frames import FrameReader
    >>> frame = pd.DataFrame({"size": [1.0, 2.0], "colour": ["red", "blue"]})
    >>> FrameReader.of(frame).read(frame).shape
    (2, 2)
    >>> FrameReader.of(frame[["size"]]) is None
    True
    """

    columns: list
    encoder: FrameEncoder | None = None

    @classmethod
    def of(cls, X: Any, estimator: Any = None, *, keep_holes: bool = False) -> Self | None:
        """Return a reader of frames like this one; None for arrays and for plain numbers."""
        if not hasattr(X, "columns"):
            return None
        raw = is_raw_frame(X)
        if wants_frame(estimator, raw=raw):
            return cls(list(X.columns))
        if not raw:
            return None
        categories = wants_categories(estimator)
        holes = "keep" if keep_holes or categories else "fill"
        return cls(list(X.columns), FrameEncoder(holes, categories=categories).fit(X))

    def in_order(self, X: Any) -> Any:
        """Return a frame with the columns in their order; a missing one is named."""
        return in_order(X, self.columns)

    def read(self, X: Any) -> Any:
        """Return a matrix of numbers, or :class:`FrameRows`."""
        if self.encoder is None:
            return FrameRows(X)
        found = self.encoder.transform(X)
        return FrameRows(found) if self.encoder.categories else found
