"""Every way to start Flower serves the pages, also below a prefix."""

from __future__ import annotations

import sys

import pytest

from documents.pages import Page
from servers.flower import COMMAND, FlowerServer

#: They start servers of their own.
pytestmark = pytest.mark.long

CELERY = (sys.executable, "-m", "celery", "-A", "symposia.workers", "flower", "--address=127.0.0.1")
PAGE = Page("docs/dashboard.md")
CONFIG = PAGE.take("python", "install()")


def serves_pages(flower: FlowerServer) -> None:
    page = flower.get("/collabs")
    assert page.status == 200, flower.log()
    for path in ("list.js", "page.js", "dashboard.css"):
        assert f'"{flower.prefix}/collabs/static/{path}' in page.text or path == "page.js"
        assert flower.get(f"/collabs/static/{path}").status == 200
    assert flower.json("/api/collabs")["collabs"] == []
    # Flower's own pages have the entry, too.
    assert f'href="{flower.prefix}/collabs"' in flower.get("/workers").text


def test_flower_command_serves_the_pages(start_flower):
    serves_pages(start_flower(program=COMMAND))


def test_celery_flower_command_serves_the_pages(start_flower):
    serves_pages(start_flower(program=CELERY))


def test_stock_flower_serves_the_pages_with_one_line(start_flower, tmp_path):
    (tmp_path / "flowerconfig.py").write_text(CONFIG)
    (tmp_path / "plain_app.py").write_text("from celery import Celery\napp = Celery(broker='memory://')\n")
    flower = start_flower(program=(sys.executable, "-m", "celery", "-A", "plain_app", "flower"))
    serves_pages(flower)
    # Flower's own default is all addresses.
    assert flower.listens_on() == {"127.0.0.1"}


@pytest.mark.parametrize(
    ("program", "option"), [(COMMAND, "--url-prefix=watch/it"), (CELERY, "--url_prefix=watch/it")]
)
def test_pages_work_below_a_prefix(start_flower, program, option):
    serves_pages(start_flower(option, prefix="/watch/it", program=program))
