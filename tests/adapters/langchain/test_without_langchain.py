"""The adapter stands alone: langchain-core is loaded by the six names that need it, and by nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from promptkit.adapters import langchain

HERE = Path(__file__).parent
INTEROP = ("as_chat_message_history", "as_langchain_model", "as_runnable", "from_langchain_core", "from_langchain_model", "to_langchain_core")  # fmt: skip
NEED_IT = ("test_differential.py", "test_interop_models.py", "test_interop_templates.py", "test_interop_values.py", "test_langgraph.py")  # fmt: skip
BLOCKED = "import sys; sys.modules['langchain_core'] = None\n"


def run(program: str, root: Path) -> str:
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, timeout=300)
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout


def test_importing_it_loads_nothing_of_langchain(root: Path) -> None:
    program = (
        "import sys, promptkit.adapters.langchain as adapter\n"
        f"names = [name for name in adapter.__all__ if name not in {INTEROP!r}]\n"
        "assert all(getattr(adapter, name) for name in names)\n"
        "print([name for name in sys.modules if name.startswith(('langchain', 'langgraph', 'langsmith', 'pydantic'))])"
    )
    assert run(program, root) == "[]\n"


def test_all_but_the_meeting_with_the_package_is_tested_without_it(root: Path) -> None:
    names = [path.name for path in sorted(HERE.glob("test_*.py")) if path.name not in (*NEED_IT, Path(__file__).name)]
    arguments = ["-q", "-p", "no:cacheprovider", "--hypothesis-profile=few", *(str(HERE / name) for name in names)]
    program = (
        f"{BLOCKED}import pytest\n"
        "arguments = ['-W', 'ignore::pytest.PytestAssertRewriteWarning']  # as Hypothesis is here before its plugin\n"
        "from hypothesis import settings\n"
        "settings.register_profile('few', derandomize=True, deadline=None, max_examples=3)\n"
        f"code = pytest.main(arguments + {arguments!r})\n"
        "assert not [name for name in sys.modules if name.startswith('langchain_core.')]\n"
        "sys.exit(code)"
    )
    assert " passed" in run(program, root)


@pytest.mark.parametrize("name", INTEROP)
def test_without_the_package_the_extra_is_named(name: str, root: Path) -> None:
    program = (
        f"{BLOCKED}import promptkit.adapters.langchain as adapter\n"
        "from promptkit.errors import MissingDependencyError\n"
        "try:\n"
        f"    adapter.{name}\n"
        "except MissingDependencyError as error:\n"
        "    print(error)"
    )
    printed = run(program, root)

    assert name in printed
    assert "pip install 'promptkit[langchain]'" in printed


def test_a_name_that_does_not_exist_is_none_of_them() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'to_langchain'"):
        langchain.to_langchain  # type: ignore[attr-defined]
    assert set(INTEROP) < set(langchain.__all__)
