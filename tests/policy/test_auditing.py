"""The page of an audit: months without holes, and a plot that says what the numbers say."""

from __future__ import annotations

from xml.etree import ElementTree

from minutebook.model.audit import Audit, AuditLine
from minutebook.policy.auditing import months_of, page, svg


def test_months_in_which_nothing_happened_are_months_too_and_what_stands_is_carried_over() -> None:
    found = months_of({"2025-11": 5, "2026-02": 1}, {"2026-01": 2}, {"2026-02": 7})
    assert [(month.month, month.added, month.ended, month.shown, month.standing) for month in found] == [
        ("2025-11", 5, 0, 0, 5),
        ("2025-12", 0, 0, 0, 5),
        ("2026-01", 0, 2, 0, 3),
        ("2026-02", 1, 0, 7, 4),
    ]
    assert months_of({}, {}, {}) == ()
    long = months_of({"2020-01": 3, "2026-02": 1}, {}, {})
    assert (len(long), long[-1].standing) == (12, 4)


def _tall(rect: ElementTree.Element) -> float:
    return float(rect.attrib["height"])


def test_bars_are_as_tall_as_their_numbers_and_nothing_leaves_the_picture() -> None:
    months = months_of({"2026-01": 100, "2026-02": 50}, {"2026-02": 1000}, {"2026-01": 1})
    root = ElementTree.fromstring(svg(months))
    space = {"s": "http://www.w3.org/2000/svg"}
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    bars = [rect for rect in root.findall("s:rect", space) if "x" in rect.attrib and _tall(rect) != 10.0]
    first, _, _, second, ended, _ = bars
    assert _tall(first) / _tall(ended) == 0.1
    assert _tall(second) / _tall(first) == 0.5
    for rect in bars:
        assert 0 <= float(rect.attrib["x"]) <= width - float(rect.attrib["width"])
        assert 0 <= float(rect.attrib["y"]) <= height - _tall(rect) + 0.1
    for x, y in (point.split(",") for point in root.find("s:polyline", space).attrib["points"].split()):  # type: ignore[union-attr]
        assert 0 <= float(x) <= width
        assert 0 <= float(y) <= height, "what stands is never drawn below nothing"


def test_words_of_others_are_no_markup_of_the_page() -> None:
    line = AuditLine("unused", 1, "low", "are not used", ("a`|b",), "do something")
    text = page(Audit("p", "2026-01-01T00:00:00Z", "Fine.", 1, 1, (line,), ()))
    row = next(each for each in text.split("\n") if each.startswith("| unused"))
    assert row.count("|") == 6
