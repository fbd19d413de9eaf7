"""Customers for staff: organizations, plans, people, keys, freezes, e-mails and the audit record, all read-only."""

from functools import partial

from django.contrib import admin

from accounts.admin import callers, facts, freezes, organizations, plans, records
from accounts.services import audit
from anex.core import staff

__all__ = ["callers", "facts", "freezes", "organizations", "plans", "records"]

staff.record_with(partial(audit.record, organization_id=None))

# These come with editable pages of their libraries; what they hold is changed by its owners.
LIBRARIES = ("auth", "account", "mfa", "usersessions", "socialaccount")
for _model in [model for model in admin.site._registry if model._meta.app_label in LIBRARIES]:
    admin.site.unregister(_model)
