"""How an estimator reads frames and texts: as numbers, or as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from labelgap.frames._frame_encoder import FrameEncoder, in_order, is_raw_frame, joined_texts
from labelgap.frames._frame_estimator import wants_categories, wants_frame
from labelgap.frames._frame_rows import FrameRows
from labelgap.text import TextFeatures, is_texts


@dataclass(frozen=True)
class FrameReader:
    """Read frames, and sequences of texts, as the estimator inside takes them.

    A pipeline sees the frame or the texts as they are; models that take categories get numbers and
    categories; all others get a matrix of numbers. Texts become
    :class:`labelgap.text.TextFeatures`.

    Parameters
    ----------
    columns : list
        The columns of the frame; none for a sequence of texts.
    encoder : FrameEncoder or TextFeatures, default=None
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
    encoder: FrameEncoder | TextFeatures | None = None

    @classmethod
    def of(
        cls,
        X: Any,
        estimator: Any = None,
        *,
        keep_holes: bool = False,
        sparse: bool = False,
        text_encoder: Any = None,
    ) -> Self | None:
        """Return a reader of frames or texts like these; None for arrays and for plain numbers."""
        if is_texts(X):
            own = wants_frame(estimator, raw=True)
            return cls([], None if own else TextFeatures(text_encoder).fit(X))
        if not hasattr(X, "columns"):
            return None
        raw = is_raw_frame(X)
        if wants_frame(estimator, raw=raw):
            return cls(list(X.columns))
        if not raw:
            return None
        categories = wants_categories(estimator)
        holes = "keep" if keep_holes or categories else "fill"
        text = "sparse" if sparse and holes == "fill" else "dense"
        encoder = FrameEncoder(holes, categories=categories, text=text, text_encoder=text_encoder)
        return cls(list(X.columns), encoder.fit(X))

    @property
    def text_features(self) -> TextFeatures | None:
        """What reads a sequence of texts; None for frames."""
        return self.encoder if isinstance(self.encoder, TextFeatures) else None

    def texts(self, X: Any) -> np.ndarray | None:
        """Return the text of each row; None where there is none, or where a pipeline reads it."""
        if self.text_features is not None:
            return object_array(X)
        if not isinstance(self.encoder, FrameEncoder) or not self.encoder.text_columns_:
            return None
        return object_array(joined_texts(X, self.encoder.text_columns_))

    def in_order(self, X: Any) -> Any:
        """Return a frame with the columns in their order; a missing one is named."""
        if self.columns:
            return in_order(X, self.columns)
        if not is_texts(X):
            raise ValueError("the model was fitted on a sequence of texts: give one text per row")
        return X

    def read(self, X: Any) -> Any:
        """Return a matrix of numbers, or :class:`FrameRows`."""
        if self.encoder is None:
            return FrameRows(X if self.columns else object_array(X))
        found = self.encoder.transform(X)
        return FrameRows(found) if getattr(self.encoder, "categories", False) else found


def object_array(texts: Any) -> np.ndarray:
    """Return texts as an array."""
    return np.asarray(texts, dtype=object)
