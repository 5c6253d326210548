"""Write docs/settings.md: the introduction in this file, and a table of what config/settings.py says.

python .ci/settings_page.py
"""

from __future__ import annotations

from pathlib import Path

from symposia.config.described import SettingDescription, describe_settings

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
INTRODUCTION = """\
# Settings

<!-- Generated from config/settings.py: `make settings-page` writes this page. -->

All programs (client, workers, command line, Flower) read the same settings. Each setting is, in this order:

1. an argument: an option of the command line, or of `load_settings` in Python;
2. an environment variable, if it is not blank, without blanks and line breaks at its ends;
3. a key of the table `SYMPOSIA` in [Django's settings](django.md), in a process that has imported Django and whose
   `DJANGO_SETTINGS_MODULE` is set;
4. a key of the settings file;
5. its default.

`symposia config` prints the value of every setting and where it comes from, without passwords. `symposia config --changed`
prints only those that are not defaults, `--json` all of them for programs.

An invalid value is refused with the name of the variable, or of the file and key. Commands warn of environment
variables that start with `SYMPOSIA_` and are no setting, with the nearest name; `symposia doctor` lists them. So give
your own variables, such as those of API keys, another prefix.

## Settings file

The file `symposia.toml` of the [project](#projects), or the one that `SYMPOSIA_CONFIG` names, holds settings by the
lower-case name without `SYMPOSIA_`:

```toml
redis_url = "redis://valkey.example.com:6379/0"
agents_file = "agents.toml"     # relative to the folder of this file
worker_concurrency = 16
flower_hosts = ["symposia.example.com"]

[jobs]
standup = "standup.yaml"
```

- An unknown key is refused, with the nearest name, and so is a setting inside a table: settings are above the first
  `[table]`. An empty text counts as not set.
- `symposia.toml` and `agents.toml` in the working folder are refused if another user left them where all users may write,
  such as in `/tmp`: they can name code to run. Commands warn of a `symposia.toml` that belongs to another user, or that
  all may write. A file that a variable names is used as it is.
- A duration (`..._S`) is a number of seconds, or has units: `90s`, `10m`, `1h30m`, `2d`, `1w`. So has each duration of a
  session file, the agents file and other files, and `Deadline("10m")`.
- Relative paths start at the folder of the file. `~` is your home folder.
- URLs may hold passwords. Then only your user should be able to read the file (`chmod 600`): commands and `symposia
  doctor` warn otherwise. A blank in a password must be written as `%20`. API keys are not settings: the agents file names the environment variable of each.
- Processes that Symposia starts, such as the workers of `symposia up`, get all settings as environment variables and read
  no file.
- `SYMPOSIA_CONFIG=/dev/null` reads no file.

## Projects

Without a configured Redis, sessions are in an embedded server, and each project has its own, with its own archive and
logs. So two projects of a user run side by side, and no worker of one takes a turn of the other. A project is the nearest
folder, from the working folder upwards, with a `symposia.toml` or `agents.toml`; without these files, it is the working
folder. Files of other users in folders above do not count.

- `symposia doctor` shows the project, its data folder and the server in use. The data folder is
  `projects/NAME-HASH` in the data folder of the user: `~/.local/share/symposia` (`$XDG_DATA_HOME/symposia`), on macOS
  `~/Library/Application Support/symposia`. Delete it with the project; if the project
  moves, move the data folder, too: `symposia doctor` names both.
- The embedded server runs as long as `symposia up` or `symposia run` of the project. Other commands and `Client()` use it,
  or say how to start it. They never use another Redis of the machine: configure that with `redis_url`.
- `agents.toml` is read in the working folder only. Start workers there, or name it in `symposia.toml`.
- Commands that write print the server in use on standard error, such as `using redis://... from symposia.toml`
  (not with `--json` or `--quiet`).

**Sessions of release 0.1.** Until then, all projects of a user shared one installation. Nothing of it is deleted. A
project that has no installation yet prints where it is. The option `--shared` of any command uses it: `symposia up --shared`
finishes its sessions, `symposia list --shared` and `symposia show ID --shared` read them. If you have one project only, or
want one installation for all, write `shared = true` into `symposia.toml` (`SYMPOSIA_SHARED`). To move everything into a
project, stop all services and move `valkey/` and `archive.sqlite3*` from the data folder of the user to that of the project.
With a configured Redis, nothing has changed: the archive on this machine is in the data folder of the user.

## All settings

Times are in seconds. The second name in a row is read if the first is not set. In an environment variable, tables are
JSON and lists are separated by commas.

| variable | meaning | default | allowed |
|---|---|---|---|
"""


def render_page() -> str:
    """Return the page."""
    return INTRODUCTION + "".join(map(_row, describe_settings()))


def _row(setting: SettingDescription) -> str:
    cells = (
        ", ".join(f"`{name}`" for name in setting.variables),
        setting.meaning,
        setting.default,
        setting.limits,
    )
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")
