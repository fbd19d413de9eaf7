"""Console paths of the pages that join apps."""

from django.urls import path
from django.views.generic import RedirectView

from anex.console.views import auto_approve, dashboard, jobs, keys, submit

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="dashboard"), name="home"),
    path("dashboard", dashboard.dashboard, name="dashboard"),
    path("dashboard/live", dashboard.dashboard_live, name="dashboard_live"),
    path("keys", keys.key_list, name="keys"),
    path("keys/new", keys.key_create, name="key_create"),
    path("keys/<str:key_id>/edit", keys.key_edit, name="key_edit"),
    path("keys/<str:key_id>/rotate", keys.key_rotate, name="key_rotate"),
    path("keys/<str:key_id>/end-overlap", keys.key_end_overlap, name="key_end_overlap"),
    path("keys/<str:key_id>/revoke", keys.key_revoke, name="key_revoke"),
    path("jobs", jobs.job_list, name="jobs"),
    path("jobs/auto-approve", auto_approve.auto_approve, name="auto_approve"),
    path("jobs/new", submit.new, name="job_new"),
    path("jobs/new/upload", submit.upload, name="job_upload"),
    path("jobs/<uuid:job_id>", jobs.job_page, name="job"),
    path("jobs/<uuid:job_id>/live", jobs.job_live, name="job_live"),
    path("jobs/<uuid:job_id>/approve", jobs.job_approve, name="job_approve"),
    path("jobs/<uuid:job_id>/cancel", jobs.job_cancel, name="job_cancel"),
    path("jobs/<uuid:job_id>/delete", jobs.job_delete, name="job_delete"),
    path("jobs/<uuid:job_id>/result", jobs.job_result, name="job_result"),
]
