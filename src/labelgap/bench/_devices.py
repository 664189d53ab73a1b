"""Devices of torch that models are fitted on: which models can, whether one is there, its name."""

from __future__ import annotations

from typing import Any

from labelgap._extras import require

__all__ = ["device_of", "device_params", "try_device"]


def device_params(model: Any) -> dict[str, Any]:
    """The parameters ``device`` of a model and of what it is made of."""
    params = model.get_params() if hasattr(model, "get_params") else {}
    return {name: value for name, value in params.items() if name.split("__")[-1] == "device"}


def device_of(model: Any) -> str:
    """Where a model is fitted, with the name of the accelerator; nothing for the processor."""
    found = [value for value in device_params(model).values() if value]
    if not found:
        return ""
    torch = require("torch", extra="gpu", purpose="device=")
    place = torch.device(found[0])
    return f"{place} ({torch.cuda.get_device_name(place)})" if place.type == "cuda" else str(place)


def try_device(device: str | None) -> None:
    """Compute something in double precision there; a ValueError where that cannot be done.

    The first use of a device in a process takes seconds, which are not those of a fit.
    """
    if device is None:
        return
    torch = require("torch", extra="gpu", purpose=f"device={device!r}")
    try:
        torch.ones(1, dtype=torch.float64, device=device).cpu().item()
    except (RuntimeError, AssertionError, ImportError, TypeError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"device={device!r} cannot be used here ({reason}): name one that torch has, or none"
        ) from error
