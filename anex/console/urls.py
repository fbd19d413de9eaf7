"""Console paths of the pages that join apps."""

from django.urls import path

from anex.console.views import auto_approve, dashboard, jobs, keys, submit, webhook_log, webhooks

urlpatterns = [
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
    path("jobs/<uuid:job_id>/pause", jobs.job_pause, name="job_pause"),
    path("jobs/<uuid:job_id>/resume", jobs.job_resume, name="job_resume"),
    path("jobs/<uuid:job_id>/retry", jobs.job_retry, name="job_retry"),
    path("jobs/<uuid:job_id>/delete", jobs.job_delete, name="job_delete"),
    path("jobs/<uuid:job_id>/result", jobs.job_result, name="job_result"),
    path("jobs/<uuid:job_id>/errors", jobs.job_errors, name="job_errors"),
    path("webhooks", webhooks.endpoint_list, name="webhooks"),
    path("webhooks/new", webhooks.endpoint_create, name="webhook_create"),
    path("webhooks/<uuid:endpoint_id>", webhook_log.delivery_list, name="webhook_log"),
    path("webhooks/<uuid:endpoint_id>/edit", webhooks.endpoint_edit, name="webhook_edit"),
    path("webhooks/<uuid:endpoint_id>/rotate", webhooks.endpoint_rotate, name="webhook_rotate"),
    path("webhooks/<uuid:endpoint_id>/end-overlap", webhooks.endpoint_end_overlap, name="webhook_end_overlap"),
    path("webhooks/<uuid:endpoint_id>/enable", webhooks.endpoint_enable, name="webhook_enable"),
    path("webhooks/<uuid:endpoint_id>/disable", webhooks.endpoint_disable, name="webhook_disable"),
    path("webhooks/<uuid:endpoint_id>/delete", webhooks.endpoint_delete, name="webhook_delete"),
    path("webhooks/<uuid:endpoint_id>/test", webhook_log.send_test, name="webhook_test"),
    path("webhooks/deliveries/<uuid:delivery_id>", webhook_log.delivery_page, name="webhook_delivery"),
    path("webhooks/deliveries/<uuid:delivery_id>/resend", webhook_log.resend, name="webhook_resend"),
]
