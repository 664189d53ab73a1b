"""Take the pictures of the report and of the review page, in a headless Chromium.

    labelgap demo --out DEMO
    python docs/screenshots.py DEMO

Whoever runs this looks at the pictures before committing them.
"""

from __future__ import annotations

import base64
import io
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from labelgap.data import load_dataset
from labelgap.protocols import hide_positives

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "how-to"
sys.path.insert(0, str(ROOT / "tests" / "report"))

from browsing import Browser  # noqa: E402

_QUESTION = re.compile(r"Does (.+) belong to item (.+)\?")
_CHOOSE = """
const label = document.querySelector("#filter-label");
label.value = "software";
label.dispatchEvent(new Event("input", {bubbles: true}));
label.dispatchEvent(new Event("change", {bubbles: true}));
"""


def keep(shot: bytes, path: Path) -> None:
    """With few colours, which is all these pages have."""
    picture = Image.open(io.BytesIO(shot)).convert("RGB")
    picture.quantize(128, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
        path, optimize=True
    )


def screen(browser: Browser, path: Path) -> None:
    """What is in the window."""
    keep(base64.b64decode(browser.ask("Page.captureScreenshot")["data"]), path)


def section(browser: Browser, heading: str, path: Path, most: int) -> None:
    """The part of the page below one heading, and at most so many pixels of it."""
    box = browser.run(
        f"(b => [b.x, b.y + scrollY, b.width, b.height])"
        f"(document.querySelector('#{heading}').closest('section').getBoundingClientRect())"
    )
    x, y, width, height = box
    clip = {"x": x - 16, "y": y - 16, "width": width + 32, "height": min(height, most) + 16}
    clip["scale"] = 1
    shot = browser.ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
    keep(base64.b64decode(shot["data"]), path)


def take_report(demo: Path, scratch: Path) -> None:
    """The first screen with some decisions and the evidence of one, and two parts further down."""
    with Browser(scratch) as browser:
        browser.look(1100, 1190)
        browser.open((demo / "report.html").resolve().as_uri())
        browser.run(_CHOOSE)
        browser.wait("/software/.test(document.querySelector('#suggestion-list li').textContent)")
        browser.click("#suggestion-list li:nth-child(1) summary")
        browser.click("#suggestion-list li:nth-child(1) button")
        browser.run("scrollTo(0, 0); document.activeElement.blur()")
        screen(browser, PAGES / "audit-report.png")
        for name, most in (("labels", 510), ("pairs", 908)):
            section(browser, name, PAGES / f"audit-{name}.png", most)
        assert not browser.complaints, browser.complaints


def write_publications(folder: Path) -> tuple[list[str], set[tuple[str, str]]]:
    """Bibtex with 40% of its tags deleted, as tables, and all tags that belong.

    Without the two tags that programs gave: they are too easy to make a good picture.
    """
    data = load_dataset("bibtex")
    by_people = ~np.isin(data.label_names, ["TAG_statphys23", "TAG_bibteximport"])
    data = replace(data, Y=data.Y[:, np.flatnonzero(by_people)])
    names = [name.removeprefix("TAG_") for name in data.label_names]
    ids = [f"paper {row}" for row in range(len(data.Y))]
    items = pd.DataFrame(data.X.toarray(), columns=data.feature_names)
    items.insert(0, "paper_id", ids)
    items.to_parquet(folder / "papers.parquet")
    left = hide_positives(data.Y, 0.4, random_state=0).labels.positives().tocoo()
    tags = {"paper_id": [ids[i] for i in left.row], "label": [names[j] for j in left.col]}
    pd.DataFrame(tags).to_parquet(folder / "tags.parquet")
    full = data.Y.positives().tocoo()
    truth = {(ids[i], names[j]) for i, j in zip(full.row, full.col, strict=True)}
    files = [str(folder / "papers.parquet"), "--label-table", str(folder / "tags.parquet")]
    return [*files, "--item", "paper_id"], truth


def take_review(folder: Path, n_answers: int = 144) -> None:
    """The page of ``labelgap review`` after some answers."""
    source, truth = write_publications(folder)
    command = [sys.executable, "-m", "labelgap.cli", "review", *source]
    command += ["--db", str(folder / "decisions.sqlite"), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as server:
        try:
            assert server.stdout is not None
            address = next(line for line in server.stdout if "http://" in line).split('"')[3]
            with Browser(folder / "browser") as browser:
                browser.look(1100, 720)
                browser.open(address, until="!document.querySelector('#card').hidden")
                browser.run("document.querySelector('#reviewer').value = 'Ann'")
                for answered in count():
                    # not on a paper without an abstract
                    if answered >= n_answers and " 1" in browser.text("#about"):
                        break
                    question = browser.text("#question")
                    label, item = _QUESTION.fullmatch(question).groups()
                    browser.click("#accept" if (item, label) in truth else "#reject")
                    other = f"document.querySelector('#question').textContent != {question!r}"
                    # between batches the model learns
                    browser.wait(other, seconds=600)
                browser.run("scrollTo(0, 0); document.activeElement.blur()")
                time.sleep(0.5)
                screen(browser, PAGES / "review.png")
        finally:
            server.terminate()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        take_report(Path(sys.argv[1]), Path(scratch) / "report")
        take_review(Path(scratch))
