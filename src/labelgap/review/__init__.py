"""People look at what is probably missing: a queue of questions, a store of answers, a page.

`Review` asks the question whose answer is expected to gain most, keeps every answer in an SQLite
file, and learns between batches; `ReviewServer` shows it to the browsers of this machine.
"""

from labelgap.review._candidates import Candidates, candidates_of, item_traits
from labelgap.review._posterior import Posterior, learn
from labelgap.review._progress import Dispute, Progress, remaining_gaps
from labelgap.review._queue import choose_batch
from labelgap.review._rescoring import Rescorer
from labelgap.review._server import ReviewServer
from labelgap.review._session import Question, Review, UnknownEntryError
from labelgap.review._store import DECISIONS, DecisionStore, ForeignReviewError, Kept

__all__ = [
    "DECISIONS",
    "Candidates",
    "DecisionStore",
    "Dispute",
    "ForeignReviewError",
    "Kept",
    "Posterior",
    "Progress",
    "Question",
    "Rescorer",
    "Review",
    "ReviewServer",
    "UnknownEntryError",
    "candidates_of",
    "choose_batch",
    "item_traits",
    "learn",
    "remaining_gaps",
]
