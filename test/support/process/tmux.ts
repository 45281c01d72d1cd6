import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { onTestFailed, onTestFinished } from 'vitest'
import { until } from '../until.ts'

export const hasTmux = spawnSync('tmux', ['-V']).status === 0

type TmuxOptions = {
  readonly columns?: number
  readonly env?: Readonly<Record<string, string>>
  readonly cwd: string
  readonly shell?: readonly string[]
}

const prompt = 'ready> '

/** A shell in a terminal of tmux, for the test that opens it: what it shows is what a user sees. */
export async function openTmux({ columns = 80, env = {}, cwd, shell = ['bash', '--norc', '--noprofile'] }: TmuxOptions) {
  // A server of its own, without the user's settings.
  const socket = `dragoman-${randomUUID()}`
  const tmux = (args: readonly string[], input?: string) => {
    const { stdout, stderr, status } = spawnSync('tmux', ['-L', socket, '-f', '/dev/null', ...args], { encoding: 'utf8', input })
    if (status !== 0) throw new Error(`tmux ${args.join(' ')}: ${stderr}`)
    return stdout
  }
  const variables = Object.entries({ PS1: prompt, ...env }).flatMap(([name, value]) => ['-e', `${name}=${value}`])
  tmux(['new-session', '-d', '-x', String(columns), '-y', '50', '-c', cwd, ...variables, ...shell])
  onTestFinished(() => void spawnSync('tmux', ['-L', socket, 'kill-server']))
  let last = ''
  onTestFailed(() => console.error(last))
  const screen = () => {
    last = tmux(['capture-pane', '-p', '-S', '-'])
    return last
  }
  const terminal = {
    /** Everything that was shown, as lines of the terminal's width. */
    screen,
    /** The same with its colours. */
    coloured: () => tmux(['capture-pane', '-p', '-e', '-S', '-']),
    type: (text: string) => void tmux(['send-keys', '-l', text]),
    key: (name: string) => void tmux(['send-keys', name]),
    enter(text: string) {
      terminal.type(text)
      terminal.key('Enter')
    },
    /** As a terminal pastes: marked, where the program asks for that. */
    paste(text: string) {
      tmux(['load-buffer', '-'], text)
      tmux(['paste-buffer', '-p', '-d'])
    },
    resize: (width: number) => void tmux(['resize-window', '-x', String(width)]),
    shows: (text: string | RegExp) => until(() => (typeof text === 'string' ? screen().includes(text) : text.test(screen()))),
    /** Waits for the shell to ask for its next command. */
    async isBack() {
      // What is typed before would be the program's.
      await until(() => screen().trimEnd().split('\n').at(-1) === prompt.trim())
      const marker = `back-${randomUUID().slice(0, 8)}`
      terminal.enter(`echo "${marker} $?"`)
      await until(() => new RegExp(`^${marker} \\d+$`, 'm').test(screen()))
      return Number(new RegExp(`^${marker} (\\d+)$`, 'm').exec(screen())?.[1])
    },
  }
  await terminal.shows(prompt.trim())
  return terminal
}
