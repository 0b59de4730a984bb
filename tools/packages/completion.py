"""Completion of a program's commands, flags and their choices in bash, from its help."""

# Bash splits words at `=`. The command that counts is the one behind `--`, if there is one.
TEMPLATE = r"""# Completion of @NAME@, from its help.
_@FUNCTION@() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} first=1 command flag known="" index
  for ((index = 2; index < COMP_CWORD; ++index)); do
    if [[ ${COMP_WORDS[index]} == -- ]]; then first=$((index + 1)); fi
  done
  command=${COMP_WORDS[first]}
  COMPREPLY=()
  if ((COMP_CWORD == first)) || [[ $command == help ]]; then
    known="@COMMANDS@"
  elif [[ $word == = || $before == = ]]; then
    flag=$before
    if [[ $before == = ]]; then flag=${COMP_WORDS[COMP_CWORD - 2]}; fi
    word=${word#=}
    case "$command $flag" in
@CHOICES@
    esac
  elif [[ $word == -* ]]; then
    case "$command" in
@FLAGS@
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$known" -- "$word")
  if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
}
complete -o default -F _@FUNCTION@ @NAME@
"""


def completion_of(program):
    flags, choices = [], []
    for command in program.commands:
        words = [flag.name + ("=" if flag.placeholder else "") for flag in command.flags]
        words += ["--"] if command.passes_on else []
        flags.append(f'      {command.name}) known="{" ".join(words)}" ;;')
        choices += [f'      "{command.name} {flag.name}") known="{" ".join(flag.choices)}" ;;'
                    for flag in command.flags if flag.choices]
    values = {
        "NAME": program.name,
        "FUNCTION": program.name.replace("-", "_"),
        "COMMANDS": " ".join([command.name for command in program.commands] + ["help"]),
        "FLAGS": "\n".join(flags),
        "CHOICES": "\n".join(choices),
    }
    text = TEMPLATE
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text
