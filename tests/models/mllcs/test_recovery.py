"""What is planted in generated data is found again."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit, ndtri
from sklearn.metrics import roc_auc_score

from labelgap import Labels, State
from labelgap.fitting import EM, OnlineEM
from labelgap.generators import make_positive_only
from models.mllcs.problems import fitted, mean_auc, quick, unseen_problem

LONGER = EM(30, 0.0, solver="exact")


def external(**options):
    return unseen_problem(300, 24, n_factors=3, **options)


# counts drawn from the model are those of a directional corpus
@pytest.mark.filterwarnings("ignore:the counts of the seen labels are not symmetric")
@pytest.mark.parametrize(
    ("counts", "settings"),
    [
        ("rows", {"unseen": "moments"}),
        ("rows", {"unseen": "constrained"}),
        ("rows", {"unseen": "linear", "count_weight": 1.0}),
        ("rows", {"unseen": "kernel", "count_weight": 1.0}),
        ("model", {"unseen": "linear", "count_weight": 1.0}),
        ("model", {"unseen": "linear", "count_weight": 1.0, "joint": True}),
        ("model", {"unseen": "linear", "count_weight": 0.0}),
    ],
)
def test_unseen_labels_are_found_from_their_counts_alone(counts, settings):
    p = external(counts=counts)
    unseen = slice(p.n_seen, None)
    truth = p.new_probabilities[:, unseen]
    model = fitted(p, n_factors=3, inference=LONGER, **settings)
    found = model.predict_proba(p.X_new, labels="unseen")
    assert mean_auc(truth, found) > 0.8  # a prior has 0.5
    correlations = [np.corrcoef(a, b)[0, 1] for a, b in zip(truth.T, found.T, strict=True)]
    assert np.median(correlations) > 0.7


@pytest.mark.parametrize("unseen", ["moments", "constrained", "linear", "kernel"])
def test_counts_of_another_label_are_worth_nothing(unseen):
    """The check above fails when columns of counts change places."""
    p = external()
    values = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        table = p.cooccurrence.copy()
        table[:, p.n_seen :] = rng.permutation(table[:, p.n_seen :], axis=1)
        model = fitted(p._replace(cooccurrence=table), n_factors=3, unseen=unseen)
        found = model.predict_proba(p.X_new, labels="unseen")
        values.append(mean_auc(p.new_probabilities[:, p.n_seen :], found))
    assert np.mean(values) < 0.65


def test_seen_labels_are_found_and_gaps_do_not_hurt():
    p = external()
    truth = p.new_probabilities[:, : p.n_seen]
    Y = p.seen.to_dense()
    Y[np.random.default_rng(0).random(Y.shape) < 0.3] = np.nan
    settings = {"n_factors": 3, "inference": LONGER}
    for labels in (p.seen, Labels.from_dense(Y)):
        model = quick(**settings).fit(p.X, labels, cooccurrence=p.cooccurrence)
        assert mean_auc(truth, model.predict_proba(p.X_new, labels="seen")) > 0.9


def test_online_em_comes_close_to_em():
    p = external()
    truth = p.new_probabilities[:, : p.n_seen]
    values = [
        mean_auc(
            truth,
            fitted(p, n_factors=3, inference=inference).predict_proba(p.X_new, labels="seen"),
        )
        for inference in (LONGER, OnlineEM(50, 6))
    ]
    assert values[1] > values[0] - 0.02


# -- how sure -------------------------------------------------------------------------------------


def test_intervals_contain_the_probability_and_widen_with_the_level():
    p = unseen_problem()
    model = fitted()
    found = model.predict_proba(p.X_new)
    previous = None
    for level in (0.1, 0.5, 0.9, 0.99):
        interval = model.predict_interval(p.X_new, level)
        assert (interval.lower < found).all()
        assert (found < interval.upper).all()
        assert (interval.lower > 0).all()
        assert (interval.upper < 1).all()
        if previous is not None:
            assert (interval.lower < previous.lower).all()
            assert (interval.upper > previous.upper).all()
        previous = interval
    seen = model.predict_interval(p.X_new, 0.99, labels="seen")
    np.testing.assert_array_equal(seen.lower, previous.lower[:, : p.n_seen])


def test_counts_leave_more_open_than_rows_do():
    """The variance of psi beyond that of the rows' factors, which is ||v||^2 / lambda_u."""
    p = external()
    model = fitted(p, n_factors=3, inference=LONGER)
    interval = model.predict_interval(p.X_new, 0.9)
    half = (logit(interval.upper) - logit(interval.lower)) / 2 / ndtri(0.95)
    beyond = half**2 - np.square(model.label_factors_).sum(axis=1) / model.lambda_u
    assert (beyond > 0).all()
    assert np.median(beyond[:, p.n_seen :]) > 2 * np.median(beyond[:, : p.n_seen])
    np.testing.assert_allclose(beyond[:, p.n_seen :], model.rule_error_**2, rtol=1e-6)


