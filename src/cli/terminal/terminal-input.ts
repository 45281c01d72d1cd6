import { createInterface, type Key } from 'node:readline'
import { printable } from '../../app/log/printable.ts'
import { MessageLines, type TypedText } from './message-lines.ts'

/** Asks a terminal to enclose pastes in marks. */
const markPastes = '\u001B[?2004h'
const leavePastes = '\u001B[?2004l'
/** Lines closer together than this were not typed: a terminal without such marks pastes, or they waited while the program started. */
const togetherMs = 20

type TerminalInput = {
  /** The user's next input, including lines typed since the last call; undefined when the terminal is closed. */
  next(): Promise<TypedText | undefined>
  /** Ctrl-C, which a terminal in raw mode sends as a key; at a prompt with text it discards the text, without a call. */
  onInterrupt(listener: () => void): void
  close(): void
}

/** Reads a conversation from a terminal. A paste is one message of any number of lines, and Enter sends it. */
export function openTerminalInput(input: NodeJS.ReadStream, output: NodeJS.WriteStream): TerminalInput {
  const terminal = createInterface({ input, output })
  const lines = new MessageLines()
  const typed: TypedText[] = []
  let wake: (() => void) | undefined
  let isPasting = false
  let isClosed = false
  let pause: NodeJS.Timeout | undefined

  const settle = () => {
    const text = lines.take()
    if (text !== undefined) typed.push(text)
    if (text === undefined && wake !== undefined && !isClosed) ask('. ')
    else wake?.()
  }
  const ask = (prompt: string) => {
    terminal.setPrompt(prompt)
    // Already typed text stays in the line.
    terminal.prompt(true)
  }
  const onKey = (_: unknown, key: Key | undefined) => {
    if (key?.name === 'paste-start') isPasting = true
    if (key?.name === 'paste-end') isPasting = false
  }
  terminal.on('line', (line) => {
    lines.add(line)
    clearTimeout(pause)
    // The lines of a paste wait for the Enter after it.
    if (!isPasting) pause = setTimeout(settle, togetherMs)
  })
  terminal.once('close', () => {
    isClosed = true
    clearTimeout(pause)
    input.off('keypress', onKey)
    // After an unanswered prompt, the shell's next line must begin on a new line.
    if (terminal.terminal) output.write(wake === undefined ? leavePastes : `${leavePastes}\n`)
    settle()
  })
  input.on('keypress', onKey)
  if (terminal.terminal) output.write(markPastes)

  /** As in a shell, Ctrl-C discards the line and open quotes. */
  const discard = () => {
    lines.discard()
    for (const name of ['e', 'u']) terminal.write(null, { ctrl: true, name })
    output.write('^C\n')
    ask('> ')
  }

  return {
    async next() {
      const [waiting] = typed
      // Input typed during an answer is shown again above its own answer.
      if (waiting !== undefined && terminal.terminal) output.write(`> ${printable(firstLineOf(waiting.text))}\n`)
      if (typed.length === 0 && !isClosed) {
        ask('> ')
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        wake = undefined
      }
      return typed.shift()
    },
    onInterrupt(listener) {
      const isEmpty = () => terminal.line === '' && lines.isEmpty
      terminal.on('SIGINT', () => (wake === undefined || isEmpty() ? listener() : discard()))
    },
    close: () => terminal.close(),
  }
}

function firstLineOf(text: string): string {
  const [first = '', ...others] = text.split('\n')
  return others.length === 0 ? first : `${first} … (${others.length + 1} lines)`
}
