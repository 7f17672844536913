"""From vendor to vendor: every loss is listed, and what each format carries stands in the README."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

import pytest

from promptkit.adapters.base import NOTES
from tests.adapters.judges import spelled_alike
from tests.adapters.probes import PROBES, Probe
from tests.adapters.rich_bodies import FORMATS, RICH
from tests.oracles import DATA
from tests.readme import README

LISTED = DATA / "wire_losses.toml"
Losses = dict[str, dict[str, list[str]]]


def losses_between(source: str, target: str) -> list[str]:
    """Read all that one vendor can say, and list what another cannot; ``extra`` speaks to one vendor only."""
    prompt = FORMATS[source].from_request(RICH[source])
    prompt = prompt.mutate(options=prompt.options.mutate(extra={}))
    return [f"{loss.path}: {loss.what}" for loss in FORMATS[target].to_request(prompt).losses]


def as_toml(table: Losses) -> str:
    return "\n".join(
        f"[{source}]\n" + "".join(f"{target} = [\n{_lines(losses)}]\n" for target, losses in targets.items())
        for source, targets in table.items()
    )


def _lines(losses: list[str]) -> str:
    return "".join(f'    "{loss}",\n' for loss in losses)


def test_every_loss_between_two_vendors_is_listed() -> None:
    found = {
        source: {target: losses_between(source, target) for target in FORMATS if target != source} for source in FORMATS
    }

    if tomllib.loads(LISTED.read_text("utf-8")) != found:
        pytest.fail(f"{LISTED.name} must list:\n\n{as_toml(found)}")


def carried(vendor: str, probes: Mapping[str, Probe]) -> str:
    """Name what a format carries there and back; in brackets what it carries with a loss that models pass over."""
    names = [_name(vendor, name, probe) for name, probe in probes.items()]
    if names == [*probes]:
        return "yes" if len(names) == 1 else "all"
    return ", ".join(filter(None, names)) or "no"


def _name(vendor: str, name: str, probe: Probe) -> str:
    prompt = probe(vendor)
    request = FORMATS[vendor].to_request(prompt)
    if not request.losses:
        assert spelled_alike(FORMATS[vendor].from_request(request.body)) == spelled_alike(prompt)
        return name
    return f"({name})" if {loss.what for loss in request.losses} <= NOTES else ""


def test_the_readme_says_what_each_format_carries() -> None:
    rows = [["what", *(f"`{vendor}`" for vendor in FORMATS)], ["---"] * 5]
    for title, probes in PROBES.items():
        names = f": {', '.join(probes)}" if len(probes) > 1 else ""
        rows.append([title + names, *(carried(vendor, probes) for vendor in FORMATS)])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)

    if table not in README.read_text("utf-8"):
        pytest.fail(f"README.md must say:\n\n{table}")
