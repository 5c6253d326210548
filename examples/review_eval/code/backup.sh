#!/bin/bash
# Pack the folders that are named, and remove old packages.
set -eu

target=${BACKUP_TARGET:-/srv/backup}
work="$target/work"
mkdir -p "$work"

for folder in "$@"; do
    name=$(basename "$folder")
    tar -czf "$work/$name.tar.gz" -C "$folder" .
done

rm -rf $work/old

for package in $(ls "$work"); do
    mv "$work/$package" "$target/"
done
