"""A large customer: 10,000 jobs, 100,000 ledger lines, 50 members; made of copies of single rows, by the database."""

from typing import Any

from django.db import connection, models

from accounts.models import AuditEvent, Membership, Organization, User
from anex.core import clock
from billing.models import Account, Hold, Transfer, UsageRecord
from billing.services import holds
from jobs.models import JobEvent, WebhookDelivery
from tests.console import scenes
from tests.factories import actor_of, grant_credits, make_key

JOBS, LINES, MEMBERS, EVENTS = 10_000, 100_000, 50, 1_000
# Each copy a few minutes before the next: half a year of jobs, and of requests.
AGE = "now() - {count} * interval '25 minutes' + n * interval '25 minutes'"


def gather(acme: Organization, owner: User) -> None:
    """Let Acme, which has been furnished, become large."""
    grant_credits(acme, 100_000_000)
    _work(acme)
    _spend(acme, owner)
    delivery = WebhookDelivery.objects.first()
    event = AuditEvent.objects.filter(organization=acme).first()
    assert delivery and event
    multiply(event, EVENTS, at=AGE.format(count=EVENTS))
    multiply(delivery.event, EVENTS, id="gen_random_uuid()", job="NULL::uuid")
    other = "(SELECT id FROM jobs_webhookevent WHERE id <> r.event_id ORDER BY id OFFSET n - 1 LIMIT 1)"
    multiply(delivery, EVENTS, id="gen_random_uuid()", event=other)
    for number in range(MEMBERS):
        person = User.objects.create(email=f"person-{number}@example.com")
        Membership.objects.create(organization=acme, user=person, role="member")
    for number in range(MEMBERS):
        make_key(acme, name=f"key {number}")


def _work(acme: Organization) -> None:
    """Jobs that are done, each with its history."""
    job = scenes.done(acme)
    event = JobEvent.objects.filter(job=job).first()
    assert event
    at = AGE.format(count=JOBS)
    multiply(job, JOBS, id="gen_random_uuid()", created_at=at, finished_at=at, approved_at=at)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO jobs_jobevent (job_id, type, actor, at)"
            " SELECT id, unnest(ARRAY['submitted', 'cost_ready', 'done']), created_by, created_at FROM jobs_job"
            " WHERE organization_id = %s AND id NOT IN (SELECT job_id FROM jobs_jobevent)",
            [acme.pk],
        )


def _spend(acme: Organization, owner: User) -> None:
    """One job and many requests that were paid, with what they consumed."""
    actor, key = actor_of(owner), make_key(acme).caller.key_id
    source = f"job:{scenes.done(acme).pk}"
    holds.place(organization_id=acme.pk, source=source, amount_nano=4_000_000, actor=actor)
    holds.settle(source=source, charge_nano=1_500_000, actor=actor)
    hold, charge = Hold.objects.get(source=source), Transfer.objects.get(source__contains=source)
    account = Account.objects.get(organization=acme)
    at, name = AGE.format(count=LINES).replace("25 m", "2 m"), "'req:' || n"
    used = UsageRecord.objects.create(
        source=source,
        organization=acme,
        at=clock.now(),
        surface="chat",
        model_id="scripted",
        key_id=key,
        requests=1,
        input_tokens=800,
        cached_tokens=0,
        output_tokens=90,
        amount_nano=1_500_000,
    )
    multiply(used, LINES, source=name, at=at, model_id="'model-' || mod(n, 5)", amount_nano="1000000 + n")
    with connection.cursor() as cursor:
        # Guards and sums of the verbs, which wrote the rows that are copied.
        cursor.execute("SET LOCAL session_replication_role = replica")
        left = f"{account.balance_nano} - n * 1500000::bigint"
        multiply(hold, LINES, source=name, placed_at=at, settled_at=at, surface="'chat'", model_id="'scripted'")
        multiply(charge, LINES, source=f"{name} || ':charge'", at=at, balance_after_nano=left)
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")


def multiply(row: models.Model, count: int, **changes: str) -> None:
    """Insert copies of a row; in an expression of a changed column `n` is the number of the copy."""
    table, pk = row._meta.db_table, row._meta.pk
    columns: dict[str, Any] = {field.column: f'r."{field.column}"' for field in row._meta.concrete_fields}
    if isinstance(pk, models.AutoField):
        del columns[pk.column]
    columns |= {row._meta.get_field(name).column: expression for name, expression in changes.items()}
    names = ", ".join(f'"{name}"' for name in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f'INSERT INTO "{table}" ({names}) SELECT {", ".join(columns.values())}'
            f' FROM "{table}" r, generate_series(1, {count}) AS n WHERE r."{pk.column}" = %s',
            [row.pk],
        )
        cursor.execute(f'ANALYZE "{table}"')
