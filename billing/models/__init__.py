"""Tables of money, by what they are about."""

from billing.models.ledger import Account, Grant, Hold, Holder, RequestKey, Transfer
from billing.models.payments import AutoTopup, BalanceAlert, LocalPayment, PaymentEvent, Topup
from billing.models.usage import KeySpend, UsageDay, UsageRecord

__all__ = [
    "Account",
    "AutoTopup",
    "BalanceAlert",
    "Grant",
    "Hold",
    "Holder",
    "KeySpend",
    "LocalPayment",
    "PaymentEvent",
    "RequestKey",
    "Topup",
    "Transfer",
    "UsageDay",
    "UsageRecord",
]
