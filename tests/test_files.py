import os
from pathlib import Path

import pytest

from proxcal._files import atomic_write, check_writable


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_new_path_in_an_existing_folder_is_writable(tmp_path):
    assert check_writable(tmp_path / "new.npz") == tmp_path / "new.npz"
    assert names(tmp_path) == []


def test_a_relative_path_is_writable(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with atomic_write("new.txt") as temporary:
        temporary.write_text("whole")
    assert (tmp_path / "new.txt").read_text() == "whole"


def test_an_existing_file_is_refused_with_both_ways_to_allow_it(tmp_path):
    path = tmp_path / "old.npz"
    path.touch()
    with pytest.raises(ValueError, match=r"old\.npz exists; pass overwrite=True \(--force on the command line\)"):
        check_writable(path)


def test_an_existing_file_may_be_overwritten_when_told_so(tmp_path):
    path = tmp_path / "old.npz"
    path.touch()
    assert check_writable(path, overwrite=True) == path


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"there is no folder .*missing; create it first"):
        check_writable(tmp_path / "missing" / "new.npz")


def test_a_file_where_a_folder_is_needed_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="there is no folder"):
        check_writable(tmp_path / "file" / "new.npz")


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_is_never_replaced(tmp_path, overwrite):
    with pytest.raises(ValueError, match="is a folder or a device"):
        check_writable(tmp_path, overwrite)


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no devices here")
def test_a_device_is_never_replaced():
    with pytest.raises(ValueError, match="is a folder or a device"):
        check_writable("/dev/null", overwrite=True)


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may write anywhere")
def test_a_folder_without_write_permission_is_an_error(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ValueError, match=r"cannot be written \(Permission denied\)"):
        check_writable(tmp_path / "new.npz")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no folder here that refuses even root")
def test_a_folder_that_takes_no_files_is_an_error():
    with pytest.raises(ValueError, match=r"cannot be written \("):
        check_writable("/proc/self/new.npz")


def test_a_name_too_long_for_the_file_system_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="cannot be written"):
        check_writable(tmp_path / ("n" * 5000))


def test_nothing_is_there_until_the_writer_has_finished(tmp_path):
    path = tmp_path / "new.npz"
    with atomic_write(path) as temporary:
        temporary.write_text("half")
        assert not path.exists()
    assert names(tmp_path) == ["new.npz"]


def test_the_temporary_path_keeps_the_suffix(tmp_path):
    with atomic_write(tmp_path / "figure.png") as temporary:
        temporary.touch()
        assert temporary.suffix == ".png"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_writer_that_fails_leaves_the_old_file_and_no_other(tmp_path, error):
    path = tmp_path / "old.npz"
    path.write_text("old")
    with pytest.raises(error), atomic_write(path, overwrite=True) as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise error
    assert path.read_text() == "old"
    assert names(tmp_path) == ["old.npz"]


def test_overwriting_replaces_the_whole_content(tmp_path):
    path = tmp_path / "old.npz"
    path.write_text("old and long")
    with atomic_write(path, overwrite=True) as temporary:
        temporary.write_text("new")
    assert path.read_text() == "new"


def test_overwriting_through_a_link_changes_the_file_it_points_to(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with atomic_write(tmp_path / "link", overwrite=True) as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def no_hard_links(*_):
    raise OSError("this file system has no hard links")


@pytest.mark.parametrize("hard_links", [True, False])
def test_a_file_that_appeared_meanwhile_is_kept(tmp_path, monkeypatch, hard_links):
    if not hard_links:
        monkeypatch.setattr(os, "link", no_hard_links)
    path = tmp_path / "new.npz"
    with pytest.raises(ValueError, match="exists"), atomic_write(path) as temporary:  # noqa: PT012
        temporary.write_text("ours")
        path.write_text("theirs")
    assert path.read_text() == "theirs"
    assert names(tmp_path) == ["new.npz"]


def test_a_file_system_without_hard_links_is_written_to(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", no_hard_links)
    with atomic_write(tmp_path / "new.npz") as temporary:
        temporary.write_text("new")
    assert names(tmp_path) == ["new.npz"]


def test_the_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").touch()
    with atomic_write(tmp_path / "ours") as temporary:
        temporary.touch()
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode
