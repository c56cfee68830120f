"""The last step before HTML leaves this room: only what is listed here passes."""

import nh3

from api.render.code import CARRIAGE_RETURN, CLASSES
from api.render.links import SCHEMES

_TEXT = (
    "p br hr h1 h2 h3 h4 h5 h6 strong em s del sub sup blockquote ul ol li pre code span div a input section"
)
_TABLE = "table thead tbody tr th td"
_MATHS = (
    "math mrow mi mn mo mtext ms mspace msup msub msubsup mfrac msqrt mroot munder mover munderover mtable"
    " mtr mtd mstyle mpadded mphantom menclose"
)
_MATHS_ATTRIBUTES = {
    "math": {"display"},
    "mo": {"stretchy", "fence", "form", "lspace", "rspace", "minsize", "maxsize", "movablelimits"},
    "mi": {"mathvariant"},
    "mn": {"mathvariant"},
    "mtext": {"mathvariant"},
    "mspace": {"width", "linebreak"},
    "mfrac": {"linethickness"},
    "mtable": {"rowspacing", "columnspacing", "columnalign", "displaystyle", "rowlines", "columnlines"},
    "mtd": {"columnalign"},
    "mstyle": {"displaystyle", "scriptlevel"},
    "mover": {"accent"},
    "menclose": {"notation"},
}
ALERTS = ("note", "tip", "important", "warning", "caution")
_CELL = {"align-left", "align-center", "align-right"}

_CLEANER = nh3.Cleaner(
    tags=set(f"{_TEXT} {_TABLE} {_MATHS}".split()),
    clean_content_tags={"script", "style"},
    attributes={
        "a": {"href", "title", "target", "rel"},
        "ol": {"start"},
        "pre": {"data-language"},
        "span": {"data-src", "data-title"},
        "input": {"checked", "disabled"},
        **_MATHS_ATTRIBUTES,
    },
    tag_attribute_values={"input": {"type": {"checkbox"}}},
    allowed_classes={
        "span": {*CLASSES.values(), "math-source", "remote-image"},
        "div": {"math", "table", "alert", "plain", *(f"alert-{name}" for name in ALERTS)},
        "p": {"alert-title", "plain"},
        "ul": {"contains-task-list"},
        "ol": {"contains-task-list"},
        "li": {"task-list-item"},
        "sup": {"footnote-ref"},
        "section": {"footnotes"},
        "th": _CELL,
        "td": _CELL,
    },
    url_schemes=set(SCHEMES),
    link_rel=None,
)


def sanitise(html: str) -> str:
    """`html` with everything taken out that is not listed."""
    clean: str = _CLEANER.clean(html)
    return clean.replace("\r", CARRIAGE_RETURN)
