"""A headless Chromium driven over a pipe: open, click, press keys, look, hear complaints."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Self

import pytest

_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
_KEYS = {
    "Tab": 9,
    "Enter": 13,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "Home": 36,
    "End": 35,
}

_PALE = """
(() => {
  const channel = v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; };
  const luminance = ([r, g, b]) => .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b);
  const numbers = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const over = (top, below) => {
    const a = top.length > 3 ? top[3] : 1;
    return [0, 1, 2].map(k => a * top[k] + (1 - a) * below[k]);
  };
  const ground = e => {
    const stack = [];
    for (; e; e = e.parentElement) stack.push(numbers(getComputedStyle(e).backgroundColor));
    return stack.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || e.closest("script, style, template, noscript, title, desc, :disabled")) continue;
    if (!e.checkVisibility({visibilityProperty: true}) || e.closest(".visually-hidden")) continue;
    const style = getComputedStyle(e);
    const below = ground(e.closest("svg") ? e.closest("svg").parentElement : e);
    const ink = numbers(e instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [luminance(over(ink, below)), luminance(below)].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 700;
    const large = size >= 24 || (bold && size >= 18.66);
    const contrast = (a + .05) / (b + .05);
    const words = e.textContent.trim().slice(0, 30);
    if (contrast < (large ? 3 : 4.5)) found.push(`${e.tagName} ${contrast.toFixed(2)} ${words}`);
  }
  return [...new Set(found)];
})()
"""


def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("there is no chromium on the PATH, and CI must have one")
        pytest.skip("there is no chromium on the PATH")
    return found


class Browser:
    """One tab of a browser of its own.

    ``complaints`` collects console messages, exceptions and failed loads; ``requests`` every
    address that was asked for.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()

        def hand_over() -> None:
            # Chromium reads commands from descriptor 3 and writes answers to 4, where the pipes
            # themselves may lie: copies elsewhere first
            reading, writing = (fcntl.fcntl(one, fcntl.F_DUPFD, 10) for one in (to_read, to_write))
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self._process = subprocess.Popen(
            [chromium(), *_OPTIONS, f"--user-data-dir={folder / 'profile'}", "about:blank"],
            preexec_fn=hand_over,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._rest, self._number, self._session = b"", 0, None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        targets = self.ask("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in targets if one["type"] == "page")
        attached = self.ask("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")
        self.ask(
            "Browser.setDownloadBehavior",
            behavior="allow",
            downloadPath=str(folder),
            eventsEnabled=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)

    # -- what a person does -------------------------------------------------------------------

    def open(self, address: str, *, until: str = "document.readyState === 'complete'") -> None:
        self.ask("Page.navigate", url=address)
        self.wait(f"location.href !== 'about:blank' && {until}")

    def reload(self, *, until: str) -> None:
        self.run("window.before = true")
        self.ask("Page.reload")
        self.wait(f"!window.before && document.readyState === 'complete' && {until}")

    def click(self, selector: str) -> None:
        """A real click of the mouse in the middle of the element."""
        place = self.run(
            "(e => { e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })"
            f"(document.querySelector({json.dumps(selector)}))"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )

    def press(self, key: str) -> None:
        code = _KEYS.get(key) or ord(key.upper())
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        common = {"key": key, "windowsVirtualKeyCode": code}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **common, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **common)

    def look(
        self, width: int, height: int = 900, *, scheme: str = "light", medium: str = ""
    ) -> None:
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media=medium, features=features)

    # -- what a person sees -------------------------------------------------------------------

    def run(self, script: str) -> Any:
        """The value of a script in the page; promises are waited for."""
        answer = self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition: str, seconds: float = 30.0) -> None:
        """Until a script is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            answer = self.ask("Runtime.evaluate", expression=f"Boolean({condition})")
            if answer.get("result", {}).get("value") is True:
                return
            time.sleep(0.05)
        pytest.fail(f"waited {seconds} s in vain for {condition}; heard {self.complaints}")

    def text(self, selector: str) -> str:
        return self.run(f"document.querySelector({json.dumps(selector)}).textContent").strip()

    def pale(self) -> list[str]:
        """Texts that stand out too little from their ground (WCAG AA), with their contrasts."""
        return self.run(_PALE)

    def picture(self, path: Path, *, whole: bool = True) -> None:
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def paper(self, path: Path) -> None:
        path.write_bytes(
            base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"])
        )

    # -- the wire -----------------------------------------------------------------------------

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None and not method.startswith("Target."):
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self._hear(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._read, 1 << 16)
            assert more, "the browser has gone"
            self._rest += more
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def _hear(self, event: dict[str, Any]) -> None:
        method, said = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = said["exceptionDetails"]
            self.complaints.append(
                details.get("exception", {}).get("description") or details["text"]
            )
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(f"{said['type']}: {said['args']}")
        elif method == "Log.entryAdded":
            self.complaints.append(said["entry"]["text"])
