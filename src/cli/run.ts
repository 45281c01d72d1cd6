import { createInterface, type Interface } from 'node:readline/promises'
import { text as readAll } from 'node:stream/consumers'
import { type App, createApp } from '../app/create-app.ts'
import { createLog } from '../app/log.ts'
import type { LoadedConfig } from '../config/load.ts'
import { AppError } from '../contract/errors.ts'
import { isSource } from '../registry/sources.ts'
import { createAnswerWriter } from './answer-writer.ts'
import { type ChatMessage, chat, hasModel, isServing, listModels, type ServerAddress } from './client.ts'
import { createProgress } from './progress.ts'

export type RunOptions = {
  readonly model: string
  /** Empty: read it from a pipe, or hold a conversation on a terminal. */
  readonly prompt: string
  readonly server: ServerAddress
  /** The caller has asked for this very server: nothing else will do. */
  readonly isServerNamed: boolean
  /** The configuration of a server of our own, with further model sources. */
  readonly loadConfig: (models: readonly string[]) => Promise<LoadedConfig>
}

type Target = { readonly server: ServerAddress; readonly model: string; close(): Promise<void> }

/** What a shell expects of a program that Ctrl-C ended. */
const interruptedExitCode = 130

/**
 * Chats with a model over HTTP: on the running server if it has the model, else on one that lives as long as this command.
 * Ctrl-C stops the generation; in a conversation, between two answers, it ends the conversation. Returns the exit code.
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
  const controller = new AbortController()
  const interrupt = () => controller.abort()
  process.once('SIGINT', interrupt)
  // Such as `dragoman run … | head`: nobody reads on.
  process.stdout.on('error', interrupt)
  try {
    await stream({ server, model, messages: [{ role: 'user', content: prompt }] }, controller.signal)
  } finally {
    process.off('SIGINT', interrupt)
  }
  return controller.signal.aborted ? interruptedExitCode : 0
}

async function converse({ server, model }: Target): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const messages: ChatMessage[] = []
  const closed = new AbortController()
  let answering: AbortController | undefined
  const interrupt = () => (answering === undefined ? terminal.close() : answering.abort())
  // In raw mode Ctrl-C is a key that only readline sees; where it has no terminal to read keys from, it is a signal.
  terminal.on('SIGINT', interrupt)
  process.on('SIGINT', interrupt)
  terminal.once('close', () => closed.abort())
  try {
    console.error(`${model}: Ctrl-C stops an answer, Ctrl-D ends the conversation`)
    for (;;) {
      const question = await ask(terminal, closed.signal)
      if (question === undefined) return
      if (question.trim() === '') continue
      messages.push({ role: 'user', content: question })
      answering = new AbortController()
      messages.push({ role: 'assistant', content: await stream({ server, model, messages }, answering.signal) })
      answering = undefined
    }
  } finally {
    process.off('SIGINT', interrupt)
    terminal.close()
  }
}

/** What is typed next, or `undefined` when the terminal is closed instead. */
async function ask(terminal: Interface, closed: AbortSignal): Promise<string | undefined> {
  try {
    return await terminal.question('> ', { signal: closed })
  } catch (error) {
    if (closed.aborted) return undefined
    throw error
  }
}

type ChatRequest = { readonly server: ServerAddress; readonly model: string; readonly messages: readonly ChatMessage[] }

/** Prints an answer as it comes, and resolves with it. Aborting stops it; what was said so far stays. */
async function stream(request: ChatRequest, signal: AbortSignal): Promise<string> {
  const writer = createAnswerWriter({ out: process.stdout, err: process.stderr })
  let text = ''
  let finishReason: string | undefined
  try {
    for await (const event of chat(request.server, request, signal)) {
      switch (event.type) {
        case 'text':
          text += event.text
          writer.text(event.text)
          break
        case 'reasoning':
          writer.reasoning(event.text)
          break
        case 'finish':
          finishReason = event.reason
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    writer.end()
  }
  if (finishReason === 'length') console.error('(cut off: the token limit or the context was reached)')
  return text
}

async function findTarget({ model, server, isServerNamed, loadConfig }: RunOptions): Promise<Target> {
  const there: Target = { server, model, close: () => Promise.resolve() }
  if (isServerNamed) {
    await requireModel(server, model)
    return there
  }
  // A server may answer to any name; a source is this very file.
  if (!isSource(model) && (await isServing(server)) && (await hasModel(server, model))) return there
  return startOwnServer(model, loadConfig)
}

async function requireModel(server: ServerAddress, model: string): Promise<void> {
  if (isSource(model)) {
    throw new AppError('invalid-request', `'${model}' is loaded here, not by the server at ${server.url}; leave --server out`)
  }
  if (await hasModel(server, model)) return
  const there = (await listModels(server)).map(({ id }) => id).join(', ')
  throw new AppError('model-not-found', `the server at ${server.url} has no model '${model}'; there is: ${there}`)
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
        onFetch: () => undefined,
      },
    },
  )
  // It asks for the keys of the configuration, as any server of it does.
  const server = { url: await app.listen(), apiKey: config.server.apiKeys?.[0] }
  return {
    server,
    model,
    close: async () => {
      progress.end()
      await app.close()
    },
  }
}
