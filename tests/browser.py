"""A headless Chromium for tests, driven by its DevTools protocol over a socket pair.

HG_CHROMIUM names it; otherwise it is looked for on PATH. Where there is none, a test ends with exit status 77.
"""

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time

SKIPPED = 77
TIMEOUT_S = 150  # for everything that a browser does: nothing waits longer
NAMES = ("chromium", "chromium-browser", "google-chrome")


def runs(program):
    try:
        return subprocess.run([program, "--version"], capture_output=True, check=False, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def find_chromium():
    """By use: Ubuntu's chromium-browser may be a stub that runs nothing."""
    named = os.environ.get("HG_CHROMIUM")
    found = next((name for name in ([named] if named else NAMES) if runs(name)), None)
    if named and not found:
        sys.exit(f"HG_CHROMIUM is '{named}', which does not run; type ./dev browser, which installs Chromium")
    return found


def require_chromium():
    """Returns the browser's path, or ends the test as skipped."""
    chromium = find_chromium()
    if chromium is None:
        print("skipped: there is no Chromium that runs; type ./dev browser, which installs one")
        sys.exit(SKIPPED)
    return chromium


class Browser:
    """A Chromium, and its DevTools protocol: messages of JSON, each ended by a NUL."""

    def __init__(self, chromium, folder):
        self.deadline = time.monotonic() + TIMEOUT_S
        ours, its = socket.socketpair()
        flags = ["--headless", "--remote-debugging-pipe", f"--user-data-dir={folder}", "--window-size=1280,900",
                 "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
                 "--disable-breakpad"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")
        # Chromium reads from 3 and writes to 4.
        self.process = subprocess.Popen(
            ["bash", "-c", 'exec "$@" 3<&"$0" 4>&"$0"', str(its.fileno()), chromium, *flags], pass_fds=[its.fileno()],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        its.close()
        self.socket = ours
        self.received = b""
        self.events = []
        self.numbers = itertools.count(1)

    def time_left(self):
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"the browser took longer than {TIMEOUT_S} s")
        return left

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=10)
        self.socket.close()

    def read(self):
        while b"\0" not in self.received:
            self.socket.settimeout(self.time_left())
            part = self.socket.recv(1 << 16)
            if not part:
                raise ConnectionError("the browser ended")
            self.received += part
        message, _, self.received = self.received.partition(b"\0")
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        self.socket.settimeout(self.time_left())
        self.socket.sendall(json.dumps(message).encode() + b"\0")
        while (answer := self.read()).get("id") != number:
            self.events.append(answer)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    def wait_for(self, method, session):
        while not any(event["method"] == method and event.get("sessionId") == session for event in self.events):
            self.events.append(self.read())


class Tab:
    """A page in the browser, and what happened in it."""

    def __init__(self, browser, url, color_scheme="light"):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": color_scheme}])
        self.url = url
        self.call("Page.navigate", url=self.url)
        browser.wait_for("Page.loadEventFired", self.session)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def texts(self, selector):
        return self.evaluate(f"Array.from(document.querySelectorAll({json.dumps(selector)}), (e) => e.textContent)")

    def faults(self):
        """Errors and warnings of the console, exceptions that nobody caught, and what was fetched besides the page."""
        self.evaluate("0")  # what came before is in the events now
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            parameters = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(f"exception: {parameters['exceptionDetails']}")
            elif event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(f"console: {parameters['args']}")
            elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(f"log: {parameters['entry']['text']}")
            elif event["method"] == "Network.requestWillBeSent" and parameters["request"]["url"] != self.url:
                found.append(f"request: {parameters['request']['url']}")
        return found
