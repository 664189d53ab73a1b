"""Run the code of the pages and store what it prints, and draws, beside it.

    python docs/run_examples.py            # all; those whose data are not here are left out
    python docs/run_examples.py topics     # scripts with this in their names

The pages show what is stored; ``tests/docs/test_pages.py`` checks that the code still prints it. A
script may say in comments at its top

* ``# data: scene``: that it needs this set below ``LABELGAP_DATA``; or ``# data: scene or
  generated``: that it makes up data where the set is not at hand;
* ``# slow``: that its test is for ``make test-full``.
"""

from __future__ import annotations

import io
import os
import re
import sys
import warnings
from contextlib import redirect_stdout
from pathlib import Path

ROOT = Path(__file__).parent
GALLERY = ROOT.parent / "examples"
EXAMPLES = sorted([*ROOT.glob("*/code/*.py"), *GALLERY.glob("*.py")])
_PART = re.compile(r"^# \[(\w+)\]$", flags=re.MULTILINE)
_DATA = re.compile(r"^# data: (\w+)( or generated)?$", flags=re.MULTILINE)


def data_of(script: Path) -> tuple[str | None, bool]:
    """The data set a script uses, and whether it can do without."""
    found = _DATA.search(script.read_text(encoding="utf-8"))
    return (found[1], found[2] is not None) if found else (None, True)


def is_slow(script: Path) -> bool:
    return "\n# slow\n" in script.read_text(encoding="utf-8")


def stored(script: Path, suffix: str = ".txt") -> Path:
    """Where what a script prints (or draws) is kept."""
    folder = script.parent / "output" if script.parent == GALLERY else script.parent
    return folder / (script.stem + suffix)


def output_of(script: Path, picture: Path | None = None) -> str:
    """What a script prints, with the names of its parts: comments such as ``# [labels]``.

    What it draws goes to ``picture``.
    """
    source = _PART.sub(r"print('[\1]')", script.read_text(encoding="utf-8"))
    printed = io.StringIO()
    pyplot = _silent_pyplot() if "matplotlib" in source else None
    with redirect_stdout(printed), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
        exec(compile(source, str(script), "exec"), {"__name__": "__main__"})
        if pyplot is not None:
            if picture is not None and pyplot.get_fignums():
                pyplot.savefig(picture, bbox_inches="tight", dpi=100)
            pyplot.close("all")
    return printed.getvalue() + "[end]\n"


def _silent_pyplot():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def main(wanted: list[str]) -> None:
    for script in EXAMPLES:
        name = script.relative_to(ROOT.parent)
        if wanted and not any(part in str(name) for part in wanted):
            continue
        dataset, _ = data_of(script)
        if dataset is not None and not os.environ.get("LABELGAP_DATA"):
            print(f"{name}: left out, LABELGAP_DATA is not set")
            continue
        stored(script).parent.mkdir(exist_ok=True)
        text = output_of(script, stored(script, ".png"))
        stored(script).write_text(text, encoding="utf-8")
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
