#!/usr/bin/env bash
# LiteLLM and Envoy in front of a `fermata up` (bin/fermata) and its scripted model, the real openai client in front of them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cd "$root"
"$here/setup.sh"
export FERMATA_BIN=${FERMATA_BIN:-$root/bin/fermata}
exec "${GO:-go}" test -tags e2e -count=1 -timeout 15m -v ./test/e2e-gateways/ "$@"
