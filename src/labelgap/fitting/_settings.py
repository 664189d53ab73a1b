"""How to fit: the settings of each loop, as objects that a parameter search can reach into."""

from __future__ import annotations

from typing import Any, Literal

from sklearn.base import BaseEstimator


class EM(BaseEstimator):
    """Batch expectation maximisation.

    Parameters
    ----------
    max_iter : int
    tol : float
        Stop when the objective gains less than ``tol`` times its size; 0 to run ``max_iter``
        iterations on purpose.
    n_init : int
        Starts, of which the best objective is kept.
    solver : {"cg", "exact"}
        Conjugate gradient, or a factorisation per topic, for the linear systems of the M step.
    n_cg : int
        Conjugate-gradient steps per M step.
    """

    def __init__(
        self,
        max_iter: int = 100,
        tol: float = 1e-5,
        *,
        n_init: int = 1,
        solver: Literal["cg", "exact"] = "cg",
        n_cg: int = 2,
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.solver = solver
        self.n_cg = n_cg


class OnlineEM(BaseEstimator):
    """EM over shuffled mini-batches, with the global step after each of them.

    The t-th mini-batch has the weight (t + step_offset)^(-step_power).

    Parameters
    ----------
    batch_rows : int
    n_passes : int
        Passes over all rows.
    step_offset, step_power : float
        Offset of at least 1; power in (0.5, 1] (Cappe and Moulines, 2009).
    n_local : int
        Local steps on a mini-batch before its statistics are used.
    n_cg : int
        Conjugate-gradient steps per mini-batch.
    """

    def __init__(
        self,
        batch_rows: int = 250,
        n_passes: int = 1,
        *,
        step_offset: float = 1.0,
        step_power: float = 0.6,
        n_local: int = 4,
        n_cg: int = 4,
    ) -> None:
        self.batch_rows = batch_rows
        self.n_passes = n_passes
        self.step_offset = step_offset
        self.step_power = step_power
        self.n_local = n_local
        self.n_cg = n_cg

    def step_size(self, step: int) -> float:
        """Weight of a mini-batch; the first one ever takes all."""
        return 1.0 if step == 0 else (step + self.step_offset) ** -self.step_power


class Gibbs(BaseEstimator):
    """Gibbs sampling.

    Parameters
    ----------
    n_samples : int
        Sweeps kept from each chain, after thinning.
    burn_in : int
        Sweeps thrown away at the start of each chain.
    thin : int
        Sweeps per kept sample.
    n_chains : int
    start_iter : int
        EM iterations from a start of its own before each chain.
    solver : {"cg", "exact"}
        How Gaussian conditionals are drawn: a perturbed system solved by conjugate gradient to
        high accuracy, or a factorisation per topic.
    """

    def __init__(
        self,
        n_samples: int = 100,
        burn_in: int = 100,
        *,
        thin: int = 1,
        n_chains: int = 2,
        start_iter: int = 20,
        solver: Literal["cg", "exact"] = "cg",
    ) -> None:
        self.n_samples = n_samples
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.start_iter = start_iter
        self.solver = solver


_DEFAULTS = {"em": EM, "online": OnlineEM, "gibbs": Gibbs}
_LEAST = {"n_local": 1, "n_cg": 1, "n_init": 1, "thin": 1, "n_chains": 1, "n_samples": 1}


def fitting_settings(inference: Any) -> EM | OnlineEM | Gibbs:
    """Settings from a name or an object, checked."""
    if isinstance(inference, str):
        if inference not in _DEFAULTS:
            raise ValueError(f"inference={inference!r}: use 'em', 'online' or 'gibbs'")
        return _DEFAULTS[inference]()
    if not isinstance(inference, (EM, OnlineEM, Gibbs)):
        raise ValueError(f"inference={inference!r}: use a name or EM(), OnlineEM(), Gibbs()")
    given = inference.get_params()
    least = {**_LEAST, "max_iter": 1, "tol": 0, "n_passes": 1, "batch_rows": 1, "burn_in": 0}
    least["start_iter"] = 0
    least |= {"step_offset": 1, "step_power": 0}
    for name, value in given.items():
        if name in least and not value >= least[name]:
            raise ValueError(f"inference: {name}={value!r} must be at least {least[name]}")
    if given.get("solver", "cg") not in ("cg", "exact"):
        raise ValueError(f"inference: solver={given['solver']!r}: use 'cg' or 'exact'")
    return inference
