"""The label frequency of the most confident entries, and calibrated probabilities of missing labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from labelgap import GMFS
from labelgap.fitting import EM
from labelgap.models.gmfs._gmfs_holdout import GMFSCalibration
from labelgap.propensity import fit_slope
from models.gmfs.problems import planted, quick


@pytest.fixture(scope="module")
def rare():
    """Labels of 6% of the rows, of which 60% were recorded."""
    return planted(1200, 20, 12, rate=0.6, density=0.06, seed=1)


@pytest.fixture(scope="module")
def fits(rare):
    settings = {
        "label_frequency": "most_confident",
        "random_state": 0,
        "inference": EM(15, 0.0, solver="exact"),
    }
    return {
        calibrate: GMFS(6, calibrate=calibrate, **settings).fit(rare.X, rare.labels)
        for calibrate in (False, True)
    }


def test_rate_of_rare_labels_is_near_the_true_one(fits):
    fraction = fits[True].most_confident_fraction_
    assert fraction.low < 0.6 < fraction.high + 0.03
    assert fits[True].propensity_ == pytest.approx(0.6, abs=0.12)


def test_calibration_keeps_fit_and_order(fits):
    plain, calibrated = fits[False], fits[True]
    np.testing.assert_array_equal(plain.scores_, calibrated.scores_)
    before, after = plain.missing_label_proba(), calibrated.missing_label_proba()
    asked = ~np.isnan(before)
    order = np.argsort(before[asked], kind="stable")
    assert (np.diff(after[asked][order]) >= 0).all()
    shift, slope = calibrated.calibration_
    np.testing.assert_allclose(
        logit(after[asked]), shift + slope * logit(before[asked]), rtol=1e-6, atol=1e-6
    )
    found = calibrated.likely_missing(top=20)
    np.testing.assert_allclose(found.probability, after[found.rows, found.columns])


def test_as_many_are_expected_as_the_rate_says(fits, rare):
    rate = fits[True]._confident.label_frequency
    wanted = (1 - rate) / rate * rare.labels.n_positives()
    assert np.nansum(fits[True].missing_label_proba()) == pytest.approx(wanted, rel=1e-2)


def test_calibrated_probabilities_are_better(fits, rare):
    truth = rare.full.to_dense() == 1

    def log_loss(model):
        chance = model.missing_label_proba()
        asked = ~np.isnan(chance)
        return -np.log(np.where(truth[asked], chance[asked], 1 - chance[asked])).mean()

    assert log_loss(fits[True]) < 0.9 * log_loss(fits[False])


@pytest.mark.parametrize("given", [{"propensity": "per_label"}, {"propensity": "fixed"}])
def test_calibration_of_given_rates_changes_nothing_else(given):
    data = planted()
    settings = {"inference": EM(5, 0.0, solver="exact"), **given}
    plain, calibrated = (
        quick(**settings, calibrate=c).fit(data.X, data.labels) for c in (False, True)
    )
    np.testing.assert_array_equal(plain.scores_, calibrated.scores_)
    assert plain.calibration_ == (0.0, 1.0)
    assert plain.most_confident_fraction_ is None
    assert calibrated.calibration_.slope > 1


def test_mixtures_are_calibrated_too():
    data = planted()
    settings = {"n_components": 2, "inference": EM(3, 0.0), "calibrate": True}
    model = quick(**settings).fit(data.X, data.labels)
    rate = model._confident.label_frequency
    wanted = (1 - rate) / rate * data.labels.n_positives()
    assert np.nansum(model.missing_label_proba()) == pytest.approx(wanted, rel=1e-2)


def test_nothing_to_read():
    """Known labels, and fewer entries than a fraction is read from."""
    data = planted()
    model = quick(label_frequency="most_confident", calibrate=True, inference=EM(2, 0.0)).fit(
        data.X, data.full
    )
    assert model.most_confident_fraction_ is None
    assert model.calibration_ == GMFSCalibration()
    few = quick(n_factors=1, label_frequency="most_confident", inference=EM(2, 0.0))
    few.fit(data.X[:20], data.labels[:20, :2])
    assert few.most_confident_fraction_ is None


@pytest.mark.parametrize("slope", [0.5, 1.0, 3.0])
def test_slope_is_found(slope):
    rng = np.random.default_rng(0)
    psi = rng.normal(scale=2, size=40_000)
    hits = rng.random(psi.size) < 0.6 * expit(-1 + slope * psi)
    assert fit_slope(psi, hits, 0.6) == pytest.approx(slope, rel=0.1)
