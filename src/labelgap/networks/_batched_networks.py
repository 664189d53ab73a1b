"""Several networks of one shape, trained as one computation: every parameter has them as an axis.

The input of a network are features x and codes of the labels that are known. With z the logits,

    h_1 = relu(norm(x W_1 + codes C_1)),   h_i = relu(norm(h_{i-1} W_i)),
    z = h_last V + codes A + c.

A gives known labels a linear way to the others, which few rows suffice to learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

_EPSILON = 1e-5
_MOMENTUM = 0.1


class SparseRows(NamedTuple):
    """Rows of features as a bag of weighted feature numbers each."""

    indices: Tensor
    offsets: Tensor
    values: Tensor

    def __matmul__(self, weights: Tensor) -> Tensor:
        return torch.nn.functional.embedding_bag(
            self.indices, weights, self.offsets, mode="sum", per_sample_weights=self.values
        )


def as_input(X: Any, device: Any) -> Tensor | SparseRows:
    """Return rows of features in single precision; sparse rows stay sparse."""
    if not sparse.issparse(X):
        return torch.as_tensor(np.ascontiguousarray(X, dtype=np.float32), device=device)
    X = X.tocsr()
    return SparseRows(
        torch.as_tensor(X.indices.astype(np.int64), device=device),
        torch.as_tensor(X.indptr[:-1].astype(np.int64), device=device),
        torch.as_tensor(X.data.astype(np.float32), device=device),
    )


class BatchedNetworks:
    """Parameters, normalisation statistics and the forward pass of ``n_networks`` networks."""

    def __init__(self, state: dict[str, np.ndarray], device: Any) -> None:
        self.device = device
        self.values = {name: torch.as_tensor(v, device=device) for name, v in state.items()}
        for name, value in self.values.items():
            value.requires_grad_(not name.startswith("running"))

    @staticmethod
    def initial_state(
        n_features: int,
        prevalence: np.ndarray,
        hidden: Sequence[int],
        n_networks: int,
        rng: np.random.Generator,
        *,
        known_labels: bool,
    ) -> dict[str, np.ndarray]:
        """Random weights (He), output biases at the log-odds of the prevalence."""
        n_labels = prevalence.size

        def normal(*shape: int, scale: float) -> np.ndarray:
            return (scale * rng.standard_normal(shape)).astype(np.float32)

        first, last = hidden[0], hidden[-1]
        log_odds = np.log(prevalence / (1 - prevalence)).astype(np.float32)
        scale = (2 / n_features) ** 0.5
        state = {
            "W1": normal(n_features, n_networks * first, scale=scale),
            "V": normal(n_networks, last, n_labels, scale=0.1 * last**-0.5),
            "c": np.repeat(log_odds[None, None], n_networks, axis=0),
        }
        if known_labels:
            state["C1"] = normal(2 * n_labels, n_networks * first, scale=n_labels**-0.5 / 2)
            state["A"] = np.zeros((n_networks, 2 * n_labels, n_labels), dtype=np.float32)
        for i, (before, width) in enumerate(zip((0, *hidden), hidden, strict=False), start=1):
            if i > 1:
                state[f"W{i}"] = normal(n_networks, before, width, scale=(2 / before) ** 0.5)
            shape = (n_networks, 1, width)
            state[f"gain{i}"] = np.ones(shape, dtype=np.float32)
            state[f"bias{i}"] = np.zeros(shape, dtype=np.float32)
            state[f"running_mean{i}"] = np.zeros(shape, dtype=np.float32)
            state[f"running_var{i}"] = np.ones(shape, dtype=np.float32)
        return state

    @property
    def parameters(self) -> dict[str, Tensor]:
        """The values that are learned, by name."""
        return {name: value for name, value in self.values.items() if value.requires_grad}

    @property
    def n_layers(self) -> int:
        return sum(name.startswith("gain") for name in self.values)

    def logits(
        self,
        x: Tensor | SparseRows,
        codes: Tensor | None,
        *,
        dropout: float = 0.0,
        generator: Any = None,
    ) -> Tensor:
        """Logits (n_networks, n_rows, n_labels); with dropout, by statistics of the rows given."""
        v = self.values
        n_networks = v["V"].shape[0]
        h = x @ v["W1"]
        if codes is not None:
            h = h + codes @ v["C1"]
        h = h.view(h.shape[0], n_networks, -1).transpose(0, 1)
        for i in range(1, self.n_layers + 1):
            if i > 1:
                h = torch.bmm(h, v[f"W{i}"])
            h = torch.relu(self._normalised(h, i, training=generator is not None))
            if generator is not None and dropout:
                kept = torch.rand(h.shape, generator=generator, device=h.device) >= dropout
                h = h * kept / (1 - dropout)
        z = torch.bmm(h, v["V"]) + v["c"]
        return z if codes is None else z + torch.matmul(codes.unsqueeze(0), v["A"])

    def _normalised(self, h: Tensor, layer: int, *, training: bool) -> Tensor:
        v = self.values
        mean, var = v[f"running_mean{layer}"], v[f"running_var{layer}"]
        if training:
            batch_mean = h.mean(dim=1, keepdim=True)
            batch_var = h.var(dim=1, keepdim=True, unbiased=False)
            with torch.no_grad():
                mean.lerp_(batch_mean, _MOMENTUM)
                var.lerp_(batch_var, _MOMENTUM)
            mean, var = batch_mean, batch_var
        return (h - mean) * torch.rsqrt(var + _EPSILON) * v[f"gain{layer}"] + v[f"bias{layer}"]

    def network_state(self, k: int) -> dict[str, Tensor]:
        """Return a copy of what belongs to one network."""
        return {name: part.detach().clone() for name, part in self._parts(k)}

    def restore(self, k: int, state: dict[str, Tensor]) -> None:
        """Put one network back to an earlier state."""
        with torch.no_grad():
            for name, part in self._parts(k):
                part.copy_(state[name])

    def _parts(self, k: int) -> Any:
        n_networks = self.values["V"].shape[0]
        for name, value in self.values.items():
            if name in ("W1", "C1"):
                width = value.shape[1] // n_networks
                yield name, value[:, k * width : (k + 1) * width]
            else:
                yield name, value[k]

    def to_numpy(self) -> dict[str, np.ndarray]:
        """Return all values as arrays."""
        return {name: value.detach().cpu().numpy() for name, value in self.values.items()}
