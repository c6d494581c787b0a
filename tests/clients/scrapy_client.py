"""A Scrapy spider of one page, with its own retries off and certificates verified."""
import sys

import scrapy
from scrapy.crawler import CrawlerProcess


class Page(scrapy.Spider):
    name = "page"
    seen = []
    custom_settings = {
        "DOWNLOAD_VERIFY_CERTIFICATES": True,
        "DOWNLOAD_TIMEOUT": 20,
        "LOG_LEVEL": "ERROR",
        "RETRY_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
        "TELNETCONSOLE_ENABLED": False,
    }

    async def start(self):
        yield scrapy.Request(sys.argv[1], meta={"handle_httpstatus_all": True})

    def parse(self, response):
        self.seen.append((response.text, response.status))


process = CrawlerProcess()
process.crawl(Page)
process.start()
for text, status in Page.seen:
    print(text)
    print(status)
sys.exit(0 if Page.seen else 1)
