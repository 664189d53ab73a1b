"""Losses for networks that learn from labels with gaps, as functions of torch tensors.

Every loss takes logits and targets of the same shape and returns one number per entry. A target is
1, 0 or, for pseudo-labels, a probability between; NaN is an unknown entry, whose loss is 0. The losses
for unlabeled zeros read a 0 as "not recorded". Average over the observed entries:

    loss = losses.hill(logits, targets)
    loss.sum() / losses.n_observed(targets)

References
----------
Zhang, Y., et al. (2021). Simple and robust loss design for multi-label learning with missing labels.
(Hill, SPLC)
Kim, Y., et al. (2022). Large loss matters in weakly supervised multi-label classification. CVPR.
Cole, E., et al. (2021). Multi-label learning from single positive labels. CVPR. (assume negative, EM)
Chen, Y., et al. (2024). Boosting single positive multi-label classification with generalized
robust loss. IJCAI.
Jain, H., Prabhu, Y., Varma, M. (2016). Extreme multi-label loss functions. KDD. (propensity)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labelgap.extras import require

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "assume_negative",
    "bce",
    "expected_positives",
    "generalized_robust",
    "hill",
    "large_loss_rejection",
    "n_observed",
    "propensity_weighted",
    "splc",
]


def _torch() -> Any:
    return require("torch", extra="networks", purpose="labelgap.losses")


def n_observed(targets: Tensor) -> Tensor:
    """Return the number of observed entries, at least 1.

    Examples
    --------
    >>> import torch
    >>> from labelgap import losses
    >>> int(losses.n_observed(torch.tensor([[1.0, float("nan")]])))
    1
    """
    return (~targets.isnan()).sum().clamp(min=1)


def bce(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the log-loss of the observed entries, 0 where the target is NaN.

    Examples
    --------
    >>> import torch
    >>> from labelgap import losses
    >>> targets = torch.tensor([[1.0, float("nan")]])
    >>> losses.bce(torch.zeros(1, 2), targets).numpy().round(3)
    array([[0.693, 0.   ]], dtype=float32)
    """
    torch = _torch()
    known = ~targets.isnan()
    values = torch.where(known, targets, torch.zeros_like(targets))
    loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, values, reduction="none")
    return loss * known


def assume_negative(logits: Tensor, targets: Tensor, *, smoothing: float = 0.1) -> Tensor:
    """Return the log-loss with targets drawn towards 1/2: a recorded zero may be wrong.

    Parameters
    ----------
    logits, targets : tensors of the same shape
    smoothing : float, default=0.1
        Targets become ``(1 - smoothing) * target + smoothing / 2``.

    Examples
    --------
    >>> import torch
    >>> from labelgap import losses
    >>> logits, targets = torch.tensor([[0.0, 2.0]]), torch.tensor([[1.0, 0.0]])
    >>> losses.assume_negative(logits, targets).numpy().round(2)
    array([[0.69, 2.03]], dtype=float32)
    """
    return bce(logits, (1 - smoothing) * targets + smoothing / 2)


def expected_positives(
    logits: Tensor, targets: Tensor, *, label_frequency: float | Tensor
) -> Tensor:
    """Return the log-loss with every zero replaced by its posterior (an EM step).

    With c the label frequency and p the network's own probability of relevance,
    ``P(relevant | not recorded) = (1 - c) p / (1 - c p)``; no gradient flows through it.

    Parameters
    ----------
    logits, targets : tensors of the same shape
    label_frequency : float or tensor of shape (n_labels,)
        P(recorded | relevant).

    Examples
    --------
    >>> import torch
    >>> from labelgap import losses
    >>> logits, targets = torch.tensor([[0.0, 2.0]]), torch.tensor([[1.0, 0.0]])
    >>> losses.expected_positives(logits, targets, label_frequency=0.5).numpy().round(2)
    array([[0.69, 0.55]], dtype=float32)
    """
    posterior = _posterior(logits, label_frequency)
    return bce(logits, _torch().where(targets == 0, posterior, targets))


def _posterior(logits: Tensor, label_frequency: float | Tensor) -> Tensor:
    """P(relevant | not recorded), without gradient; finite also for p = label_frequency = 1."""
    p = _torch().sigmoid(logits.detach())
    return (1 - label_frequency) * p / (1 - label_frequency * p).clamp(min=1e-12)


def large_loss_rejection(
    logits: Tensor, targets: Tensor, *, fraction: float = 0.02, correct: bool = False
) -> Tensor:
    """Return the log-loss without the largest losses of zeros, which are missing labels first.

    Parameters
    ----------
    logits, targets : tensors of the same shape
    fraction : float, default=0.02
        Of the zeros in the batch that are left out; raise it from epoch to epoch.
    correct : bool, default=False
        Whether these zeros become ones in place of being left out.

    Examples
    --------
    >>> import torch
    >>> from labelgap import losses
    >>> logits, targets = torch.tensor([[0.0, 2.0]]), torch.tensor([[1.0, 0.0]])
    >>> losses.large_loss_rejection(logits, targets, fraction=1.0).numpy().round(2)
    array([[0.69, 0.  ]], dtype=float32)
    """
    torch = _torch()
    loss = bce(logits, targets)
    zeros = targets == 0
    n_rejected = int(fraction * int(zeros.sum()))
    if not n_rejected:
        return loss
    least = torch.topk(loss.detach()[zeros], n_rejected).values[-1]
    rejected = zeros & (loss.detach() >= least)
    if correct:
        return torch.where(rejected, bce(logits, torch.ones_like(targets)), loss)
    return torch.where(rejected, torch.zeros_like(loss), loss)


