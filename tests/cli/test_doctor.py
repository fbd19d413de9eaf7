"""What `anex doctor` tells whoever holds a key."""

from tests.cli.conftest import Shell


def test_it_tells_what_is_right_and_what_to_do(anex: Shell) -> None:
    found = {each["about"]: each for each in anex.json("doctor")}
    assert found.keys() == {"server", "key", "credits", "models"}
    assert not any(each["remedy"] for each in found.values())
    wrong = {each["about"]: each for each in anex.json("doctor", status=1, ANEX_API_KEY="sk-000000000000wrong")}
    assert "anex login" in wrong["key"]["remedy"]
    [away] = anex.json("doctor", status=1, ANEX_BASE_URL="http://127.0.0.1:1")
    assert (away["about"], bool(away["remedy"])) == ("server", True)
