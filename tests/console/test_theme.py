"""The colours a browser chose are drawn by the server, so that no page flashes."""


def test_chosen_colours_are_kept_for_every_page(client, db):
    answer = client.post("/theme", {"theme": "dark", "next": "/accounts/login/"})
    assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/")
    assert '<html lang="en" data-theme="dark">' in client.get("/accounts/login/").content.decode()
    client.post("/theme", {"theme": "", "next": "/accounts/login/"})
    assert '<html lang="en">' in client.get("/accounts/login/").content.decode()


def test_unknown_colours_and_foreign_addresses_change_nothing(client, db):
    answer = client.post("/theme", {"theme": "pink", "next": "https://elsewhere.example/"})
    assert answer["Location"] == "/"
    client.cookies["theme"] = '"><script>'
    assert '<html lang="en">' in client.get("/accounts/login/").content.decode()
