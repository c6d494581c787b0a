"""pytest plugin: every test of a client's suite goes through the proxy.

The suite clears the proxy variables before each test, so they are set again once that is done. Our
CA is trusted where the suite trusts its origin's. What is in expected.txt must fail, and for the
reason given there; if it passes, that is a failure.
"""

import os
import pathlib

import pytest
import pytest_httpbin.certs

VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
PROXY = os.environ["SUITE_PROXY"]
EXPECTED = pathlib.Path(__file__).parent / "expected.txt"

bundle = os.environ["SUITE_BUNDLE"]
pytest_httpbin.certs.where = lambda: bundle


def expected():
    lines = (line.strip() for line in EXPECTED.read_text().splitlines())
    pairs = (line.partition("  ") for line in lines if line and not line.startswith("#"))
    return {test: reason.strip() for test, _, reason in pairs}


def pytest_collection_modifyitems(items):
    wanted = expected()
    for item in items:
        reason = wanted.pop(item.nodeid, None)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    if wanted:
        raise pytest.UsageError(f"expected.txt names tests that don't exist: {sorted(wanted)}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    before = {name: os.environ.get(name) for name in VARIABLES}
    os.environ.update({name: PROXY for name in VARIABLES})
    try:
        return (yield)
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
