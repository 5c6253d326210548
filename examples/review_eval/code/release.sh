#!/bin/bash
# Build a release of a checkout: release.sh FOLDER VERSION
set -u

folder=$1
version=$2

cd $folder || exit 1
state=$(git status --porcelain)

if [ -n "$state" ]; then
    echo "uncommitted changes" >&2
    exit 1
fi

files=$(git ls-files)
sha256sum $files > "/tmp/$version.sums"
git tag --annotate "$version" --message "Release $version"
echo "$version: $(wc -l < "/tmp/$version.sums") files"
