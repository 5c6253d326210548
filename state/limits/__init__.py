"""Usage of tenants and request rates of models in Redis."""
