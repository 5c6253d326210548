"""Write the OpenAPI document of the HTTP API to standard output, for `make client-types`."""

import json

from symposia.config.settings import Settings
from symposia.web.app import create_app

print(json.dumps(create_app(Settings(), authenticate=False).openapi(), indent=2))
