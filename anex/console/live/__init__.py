"""Pages that move by themselves: a socket tells a page which of its jobs changed, and the page fetches its fragment."""
