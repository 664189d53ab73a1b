"""Optional dependencies: imported when first needed, with a message that says how to get them."""

from __future__ import annotations

import importlib
from types import ModuleType


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional module or say what needs it and how to install it.

    Parameters
    ----------
    module : str
        The module to import, for example ``"pandas"``.
    extra : str
        The extra of this package that brings it, for example ``"frames"``.
    purpose : str
        What needs it, as the start of a sentence: ``"Labels.to_frame"``.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs the package {module.split('.')[0]!r}: pip install 'labelgap[{extra}]'"
        ) from error
