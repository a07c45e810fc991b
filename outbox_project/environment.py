"""Reads single settings from the environment: a value which cannot be meant raises, and names its variable."""

from collections.abc import Collection

import environ
from django.core.exceptions import ImproperlyConfigured

# The example environment's secrets begin so: a secret that everybody can read is refused, not used.
PLACEHOLDER = "replace-me"

_SWITCH = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


def switch(env: environ.Env, variable: str, *, default: bool) -> bool:
    """Returns the variable as yes or no; a misspelt one raises, where guessing "no" could turn a protection off."""
    text = env.str(variable, default="").strip().lower()
    if not text:
        return default
    if text not in _SWITCH:
        raise ImproperlyConfigured(f"{variable} is {text!r}; allowed are true and false.")
    return _SWITCH[text]


def choice(env: environ.Env, variable: str, *, allowed: Collection[str], default: str) -> str:
    """Returns the variable if it is one of `allowed`, compared without case; raises otherwise."""
    text = env.str(variable, default="").strip() or default
    for name in allowed:
        if text.lower() == name.lower():
            return name
    raise ImproperlyConfigured(f"{variable} is {text!r}; allowed are {', '.join(allowed)}.")


def whole_number(env: environ.Env, variable: str, *, default: int) -> int:
    """Returns the variable as a number from 0 up; raises otherwise."""
    text = env.str(variable, default="").strip() or str(default)
    if not (text.isascii() and text.isdigit()):
        raise ImproperlyConfigured(f"{variable} is {text!r}; it has to be a whole number from 0 up.")
    return int(text)


def required(env: environ.Env, variable: str) -> str:
    """Returns the variable; raises if it is missing, empty or still the placeholder of the example."""
    text: str = env.str(variable, default="").strip()
    if not text:
        raise ImproperlyConfigured(f"{variable} is not set: it has no default outside DEBUG.")
    if PLACEHOLDER in text:
        raise ImproperlyConfigured(f"{variable} still holds the placeholder of .env.example.")
    return text


def given(env: environ.Env, variables: dict[str, str]) -> dict[str, str]:
    """Returns, under its option's name, the text of each variable that is set: unparsed, because its reader reports."""
    return {option: env.str(variable) for option, variable in variables.items() if env.str(variable, default="")}
