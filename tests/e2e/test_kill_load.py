"""The daemon is killed again and again under load, for a few seconds; see kill_load.py."""
from harness import main
from kill_load import KillLoad as Load


class Short(Load):
    seconds = 7

    def test_kills(self):
        self.run_load()


del Load
if __name__ == "__main__":
    main()
