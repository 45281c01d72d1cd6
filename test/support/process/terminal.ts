import { spawnSync } from 'node:child_process'

/** Python's standard library has a terminal to run programs in; Node.js has none. */
export const hasTerminal = spawnSync('python3', ['-c', 'import pty']).status === 0

const script = 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)'

/** A command that runs another in a terminal: what is written to its standard input are keys, and all that it shows is its output. */
export function inTerminal(command: readonly string[]): readonly string[] {
  return ['python3', '-c', script, ...command]
}
