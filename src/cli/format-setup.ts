import { dirname, join } from 'node:path'
import type { Agent, Target } from './agents/agent.ts'

/** What an agent is started with, for a shell: its files with their contents, its environment and its command. */
export function formatSetup(agent: Agent, target: Target, args: readonly string[]): string {
  const setup = agent.setUp(target)
  const files = Object.entries(setup.files).map(([path, content]) => writeFile(join(target.folder, path), content))
  const env = Object.entries(setup.env).map(([name, value]) => `export ${name}=${quote(value)}`)
  return [...files, ...env, [agent.command, ...setup.args, ...args].map(quote).join(' ')].join('\n')
}

/** The shell reads nothing in what stands between the two words. */
function writeFile(path: string, content: string): string {
  const lines = content.trimEnd().split('\n')
  let end = 'END'
  while (lines.includes(end)) end += '_'
  return [`mkdir -p ${quote(dirname(path))} && cat > ${quote(path)} <<'${end}'`, ...lines, `${end}\n`].join('\n')
}

/** As one word of a POSIX shell. */
function quote(text: string): string {
  return /^[\w./:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
