"""The audit's page in a real browser. Deselected unless asked for with `-m browser`; then chromium has to be there."""

import json
import shutil
import warnings

import numpy as np
import pytest

import proxcal as px

pytestmark = pytest.mark.browser

PHONE, DESKTOP = (390, 844), (1280, 900)
OFFLINE = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The URL of a page with all that there can be on it."""
    path = tmp_path_factory.mktemp("page") / "audit.html"
    whole = px.load_demo()
    images = np.random.default_rng(0).random((600, 28, 28))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.ProxcalWarning)
        found = px.audit(
            whole.take(np.arange(600)),
            ids=[f"{'a-long-name-' * 8}{i}" for i in range(600)],
            images=images,
            train=whole.take(np.arange(600, 1600)),
            n_resamples=50,
        )
    found.to_html(path)
    return path.as_uri()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for argument in (*OFFLINE, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture(params=[PHONE, DESKTOP], ids=["phone", "desktop"])
def opened(request, chromium, page):
    """The page, opened anew at that size."""
    width, height = request.param
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for log in ("browser", "performance"):
        chromium.get_log(log)  # what was before
    chromium.get(page)
    return chromium


def of_images(driver, expression):
    return driver.execute_script(f"return [...document.images].map(image => {expression})")


def test_the_console_is_silent(opened):
    assert opened.get_log("browser") == []


def test_nothing_is_requested_but_the_page(opened, page):
    events = [json.loads(entry["message"])["message"] for entry in opened.get_log("performance")]
    requested = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert page in requested
    assert all(url == page or url.startswith("data:") for url in requested)


def test_every_picture_is_decoded_and_has_a_place(opened):
    assert len(of_images(opened, "0")) > 4
    assert min(of_images(opened, "image.naturalWidth")) > 0
    boxes = of_images(opened, "[image.getBoundingClientRect().width, image.getBoundingClientRect().height]")
    assert min(min(box) for box in boxes) > 20


def test_the_page_does_not_scroll_sideways(opened):
    wide, room = opened.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert wide <= room


def test_what_is_too_wide_scrolls_in_a_box_of_its_own_that_the_keyboard_reaches(opened):
    boxes = opened.execute_script(
        "return [...document.querySelectorAll('.wide')].map(box => [box.scrollWidth > box.clientWidth, box.tabIndex,"
        " getComputedStyle(box).overflowX])"
    )
    assert all(index == 0 and overflow == "auto" for _, index, overflow in boxes)
    if opened.execute_script("return innerWidth") < 600:
        assert any(too_wide for too_wide, _, _ in boxes)


def test_the_first_tab_goes_to_the_skip_link_and_enter_to_the_verdict(opened):
    from selenium.webdriver import ActionChains, Keys

    ActionChains(opened).send_keys(Keys.TAB).perform()
    focused = "return [document.activeElement.className, document.activeElement.getBoundingClientRect().left >= 0]"
    assert opened.execute_script(focused) == ["skip", True]
    ActionChains(opened).send_keys(Keys.ENTER).perform()
    assert opened.execute_script("return [location.hash, document.activeElement.id]") == ["#main", "main"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background_in_light_and_dark(opened, scheme):
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    for selector in ("body", ".soft", ".verdict strong", "a", "figcaption", "td small"):
        ink, paper = opened.execute_script(COLOURS, selector)
        assert contrast(ink, paper) >= 4.5, selector
    assert opened.execute_script("return getComputedStyle(document.querySelector('.card')).backgroundColor") == WHITE


WHITE = "rgb(255, 255, 255)"
COLOURS = """
const own = document.querySelector(arguments[0]);
let behind = own;
while (getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement;
return [getComputedStyle(own).color, getComputedStyle(behind).backgroundColor];
"""


def contrast(one, other):
    """The ratio of WCAG 2."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour):
    shares = np.array([int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]) / 255
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return linear @ (0.2126, 0.7152, 0.0722)
