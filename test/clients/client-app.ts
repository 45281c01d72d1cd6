import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunningApp, startApp } from '../support/http/app.ts'
import { scriptedAnswers, scriptedTemplate } from '../support/http/client-script.ts'

const command = { command: 'echo 21 degrees', description: 'Says it' }
/** The tools of agents that run commands, and what a model gives them. */
const commandTools = {
  Bash: command,
  bash: command,
  exec_command: { cmd: command.command },
  run_shell_command: { command: command.command, is_background: false },
}
const commands = Object.entries(commandTools).map(([name, args]) => ({
  match: `Find it with ${name}\\b`,
  reply: { raw: callOf(name, args) },
}))
/** Cline tells the model with each message to call a tool when it has ended. */
const ends = 'submit_and_exit'
const ending = callOf(ends, { summary: 'It has 21 degrees.', verified: true })
const cline = [
  { match: ends, result: 'degrees', reply: { raw: ending } },
  { match: ends, reply: { raw: callOf('run_commands', { commands: [command.command] }) } },
]
const [answered, ...others] = scriptedAnswers

/** What clients are recorded with and judged by: a scripted model with room for agents, and a small real one. */
export async function startClientApp(): Promise<RunningApp> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-clients-'))
  const script = join(folder, 'script.json')
  await writeFile(script, JSON.stringify([...cline, answered, ...commands, ...others]))
  // What one server sealed, and a client sent back, is opened by the next.
  process.env.DRAGOMAN_SEAL_KEY = 'a key for recorded clients'
  const app = await startApp({
    storage: join(folder, 'store.db'),
    models: [
      {
        id: 'example-model',
        aliases: ['default', 'scripted'],
        engine: 'fake',
        script,
        chatTemplate: scriptedTemplate,
        contextLength: 200_000,
      },
      // What it writes has an end soon, also where nothing but the form of JSON is asked of it.
      { id: 'tiny', engine: 'llama', source: 'builtin:dragoman-tiny.gguf', contextLength: 512, threads: 1 },
    ],
  })
  return {
    ...app,
    models: app.models,
    close: async () => {
      await app.close()
      delete process.env.DRAGOMAN_SEAL_KEY
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function callOf(name: string, args: object): string {
  return `<tool_call>${JSON.stringify({ name, arguments: args })}</tool_call>`
}
