from tests.console import scenes
from tests.factories import make_organization


def test_list_shows_each_job_with_its_quote_and_charge(ada, acme):
    finished, waiting = scenes.done(acme), scenes.quoted(acme)
    html = ada.get("/jobs").content.decode()
    for shown in (str(finished.pk), str(waiting.pk), "Done", "Quoted", "$4.12", "$2.97", "1,200"):
        assert shown in html


def test_list_holds_no_job_of_another_organization(ada):
    foreign = scenes.done(make_organization("Globex"))
    assert str(foreign.pk) not in ada.get("/jobs").content.decode()


def test_empty_list_offers_a_sample_file(ada):
    html = ada.get("/jobs").content.decode()
    assert "No jobs yet" in html
    assert "/static/console/sample.jsonl" in html


def test_list_costs_the_same_few_queries_however_long(ada, acme, django_assert_max_num_queries):
    for _ in range(20):
        scenes.done(acme)
    with django_assert_max_num_queries(5):
        ada.get("/jobs")
