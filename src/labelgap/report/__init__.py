"""Pages that show results: they read what was measured and never fit anything.

A page is one file without references to anything outside, so that it can be mailed, archived and
read offline; light and dark, on paper and on a phone.
"""

from labelgap.report._audit_page import audit_page, review_page, write_audit_page

__all__ = ["audit_page", "review_page", "write_audit_page"]
