"""The page of the demo in a real browser."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from labelgap.report import MatrixSample, write_demo_page
from report.results import result

pytestmark = pytest.mark.browser
pytest.importorskip("jinja2")
image = pytest.importorskip("matplotlib.image")

# measures from inside: does anything stick out of the window, are the bars and cells there?
PROBE = """<script>
addEventListener("load", () => {
  const cell = document.querySelector(".matrix use").getBoundingClientRect();
  parent.postMessage({
    width: innerWidth,
    wide: document.documentElement.scrollWidth > innerWidth,
    bars: [...document.querySelectorAll(".fill")].filter(b => b.getBBox().width > 0).length,
    cell: Math.round(cell.width),
    paper: getComputedStyle(document.body).backgroundColor,
  }, "*");
});
</script></body>"""
# a window is never narrower than 500 pixels, a frame in it may be
FRAME = """<!doctype html><title>waiting</title><script>
addEventListener("message", event => { document.title = JSON.stringify(event.data); });
</script><iframe src="probed.html" style="border:0;width:{width}px;height:900px"></iframe>"""


def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("there is no chromium on the PATH, and CI must have one")
        pytest.skip("there is no chromium on the PATH")
    return found


def browse(tmp_path: Path, page: Path, *options: str) -> subprocess.CompletedProcess:
    command = [chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"]
    command += ["--no-first-run", "--disable-background-networking", "--disable-component-update"]
    command += ["--disable-sync", "--hide-scrollbars", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--enable-logging=stderr", "--v=0", *options, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    target = tmp_path / "page.html"
    states = [["yes", "no", "found", "cleared", "missed", "alarm", "no"] * 2] * 16
    sample = MatrixSample(list(range(16)), [f"Class{j}" for j in range(14)], states)
    write_demo_page(result(sample=sample), target)
    return target


def measured(tmp_path: Path, page: Path, width: int, scheme: int) -> dict:
    text = page.read_text(encoding="utf-8").replace("</body>", PROBE)
    (tmp_path / "probed.html").write_text(text, encoding="utf-8")
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.replace("{width}", str(width)), encoding="utf-8")
    seen = browse(
        tmp_path,
        frame,
        "--window-size=1400,1000",
        "--virtual-time-budget=5000",
        f"--blink-settings=preferredColorScheme={scheme}",
        "--dump-dom",
    )
    assert "CONSOLE" not in seen.stderr, seen.stderr
    title = seen.stdout.split("<title>")[1].split("</title>")[0]
    return json.loads(title)


@pytest.mark.parametrize("width", [1280, 390])
def test_fits_the_window_and_draws_all_bars(tmp_path, page, width):
    seen = measured(tmp_path, page, width, scheme=1)
    assert seen["width"] == width
    assert not seen["wide"]
    assert seen["bars"] == 3 + 3 + 4 + 4
    assert seen["cell"] >= 12


def test_follows_light_and_dark(tmp_path, page):
    light = measured(tmp_path, page, 1280, scheme=1)["paper"]
    dark = measured(tmp_path, page, 1280, scheme=0)["paper"]
    assert light == "rgb(255, 255, 255)"
    assert dark == "rgb(17, 21, 26)"


def test_colours_of_the_story_are_on_the_screen(tmp_path, page):
    picture = tmp_path / "page.png"
    browse(
        tmp_path,
        page,
        "--window-size=1280,1600",
        f"--screenshot={picture}",
        "--blink-settings=preferredColorScheme=1",
    )
    pixels = np.rint(255 * image.imread(picture)[..., :3]).astype(int)
    for colour in ((0x00, 0x72, 0xB2), (0xC0, 0x4E, 0x00)):
        assert (pixels == colour).all(axis=-1).sum() > 1000


def test_can_be_printed(tmp_path, page):
    paper = tmp_path / "page.pdf"
    browse(
        tmp_path,
        page,
        "--no-pdf-header-footer",
        f"--print-to-pdf={paper}",
        "--blink-settings=preferredColorScheme=0",
    )
    assert paper.read_bytes().startswith(b"%PDF")