def test_coverage_is_sane():
    """Of the true probabilities, most lie within; and the intervals say something."""
    p = external()
    model = fitted(p, n_factors=3, inference=LONGER)
    for labels, columns in (("seen", slice(p.n_seen)), ("unseen", slice(p.n_seen, None))):
        interval = model.predict_interval(p.X_new, 0.9, labels=labels)
        truth = p.new_probabilities[:, columns]
        inside = (interval.lower <= truth) & (truth <= interval.upper)
        assert 0.5 < inside.mean() <= 1, labels
        assert np.median(interval.upper - interval.lower) < 0.9, labels


@pytest.mark.parametrize("level", [0, 1, -0.2, 90])
def test_levels_are_probabilities(level):
    with pytest.raises(ValueError, match="level="):
        fitted().predict_interval(unseen_problem().X_new, level)


# -- zeros that nobody looked at ------------------------------------------------------------------


@pytest.fixture(scope="module")
def positive_only():
    return make_positive_only(
        400, 4, 8, n_factors=2, n_relevant=4, density=0.35, label_frequency=0.6, random_state=3
    )


@pytest.mark.parametrize("label_frequency", [0.6, "estimate"])
def test_forgotten_positives_are_ranked_above_true_zeros(positive_only, label_frequency):
    drawn = positive_only
    model = quick(label_frequency=label_frequency, inference=LONGER).fit(
        drawn.X, drawn.hidden.labels
    )
    found = model.missing_label_proba(drawn.X, drawn.hidden.labels)
    states = drawn.hidden.labels.states()
    np.testing.assert_array_equal(np.isnan(found), states != State.UNLABELED)
    zeros = states == State.UNLABELED
    was_relevant = drawn.full.states()[zeros] == State.RELEVANT
    assert 0.05 < was_relevant.mean() < 0.5
    assert roc_auc_score(was_relevant, found[zeros]) > 0.75
    # and are about as many as it says
    assert found[zeros].mean() == pytest.approx(was_relevant.mean(), abs=0.12)


def test_label_frequency_lifts_probabilities_towards_the_truth(positive_only):
    drawn = positive_only
    truth = drawn.parameters["probabilities"]
    recorded = drawn.hidden.labels
    off = [
        np.abs(
            quick(label_frequency=label_frequency, inference=LONGER)
            .fit(drawn.X, recorded)
            .predict_proba(drawn.X)
            .mean()
            - truth.mean()
        )
        for label_frequency in (None, 0.6)
    ]
    assert off[1] < 0.5 * off[0]


def test_plain_zeros_are_unlabeled_when_label_frequency_is_modelled(positive_only):
    drawn = positive_only
    recorded = drawn.hidden.labels
    plain = np.asarray(recorded)
    models = [quick(label_frequency=0.6).fit(drawn.X, Y) for Y in (recorded, plain)]
    found = [model.missing_label_proba(drawn.X, Y) for model in models for Y in (recorded, plain)]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    psi = models[0].decision_function(drawn.X)
    zeros = recorded.states() == State.UNLABELED
    expected = 0.4 * expit(psi) / (1 - 0.6 * expit(psi))
    np.testing.assert_allclose(found[0][zeros], expected[zeros])


def test_missing_labels_need_label_frequency_and_the_right_columns(positive_only):
    p = unseen_problem()
    with pytest.raises(ValueError, match="label_frequency='estimate'"):
        fitted().missing_label_proba(p.X, p.seen)
    model = fitted(label_frequency="estimate")
    recorded = p.seen.with_zeros("unlabeled")
    of_all = p.full.with_zeros("unlabeled").with_unseen(np.arange(p.n_seen, p.n_labels))
    np.testing.assert_array_equal(
        model.missing_label_proba(p.X, recorded), model.missing_label_proba(p.X, of_all)
    )
    with pytest.raises(ValueError, match="Y has 3 columns"):
        model.missing_label_proba(p.X, recorded[:, :3])
