"""Writing without losing anything: what is there is kept unless told otherwise, and a file is either whole or absent.

`check_writable` is asked before long work starts, so that an hour's fit never ends at an output that cannot be written;
`atomic_write` gives a temporary path in the same folder and renames it once the writer has finished.
"""

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def check_readable(path: str | os.PathLike[str]) -> Path:
    """The path, if there is a file."""
    path = Path(path)
    if path.is_file():
        return path
    if path.exists():
        raise ValueError(f"{path} is a folder or a device; give the path of a file")
    raise FileNotFoundError(f"{path}: there is no such file")


def check_writable(path: str | os.PathLike[str], overwrite: bool = False) -> Path:
    """The path, if a file can be written there now; a ValueError that says why not otherwise."""
    path = Path(path)
    try:
        exists = path.exists()
        if exists and not path.is_file():
            raise ValueError(f"{path} is a folder or a device; give the path of a file")
        if exists and not overwrite:
            raise _existing(path)
        with tempfile.TemporaryFile(dir=path.parent):
            return path
    except OSError as error:
        if not path.parent.is_dir():
            raise ValueError(f"{path} cannot be written: there is no folder {path.parent}; create it first") from None
        raise ValueError(f"{path} cannot be written ({error.strerror}); choose another place") from None


@contextmanager
def atomic_write(path: str | os.PathLike[str], overwrite: bool = False) -> Iterator[Path]:
    """A temporary path, with the suffix of `path` and beside it, that takes its name if the block succeeds."""
    path = check_writable(path, overwrite).resolve()
    temporary = path.with_name(f".{secrets.token_hex(8)}{path.suffix}")
    try:
        yield temporary
        if overwrite:
            os.replace(temporary, path)
        else:
            _claim(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _claim(temporary: Path, path: Path) -> None:
    """Rename, unless somebody wrote `path` in the meantime; where there are no hard links, look before renaming."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise _existing(path) from None
    except OSError:
        if path.exists():
            raise _existing(path) from None
        os.replace(temporary, path)


def _existing(path: Path) -> ValueError:
    return ValueError(f"{path} exists; pass overwrite=True (--force on the command line) to replace it")
