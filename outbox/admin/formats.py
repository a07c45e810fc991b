"""How the operations pages put values into words (pure). Texts from data are escaped, never marked as safe."""

import json
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString


class Part(NamedTuple):
    """A named piece of a JSON value, as text to read."""

    name: str
    text: str


def badge(tone: str, label: Any) -> SafeString:
    """A state as a coloured word; the tones are those of ``admin.css``."""
    return format_html('<span class="ob-badge ob-{}">{}</span>', tone, label)


def duration(span: timedelta | None) -> str:
    """A length of time in its two largest units; its sign is the caller's to say."""
    if span is None:
        return ""
    seconds = abs(round(span.total_seconds()))
    for unit, size, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if seconds >= size:
            rest = seconds % size // part
            return f"{seconds // size} {unit} {rest} {smaller}" if rest else f"{seconds // size} {unit}"
    return f"{seconds} s"


def instant(moment: datetime | None) -> str:
    """Date and time to the second, with the zone that it is told in."""
    return timezone.localtime(moment).strftime("%Y-%m-%d %H:%M:%S %Z") if moment else ""


def when_and_who(moment: datetime | None, who: str) -> SafeString:
    """For a narrow column: the time on one line, the person under it."""
    return format_html('<span class="ob-nowrap">{}</span> <span class="ob-note">{}</span>', instant(moment), who)


def readable(payload: dict[str, Any] | None) -> list[Part]:
    """A payload key by key: texts as they are, one part each, everything else as indented JSON."""
    parts: list[Part] = []
    for key, value in (payload or {}).items():
        texts = value if isinstance(value, list) and value and all(isinstance(item, str) for item in value) else None
        if texts is not None:
            parts += [Part(f"{key}[{index}]", visible(text)) for index, text in enumerate(texts)]
        else:
            text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
            parts.append(Part(key, visible(text)))
    return parts


def readable_json(text: str) -> str:
    """A stored JSON text, indented; a text that is no JSON comes back as it is."""
    try:
        return visible(json.dumps(json.loads(text), indent=2, ensure_ascii=False)) if text else ""
    except ValueError:
        return visible(text)


def visible(text: str) -> str:
    """``text`` with what would not be seen, or would reorder what is seen, written as an escape.

    A person who trusts a payload must not be shown other text than the target will run.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)
