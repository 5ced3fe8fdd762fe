"""A model whose weights of 3 GB lie in a file beside it: compiled without holding them."""
import os

from harness import Case, main

MEGABYTES = 3000
# Anonymous memory above the mapped pages; pages of the model are let go as they are read,
# so the whole of the worker's memory stays below it.
MOST = 300 << 20


class External(Case):
    def test_memory_of_a_large_model(self):
        model = self.world.zoo("big-external", f"--megabytes={MEGABYTES}")
        result = self.ok(self.world.compile(model, "--json", timeout=1200))
        value = result.json
        self.assertGreater(value["data"]["artifact"]["size"], MEGABYTES * 1000000 // 2)
        self.assertEqual(os.stat(self.world.om()).st_size, value["data"]["artifact"]["size"])
        self.assertGreater(value["data"]["peak_rss_bytes"], 0)
        self.assertLess(value["data"]["peak_rss_bytes"], MOST)


if __name__ == "__main__":
    main()
