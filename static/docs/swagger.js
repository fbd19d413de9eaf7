const place = document.getElementById("swagger");
SwaggerUIBundle({
  url: place.dataset.description,
  domNode: place,
  deepLinking: true,
  // The key is kept in this tab's memory alone.
  persistAuthorization: false,
  validatorUrl: null,
});
