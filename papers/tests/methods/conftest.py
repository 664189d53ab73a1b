"""The problems are tiny: threads inside linear algebra would only get in each other's way."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    with threadpool_limits(1):
        yield
