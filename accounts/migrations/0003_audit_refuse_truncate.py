"""Nor can the audit record be emptied as a whole."""

from django.db import migrations

REFUSE = """
CREATE TRIGGER accounts_auditevent_refuse_truncate BEFORE TRUNCATE ON accounts_auditevent
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_auditevent_refuse();
"""

ALLOW = "DROP TRIGGER accounts_auditevent_refuse_truncate ON accounts_auditevent;"


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_audit_append_only")]

    operations = [migrations.RunSQL(REFUSE, ALLOW)]
