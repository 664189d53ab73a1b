"""Tables as they are: text, categories, dates and holes, as features for any estimator."""

from labelgap.frames._frame_encoder import FrameEncoder, is_raw_frame
from labelgap.frames._frame_estimator import frame_estimator
from labelgap.frames._frame_reader import FrameReader
from labelgap.frames._frame_rows import FrameRows
from labelgap.frames._prediction_frames import check_container, framed

__all__ = [
    "FrameEncoder",
    "FrameReader",
    "FrameRows",
    "check_container",
    "frame_estimator",
    "framed",
    "is_raw_frame",
]
