"""Share what is slow to start: an embedded model, and a real server on loopback."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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
