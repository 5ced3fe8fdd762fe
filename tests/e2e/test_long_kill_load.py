"""The daemon is killed every two seconds for ten minutes (OMCC_KILL_SECONDS); see kill_load.py."""
import os

from harness import main
from kill_load import KillLoad as Load


class Long(Load):
    seconds = int(os.environ.get("OMCC_KILL_SECONDS", "600"))

    def test_kills(self):
        self.run_load()


del Load
if __name__ == "__main__":
    main()
