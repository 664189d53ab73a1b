"""Every published figure with ours beside it, from stored rows."""

from labelgap_papers.reproduction._explanations import Paper, Reason, load_papers, load_reasons
from labelgap_papers.reproduction._page_contents import PageContents, page_contents
from labelgap_papers.reproduction._pages import (
    markdown_pages,
    write_markdown_pages,
)
from labelgap_papers.reproduction._results import Entry, Reproduction, build_reproduction
from labelgap_papers.reproduction._statuses import ReproductionStatus

__all__ = [
    "Entry",
    "PageContents",
    "Paper",
    "Reason",
    "Reproduction",
    "ReproductionStatus",
    "build_reproduction",
    "load_papers",
    "load_reasons",
    "markdown_pages",
    "page_contents",
    "write_markdown_pages",
]
