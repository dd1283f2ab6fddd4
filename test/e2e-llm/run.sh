#!/usr/bin/env bash
# The real small LLM behind the tap, the real openai client in front of it: are the stored chunk times what the
# client measured?
#
#   run.sh                      both ways: a tap in the test's process, then a whole `fermata up` (bin/fermata)
#   run.sh --api URL --tap URL  against a running `fermata up` whose default upstream is an OpenAI-style server
#                               that serves the model smollm2 (serve.py does)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cd "$root"
while [ $# -gt 0 ]; do
  case $1 in
    --api) export FERMATA_API=$2; shift 2 ;;
    --tap) export FERMATA_TAP=$2; shift 2 ;;
    *) sed -n '2,8p' "$0"; exit 2 ;;
  esac
done
"$here/setup.sh"
export FERMATA_LLM_CACHE=${FERMATA_LLM_CACHE:-$root/.cache/llm}
if [ -z "${FERMATA_API:-}" ] && [ -x "$root/bin/fermata" ]; then
  export FERMATA_BIN=$root/bin/fermata
fi
exec "${GO:-go}" test -tags e2e -count=1 -timeout 10m -v ./test/e2e-llm/
