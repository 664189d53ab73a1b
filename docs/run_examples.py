"""Run the code of the pages and store what it prints beside it.

    python docs/run_examples.py

The pages show the stored output; ``tests/docs/test_pages.py`` checks that the code still prints it.
"""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

ROOT = Path(__file__).parent
EXAMPLES = sorted(path for path in ROOT.glob("*/code/*.py"))
_PART = re.compile(r"^# \[(\w+)\]$", flags=re.MULTILINE)


def output_of(script: Path) -> str:
    """What a script prints, with the names of its parts: comments such as ``# [labels]``."""
    source = _PART.sub(r"print('[\1]')", script.read_text(encoding="utf-8"))
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(source, str(script), "exec"), {"__name__": "__main__"})
    return printed.getvalue() + "[end]\n"


def main() -> None:
    for script in EXAMPLES:
        text = output_of(script)
        script.with_suffix(".txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
