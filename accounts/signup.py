"""Signing up: a person gets an organization of their own in the transaction that creates them."""

from allauth.account.adapter import DefaultAccountAdapter
from django.db import transaction
from django.forms import BaseForm
from django.http import HttpRequest

from accounts.models import User
from accounts.services import names, organizations
from anex.core.actors import Actor


class SignUpAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Allauth's adapter; the only change is the personal organization."""

    def save_user(self, request: HttpRequest, user: User, form: BaseForm, commit: bool = True) -> User:
        """Save the person and, with them, the organization they own."""
        with transaction.atomic():
            saved: User = super().save_user(request, user, form, commit=commit)
            if commit:
                name = names.from_email(saved.email)
                organizations.create(name=name, owner_id=saved.pk, actor=Actor("user", str(saved.pk)))
        return saved
