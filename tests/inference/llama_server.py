"""llama.cpp's server on a free port of the loopback; prints its address and lives until its stdin closes."""

import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 8192
params.n_parallel = 4
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.cache_ram_mib = 0
params.use_jinja = True
# A trailing assistant message is a turn of its own, as vLLM reads it, not the start of the answer.
params.prefill_assistant = False
server = xllamacpp.Server(params)
print("READY", server.listening_address, flush=True)
sys.stdin.read()
