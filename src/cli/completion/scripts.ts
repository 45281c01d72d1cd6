import type { Shell } from './shells.ts'

/** A script for the start of a shell. It asks the program for each completion, so it always matches the installed version. */
export function completionScript(shell: Shell): string {
  return scripts[shell]
}

const scripts: Readonly<Record<Shell, string>> = {
  // Bash ends words at colons, which occur in names of models: the part before the last one is already in the line.
  bash: `_dragoman_complete() {
  local line="\${COMP_LINE:0:COMP_POINT}" word prefix=""
  local IFS=$' \\t\\n' words
  read -ra words <<< "$line"
  [[ "$line" == *" " ]] && words+=("")
  word="\${words[-1]}"
  if [[ "$word" == *:* && "$COMP_WORDBREAKS" == *:* ]]; then prefix="\${word%"\${word##*:}"}"; fi
  local found
  mapfile -t found < <("\${words[0]}" complete bash -- "\${words[@]:1}" 2>/dev/null)
  COMPREPLY=("\${found[@]#"$prefix"}")
}
complete -o default -F _dragoman_complete dragoman`,
  zsh: `#compdef dragoman
_dragoman() {
  local -a found
  found=("\${(@f)$("\${words[1]}" complete zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[1]}" ]]; then _describe dragoman found; else _files; fi
}
if [[ "\${funcstack[1]}" == _dragoman ]]; then _dragoman "$@"; else compdef _dragoman dragoman; fi`,
  fish: `function __dragoman_complete
    set -l before (commandline -opc)
    $before[1] complete fish -- $before[2..] (commandline -ct) 2>/dev/null
end
complete -c dragoman -a '(__dragoman_complete)'`,
}
