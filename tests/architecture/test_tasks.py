"""Celery's tasks are found by the app that owns them."""

from anex.celery import app


def test_task_names_start_with_their_app() -> None:
    app.loader.import_default_modules()
    owners = {name: task.__module__.split(".")[0] for name, task in app.tasks.items() if not name.startswith("celery.")}
    assert owners
    assert {name: owner for name, owner in owners.items() if name.split(".")[0] != owner} == {}


def test_the_schedule_names_tasks_that_exist() -> None:
    app.loader.import_default_modules()
    scheduled = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert "jobs.sweep" in scheduled
    assert scheduled <= set(app.tasks)
