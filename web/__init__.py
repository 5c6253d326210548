"""What programs reach over HTTP: the API, its events, the page to talk, and protocols of other systems."""
