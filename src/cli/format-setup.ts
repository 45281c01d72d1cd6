import { join } from 'node:path'
import type { Agent, Target } from './agents/agent.ts'

/** What an agent is started with, for a shell: its files with their contents, its environment and its command. */
export function formatSetup(agent: Agent, target: Target, args: readonly string[]): string {
  const setup = agent.setUp(target)
  const files = Object.entries(setup.files).map(([path, content]) => `# ${join(target.folder, path)}\n${content.trimEnd()}\n`)
  const env = Object.entries(setup.env).map(([name, value]) => `export ${name}=${quote(value)}`)
  return [...files, ...env, [agent.command, ...setup.args, ...args].map(quote).join(' ')].join('\n')
}

/** As one word of a POSIX shell. */
function quote(text: string): string {
  return /^[\w./:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
