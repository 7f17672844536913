"""Share what is slow to start: an embedded model, a real server on loopback, and a proxy in front of it."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from promptkit.models._weights import find_weights
from promptkit.models.local import LlamaCppChatModel
from promptkit.options import ChatOptions


@pytest.fixture(scope="session", autouse=True)
def one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Trust one authority instead of all: nothing here speaks TLS, and each client of an SDK reads them anew."""
    import certifi

    end = "-----END CERTIFICATE-----\n"
    bundle = Path(certifi.where()).read_text("utf-8")
    file = tmp_path_factory.mktemp("certificates") / "one.pem"
    file.write_text(bundle[bundle.index("-----BEGIN") : bundle.index(end) + len(end)], "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(file))
        yield


@pytest.fixture(scope="session")
def local() -> Iterator[LlamaCppChatModel]:
    with LlamaCppChatModel(context=256, options=ChatOptions(max_tokens=12)) as chat_model:
        yield chat_model


class Server(NamedTuple):
    """Say where a server is, and the key that it asks for."""

    url: str
    key: str


@pytest.fixture(scope="session")
def llama_server() -> Iterator[Server]:
    """Run llama.cpp's own HTTP server, which speaks Chat Completions, Responses and Messages."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(find_weights(None))
    params.model_alias = {"smollm2"}
    params.n_ctx, params.n_parallel, params.n_threads_http = 1024, 2, 12
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    # The weights' own template knows no tools, and the server then drops them without a word.
    params.chat_template = (Path(__file__).parents[1] / "data" / "tool_chat.jinja").read_text("utf-8")
    params.cache_ram_mib = 0
    params.ui = False
    params.verbosity = -1
    params.api_keys = [secrets.token_hex(16)]
    server = xllamacpp.Server(params)
    yield Server(server.listening_address, params.api_keys[0])
    del server


@pytest.fixture(scope="session")
def gemini_proxy(
    request: pytest.FixtureRequest, llama_server: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """Run litellm's proxy, which speaks Gemini's format and asks llama.cpp's server."""
    folder = tmp_path_factory.mktemp("litellm")
    answers = {"model": "openai/smollm2", "api_base": f"{llama_server.url}/v1", "api_key": llama_server.key}
    config = {"model_list": [{"model_name": "smollm2", "litellm_params": answers}]}
    (folder / "config.yaml").write_text(json.dumps(config))  # YAML takes JSON
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = Server(f"http://127.0.0.1:{port}", f"sk-{secrets.token_hex(32)}")
    command = [str(Path(request.config.getoption("--litellm")).resolve())]
    command += ["--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LITELLM_MASTER_KEY": server.key,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it asks the network for prices
    }
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log) as process,
    ):
        try:
            _await_answer(f"{server.url}/health/liveliness", process, folder / "log")
            yield server
        finally:
            process.terminate()


def _await_answer(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        try:
            with urlopen(url, timeout=5):
                return
        except (URLError, TimeoutError, ConnectionError):
            time.sleep(0.2)
    pytest.fail(f"litellm's proxy does not answer: {log.read_text('utf-8', 'replace')[-2000:]}")
