import sys

import pytest

from proxcal.integrations.extraction import loading


@pytest.mark.parametrize("kind", [ConnectionResetError, BrokenPipeError, EOFError])
def test_a_worker_that_the_first_process_left_in_the_middle_keeps_quiet(capsys, kind):
    loading._tell_unless_left(kind, kind(), None)
    assert capsys.readouterr().err == ""


def test_any_other_error_of_a_worker_is_told(capsys):
    try:
        raise ValueError("an error of its own")
    except ValueError:
        loading._tell_unless_left(*sys.exc_info())
    assert "ValueError: an error of its own" in capsys.readouterr().err
