"""URLs: everything that a person does here happens in the admin."""

from django.contrib import admin
from django.urls import path
from django.views.generic import RedirectView

admin.site.site_header = admin.site.site_title = "Durable outbox"

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
]
