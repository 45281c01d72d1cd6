import { spawnSync } from 'node:child_process'

type TerminalOptions = {
  readonly columns: number
  readonly rows: number
  /** The working folder of its shell. */
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
}

/** A shell in a terminal of tmux, whose prompt is `$ `. */
export type Terminal = {
  /** Types a line. */
  enter(text: string): void
  /** What it shows, without and with the codes of its styles. */
  text(): string
  styled(): string
  /** Resolves once it shows a text, and rejects after a minute. */
  shows(text: string): Promise<void>
  close(): void
}

export function openTerminal({ columns, rows, folder, env }: TerminalOptions): Terminal {
  const socket = `dragoman-pictures-${process.pid}`
  const tmux = (...args: string[]) => {
    const { stdout, stderr, status } = spawnSync('tmux', ['-L', socket, '-f', '/dev/null', ...args], { encoding: 'utf8' })
    if (status !== 0) throw new Error(`tmux ${args[0]}: ${stderr}`)
    return stdout
  }
  const variables = Object.entries({ PS1: '$ ', COLORTERM: 'truecolor', ...env }).flatMap(([name, value]) => [
    '-e',
    `${name}=${value}`,
  ])
  const size = ['-x', `${columns}`, '-y', `${rows}`]
  tmux('new-session', '-d', ...size, '-c', folder, ...variables, 'bash', '--norc', '--noprofile')
  tmux('set-option', '-g', 'extended-keys', 'on')
  const text = () => tmux('capture-pane', '-p')
  return {
    enter: (line) => {
      tmux('send-keys', '-l', line)
      tmux('send-keys', 'Enter')
    },
    text,
    styled: () => tmux('capture-pane', '-p', '-e'),
    shows: async (wanted) => {
      for (let turn = 0; !text().includes(wanted); turn++) {
        if (turn > 600) throw new Error(`the terminal does not show '${wanted}':\n${text()}`)
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    },
    close: () => void spawnSync('tmux', ['-L', socket, 'kill-server']),
  }
}

/** Text in one style, as CSS declarations; empty for the style of the terminal. */
export type Run = { readonly text: string; readonly style: string }

export const colours = { ground: '#1b1e26', text: '#d7dae0' } as const
const palette = ['#2b303b', '#e06c75', '#98c379', '#e5c07b', '#61afef', '#c678dd', '#56b6c2', colours.text]
const codesOfStyles = new RegExp(`${String.fromCharCode(27)}\\[([\\d;]*)m`, 'g')

/** The runs of a styled text. `property`: of the colour of letters, which HTML and SVG name differently; grounds are left out. */
export function runsOf(text: string, property: 'color' | 'fill'): readonly Run[] {
  const runs: Run[] = []
  let style = new Map<string, string>()
  let last = 0
  const add = (part: string) => {
    if (part !== '') runs.push({ text: part, style: [...style].map(([name, value]) => `${name}:${value}`).join(';') })
  }
  for (const found of text.matchAll(codesOfStyles)) {
    add(text.slice(last, found.index))
    last = found.index + found[0].length
    style = styled(style, (found[1] ?? '').split(';').map(Number), property)
  }
  add(text.slice(last))
  return runs
}

function styled(before: ReadonlyMap<string, string>, codes: readonly number[], property: string): Map<string, string> {
  let style = new Map(before)
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index] ?? 0
    if (code === 0) style = new Map()
    else if (code === 1) style.set('font-weight', '700')
    else if (code === 2) style.set('opacity', '.65')
    else if (code === 3) style.set('font-style', 'italic')
    else if (code === 4) style.set('text-decoration', 'underline')
    else if (code === 22) for (const name of ['font-weight', 'opacity']) style.delete(name)
    else if (code === 39) style.delete(property)
    else if (code === 38 || code === 48) {
      const isTrue = codes[index + 1] === 2
      if (code === 38) style.set(property, isTrue ? `rgb(${codes.slice(index + 2, index + 5)})` : indexed(codes[index + 2] ?? 7))
      index += isTrue ? 4 : 2
    } else if (code >= 30 && code < 38) style.set(property, indexed(code - 30))
    else if (code >= 90 && code < 98) style.set(property, indexed(code - 90))
  }
  return style
}

/** A colour of the table of 256: ours, the cube, or a grey. */
function indexed(index: number): string {
  if (index < 16) return palette[index % 8] as string
  if (index >= 232) return `rgb(${Array(3).fill(8 + 10 * (index - 232))})`
  const level = (part: number) => (part === 0 ? 0 : 55 + 40 * part)
  const cube = index - 16
  return `rgb(${[Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(level)})`
}

export const escaped = (text: string) => text.replace(/[&<>"]/g, (found) => `&#${found.charCodeAt(0)};`)
