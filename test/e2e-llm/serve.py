"""Serves a GGUF model with llama.cpp's own HTTP server until it is told to stop.

usage: serve.py MODEL.gguf PORT [SLOTS]

Prints READY and the address when requests are answered. Port 0 lets the system choose. One thread: with more, the model slows down whatever else runs here.
"""
import os
import signal
import sys

import xllamacpp

model, port = sys.argv[1], int(sys.argv[2])
slots = int(sys.argv[3]) if len(sys.argv) > 3 else 2

p = xllamacpp.CommonParams()
p.model.path = model
p.model_alias = "smollm2" if isinstance(p.model_alias, str) else {"smollm2"}
p.hostnames = ["127.0.0.1"]
p.port = port
p.n_parallel = slots
p.n_ctx = 2048 * slots  # the context is shared out among the slots
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
p.n_gpu_layers = 0
p.cache_ram_mib = 0  # the default lets memory grow to 8 GiB
p.ui = False
server = xllamacpp.Server(p)
print("READY", server.listening_address, flush=True)
signal.sigwait([signal.SIGTERM, signal.SIGINT])
os._exit(0)  # the server's threads don't end by themselves
