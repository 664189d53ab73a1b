"""Training of several networks at once, each of which leaves out other rows to stop in time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from labelgap import losses
from labelgap.fitting import Progress
from labelgap.networks._batched_networks import BatchedNetworks, SparseRows, as_input

# dense targets of some rows, for all networks or for each: 1, 0, probabilities, NaN where unknown
Targets = Callable[[np.ndarray], np.ndarray]

_LEAST_GAIN = 1e-5
_LEAST_PATIENCE = 5
# factors of logits to choose among
_SCALES = (1.0, 0.85, 0.7, 0.6, 0.5)
# numbers that may lie on the device, of each network
_MOST_TARGETS = 100_000_000
# linear weights between labels: few, and sure where they are large
_LABEL_RATE, _LABEL_DECAY = 3.0, 0.1


class TrainingTargets(NamedTuple):
    """What is learned, and the observed entries by which training stops in time.

    ``label_frequency`` is the probability with which a relevant label is recorded as observed.
    """

    learned: Targets
    observed: Targets
    label_frequency: Any = 1.0


@dataclass(frozen=True)
class TrainingSettings:
    """How to train; see :class:`labelgap.LabelNet`."""

    learning_rate: float
    weight_decay: float
    dropout: float
    batch_size: int
    max_iter: int
    n_iter_no_change: int | str
    loss: Callable[[Tensor, Tensor], Tensor]


class TrainedNetworks(NamedTuple):
    """Networks at their best epochs, what they say of rows they left out, whether they were stopped.

    ``logit_scales`` makes their probabilities right: networks rank best when they are overconfident.
    """

    state: dict[str, np.ndarray]
    best_epochs: np.ndarray
    validation_losses: np.ndarray
    logit_scales: np.ndarray
    out_of_fold: np.ndarray
    stopped: bool


def known_codes(targets: Tensor, known: Tensor, prevalence: Tensor) -> Tensor:
    """Codes of known labels, zero where unknown: their deviation from the prevalence, and ones."""
    values = torch.where(known, targets, torch.zeros_like(targets))
    return torch.cat([known * (values - prevalence), values], dim=1)


def train(
    state: dict[str, np.ndarray],
    X: Any,
    targets: TrainingTargets,
    folds: np.ndarray,
    prevalence: np.ndarray,
    settings: TrainingSettings,
    seed: int,
    device: Any,
    callback: Callable[[Progress], bool | None] | None,
) -> TrainedNetworks:
    """Train until no network gets better on the rows of its fold, and return each at its best.

    ``folds`` says for every row which network leaves it out, -1 for none: then all networks are
    trained on all rows for ``max_iter`` epochs.
    """
    networks = BatchedNetworks(state, device)
    run = _TrainingRun(networks, targets, X.shape[0], prevalence, settings, seed)
    n_networks = state["V"].shape[0]
    best = np.full(n_networks, np.inf)
    best_epochs, scales = np.zeros(n_networks, dtype=int), np.ones(n_networks)
    states: list[dict[str, Tensor] | None] = [None] * n_networks
    out_of_fold = np.full((X.shape[0], prevalence.size), np.nan, dtype=np.float32)
    held_out = [np.flatnonzero(folds == k) for k in range(n_networks)]
    stops = all(rows.size for rows in held_out)
    begin = time.perf_counter()
    for epoch in range(settings.max_iter):
        objective = run.epoch(X, folds)
        if stops:
            for k, rows in enumerate(held_out):
                loss, scale = run.validation(k, X, rows)
                if loss < best[k] - _LEAST_GAIN:
                    best[k], best_epochs[k], scales[k] = loss, epoch, scale
                    states[k] = networks.network_state(k)
            objective = -float(best.mean())
        progress = Progress(epoch, settings.max_iter, objective, time.perf_counter() - begin)
        stopped = callback is not None and bool(callback(progress))
        if stopped:
            break
        patience: Any = settings.n_iter_no_change
        if isinstance(patience, str):
            patience = np.maximum(_LEAST_PATIENCE, best_epochs // 2)
        if stops and (epoch - best_epochs > patience).all():
            break
    for k, kept in enumerate(states):
        if kept is not None:
            networks.restore(k, kept)
            out_of_fold[held_out[k]] = run.held_out_probabilities(k, scales[k])
    if not stops:
        best_epochs[:] = epoch
    return TrainedNetworks(networks.to_numpy(), best_epochs, best, scales, out_of_fold, stopped)


def continue_training(
    state: dict[str, np.ndarray],
    X: Any,
    targets: Targets,
    prevalence: np.ndarray,
    settings: TrainingSettings,
    seed: int,
    device: Any,
) -> dict[str, np.ndarray]:
    """Train all networks for one epoch on further rows."""
    networks = BatchedNetworks(state, device)
    taught = TrainingTargets(targets, targets)
    run = _TrainingRun(networks, taught, X.shape[0], prevalence, settings, seed)
    run.epoch(X, np.full(X.shape[0], -1))
    return networks.to_numpy()


class _TrainingRun:
    """An optimiser, its randomness, and the passes over the rows."""

    def __init__(
        self,
        networks: BatchedNetworks,
        targets: TrainingTargets,
        n_samples: int,
        prevalence: np.ndarray,
        settings: TrainingSettings,
        seed: int,
    ) -> None:
        self.networks, self.settings, self.device = networks, settings, networks.device
        place = (n_samples, prevalence.size, self.device)
        self.observed = _on_device(targets.observed, *place)
        self.learned = self.observed
        if targets.learned is not targets.observed:
            self.learned = _on_device(targets.learned, *place)
        self.held_out: dict[int, tuple] = {}
        self.frequency = torch.as_tensor(
            np.asarray(targets.label_frequency, dtype=np.float32), device=self.device
        )
        self.rng = np.random.default_rng(seed)
        self.generator = torch.Generator(device=self.device).manual_seed(seed)
        self.prevalence = torch.as_tensor(prevalence.astype(np.float32), device=self.device)
        parameters = networks.parameters
        own = parameters.pop("A", None)
        groups: list[dict] = [{"params": list(parameters.values())}]
        if own is not None:
            rate = _LABEL_RATE * settings.learning_rate
            groups.append({"params": [own], "lr": rate, "weight_decay": _LABEL_DECAY})
        self.optimiser = torch.optim.AdamW(
            groups, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True
        )

    def epoch(self, X: Any, folds: np.ndarray) -> float:
        """One pass over all rows; returns minus the mean training loss."""
        order = self.rng.permutation(X.shape[0])
        n_batches = max(1, round(order.size / self.settings.batch_size))
        total: Any = 0.0
        for rows in np.array_split(order, n_batches):
            total = total + self._step(X, np.sort(rows), folds)
        return -float(total) / n_batches

    def _step(self, X: Any, rows: np.ndarray, folds: np.ndarray) -> Tensor:
        codes, hidden = None, self.learned(rows)
        if "A" in self.networks.values:
            y = self.observed(rows)
            codes, given = self._random_codes(y)
            hidden = torch.where(given, torch.nan, hidden)  # what is given is not to be predicted
        z = self.networks.logits(
            as_input(X[rows], self.device),
            codes,
            dropout=self.settings.dropout,
            generator=self.generator,
        )
        n_networks = z.shape[0]
        taught = torch.as_tensor(
            folds[rows][None] != np.arange(n_networks)[:, None], device=self.device
        )
        # size selection trains one network with the targets of the first
        hidden = hidden[:n_networks] if hidden.ndim == 3 else hidden
        wanted = taught[:, :, None] & ~hidden.isnan()
        losses_of_entries = self.settings.loss(z, hidden.expand_as(z)) * wanted
        loss = (losses_of_entries.sum((1, 2)) / wanted.sum((1, 2)).clamp(min=1)).sum()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return loss.detach() / n_networks

    def _random_codes(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """Codes of a random part of the observed labels in half of the rows, and which they are."""
        shape, where = (y.shape[0], 1), {"generator": self.generator, "device": y.device}
        fraction = torch.rand(shape, **where) * (torch.rand(shape, **where) < 0.5)
        known = (torch.rand(y.shape, **where) < fraction) & ~y.isnan()
        return known_codes(y, known, self.prevalence), known

    def held_out_probabilities(self, k: int, scale: float) -> np.ndarray:
        """Return what one network says of the rows it has not seen."""
        with torch.no_grad():
            z = self._logits_of(k, self.held_out[k][0], None)
            return torch.sigmoid(float(scale) * z).cpu().numpy()

    def validation(self, k: int, X: Any, rows: np.ndarray) -> tuple[float, float]:
        """Log-loss of one network at the observed entries of rows it has not seen, and its scale.

        The logits are multiplied by what makes the loss least: a network that is overconfident may
        still be the one that ranks best. Where labels can be given, the loss is the mean of that
        with none given and that with half of them.
        """
        with torch.no_grad():
            if k not in self.held_out:
                self.held_out[k] = as_input(X[rows], self.device), self.observed(rows)
            x, y = self.held_out[k]
            z = self._logits_of(k, x, None)
            losses_of_scales = [self._mean_loss(scale * z, y) for scale in _SCALES]
            best = int(np.argmin(losses_of_scales))
            loss, scale = losses_of_scales[best], _SCALES[best]
            if "A" in self.networks.values:
                half = np.random.default_rng(k).random(y.shape) < 0.5
                known = torch.as_tensor(half, device=y.device) & ~y.isnan()
                z_known = self._logits_of(k, x, known_codes(y, known, self.prevalence))
                rest = torch.where(known, torch.nan, y)
                loss = (loss + self._mean_loss(scale * z_known, rest)) / 2
        return loss, scale

    def _logits_of(self, k: int, x: Tensor | SparseRows, codes: Tensor | None) -> Tensor:
        """Logits of one network alone."""
        own = BatchedNetworks.__new__(BatchedNetworks)
        own.device, own.values = self.device, {}
        for name, part in self.networks._parts(k):
            own.values[name] = part if name in ("W1", "C1") else part[None]
        return own.logits(x, codes)[0]

    def _mean_loss(self, z: Tensor, y: Tensor) -> float:
        if bool((self.frequency < 1).any()):
            recorded = (self.frequency * torch.sigmoid(z)).clamp(_LEAST_GAIN, 1 - _LEAST_GAIN)
            z = torch.logit(recorded)
        return float(losses.bce(z, y).sum() / losses.n_observed(y))


def _on_device(targets: Targets, n_samples: int, n_labels: int, device: Any) -> Callable:
    """Return a function of rows that gives their targets on the device, where they lie if they can."""

    def moved(rows: np.ndarray) -> Tensor:
        return torch.as_tensor(targets(rows).astype(np.float32), device=device)

    if n_samples * n_labels > _MOST_TARGETS:
        return moved
    every = moved(np.arange(n_samples))
    return lambda rows: every[..., torch.as_tensor(rows, device=device), :]
