# Completion of the trainer's commands and flags, from its own help.
_trainer() {
  local word=${COMP_WORDS[COMP_CWORD]} known
  if [[ $COMP_CWORD == 1 ]]; then
    known=$("$1" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p')
  else
    known=$("$1" "${COMP_WORDS[1]}" --help 2>/dev/null | grep -o -- '--[a-z][a-z0-9-]*' | sort -u)
  fi
  mapfile -t COMPREPLY < <(compgen -W "$known" -- "$word")
}
complete -o default -F _trainer trainer
