"""Routes of the API, a module for each kind of resource."""
