"""Command lines of `run` that show one side of the flip."""

from __future__ import annotations

import shlex
from typing import Iterable, Sequence

from ge_harness.bisect.knobs import AUTOFUSE, apply
from ge_harness.records.switch import Switch, SwitchSetting
from ge_harness.switches import xla_flags
from ge_harness.switches.autofuse_keys import FLAGS

_BARE = (xla_flags.PASS, "grappler")


def run_command(words: Sequence[str], setting: SwitchSetting, off: Iterable[Switch]
                ) -> str:
    """Return the command that runs the subgraph with switches off.

    Args:
        words: the command with nothing more switched off, word by word.
        setting: what those words ask for.
        off: the switches.
    """
    off = tuple(off)
    whole = apply(setting, off)
    names = {each.name for each in off} | {
        f"{each.family}:{each.name}" for each in off}
    kept = [word for word in words
            if not (word.startswith("--enable-pass=") and word[14:] in names)]
    added = [f"--disable-pass={spelled(each)}" for each in off
             if each in whole.off and each not in setting.off]
    if any(each.family == xla_flags.FLAG for each in off):
        text = " ".join(f"--{value.switch.name}={value.value}" for value in whole.values
                        if value.switch.family == xla_flags.FLAG)
        earlier = ",".join(each.name for each in setting.off)
        given = f" --{xla_flags.DISABLE}={earlier}" if earlier and any(
            word.startswith("--xla-flags") for word in kept) else ""
        kept = _replaced(kept, "--xla-flags", text + given)
    if any(each.family == AUTOFUSE and each.name.startswith("--") for each in off):
        flags = next((value.value for value in whole.values
                      if value.switch == Switch(AUTOFUSE, FLAGS)), "")
        kept = _replaced(kept, "--autofuse-flags", flags)
    return " ".join(shlex.quote(word) for word in (*kept, *added))


def spelled(switch: Switch) -> str:
    """Return a pass as --disable-pass takes it."""
    if switch.family in _BARE:
        return switch.name
    return f"{switch.family}:{switch.name}"


def _replaced(words: Sequence[str], option: str, text: str) -> list[str]:
    return [*(word for word in words if not word.startswith(f"{option}=")),
            f"{option}={text}"]
