"""pytest plugin: urllib3's tests of proxies use pacegate instead of the suite's own proxy, and its tests
of PoolManager get a ProxyManager that leads through pacegate.

What is in expected.txt must fail, and for the reason given there; if it passes, that is a failure.
"""

import os
import pathlib

import pytest

PORT = int(os.environ["SUITE_PORT"])
EXPECTED = pathlib.Path(__file__).parent / "expected.txt"


def expected():
    lines = (line.strip() for line in EXPECTED.read_text().splitlines())
    pairs = (line.partition("  ") for line in lines if line and not line.startswith("#"))
    return {test: reason.strip() for test, _, reason in pairs}


def pytest_collection_modifyitems(items):
    # Imported late: the suite's package must be initialised by pytest first.
    from dummyserver.testcase import HypercornDummyProxyTestCase as dummy
    from test.with_dummyserver import test_poolmanager
    from urllib3 import ProxyManager

    start = dummy.setup_class.__func__

    def setup_class(cls):
        start(cls)
        cls.proxy_port = PORT

    dummy.setup_class = classmethod(setup_class)
    url = f"http://127.0.0.1:{PORT}"
    test_poolmanager.PoolManager = lambda *args, **named: ProxyManager(url, *args, **named)

    wanted = expected()
    for item in items:
        reason = wanted.pop(item.nodeid, None)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    if wanted:
        raise pytest.UsageError(f"expected.txt names tests that don't exist: {sorted(wanted)}")
