"""Console paths of accounts."""

from django.urls import path

from accounts.views import alerts, audit, invitations, members, organizations

urlpatterns = [
    path("organizations/new", organizations.organization_new, name="organization_new"),
    path("organizations/<uuid:organization_id>/switch", organizations.organization_switch, name="organization_switch"),
    path("members", members.member_list, name="members"),
    path("members/leave", members.member_leave, name="member_leave"),
    path("members/<int:user_id>/role", members.member_role, name="member_role"),
    path("members/<int:user_id>/remove", members.member_remove, name="member_remove"),
    path("members/<int:user_id>/transfer", members.ownership_transfer, name="ownership_transfer"),
    path("alerts", alerts.alerts, name="alerts"),
    path("audit", audit.audit_list, name="audit"),
    path("audit.csv", audit.audit_export, name="audit_export"),
    path("invitations/new", invitations.invitation_new, name="invitation_new"),
    path("invitations/<uuid:invitation_id>/resend", invitations.invitation_resend, name="invitation_resend"),
    path("invitations/<uuid:invitation_id>/revoke", invitations.invitation_revoke, name="invitation_revoke"),
    path("invitations/<str:token>", invitations.invitation, name="invitation"),
]
