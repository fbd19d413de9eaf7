"""What admits tells the plan's history budget, where it has one."""

from importlib import import_module

from django.db import migrations

keys = import_module("billing.migrations.0018_request_keys")

# Without nulls, which processes of the former version would not know the name of.
CHANGES = (
    ("THEN json_build_object(\n            'slug'", "THEN json_strip_nulls(json_build_object(\n            'slug'"),
    (
        "'burst', v_plan.burst, 'max_output_tokens', v_plan.max_output_tokens\n        ) END",
        "'burst', v_plan.burst, 'max_output_tokens', v_plan.max_output_tokens,\n"
        "            'history_budget_bytes', v_plan.history_budget_bytes\n        )) END",
    ),
)
OLD_ADMIT = keys.changed(keys.OLD_ADMIT, keys.CHANGES)
ADMIT = keys.changed(OLD_ADMIT, CHANGES)


class Migration(migrations.Migration):
    dependencies = [("billing", "0018_request_keys"), ("accounts", "0012_history_budget")]

    operations = [migrations.RunSQL(ADMIT, OLD_ADMIT)]
