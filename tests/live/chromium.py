"""Chromium as a user has it: a page that is opened, keys that are pressed, what assistive technology reads, requests.
It is told by a pipe, and nothing has to be installed beside it."""
import base64
import json
import os
import select
import shutil
import subprocess
import time


def find():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """One window.  Everything is awaited; what does not come within `timeout` seconds is an error."""

    def __init__(self, directory, timeout=60):
        self.timeout, self.number, self.rest, self.events = timeout, 0, b"", []
        to_read, self.to = os.pipe()
        self.come, to_write = os.pipe()
        command = [find(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                   "--user-data-dir=" + os.path.join(directory, "chromium-pipe"), "--remote-debugging-pipe", "about:blank"]

        # The browser reads from 3 and writes to 4.  Higher numbers first: none of the ends is one of these then.
        ends = [os.dup2(fd, at, inheritable=True) for fd, at in ((to_read, 103), (to_write, 104))]
        os.close(to_read)
        os.close(to_write)
        shell = ["bash", "-c", 'exec "$@" 3<&103 4>&104 103<&- 104>&-', "bash", *command]
        self.p = subprocess.Popen(shell, pass_fds=ends, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, start_new_session=True)
        for fd in ends:
            os.close(fd)
        target = next(t for t in self.send("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Accessibility", "Log"):
            self.tell(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.kill()
        self.p.wait()
        os.close(self.to)
        os.close(self.come)

    def send(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            got = self.message()
            if got.get("id") == self.number:
                if "error" in got:
                    raise RuntimeError("%s: %s" % (method, got["error"]))
                return got["result"]
            self.events.append(got)

    def message(self):
        until = time.monotonic() + self.timeout
        while b"\0" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.come], [], [], left)[0]:
                raise RuntimeError("the browser does not answer within %d s" % self.timeout)
            part = os.read(self.come, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self.rest += part
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def tell(self, method, **params):
        return self.send(method, self.session, **params)

    def wait(self, event):
        while True:
            found = next((e for e in self.events if e.get("method") == event), None)
            if found:
                self.events.remove(found)
                return found["params"]
            self.events.append(self.message())

    def window(self, width, height, dark=False):
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        """Until it is drawn: seconds from the begin of the navigation to the frame after its scripts."""
        self.events = []
        self.tell("Page.navigate", url="about:blank")
        self.wait("Page.loadEventFired")
        self.tell("Page.navigate", url=url)
        self.wait("Page.loadEventFired")
        return self.run("new Promise(done => requestAnimationFrame(() => setTimeout(() => done(performance.now() / 1000), 0)))")

    def run(self, script):
        """The value of an expression, awaited."""
        got = self.tell("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in got:
            raise RuntimeError("%s: %s" % (script[:80], json.dumps(got["exceptionDetails"])[:500]))
        return got["result"].get("value")

    def press(self, key, text=None, modifiers=0):
        codes = {"Enter": 13, " ": 32, "Tab": 9, "Escape": 27, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
                 "ArrowDown": 40}
        text = {"Enter": "\r", " ": " "}.get(key, key if len(key) == 1 else "") if text is None else text
        more = {"text": text} if text else {}
        self.tell("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=codes.get(key, ord(key[0])),
                  modifiers=modifiers, **more)
        self.tell("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=codes.get(key, ord(key[0])))

    def click(self, x, y, modifiers=0):
        for kind in ("mousePressed", "mouseReleased"):
            self.tell("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1, modifiers=modifiers)

    def read(self):
        """What assistive technology has: (role, name, properties) of each node that is not ignored."""
        nodes = self.tell("Accessibility.getFullAXTree")["nodes"]
        return [(n["role"]["value"], n.get("name", {}).get("value", ""),
                 {p["name"]: p["value"].get("value") for p in n.get("properties", ())}) for n in nodes if not n.get("ignored")]

    def requests(self):
        """Addresses that were asked for since open()."""
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def picture(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.tell("Page.captureScreenshot", format="png")["data"]))
