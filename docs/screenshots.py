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
from itertools import count
from pathlib import Path

from PIL import Image

from labelgap.data import load_dataset

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
        for name, most in (("labels", 510), ("pairs", 914)):
            section(browser, name, PAGES / f"audit-{name}.png", most)
        assert not browser.complaints, browser.complaints


def take_review(demo: Path, scratch: Path, n_answers: int = 44) -> None:
    """The page of ``labelgap review`` after some answers, all of them right."""
    data = load_dataset("bibtex")
    names = [name.removeprefix("TAG_") for name in data.label_names]
    full = data.Y.positives().tocoo()
    truth = {(str(i), names[j]) for i, j in zip(full.row, full.col, strict=True)}
    command = [sys.executable, "-m", "labelgap.cli", "review", str(demo.resolve())]
    command += ["--db", str(scratch / "decisions.sqlite"), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = next(line for line in server.stdout if "http://" in line).split('"')[3]
            with Browser(scratch / "review") as browser:
                browser.look(1100, 830)
                browser.open(address, until="!document.querySelector('#card').hidden")
                browser.run("document.querySelector('#reviewer').value = 'Ann'")
                for answered in count():
                    question = browser.text("#question")
                    label, item = _QUESTION.fullmatch(question).groups()
                    # not on a tag that a program gave
                    if answered >= n_answers and label not in ("bibteximport", "statphys23"):
                        break
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
        take_review(Path(sys.argv[1]), Path(scratch))
