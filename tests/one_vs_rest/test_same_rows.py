import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from labelgap import Labels
from labelgap.one_vs_rest import same_rows


def test_groups_of_a_small_matrix():
    hidden = np.array([[0, 1, 0, 1], [0, 0, 0, 0], [0, 0, 1, 0]], dtype=bool)
    labels = Labels.from_dense(np.where(hidden, np.nan, 1.0))
    groups = list(same_rows(labels, np.arange(4)))
    assert [group for _, group in groups] == [[0], [1, 3], [2]]
    assert groups[0][0] is None
    np.testing.assert_array_equal(groups[1][0], [1, 2])
    np.testing.assert_array_equal(groups[2][0], [0, 1])


@pytest.mark.filterwarnings("ignore::labelgap.LabelWarning")
@given(
    hidden=hnp.arrays(bool, st.tuples(st.integers(1, 5), st.integers(1, 6))),
    implicit=st.sampled_from(["unknown", "negative"]),
)
def test_groups_partition_the_labels_by_their_mask(hidden, implicit):
    labels = Labels.from_dense(np.where(hidden, np.nan, 0.0)).with_implicit(implicit)
    seen = []
    masks = set()
    for rows, group in same_rows(labels, np.arange(labels.n_labels)):
        mask = np.ones(len(hidden), dtype=bool)
        if rows is not None:
            mask[:] = False
            mask[rows] = True
        for label in group:
            np.testing.assert_array_equal(mask, ~hidden[:, label])
        seen += group
        masks.add(mask.tobytes())
    assert sorted(seen) == list(range(labels.n_labels))
    assert len(masks) == len({column.tobytes() for column in ~hidden.T})
