"""Reviews of probably missing labels: a queue of questions, a store of answers, a page.

`Review` asks the question whose answer is expected to gain most, keeps every answer in an SQLite
file, and learns between batches; `ReviewServer` shows it to the browsers of this machine.
"""

from labelgap.review._answer_model import ReviewCandidates, item_traits, review_candidates
from labelgap.review._decision_store import DECISIONS, DecisionStore, ForeignReviewError
from labelgap.review._review_server import ReviewServer
from labelgap.review._review_session import (
    Disagreement,
    Question,
    Review,
    ReviewProgress,
    UnknownEntryError,
)

__all__ = [
    "DECISIONS",
    "DecisionStore",
    "Disagreement",
    "ForeignReviewError",
    "Question",
    "Review",
    "ReviewCandidates",
    "ReviewProgress",
    "ReviewServer",
    "UnknownEntryError",
    "item_traits",
    "review_candidates",
]
