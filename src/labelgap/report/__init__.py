"""Pages that show results: they read what was measured and never fit anything.

A page is one file without references to anything outside, so that it can be mailed, archived and
read offline; light and dark, on paper and on a phone.
"""

from labelgap.report._audit_page import audit_page, write_audit_page
from labelgap.report._audit_review import review_page
from labelgap.report._demo_page import demo_page, write_demo_page
from labelgap.report._demo_result import CELL_STATES, DemoMethod, DemoResult, MatrixSample
from labelgap.report._ledger import Entry, Ledger, build_ledger
from labelgap.report._ledger_markdown import ledger_markdown, write_ledger_markdown
from labelgap.report._ledger_page import ledger_page, write_ledger_page
from labelgap.report._papers import Paper, load_papers
from labelgap.report._reasons import Reason, load_reasons
from labelgap.report._verdicts import Verdict
from labelgap.report._views import LedgerView, ledger_view

__all__ = [
    "CELL_STATES",
    "DemoMethod",
    "DemoResult",
    "Entry",
    "Ledger",
    "LedgerView",
    "MatrixSample",
    "Paper",
    "Reason",
    "Verdict",
    "audit_page",
    "build_ledger",
    "demo_page",
    "ledger_markdown",
    "ledger_page",
    "ledger_view",
    "load_papers",
    "load_reasons",
    "review_page",
    "write_audit_page",
    "write_demo_page",
    "write_ledger_markdown",
    "write_ledger_page",
]
