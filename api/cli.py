"""The command line: what is asked for is checked here, and answered by the room it belongs to."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from api import __version__, server
from api.agents.embedded_install import EmbeddedInstall, InstallState, default_folder
from api.auth.password import remove_password, set_password
from api.errors import TalariaError, UsageError
from api.setting_rows import SETTINGS, Setting
from api.settings import LOOPBACK_HOSTS, environment, load, state_folder

CHECKOUT = Path(__file__).resolve().parent.parent
CHROMIUM = "/usr/bin/chromium"
LINT_IMPORTS = "from importlinter.cli import lint_imports_command; lint_imports_command()"
GATE = (
    ("format", ("-m", "ruff", "format", "--check", "--quiet", ".")),
    ("lint", ("-m", "ruff", "check", "--quiet", ".")),
    ("layers", ("-c", LINT_IMPORTS)),
    ("types", ("-m", "mypy")),
    ("tests", ("-m", "pytest")),
)
PROGRESS_BYTES = 20_000_000
TOKEN_WARNING = (
    "Warning: every user of this machine can read --token in the list of processes. "
    "Use --token-file or TALARIA_TOKEN."
)


LAN_WARNING = (
    "Warning: without TLS, whoever shares the network can read the password and all chats. "
    "docs/home-server.md shows how to put a proxy with TLS in front."
)


class Commands(click.Group):
    """A group that serves when no command is named, and that says an error of ours in one sentence."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("--help", "--version")):
            args = ["serve", *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except TalariaError as exc:
            click.echo(str(exc), err=True)
            ctx.exit(2 if isinstance(exc, UsageError) else 1)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [record for row in self.commands["serve"].params if (record := row.get_help_record(ctx))]
        with formatter.section("Options of serve"):
            formatter.write_dl(rows)
        super().format_options(ctx, formatter)


@click.group(cls=Commands)
@click.version_option(__version__, prog_name="talaria")
def commands() -> None:
    """Talaria, a web chat on this machine for language models and agents.

    Without a command it serves the chat and opens the browser.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Run what the words of the command line ask for, and exit."""
    commands.main(args=None if argv is None else list(argv), prog_name="talaria")


def _serve(**flags: Any) -> None:
    settings = load(flags, environment())
    if flags["token"]:
        click.echo(TOKEN_WARNING, err=True)
    if settings.insecure_lan and settings.host not in LOOPBACK_HOSTS:
        click.echo(LAN_WARNING, err=True)
    sys.exit(server.serve(settings))


def _option(row: Setting) -> click.Option:
    variable = f" [{row.environment}]" if row.environment else ""
    return click.Option(
        [str(row.flag), row.name],
        help=row.help.replace("`", "") + variable,
        is_flag=row.is_switch,
        multiple=row.repeatable,
        default=False if row.is_switch else None,
        metavar=None if row.is_switch else "VALUE",
    )


commands.add_command(
    click.Command(
        "serve",
        callback=_serve,
        params=[_option(row) for row in SETTINGS if row.flag],
        help="Serve the chat (this is what happens without a command).",
    )
)


@commands.command()
@click.option("--state-dir", metavar="VALUE", help="Folder that holds the conversations [TALARIA_STATE_DIR]")
@click.option("--remove", is_flag=True, help="Forget the password; every login by it ends.")
def password(state_dir: str | None, remove: bool) -> None:
    """Set the password for logging in from other machines; it is asked for twice.

    A running Talaria takes it at once. Logins by an older password end.
    """
    folder = state_folder({"state_dir": state_dir}, environment())
    if remove:
        click.echo("The password is removed." if remove_password(folder) else "There is no password.")
        return
    set_password(folder, click.prompt("New password", hide_input=True, confirmation_prompt="Once more"))
    click.echo("The password is set.")


@commands.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def test(pytest_args: tuple[str, ...]) -> None:
    """Run the checks that every change must pass; with PYTEST_ARGS, only pytest with them."""
    if not (CHECKOUT / "tests").is_dir():
        raise UsageError("The tests are not part of an installed Talaria. Run them from a checkout.")
    if pytest_args:
        sys.exit(_check("tests", ("-m", "pytest", *pytest_args)))
    _need_chromium(environment())
    failed = [name for name, words in GATE if _check(name, words)]
    if failed:
        raise TalariaError(f"Not passed: {', '.join(failed)}.")
    click.echo("All checks passed.")


def _check(name: str, words: Sequence[str]) -> int:
    click.echo(f"== {name}")
    return subprocess.call([sys.executable, *words], cwd=CHECKOUT)


def _need_chromium(environ: Mapping[str, str]) -> None:
    browser = Path(environ.get("TALARIA_CHROMIUM") or CHROMIUM)
    if not browser.exists():
        raise TalariaError(
            f"The tests need Chromium, and {browser} is not there. On Debian: apt install chromium. "
            "TALARIA_CHROMIUM names another one."
        )


@commands.command(context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def bench(name: str, words: tuple[str, ...]) -> None:
    """Run the measurement NAME of benchmarks/ from a checkout."""
    known = sorted(path.stem for path in (CHECKOUT / "benchmarks").glob("[a-z]*.py"))
    if name not in known:
        raise UsageError(f"There is no benchmark {name}. Known: {', '.join(known) or 'none here'}.")
    sys.exit(subprocess.call([sys.executable, "-m", f"benchmarks.{name}", *words], cwd=CHECKOUT))


@commands.group()
def agents() -> None:
    """Agents that are installed on this machine."""


@agents.command("install")
@click.argument("name", type=click.Choice(["embedded"]))
def install_agent(name: str) -> None:
    """Download the demonstration model and its engine now, instead of at the first start."""
    install = EmbeddedInstall(default_folder(), environment())
    install.ensure(_Progress().show)
    click.echo(f"The demonstration model is ready in {install.folder}.")


class _Progress:
    """Prints an installation: a line a step, and one more for each further piece of `PROGRESS_BYTES`."""

    def __init__(self) -> None:
        self._shown = InstallState("absent")

    def show(self, state: InstallState) -> None:
        is_new = state.step != self._shown.step
        if state.state == "installing" and (
            is_new or state.bytes_done >= self._shown.bytes_done + PROGRESS_BYTES
        ):
            self._shown = state
            click.echo(state.sentence())
