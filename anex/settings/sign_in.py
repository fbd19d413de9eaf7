"""How people sign in (django-allauth): verified e-mail, password, TOTP, passkeys, recovery codes, session list."""

from typing import Any

import environ

ACCOUNT_ADAPTER = "accounts.signup.SignUpAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_REAUTHENTICATION_METHODS = ["password", "mfa"]
ACCOUNT_LOGOUT_REDIRECT_URL = "/accounts/login/"
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/dashboard"

MFA_ADAPTER = "accounts.second_factor.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "Anex"

SESSION_COOKIE_NAME = "anex_session"
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = "anex_csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"

# Failed attempts and used codes are counted here: in Postgres, so that every process sees them and none needs Redis.
# So many at once that nobody drives the counter of an account out of it with others.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "accounts_cache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
}
# Failed attempts by address, and by account from wherever; guesses of a second factor have a limit of their own.
ACCOUNT_RATE_LIMITS = {"login_failed": "10/m/ip,5/5m/key"}

# Signing in with a Google or GitHub account is off until its client is configured.
_PROVIDERS: dict[str, dict[str, Any]] = {
    "google": {"SCOPE": ["profile", "email"], "OAUTH_PKCE_ENABLED": True},
    "github": {"SCOPE": ["user:email"]},
}

# A form of ours that leads there must be allowed to, by the Content-Security-Policy.
PROVIDER_HOSTS = {"google": "https://accounts.google.com", "github": "https://github.com"}


def social(env: environ.Env) -> tuple[list[str], dict[str, Any]]:
    """The apps and the providers of `ANEX_<NAME>_CLIENT_ID` and `ANEX_<NAME>_CLIENT_SECRET` that are set."""
    configured = {}
    for name, options in _PROVIDERS.items():
        client_id = env.str(f"ANEX_{name.upper()}_CLIENT_ID", default="")
        secret = env.str(f"ANEX_{name.upper()}_CLIENT_SECRET", default="")
        if client_id and secret:
            configured[name] = options | {"APPS": [{"client_id": client_id, "secret": secret, "key": ""}]}
    if not configured:
        return [], {}
    return ["allauth.socialaccount", *(f"allauth.socialaccount.providers.{name}" for name in configured)], configured
