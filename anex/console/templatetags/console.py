"""Filters that templates of every app use: money, statuses, and the style of a form's controls."""

from django import template
from django.forms import BoundField, CheckboxSelectMultiple, RadioSelect, Textarea
from django.utils.safestring import SafeString

from anex.console import stepper
from anex.core import money
from jobs.lifecycle import Status

register = template.Library()


@register.filter
def current(to: str, path: str) -> str:
    """`aria-current` of a link in the navigation: `page` where it leads, `true` on the pages below, else nothing."""
    if path == to:
        return "page"
    return "true" if path.startswith(f"{to.rstrip('/')}/") else ""


@register.filter
def dollars(nano: int) -> str:
    """Nano-dollars as people read them, e.g. `$12.34`."""
    return money.format_dollars(nano)


@register.filter
def spent(nano: int) -> str:
    """What moving work has cost so far; below a cent the digits would only flicker."""
    return "under $0.01" if 0 < nano < money.NANO_PER_CENT else dollars(nano)


@register.filter
def pace(rows_per_second: float) -> str:
    """Rows, as many digits as mean something."""
    return f"{rows_per_second:,.0f} rows" if rows_per_second >= 10 else f"{rows_per_second:.1f} rows"


@register.filter
def duration(seconds: int) -> str:
    """How long something takes, e.g. `about 5 minutes`."""
    if seconds < 60:
        return "under a minute"
    minutes = round(seconds / 60)
    if minutes < 120:
        return "about a minute" if minutes == 1 else f"about {minutes} minutes"
    return f"about {round(minutes / 60):,} hours"


@register.filter
def signed_dollars(nano: int) -> str:
    """A change of an amount, e.g. `+$12.34` or `-$0.50`."""
    return f"{'+' if nano > 0 else ''}{money.format_dollars(nano)}"


@register.filter
def cents_as_dollars(cents: int) -> str:
    """Whole cents as people read them, e.g. `$12.34`."""
    return money.format_dollars(money.cents_to_nano(cents))


@register.filter
def status_label(status: str, stop_reason: str = "") -> str:
    """A job's status in the words of the console; why it stopped makes a difference."""
    return stepper.labels(stop_reason)[Status(status)]


@register.filter
def status_tone(status: str) -> str:
    """The colour of a job's status: a colour of daisyUI's badges."""
    return stepper.tone(Status(status))


_CONTROLS = {
    "checkbox": "checkbox checkbox-sm",
    "file": "file-input w-full",
    "hidden": "",
    "radio": "radio radio-sm",
    "select": "select w-full",
    "textarea": "textarea w-full",
}


@register.filter
def control(field: BoundField) -> SafeString:
    """The field's control in the console's style; the label beside it makes a placeholder superfluous."""
    widget = field.field.widget
    widget.attrs.pop("placeholder", None)
    if isinstance(widget, CheckboxSelectMultiple | RadioSelect):
        return field.as_widget()  # the class would go to the list around the choices, too
    kind = "textarea" if isinstance(widget, Textarea) else getattr(widget, "input_type", "")
    return field.as_widget(attrs={"class": _CONTROLS.get(kind, "input w-full")})
