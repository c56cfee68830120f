"""Plain rules that find what a person states about themselves, for models too weak to be asked."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from api.memory.base import FACT, FACT_LIMIT, INSTRUCTION, PREFERENCE, PROJECT

_VERB = r"(?:answer|reply|respond|write|use|speak|call|format|give|explain|keep|avoid|show|start|end|ask)"
_SURE = r"(?:really |much |strongly |generally |usually |always |mostly |also |still )*"
_PERSON = (
    r"(?:name|wife|husband|partner|son|daughter|mother|father|brother|sister|dog|cat|birthday|job|boss|team|"
    r"company|employer|city|hometown|timezone|time zone|native language|mother tongue|pronouns)"
)
# What points into the conversation says nothing out of it.
_POINTS = (
    r"(?:it|that|this|these|those|them|your?|how|what|when|where|option|one|both|all|neither|"
    r"to (?:ask|bother|know|say|see|think)|the (?:idea|way|look|sound|first|second|third|last|other|former|"
    r"latter|new|current|result|answer|code|version))\b"
)
# What happens to somebody is no habit.
_HAPPENS = (
    r"(?:mind|thought|wondered|knew|know|heard|get|got|see|saw|seen|said|say|had|have|been|was|am|forget|forgot|"
    r"meant|mean|asked|wanted|tried|used|did|do|end|run into|come across|receive|figured|understood|liked)\b"
)
_SMALL = r"(?:bit|little|tad|lot)\b"
_SOON = r"(?:when|if|back|later|at|on|in|now|tomorrow|today)\b"
# The first that fits decides. Not "I like it": out of its place it says nothing.
_RULES = (
    (INSTRUCTION, rf"^(?:please )?(?:always|never|do not|don't) {_VERB}\b"),
    (INSTRUCTION, r"^(?:please )?from now on\b|^in (?:the )?future,? "),
    (FACT, r"^(?:please )?(?:remember|keep in mind|don't forget)(?: that|:)? (?!when\b|how\b|to\b)\S+ \S+"),
    (FACT, r"^(?:please )?note(?: that|:) (?:i|i'm|my|we|our)\b"),
    (PREFERENCE, r"\bmy (?:\w+ ){0,2}?favou?rite\b.*\b(?:is|are|was)\b"),
    (PREFERENCE, rf"\bi(?:'d| would)? {_SURE}(?:rather|prefer|favou?r)\b(?! not to say)"),
    (
        PREFERENCE,
        rf"\bi {_SURE}(?:like|love|enjoy|hate|dislike|can't stand|cannot stand|don't like|do not like)\b"
        rf"(?! {_POINTS})",
    ),
    (PREFERENCE, rf"\bi (?:always|never|usually) (?!{_HAPPENS})\w+"),
    (FACT, rf"\bmy {_PERSON}(?:'s name)? (?:is|are)\b"),
    (FACT, rf"\b(?:i am|i'm) an? (?!{_SMALL})"),
    (FACT, r"\b(?:i am|i'm) (?:from |allergic |married|vegetarian|vegan|left-handed|\d+ years old)"),
    (FACT, r"\bi (?:live|work|study|grew up|was born) (?:in|at|as|for|near|with|on)\b"),
    (FACT, rf"\bcall me (?!{_SOON})\w+"),
    (FACT, r"\b(?:i speak|i come from|i moved to|i own) \w+"),
    (PROJECT, r"\bwe(?:'ve| have)? (?:decided|agreed|chose|chosen|settled|picked|switched)\b"),
    (
        PROJECT,
        r"\b(?:the|our|my) (?:\w+ )?"
        r"(?:project|team|app|repo|repository|code ?base|stack|product|server|company)"
        r" (?:uses?|needs?|requires?|runs?|is (?:written|built|based|hosted)|depends)\b",
    ),
    (PROJECT, r"\bwe (?:always |never |only )?(?:use|run|deploy|build|host|write)\b"),
)
_COMPILED = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _RULES)
_NOT_SAID = re.compile(r"```.*?(?:```|\Z)|^[^\S\n]*>[^\n]*$", re.DOTALL | re.MULTILINE)
_QUOTED = re.compile(
    r"`[^`\n]{0,400}`|\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|„[^“”\n]{0,400}[“”]|«[^»\n]{0,400}»|「[^」\n]{0,400}」"
)
_ENDS = re.compile(r"(?<=[.!?。！？])\s+|\n+")
# Conditions, and questions without their mark.
_SUPPOSED = re.compile(
    r"(?:if|when|whenever|how|why|what|where|whether|can|could|would|should|does|did|is|are|suppose|imagine|"
    r"assume|let's say|do (?!not\b))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of the user that is worth keeping."""

    text: str
    kind: str


def statements(text: str) -> Iterator[Statement]:
    """The sentences of a text that state a preference, a decision, an instruction or who somebody is.

    Questions, conditions, quotes and code say nothing about the person who sends them.
    """
    text = _NOT_SAID.sub("\n", text).replace("’", "'")
    masked = _QUOTED.sub(lambda found: "_" * len(found[0]), text)
    start = 0
    for end, following in [*(found.span() for found in _ENDS.finditer(masked)), (len(text), len(text))]:
        sentence, own = text[start:end], " ".join(masked[start:end].split())
        start = following
        sentence = " ".join(sentence.split())
        if not 2 < len(sentence) <= FACT_LIMIT or own[-1] in "?？" or _SUPPOSED.match(own):
            continue
        kind = next((kind for kind, pattern in _COMPILED if pattern.search(own)), None)
        if kind is not None:
            yield Statement(sentence, kind)
