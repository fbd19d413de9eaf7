"""Paths of what developers and visitors read."""

from django.urls import path

from anex.docs.views import files, pages, prices, site

MARKDOWN = {"as_markdown": True}

urlpatterns = [
    path("", site.landing, name="home"),
    path("openapi.json", files.openapi_json, name="openapi_json"),
    path("openapi.yaml", files.openapi_yaml, name="openapi_yaml"),
    path("static/chat-templates/index.json", files.chat_template_index, name="chat_template_index"),
    path("static/chat-templates/<str:model_id>.jinja", files.chat_template, name="chat_template"),
    path("docs", pages.page, name="docs"),
    path("docs.md", pages.page, MARKDOWN),
    path("docs/search", pages.search_page, name="docs_search"),
    path("docs/search.json", pages.search_index, name="docs_search_index"),
    path("docs/api/try", files.swagger, name="swagger"),
    path("docs/api/reference", pages.reference, name="docs_reference"),
    path("docs/<slug:slug>", pages.page, name="docs_page"),
    path("docs/<slug:slug>.md", pages.page, MARKDOWN),
    path("models", pages.model_index, name="models"),
    path("models.md", pages.model_index, MARKDOWN),
    path("models/<str:model_id>", pages.model_page, name="model"),
    path("pricing", prices.pricing, name="pricing"),
    path("pricing.md", prices.as_markdown),
    path("price-calculator", prices.calculator_page, name="price_calculator"),
    path("llms.txt", pages.llms, name="llms"),
    path("sitemap.xml", pages.sitemap, name="sitemap"),
    path("robots.txt", pages.robots, name="robots"),
    *(path(name, site.page, {"name": name}, name=name) for name in ("terms", "privacy", "support")),
    *(path(f"{name}.md", site.page, {"name": name} | MARKDOWN) for name in ("terms", "privacy", "support")),
    path("blog", site.blog, name="blog"),
    path("blog.md", site.blog, MARKDOWN),
    path("blog/feed.xml", site.feed, name="blog_feed"),
    path("blog/<slug:slug>", site.post, name="blog_post"),
    path("blog/<slug:slug>.md", site.post, MARKDOWN),
]
