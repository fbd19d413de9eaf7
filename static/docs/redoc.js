const place = document.getElementById("redoc");
Redoc.init(place.dataset.description, { disableGoogleFont: true, hideDownloadButton: false, nativeScrollbars: true }, place);
