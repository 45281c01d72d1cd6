import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { onTestFinished } from 'vitest'
import { until } from '../until.ts'

const question = { model: 'scripted', messages: [{ role: 'user', content: 'Is anybody there?' }] }

/** The configuration of a server whose model repeats what it is asked. */
export const scriptedConfig = 'models: [{ id: scripted, engine: fake, script: from-request }]\nbuiltinModel: false\n'

/** Starts a command that serves `scriptedConfig`, resolves with the answer to a first question, and ends it. */
export async function firstAnswer(
  command: readonly string[],
  { beforeEnd, ...options }: { cwd?: string; env: NodeJS.ProcessEnv; beforeEnd?: () => Promise<void> },
): Promise<string> {
  const [file = '', ...args] = command
  const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    out += piece
  })
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    err += piece
  })
  await until(() => /listening on \S+\n/.test(out) || child.exitCode !== null)
  const url = /listening on (\S+)\n/.exec(out)?.[1]
  if (url === undefined) throw new Error(`${command.join(' ')} does not listen:\n${out}${err}`)
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(question),
  })
  const { choices } = (await reply.json()) as { choices: { message: { content: string } }[] }
  await beforeEnd?.()
  process.kill(innermost(child.pid ?? 0), 'SIGTERM')
  const code = await ended
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}:\n${err}`)
  return choices[0]?.message.content ?? ''
}

/** The process that a chain of others has started: bubblewrap passes no signals on. */
function innermost(pid: number): number {
  const file = `/proc/${pid}/task/${pid}/children`
  const [child = ''] = existsSync(file) ? readFileSync(file, 'utf8').split(' ') : []
  return child === '' ? pid : innermost(Number(child))
}
