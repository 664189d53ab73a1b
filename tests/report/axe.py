"""The accessibility rules of axe-core, in a page that a browser shows.

``npm pack axe-core`` gives the file; ``LABELGAP_AXE`` says where its ``axe.min.js`` is, unless
``npm install --no-save axe-core`` put it into ``node_modules`` of this repository.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from report.browsing import Browser

_INSTALLED = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
_RULES = """
axe.run(document).then(found => found.violations
  .filter(one => ["serious", "critical"].includes(one.impact))
  .map(one => `${one.id}: ${one.help} (${one.nodes.length}): ${one.nodes[0].html.slice(0, 150)}`))
"""


def violations(browser: Browser) -> list[str]:
    """Return the serious and critical findings in the page as it is."""
    file = Path(os.environ.get("LABELGAP_AXE", _INSTALLED))
    if not file.is_file():
        pytest.skip("axe-core is not installed: npm install --no-save axe-core")
    browser.run(file.read_text(encoding="utf-8") + "\n;0")
    return browser.run(_RULES)
