"""Which models an organization can buy from here: one rule for what a job may name and what a person can pick."""

from uuid import UUID

from billing import price_cards
from inference.catalogue import Model


def is_for_sale(model: Model, *, organization_id: UUID, region: str) -> bool:
    """Whether all is known that a job needs: how to count its rows, what they cost, where and to whom it is offered.

    Whether a server answers is not asked here: a model stays for sale while its server is being started again.
    """
    return (
        model.countable
        and region in model.regions
        and model.is_for(organization_id)
        and price_cards.current(model.id) is not None
    )
