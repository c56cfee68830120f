"""/title: name this conversation."""

from api.commands.base import Answer, Command, Context


def _run(context: Context, argument: str) -> Answer:
    if not argument:
        title = context.ops.status(context.session_id)["title"]
        return Answer(f"Title: {title or 'none yet'}", {"title": title})
    title = context.ops.rename(context.session_id, argument).title
    return Answer(f"Title: {title or 'none; the next message makes one'}", {"title": title})


COMMAND = Command("title", "Show or set the title of this chat.", _run, "[text]")
