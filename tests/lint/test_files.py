from __future__ import annotations

from pathlib import Path

import pytest

from promptkit.errors import PromptError, TemplateNotFoundError
from promptkit.lint import CODES, check_paths, codes_of
from promptkit.renderers.string_template import StringTemplate, StringTemplateRenderer

PROGRAM = 'from promptkit import PromptTemplate\nPromptTemplate("{a}").render({"b": 1})\n'
UNUSED = "---\nvariables: {a: str}\n---\nHi"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "a.prompt.md": UNUSED,
        "b/c.prompt.md": "<!-- include b/style -->\n{x}",
        "b/style.md": "Be kind.",
        "b/d.py": PROGRAM,
        "README.md": "{broken",
        ".hidden/e.prompt.md": "{broken",
        "node_modules/f.prompt.md": "{broken",
        "env/pyvenv.cfg": "",
        "env/g.py": PROGRAM,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    return tmp_path


def test_folders_are_searched(folder: Path) -> None:
    done: list[int] = []

    report = check_paths([folder, folder / "a.prompt.md"], progress=done.append)

    assert [(Path(one.file).name, one.code) for one in report.findings] == [
        ("a.prompt.md", "PK202"),
        ("d.py", "PK201"),
        ("d.py", "PK202"),
    ]
    assert report.files == 3
    assert done == [1, 2, 3]


def test_partials_are_named_from_the_root(folder: Path) -> None:
    file = folder / "b" / "c.prompt.md"

    assert [one.code for one in check_paths([file]).findings] == ["PK102"]
    assert check_paths([file], root=folder).findings == ()


def test_codes_are_left_out(folder: Path) -> None:
    assert [one.code for one in check_paths([folder], ignore=codes_of(["unused"])).findings] == ["PK201"]


@pytest.mark.parametrize(
    ("name", "text", "codes"),
    [
        ("a.py", PROGRAM.replace(")\n", ")  # promptkit: ignore\n"), []),
        ("a.py", PROGRAM.replace("1})", "1})  # promptkit: ignore[PK202]"), ["PK201"]),
        ("a.py", PROGRAM.replace("1})", "1})  # promptkit: ignore[PK202, PK201]"), []),
        ("a.py", f"# promptkit: ignore\n{PROGRAM}", ["PK201", "PK202"]),
        ("a.prompt.md", UNUSED.replace("str}", "str}  # promptkit: ignore[PK202]"), []),
        ("a.prompt.md", UNUSED.replace("str}", "str}  # promptkit: ignore[PK201]"), ["PK202"]),
        ("a.prompt.md", UNUSED + "\n# promptkit: ignore", ["PK202"]),
    ],
)
def test_comments_ignore(name: str, text: str, codes: list[str], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, "utf-8")

    assert [one.code for one in check_paths([tmp_path]).findings] == codes


@pytest.mark.parametrize(
    ("name", "data"), [("a.prompt.md", b"\xff"), ("a.prompt.md", b"x" * 2_000_000), ("a.py", b"x" * 2_000_000)]
)
def test_files_that_cannot_be_read_are_findings(name: str, data: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)

    assert [one.code for one in check_paths([tmp_path]).findings] == ["PK101"]


@pytest.mark.parametrize("path", ["nothing", "a\0b"])
def test_a_path_that_is_not_there_is_an_error(path: str, tmp_path: Path) -> None:
    with pytest.raises(TemplateNotFoundError):
        check_paths([tmp_path / path])


def test_codes_are_named_in_three_ways() -> None:
    assert codes_of(["PK2"]) == {"PK201", "PK202", "PK203", "PK204", "PK205"}
    assert codes_of(["secret", "pk102"]) == {"PK401", "PK102"}
    assert codes_of([]) == frozenset()
    for name in ("PK999", "", "secrt"):
        with pytest.raises(PromptError, match="there is no code"):
            codes_of([name])


def test_the_table_has_every_code() -> None:
    assert list(CODES) == sorted(CODES)
    assert len({rule.name for rule in CODES.values()}) == len(CODES)


def test_a_thousand_files_cost_less_than_reading_them_twenty_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hold the cause of the time: each file is read once, and its template compiled a bounded number of times."""
    parsed: list[str] = []
    parse = StringTemplateRenderer.parse

    def counted(renderer: StringTemplateRenderer, text: str) -> StringTemplate:
        parsed.append(text)
        return parse(renderer, text)

    monkeypatch.setattr(StringTemplateRenderer, "parse", counted)
    for number in range(50):
        (tmp_path / f"{number}.prompt.md").write_text(f"# system\nS{number} {{a}}\n# user\nU{number} {{b}}", "utf-8")

    assert check_paths([tmp_path]).files == 50
    assert len(parsed) == 100