def hill(logits: Tensor, targets: Tensor, *, margin: float = 1.0, weight: float = 1.5) -> Tensor:
    """Return the Hill loss, whose penalty of a zero falls again where the network is confident.

    A zero costs ``(weight - p) p^2``, with the gradient turning back near p = 1; a one has the focal
    log-loss of its logit less ``margin``.

    Parameters
    ----------
    logits, targets : tensors of the same shape
    margin : float, default=1.0
    weight : float, default=1.5

    Examples
    --------
    >>> import torch
    >>> from labelgap import losses
    >>> logits, targets = torch.tensor([[0.0, 2.0]]), torch.tensor([[1.0, 0.0]])
    >>> losses.hill(logits, targets).numpy().round(2)
    array([[0.7 , 0.48]], dtype=float32)
    """
    torch = _torch()
    p = torch.sigmoid(logits)
    shifted = logits - margin
    positive = (1 - torch.sigmoid(shifted)) ** 2 * bce(shifted, torch.ones_like(logits))
    negative = (weight - p) * p**2
    known = ~targets.isnan()
    values = torch.where(known, targets, torch.zeros_like(targets))
    return known * (values * positive + (1 - values) * negative)


def splc(logits: Tensor, targets: Tensor, *, threshold: float = 0.6, margin: float = 1.0) -> Tensor:
    """Return the self-paced loss: zeros that the network takes for ones count as ones.

    Parameters
    ----------
    logits, targets : tensors of the same shape
    threshold : float, default=0.6
        Zeros with a larger probability become ones. Use :func:`bce` for a first epoch.
    margin : float, default=1.0
        Taken from the logit of a one.

    Examples
    --------
    >>> import torch
    >>> from labelgap import losses
    >>> logits, targets = torch.tensor([[0.0, 2.0]]), torch.tensor([[1.0, 0.0]])
    >>> losses.splc(logits, targets).numpy().round(2)
    array([[1.31, 0.31]], dtype=float32)
    """
    torch = _torch()
    confident = (targets == 0) & (torch.sigmoid(logits).detach() > threshold)
    corrected = torch.where(confident, torch.ones_like(targets), targets)
    return bce(torch.where(corrected == 1, logits - margin, logits), corrected)


def generalized_robust(
    logits: Tensor,
    targets: Tensor,
    *,
    label_frequency: float | Tensor,
    q_positive: float = 0.1,
    q_negative: float = 0.7,
) -> Tensor:
    """Return the robust loss of soft pseudo-labels: log-loss for q = 0, absolute error for q = 1.

    A zero counts as a one with the posterior k of :func:`expected_positives` and as a zero with
    1 - k, each by ``(1 - p^q) / q``, which bounds the loss of entries whose label is wrong.

    Parameters
    ----------
    logits, targets : tensors of the same shape
    label_frequency : float or tensor of shape (n_labels,)
        P(recorded | relevant).
    q_positive : float, default=0.1
    q_negative : float, default=0.7

    Examples
    --------
    >>> import torch
    >>> from labelgap import losses
    >>> logits, targets = torch.tensor([[0.0, 2.0]]), torch.tensor([[1.0, 0.0]])
    >>> losses.generalized_robust(logits, targets, label_frequency=0.5).numpy().round(2)
    array([[0.67, 0.33]], dtype=float32)
    """
    torch = _torch()
    p = torch.sigmoid(logits).clamp(1e-6, 1 - 1e-6)
    known = ~targets.isnan()
    values = torch.where(known, targets, torch.zeros_like(targets))
    k = torch.where(values == 0, _posterior(logits, label_frequency), values)
    return known * (k * _power_loss(p, q_positive) + (1 - k) * _power_loss(1 - p, q_negative))


def _power_loss(p: Tensor, q: float) -> Tensor:
    return (1 - p**q) / q if q else -p.log()


def propensity_weighted(
    logits: Tensor, targets: Tensor, *, propensity: float | Tensor, unbiased: bool = False
) -> Tensor:
    """Return the log-loss in which a recorded one stands for 1 / propensity relevant entries.

    The unbiased loss of a recorded one is ``bce(1) / e - (1 / e - 1) bce(0)``, of a zero ``bce(0)``;
    it may be negative. Without ``unbiased`` the second term is left out, which keeps it positive.

    Parameters
    ----------
    logits, targets : tensors of the same shape
    propensity : float or tensor that broadcasts to the targets
        P(recorded | relevant), in (0, 1].
    unbiased : bool, default=False

    Examples
    --------
    >>> import torch
    >>> from labelgap import losses
    >>> logits, targets = torch.tensor([[0.0, 2.0]]), torch.tensor([[1.0, 0.0]])
    >>> losses.propensity_weighted(logits, targets, propensity=0.5).numpy().round(2)
    array([[1.39, 2.13]], dtype=float32)
    """
    torch = _torch()
    loss = bce(logits, targets)
    weighted = loss / propensity
    if unbiased:
        as_zero = bce(logits, torch.zeros_like(targets))
        weighted = weighted - (1 / propensity - 1) * as_zero
    return torch.where(targets == 1, weighted, loss)
