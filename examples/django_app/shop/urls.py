"""Pages of the project."""

from django.urls import path

from shop import views

urlpatterns = [
    path("", views.submit, name="submit"),
    path("sessions/<uuid:session_id>", views.page, name="page"),
    path("sessions/<uuid:session_id>/events", views.events, name="events"),
    path("sessions/<uuid:session_id>/reply", views.reply, name="reply"),
]
