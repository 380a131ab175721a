import doctest
import importlib
import pkgutil

import pytest

import proxcal.base

MODULES = [module.name for module in pkgutil.iter_modules(proxcal.base.__path__, "proxcal.base.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_print_what_they_say(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
