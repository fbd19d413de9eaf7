const place = document.getElementById("swagger");
SwaggerUIBundle({
  url: place.dataset.description,
  domNode: place,
  deepLinking: true,
  // What calls take and answer stands with each call; the reference lists all objects.
  defaultModelsExpandDepth: -1,
  onComplete: () => document.getElementById("servers")?.setAttribute("aria-label", "Server"),
  // The key is kept in this tab's memory alone.
  persistAuthorization: false,
  validatorUrl: null,
});
