"""The client without a daemon: states of the socket, verbs that start nothing."""
import os
import socket
import subprocess

import schemas
from harness import Case, main


class NoDaemon(Case):
    def test_verbs_that_start_nothing(self):
        self.world.write("m.onnx", "x")
        for words in (["status"], ["cache", "stats"], ["cache", "list"], ["daemon", "stop"],
                      ["cache", "has", "--", "--model=m.onnx", "--framework=5",
                       "--soc_version=Ascend310P3"]):
            with self.subTest(words):
                result = self.fails(self.world.omcc(*words), 7)
                self.assertIn("no daemon: there is no socket", result.err)
                self.assertFalse(self.world.socket.exists())

    def test_json(self):
        for words, schema in ((["status"], "status"), (["cache", "stats"], "cache-stats"),
                              (["cache", "list"], "cache-list"), (["daemon", "stop"], "daemon")):
            with self.subTest(words):
                value = schemas.check(self, self.world.omcc(*words, "--json"), schema)
                self.assertEqual(value["code"], "daemon")

    def test_stale_socket(self):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.world.socket))
        listener.close()
        result = self.fails(self.world.omcc("status"), 7)
        self.assertIn("nobody listens", result.err)

    def test_busy_socket(self):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.world.socket))
            listener.listen(0)
            waiting = []
            for _ in range(4):
                s = socket.socket(socket.AF_UNIX)
                s.setblocking(False)
                waiting.append(s)
                if s.connect_ex(str(self.world.socket)):
                    break
            begun = self.world.start("status")
            try:
                begun.wait(2)
                self.fail("a busy daemon was given up at once")
            except subprocess.TimeoutExpired:
                begun.kill()
            for s in waiting:
                s.close()
            self.world.finish(begun)

    def test_path_too_long(self):
        result = self.fails(self.world.omcc("status", env={"OMCC_SOCKET": "/tmp/" + "a" * 120}), 7)
        self.assertIn("125 bytes, the system takes at most 107", result.err)

    def test_foreign_directory(self):
        os.chmod(self.world.socket.parent, 0o777)
        self.world.zoo("relu")
        result = self.fails(self.world.compile("relu.onnx"), 7)
        self.assertIn("no private daemon is started there", result.err)

    def test_peer_of_another_protocol(self):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.world.socket))
            listener.listen(1)
            begun = self.world.start("status")
            peer, _ = listener.accept()
            peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            result = self.fails(self.world.finish(begun), 7)
            peer.close()
        self.assertIn("FAILED daemon", result.err)


if __name__ == "__main__":
    main()
