"""Audits whose every text is hostile: markup, scripts, formulas, marks that turn text around."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from report.browsing import Browser

HOSTILE = {
    "script": "</script><script>window.hurt=1</script><img src=x onerror=window.hurt=1>'\"--><b>",
    "attribute": '" onmouseover="window.hurt=1" autofocus onfocus="window.hurt=1" x="',
    "template": "{{ 7 * 7 }}${window.hurt=1}`<%= 1 %>\\u003cscript\\u003e]]>",
    "bidi": "abc\u202egnitirw\u2066 \u200f\u0000\u0008\ufeff" + "a\u0301" * 40,
    "formula": "=cmd|' /C calc'!A0",
    "math": r"$\frac{x} $ $$\begin{x} 50$ a_{b",
    "letters": "日本語のラベル",
    "long": "W" * 10_000,
}
# words of a closed list, which no table can change
_KEPT = {"audit_id", "gaps", "kind", "state", "role", "created", "version", "basis"}

# a script, a style and a handler without leave, and words that would become code
_INTRUDERS = """
(() => {
  const add = (name, what) => document.body.append(Object.assign(document.createElement(name), what));
  add("script", {textContent: "window.hurt = 2"});
  add("style", {textContent: "main { position: fixed }"});
  document.body.insertAdjacentHTML("beforeend", "<p onclick='window.hurt = 3' style='top: 7px'>x</p>");
  document.body.lastChild.click();
  setTimeout("window.hurt = 4", 0);
  window.tried = new Promise(done => setTimeout(done, 50));
})()
"""


def hostile(record: Any, text: str, name: str = "") -> Any:
    """The same record with this text in all its fields of text."""
    if is_dataclass(record):
        changed = {
            one.name: hostile(getattr(record, one.name), text, one.name) for one in fields(record)
        }
        return replace(record, **changed)
    if isinstance(record, tuple) and hasattr(record, "_fields"):
        return type(record)(
            *(hostile(one, text, field) for one, field in zip(record, record._fields, strict=True))
        )
    if isinstance(record, tuple):
        return tuple(hostile(one, text, name) for one in record)
    return text if isinstance(record, str) and name not in _KEPT else record


def no_intruders(browser: Browser) -> None:
    """Check that the policy of the open page stops all of them, and that the browser says so."""
    browser.run(_INTRUDERS)
    browser.run("window.tried")
    assert browser.run("window.hurt") is None
    assert browser.run("getComputedStyle(document.querySelector('main')).position") != "fixed"
    refused = [one for one in browser.complaints if "Content Security Policy" in one]
    assert len(refused) == len(browser.complaints) >= 5
    browser.complaints.clear()
