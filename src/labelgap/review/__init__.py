"""Reviews of probably missing labels: a queue of questions, a store of answers, a page.

`Review` asks the question whose answer is expected to gain most, keeps every answer in an SQLite
file, and learns between batches; `ReviewServer` shows it to the browsers of this machine. Some or all
questions can be drawn at random, to estimate what is missing or to certify what was found.
"""

from labelgap.review._answer_model import ReviewCandidates, item_traits, review_candidates
from labelgap.review._decision_store import (
    DECISIONS,
    DecisionStore,
    ForeignReviewError,
    RandomDraw,
    RequestReusedError,
    StoredDecision,
    is_decision_store,
)
from labelgap.review._random_part import Population, RandomPart, ReviewCertificate
from labelgap.review._review_server import ReviewServer
from labelgap.review._review_session import (
    ItemLabel,
    Question,
    Review,
    ReviewProgress,
    UnknownEntryError,
)
from labelgap.review._review_tally import Disagreement, ReviewerAgreement, ReviewTally

__all__ = [
    "DECISIONS",
    "DecisionStore",
    "Disagreement",
    "ForeignReviewError",
    "ItemLabel",
    "Population",
    "Question",
    "RandomDraw",
    "RandomPart",
    "RequestReusedError",
    "Review",
    "ReviewCandidates",
    "ReviewCertificate",
    "ReviewProgress",
    "ReviewServer",
    "ReviewTally",
    "ReviewerAgreement",
    "StoredDecision",
    "UnknownEntryError",
    "is_decision_store",
    "item_traits",
    "review_candidates",
]
