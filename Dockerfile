# One image for all roles: `symposia worker` by default; other commands run Flower, beats and the command line.
FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 SYMPOSIA_DATA_DIR=/var/lib/symposia

# Reviews use git to find ignored files and changes.
RUN apt-get update && apt-get install --yes --no-install-recommends git && rm -rf /var/lib/apt/lists/*

# Extras of the image, by role: see README.md.
ARG EXTRAS=archive,flower,postgres,review,worker

WORKDIR /src
COPY . .
RUN pip install --quiet --constraint constraints.txt ".[$EXTRAS]" \
    && rm -rf /src/* \
    && useradd --system --create-home --home-dir "$SYMPOSIA_DATA_DIR" symposia

USER symposia
WORKDIR $SYMPOSIA_DATA_DIR
CMD ["symposia", "worker"]
