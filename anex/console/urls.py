"""Console paths of the pages that join apps."""

from django.urls import path
from django.views.generic import RedirectView

from anex.console.views import auto_approve, dashboard, jobs, submit

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="dashboard"), name="home"),
    path("dashboard", dashboard.dashboard, name="dashboard"),
    path("dashboard/live", dashboard.dashboard_live, name="dashboard_live"),
    path("jobs", jobs.job_list, name="jobs"),
    path("jobs/auto-approve", auto_approve.auto_approve, name="auto_approve"),
    path("jobs/new", submit.new, name="job_new"),
    path("jobs/new/upload", submit.upload, name="job_upload"),
    path("jobs/<uuid:job_id>", jobs.job_page, name="job"),
    path("jobs/<uuid:job_id>/live", jobs.job_live, name="job_live"),
    path("jobs/<uuid:job_id>/approve", jobs.job_approve, name="job_approve"),
    path("jobs/<uuid:job_id>/cancel", jobs.job_cancel, name="job_cancel"),
    path("jobs/<uuid:job_id>/result", jobs.job_result, name="job_result"),
]
