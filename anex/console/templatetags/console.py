"""Filters that templates of every app use: money, and a class on a form field."""

from django import template
from django.forms import BoundField
from django.utils.safestring import SafeString

from anex.core import money

register = template.Library()


@register.filter
def dollars(nano: int) -> str:
    """Nano-dollars as people read them, e.g. `$12.34`."""
    return money.format_dollars(nano)


@register.filter
def cents_as_dollars(cents: int) -> str:
    """Whole cents as people read them, e.g. `$12.34`."""
    return money.format_dollars(money.cents_to_nano(cents))


@register.filter
def with_class(field: BoundField, css_class: str) -> SafeString:
    """The field's control with a CSS class."""
    return field.as_widget(attrs={"class": css_class})
