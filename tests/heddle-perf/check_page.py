# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
"""Checks a page of heddle-perf report: elements are closed in order, ids are used once and exist, nothing is loaded.

Prints how many drawings and points it has.
"""
import sys
from html.parser import HTMLParser

EMPTY = {"meta", "br"}


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.wanted = [], [], []
        self.drawings = self.points = 0

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        found = dict(attrs)
        assert tag not in ("link", "img", "iframe", "object"), tag
        assert "src" not in found and "onload" not in found, found
        if "id" in found:
            self.ids.append(found["id"])
        if "href" in found:
            assert found["href"].startswith("#"), found["href"]
            self.wanted.append(found["href"][1:])
        self.wanted += found.get("aria-labelledby", "").split()
        self.drawings += found.get("class") == "chart"
        self.points += tag == "use" and "ul" not in self.open  # those of a legend are in its list

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open, self.getpos())
        self.open.pop()


page = Page()
with open(sys.argv[1], encoding="utf-8") as file:
    page.feed(file.read())
page.close()
assert not page.open, page.open
assert len(page.ids) == len(set(page.ids)), "an id is there twice"
assert set(page.wanted) <= set(page.ids), set(page.wanted) - set(page.ids)
print(page.drawings, "drawings,", page.points, "points")
