import { createInterface } from 'node:readline/promises'
import { text as readAll } from 'node:stream/consumers'
import { type App, createApp } from '../app.ts'
import type { LoadedConfig } from '../config/load.ts'
import { createLog } from '../log.ts'
import { type ChatMessage, chat, hasModel, isServing, type ServerAddress } from './client.ts'
import { createProgress } from './progress.ts'
import { isSource } from './source-name.ts'

export type RunOptions = {
  readonly model: string
  /** Empty: read it from a pipe, or hold a conversation on a terminal. */
  readonly prompt: string
  readonly server: ServerAddress
  /** The configuration of a server of our own, with further model sources. */
  readonly loadConfig: (models: readonly string[]) => Promise<LoadedConfig>
}

type Target = { readonly server: ServerAddress; readonly model: string; close(): Promise<void> }

/** What a shell expects of a program that Ctrl-C ended. */
const interruptedExitCode = 130

/**
 * Chats with a model over HTTP: on the running server if it has the model, else on one that lives as long as this command.
 * Ctrl-C stops the generation. Returns the exit code.
 */
export async function run(options: RunOptions): Promise<number> {
  const target = await findTarget(options)
  try {
    if (options.prompt !== '') return await answer(target, options.prompt)
    if (process.stdin.isTTY !== true) return await answer(target, (await readAll(process.stdin)).trim())
    await converse(target)
    return 0
  } finally {
    await target.close()
  }
}

async function answer({ server, model }: Target, prompt: string): Promise<number> {
  const reply = await stream({ server, model, messages: [{ role: 'user', content: prompt }] })
  return reply.interrupted ? interruptedExitCode : 0
}

async function converse({ server, model }: Target): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const messages: ChatMessage[] = []
  terminal.on('SIGINT', () => terminal.close())
  try {
    console.error(`${model}: Ctrl-C stops an answer, Ctrl-D ends the conversation`)
    for (;;) {
      const question = await terminal.question('> ').catch(() => undefined)
      if (question === undefined) return
      if (question.trim() === '') continue
      messages.push({ role: 'user', content: question })
      const { text } = await stream({ server, model, messages })
      messages.push({ role: 'assistant', content: text })
    }
  } finally {
    terminal.close()
  }
}

/** Prints an answer as it comes. Ctrl-C stops it; what was said so far stays. */
async function stream(request: { server: ServerAddress; model: string; messages: readonly ChatMessage[] }): Promise<{
  text: string
  interrupted: boolean
}> {
  const controller = new AbortController()
  const interrupt = () => controller.abort()
  process.once('SIGINT', interrupt)
  let text = ''
  try {
    for await (const piece of chat(request.server, request, controller.signal)) {
      text += piece
      process.stdout.write(piece)
    }
  } catch (error) {
    if (!controller.signal.aborted) throw error
  } finally {
    process.off('SIGINT', interrupt)
    process.stdout.write('\n')
  }
  return { text, interrupted: controller.signal.aborted }
}

async function findTarget({ model, server, loadConfig }: RunOptions): Promise<Target> {
  if ((await isServing(server)) && (await hasModel(server, model))) {
    return { server, model, close: () => Promise.resolve() }
  }
  return startOwnServer(model, loadConfig)
}

async function startOwnServer(name: string, loadConfig: RunOptions['loadConfig']): Promise<Target> {
  const source = isSource(name)
  const config = await loadConfig(source ? [name] : [])
  const model = source ? 'default' : name
  const progress = createProgress(process.stderr)
  // Only the model that is asked for is loaded: the first request does it.
  const models = config.models.map((entry) => ({ ...entry, load: 'demand' as const }))
  const app: App = await createApp(
    { ...config, models },
    {
      log: createLog({ level: config.log.level }),
      observer: {
        onDownload: (id, { receivedBytes, totalBytes }) => progress.update(`fetching ${id}`, receivedBytes, totalBytes),
        onNote: (id, note) => progress.note(`${id}: ${note}`),
      },
    },
  )
  const server = { url: await app.listen() }
  return {
    server,
    model,
    close: async () => {
      progress.end()
      await app.close()
    },
  }
}
