"""Pages that show results: they read what was measured and never fit anything.

A page is one file without references to anything outside, so that it can be mailed, archived and
read offline; light and dark, on paper and on a phone.
"""

from labelgap.report._demo_page import demo_page, write_demo_page
from labelgap.report._demo_result import CELL_STATES, DemoMethod, DemoResult, MatrixSample

__all__ = [
    "CELL_STATES",
    "DemoMethod",
    "DemoResult",
    "MatrixSample",
    "demo_page",
    "write_demo_page",
]
