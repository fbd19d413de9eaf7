"""Money for staff: everything can be read; a balance changes only through a service, with a reason."""

from billing.admin import facts, money, prices

__all__ = ["facts", "money", "prices"]
