"""Which models an organization can buy from here: one rule for what a job may name and what a person can pick."""

from uuid import UUID

from billing import price_cards
from inference.catalogue import Model


def is_for_sale(model: Model, *, organization_id: UUID, region: str) -> bool:
    """Whether all is known that a job needs: how to count its rows, what they cost, where and to whom it is offered.

    A model that takes media needs a price for it too: else a file with a picture could not be quoted. Whether a server
    answers is not asked here: a model stays for sale while its server is being started again.
    """
    card = price_cards.current(model.id)
    return (
        model.countable
        and region in model.regions
        and model.is_for(organization_id)
        and card is not None
        and (model.media is None or card.sells("batch", media=True))
    )
