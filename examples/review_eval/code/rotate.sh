#!/bin/bash
# Compress the logs of a folder that are older than a week: rotate.sh FOLDER
set -euo pipefail

folder=${1:?a folder is required}
count=0

while IFS= read -r -d '' file; do
    gzip --best -- "$file"
    count=$((count + 1))
done < <(find "$folder" -maxdepth 1 -type f -name '*.log' -mtime +7 -print0)

printf '%d files compressed in %s\n' "$count" "$folder"
