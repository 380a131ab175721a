"""Several numbers as one option's value: `--seeds 2020 2021`, where an option takes one argument."""

from typing import Any

from typer.core import TyperCommand


class SeveralSeeds(TyperCommand):
    """Takes all the numbers that follow `--seeds` as its value, where an option takes one argument."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--seeds" in args:
            start = args.index("--seeds") + 1
            end = start
            while end < len(args) and args[end].isdecimal():
                end += 1
            args = [*args[:start], *([" ".join(args[start:end])] if end > start else []), *args[end:]]
        rest: list[str] = super().parse_args(ctx, args)
        return rest


def numbers(seeds: str) -> list[int]:
    try:
        return [int(seed) for seed in seeds.replace(",", " ").split()]
    except ValueError:
        raise ValueError(f"--seeds must be whole numbers, such as --seeds 2020 2021; got {seeds!r}") from None
