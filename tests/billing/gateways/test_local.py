"""Our own payment page: what a person sees and presses."""

from billing.models import Topup
from tests.billing.gateways.test_contract import cents, start


def test_paying_leads_back_to_a_booked_payment(ada, acme):
    topup = start(acme)
    page = f"/billing/local/{topup.pk}"
    assert "no money moves" in ada.get(page).content.decode()
    answer = ada.post(page, {"decision": "pay"}, follow=True)
    assert "$20.00 was added" in answer.content.decode()
    ada.post(page, {"decision": "pay"})
    assert cents(acme) == 2_000


def test_first_decision_stands(ada, acme):
    topup = start(acme)
    page = f"/billing/local/{topup.pk}"
    assert "Not paid" in ada.post(page, {"decision": "decline"}, follow=True).content.decode()
    ada.post(page, {"decision": "pay"})
    assert (Topup.objects.get().state, cents(acme)) == ("failed", 0)


def test_page_is_gone_where_local_payments_are_off(ada, acme, settings):
    topup = start(acme)
    settings.ANEX_LOCAL_PAYMENTS = False
    assert ada.get(f"/billing/local/{topup.pk}").status_code == 404


def test_local_payments_are_off_in_production_unless_asked_for(settings):
    from anex.settings import base

    assert base.ANEX_LOCAL_PAYMENTS is False
