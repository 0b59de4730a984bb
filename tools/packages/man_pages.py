"""Manual pages of a program, from its help: one for each command of the trainer, one for each other program."""

import re
import textwrap

WIDTH = 78
WITH_COMMAND_PAGES = ("trainer",)
DOCUMENTS = "/usr/share/doc/partita/docs"


def escaped(text):
    """A minus is no hyphen."""
    return text.replace("\\", "\\e").replace("-", "\\-")


def paragraph(text):
    """Lines that begin with no control character."""
    lines = textwrap.wrap(escaped(text), WIDTH, break_long_words=False, break_on_hyphens=False)
    return ["\\&" + line if line[0] in ".'" else line for line in lines]


def sentence(text):
    """A first word with a colon is a name: "halo: ..."."""
    begins_with_name = text.partition(" ")[0].endswith(":")
    return (text if begins_with_name else text[:1].upper() + text[1:]) + "."


def heading(page, program, date):
    """Names of flags are not divided at the end of a line."""
    return [f'.TH {escaped(page.upper())} 1 "{date}" "{program.name} {program.version}" "Partita"', ".nh", ".ad l"]


def named(name, summary):
    return [".SH NAME", *paragraph(f"{name} - {summary}")]


def item(term, text):
    return [".TP", term, *paragraph(text)]


def flag_item(flag, only):
    name = escaped(flag.name)
    term = f".BI {name}= {escaped(flag.placeholder)}" if flag.placeholder else f".B {name}"
    if flag.choices and len(flag.placeholder) > WIDTH // 2:
        term = f".BI {name}= NAME"
    text = [sentence(flag.text)]
    if flag.placeholder:
        text.append(sentence(flag.allowed))
    if only:
        text.append(f"Commands: {only}.")
    return item(term, " ".join([*text, flag.variable]))


def options(commands):
    """The flags of all these commands by group; a flag that some of them do not take names those that do."""
    takers, groups = {}, {}
    for command in commands:
        for flag in command.flags:
            takers.setdefault(flag, []).append(command.name)
            groups.setdefault(flag.group, {})[flag] = None
    lines = [".SH OPTIONS", "A value comes from the command line, else from the variable, else from",
             escaped("--config.")]
    for group, flags in groups.items():
        lines.append(f".SS {escaped(group)}")
        for flag in flags:
            only = ", ".join(takers[flag]) if len(takers[flag]) < len(commands) else ""
            lines += flag_item(flag, only)
    return lines


def exit_status(codes):
    lines = [".SH EXIT STATUS"]
    for code, meaning in codes:
        lines += item(f".B {escaped(code)}", sentence(meaning))
    return lines


def see_also(pages):
    pages = [f".BR {escaped(page)} (1)" for page in pages]
    return [".SH SEE ALSO", *(page + "," for page in pages), f".I {DOCUMENTS}/README.md"]


def command_list(program, own_pages):
    lines = [".SH COMMANDS"]
    for command in program.commands:
        page = f" See trainer-{command.name}(1)." if own_pages else ""
        lines += item(f".B {escaped(command.name)}", sentence(command.summary) + page)
    return lines


def page_of_program(program, codes, date):
    own_pages = program.name in WITH_COMMAND_PAGES
    body = command_list(program, own_pages)
    if not own_pages:
        body += options(program.commands)
    pages = [f"{program.name}-{command.name}" for command in program.commands] if own_pages else ["trainer"]
    return [*heading(program.name, program, date), *named(program.name, program.summary), ".SH SYNOPSIS",
            f".B {program.name}", ".I COMMAND", "[flags]", *body, *exit_status(codes), *see_also(pages)]


def page_of_command(program, command, codes, date):
    name = f"{program.name}-{command.name}"
    return [*heading(name, program, date), *named(name, command.summary), ".SH SYNOPSIS",
            f".B {escaped(command.usage)}", *options([command]), *exit_status(codes), *see_also([program.name])]


def exit_codes(reference):
    """(code, meaning) of the table in docs/reference/commands.md."""
    table = reference.partition("\n## 3 Exit codes\n\n")[2].partition("\n\n")[0]
    return re.findall(r"^\| ([\d, +n]+) \| (.*) \|$", table.replace("`", ""), re.MULTILINE)


def pages_of(program, reference, date):
    """The text of each page by file name. reference: docs/reference/commands.md; date: of the pages."""
    codes = exit_codes(reference)
    pages = {program.name: page_of_program(program, codes, date)}
    if program.name in WITH_COMMAND_PAGES:
        for command in program.commands:
            pages[f"{program.name}-{command.name}"] = page_of_command(program, command, codes, date)
    return {name + ".1": "\n".join(lines) + "\n" for name, lines in pages.items()}
