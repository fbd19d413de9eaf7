import pytest
from django.http import Http404
from rest_framework import exceptions, serializers
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from accounts.services import organizations
from anex.core.actors import Actor
from anex.core.errors import TooManyRequests, Unavailable
from tests.factories import make_key


class Item(serializers.Serializer):
    count = serializers.IntegerField(min_value=1)


class Body(serializers.Serializer):
    model = serializers.CharField()
    items = Item(many=True, required=False)

    def validate(self, attrs):
        if attrs["model"] == "both":
            raise serializers.ValidationError("Send exactly one of input_id and input_s3_uri.")
        return attrs


class Echo(APIView):
    def get(self, request):
        return Response({"key": request.auth.key_id})

    def post(self, request):
        Body(data=request.data).is_valid(raise_exception=True)
        return Response({})


class Raises(APIView):
    authentication_classes = []
    error: Exception = Http404()

    def get(self, request):
        raise self.error


def get(header=None):
    headers = {} if header is None else {"Authorization": header}
    return Echo.as_view()(APIRequestFactory().get("/", headers=headers))


@pytest.mark.django_db
def test_view_sees_the_caller_of_the_key():
    key = make_key()
    assert get(key.header).data == {"key": key.caller.key_id}


def test_missing_header_answers_422_with_a_detail():
    answer = get()
    assert answer.status_code == 422
    assert "Authorization" in answer.data["detail"]


@pytest.mark.django_db
@pytest.mark.parametrize("header", ["", "Bearer nonsense", "Bearer sk-" + "a" * 52])
def test_bad_key_answers_401_with_a_challenge(header):
    answer = get(header)
    assert answer.status_code == 401
    assert set(answer.data) == {"detail"}
    assert answer["WWW-Authenticate"] == "Bearer"


@pytest.mark.django_db
def test_suspended_organization_answers_403_in_the_documented_shape():
    key = make_key()
    organizations.suspend(organization_id=key.caller.organization_id, actor=Actor("staff", "1"), reason="unpaid")
    answer = get(key.header)
    assert answer.status_code == 403
    assert set(answer.data) == {"error", "message"}
    assert answer.data["error"] == "org_suspended"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({}, "model is required."),
        ({"model": None}, "model may not be null."),
        ({"model": ["a"]}, "model: not a valid string."),
        ({"model": "both"}, "Send exactly one of input_id and input_s3_uri."),
        (
            {"items": [{"count": 1}, {"count": 0}]},
            "model is required; items[1].count: ensure this value is greater than or equal to 1.",
        ),
        ([], "Invalid data. Expected a dictionary, but got list."),
    ],
)
def test_body_of_the_wrong_shape_answers_422_in_one_sentence(body, detail):
    request = APIRequestFactory().post("/", body, format="json", headers={"Authorization": make_key().header})
    answer = Echo.as_view()(request)
    assert (answer.status_code, answer.data) == (422, {"detail": detail})


@pytest.mark.django_db
def test_body_that_is_not_json_answers_422():
    header = {"Authorization": make_key().header}
    request = APIRequestFactory().post("/", b"{", content_type="application/json", headers=header)
    answer = Echo.as_view()(request)
    assert answer.status_code == 422
    assert answer.data["detail"].startswith("JSON parse error")


@pytest.mark.parametrize(
    ("error", "status", "detail", "retry_after"),
    [
        (TooManyRequests("Wait a little.", retry_after=7), 429, "Wait a little.", "7"),
        (Unavailable("Try again."), 503, "Try again.", "1"),
        (Http404(), 404, "Not found.", None),
        (exceptions.UnsupportedMediaType("text/plain"), 415, 'Unsupported media type "text/plain" in request.', None),
    ],
)
def test_error_keeps_its_status_and_carries_retry_after(error, status, detail, retry_after):
    answer = Raises.as_view(error=error)(APIRequestFactory().get("/"))
    assert (answer.status_code, answer.data) == (status, {"detail": detail})
    assert answer.get("Retry-After") == retry_after


def test_further_documented_fields_stand_beside_the_detail():
    error = Unavailable("Frozen.", extra={"residency": "eu"})
    answer = Raises.as_view(error=error)(APIRequestFactory().get("/"))
    assert answer.data == {"detail": "Frozen.", "residency": "eu"}


def test_unknown_exception_stays_a_server_error():
    with pytest.raises(ZeroDivisionError):
        Raises.as_view(error=ZeroDivisionError())(APIRequestFactory().get("/"))
