/** What a reader of a page does, in order. */
export type Step =
  | { readonly type: 'write'; readonly line: number; readonly file: string; readonly text: string }
  | {
      readonly type: 'run'
      readonly line: number
      readonly commands: string
      /** A port and the beginning of a path: the commands keep running, and the next step comes when that is ready. */
      readonly keepsRunning?: string
      /** What the commands must print, as a pattern. */
      readonly prints?: RegExp
    }
  /** Commands that the test cannot run, and why. */
  | { readonly type: 'elsewhere'; readonly line: number; readonly commands: string; readonly reason: string }

/**
 * The steps of a page. Blocks marked `sh` are commands; a block whose first line is a comment with a file name is that file. Notes
 * before a block, invisible to readers, say more: `<!-- file: NAME -->`, `<!-- prints: PATTERN -->`, `<!-- keeps running: PORT -->` or `PORT/PATH`,
 * `<!-- elsewhere: REASON -->`. Other blocks are to be read only.
 */
export function stepsOf(page: string): readonly Step[] {
  const blocks = page.matchAll(/((?:^<!-- .* -->\n+)*)^```(\w+)\n([\s\S]*?)^```$/gm)
  return Array.from(blocks).flatMap(([all, notes = '', language = '', text = '']): readonly Step[] => {
    const line = page.slice(0, page.indexOf(all)).split('\n').length + notes.split('\n').length - 1
    const note = (name: string) => new RegExp(`^<!-- ${name}: (.*) -->$`, 'm').exec(notes)?.[1]
    const [keepsRunning, prints, reason] = [note('keeps running'), note('prints'), note('elsewhere')]
    const file = note('file') ?? /^(?:#|\/\/) ([\w./[\]-]*\.\w+)\n/.exec(text)?.[1]
    if (reason !== undefined) return [{ type: 'elsewhere', line, commands: text, reason }]
    if (language !== 'sh') return file === undefined ? [] : [{ type: 'write', line, file, text }]
    return [
      {
        type: 'run',
        line,
        commands: text,
        ...(keepsRunning !== undefined && { keepsRunning }),
        ...(prints !== undefined && { prints: new RegExp(prints) }),
      },
    ]
  })
}

/** A shell script that does the steps, each with its output in a file `OUT/LINE`; it ends with the line of the step that failed. */
export function scriptOf(steps: readonly Step[], out: string): string {
  const made = steps.map((step) => {
    if (step.type === 'elsewhere') return ''
    if (step.type === 'write')
      return `mkdir -p "$(dirname '${step.file}')"\ncat > '${step.file}' <<'END-OF-FILE'\n${step.text}END-OF-FILE\n`
    const log = `${out}/${step.line}`
    const body = `(set -e\n${step.commands}\n) > ${log} 2>&1 < /dev/null`
    if (step.keepsRunning === undefined) return `${body} || { echo "the commands at line ${step.line} failed"; exit 1; }\n`
    const [port] = step.keepsRunning.split('/')
    const isReady = `curl -sf -o /dev/null http://127.0.0.1:${step.keepsRunning}/ready`
    // The shell itself sees whether anything listens: each curl is a process more.
    const wait = `for _ in $(seq 600); do (: < /dev/tcp/127.0.0.1/${port}) 2> /dev/null && ${isReady} && break; sleep 0.1; done`
    return `${body} &\n${wait}\n${isReady} || { echo "nothing answers at ${step.keepsRunning} after line ${step.line}"; exit 1; }\n`
  })
  return `set -u\n${made.join('\n')}\nexit 0\n`
}
