"""The answers of the balance and usage endpoints, for the API description."""

from rest_framework import serializers


class BalanceSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """Amounts in credits (US cents)."""

    object = serializers.CharField()
    balance = serializers.FloatField()
    held = serializers.FloatField()
    credit_limit = serializers.FloatField()
    available = serializers.FloatField()
    currency = serializers.CharField()


class UsageFiguresSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """Sums over requests; `cost` in credits, `cost_nano_usd` exact."""

    requests = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    cached_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cost = serializers.FloatField()
    cost_nano_usd = serializers.IntegerField()


class UsageRowSerializer(UsageFiguresSerializer):
    """One group; a name is there when the groups are by it, null where it is not known."""

    day = serializers.DateField(required=False)
    model = serializers.CharField(required=False, allow_null=True)
    key = serializers.CharField(required=False, allow_null=True)
    surface = serializers.CharField(required=False, allow_null=True)


class UsageSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """Usage of a span of days, in groups and in all."""

    object = serializers.CharField()
    start_date = serializers.DateField()
    end_date = serializers.DateField()
    group_by = serializers.ListField(child=serializers.CharField())
    data = UsageRowSerializer(many=True)  # type: ignore[assignment]
    total = UsageFiguresSerializer()
