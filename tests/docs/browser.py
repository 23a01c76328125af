"""A headless Chromium, driven through the two pipes of its --remote-debugging-pipe: no library is needed."""
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

SECONDS = 600  # for an answer and for a page: others may have the processors


def find_chromium():
    """The path of a Chromium that can be driven, or nothing. Ubuntu's is a snap, which sees neither /tmp nor our pipes."""
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        path = shutil.which(name)
        if path and "/snap" not in os.path.realpath(path):
            with open(path, "rb") as file:
                if b"snap" not in file.read(4096):  # Ubuntu's package is a script that starts the snap
                    return path
    return None


class Browser:
    """One browser with one tab at a time. `faults` collects what the console or the network complained about since the last open()."""

    def __init__(self, path):
        self.folder = tempfile.TemporaryDirectory(prefix="gpulab-pages-", ignore_cleanup_errors=True)
        command_in, self.commands = os.pipe()
        self.answers, answer_out = os.pipe()

        arguments = [path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--no-first-run", "--disable-background-networking", "--allow-file-access-from-files",
                     "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}", "about:blank"]
        as_3_and_4 = f'exec "$@" 3<&{command_in} 4>&{answer_out}'  # where Chromium looks for them
        self.process = subprocess.Popen(["bash", "-c", as_3_and_4, "bash", *arguments], pass_fds=(command_in, answer_out),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(command_in)
        os.close(answer_out)
        self.buffer, self.number, self.session, self.context = b"", 0, None, None
        self.new_tab()

    def new_tab(self, dark=False):
        """Begins anew, as with a browser just started: nothing that pages have stored is left."""
        self.session, self.faults, self.loaded = None, [], set()
        if self.context:
            self.call("Target.disposeBrowserContext", browserContextId=self.context)
        self.context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.commands)  # the end of the pipe ends Chromium
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.answers)
        self.folder.cleanup()

    def message(self, deadline):
        """The next message. Raises TimeoutError after the deadline, OSError when Chromium has ended."""
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            more = os.read(self.answers, 1 << 20)
            if not more:
                raise OSError("Chromium has ended")
            self.buffer += more
        text, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(text)
        if message.get("sessionId") == self.session:  # else it is of an earlier tab
            self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, method, p):
        if method == "Runtime.exceptionThrown":
            details = p["exceptionDetails"]
            self.faults.append("exception: " + details.get("exception", {}).get("description", details["text"]).split("\n")[0])
        elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "assert"):
            self.faults.append("console: " + " ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
        elif method == "Log.entryAdded" and p["entry"]["level"] == "error":
            self.faults.append(f"log: {p['entry']['text']} {p['entry'].get('url', '')}")
        elif method == "Network.loadingFailed" and not p.get("canceled"):
            self.faults.append(f"not loaded: {p['errorText']}")
        elif method == "Page.lifecycleEvent" and p["name"] == "load":
            self.loaded.add(p["loaderId"])

    def call(self, method, **parameters):
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        deadline = time.monotonic() + SECONDS
        while True:
            message = self.message(deadline)
            if message.get("id") == command["id"]:
                if "error" in message:
                    raise OSError(f"{method}: {message['error']['message']}")
                return message["result"]

    def open(self, address):
        """Opens a page and waits until it is loaded."""
        self.faults = []
        answer = self.call("Page.navigate", url=address)
        if "errorText" in answer:  # Chromium shows a page of its own, and reports late: wait until that is over
            self.wait_for_load(self.call("Page.navigate", url="about:blank")["loaderId"])
            self.faults.append(f"not opened: {answer['errorText']}")
        elif "loaderId" in answer:  # otherwise another place of the page that is open
            self.wait_for_load(answer["loaderId"])

    def wait_for_load(self, loader):
        """Waits for the load of this page; that of the page before may come late."""
        deadline = time.monotonic() + SECONDS
        while loader not in self.loaded:
            self.message(deadline)

    def run(self, expression):
        """The value of a JavaScript expression; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise OSError(answer["exceptionDetails"].get("exception", {}).get("description", "exception"))
        return answer["result"].get("value")

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
