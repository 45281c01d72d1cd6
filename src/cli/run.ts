import { fstatSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { text as readAll } from 'node:stream/consumers'
import { printable } from '../app/log/printable.ts'
import type { LoadedConfig } from '../config/load.ts'
import { givenFlags, type ModelFlags, withModelFlags } from '../config/model-flags.ts'
import { AppError } from '../contract/errors.ts'
import { isSource } from '../registry/names/sources.ts'
import { type ChatMessage, chat, hasModel, isServing, listModels, type ServerAddress } from './servers/client.ts'
import { startOwnServer } from './servers/own-server.ts'
import { resolveName } from './servers/resolve-name.ts'
import { createAnswerWriter } from './terminal/answer-writer.ts'
import { chatHelp, readChatLine } from './terminal/chat-commands.ts'
import { commandName } from './terminal/command-name.ts'
import { openTerminalInput } from './terminal/terminal-input.ts'

type RunOptions = {
  readonly model: string
  /** What is piped stands before it. Both empty: a conversation on a terminal. */
  readonly prompt: string
  readonly server: ServerAddress
  /** The user named this server: no other is used. */
  readonly isServerNamed: boolean
  /** For the model, where this command loads it. */
  readonly modelFlags: ModelFlags
  /** Loads the configuration for a server of this command, with additional model sources. */
  readonly loadConfig: (models: readonly string[]) => Promise<LoadedConfig>
}

/** The model to chat with, and the server that has it. */
type Connection = { readonly server: ServerAddress; readonly model: string; close(): Promise<void> }

/** The conventional exit code of a program that Ctrl-C ended. */
const interruptedExitCode = 130

/**
 * Chats with a model over HTTP: on the running server if it has the model, else on one of this command.
 * Ctrl-C stops the generation; in a conversation, between two answers, it ends the conversation. Returns the exit code.
 */
export async function run(options: RunOptions): Promise<number> {
  const connection = await connect(options)
  try {
    const prompt = [await readPiped(process.stdin), options.prompt].filter((text) => text !== '').join('\n\n')
    if (prompt !== '' || process.stdin.isTTY !== true) return await answer(connection, prompt)
    await converse(connection)
    return 0
  } finally {
    await connection.close()
  }
}

async function answer({ server, model }: Connection, prompt: string): Promise<number> {
  const controller = new AbortController()
  const interrupt = () => controller.abort()
  process.once('SIGINT', interrupt)
  // The reader closed the pipe, as in `dragoman run … | head`.
  process.stdout.on('error', interrupt)
  try {
    await stream({ server, model, messages: [{ role: 'user', content: prompt }] }, controller.signal)
  } finally {
    process.off('SIGINT', interrupt)
  }
  return controller.signal.aborted ? interruptedExitCode : 0
}

async function converse({ server, model }: Connection): Promise<void> {
  const terminal = openTerminalInput(process.stdin, process.stderr)
  let messages: ChatMessage[] = []
  let system: ChatMessage[] = []
  let answering: AbortController | undefined
  const interrupt = () => (answering === undefined ? terminal.close() : answering.abort())
  // In raw mode Ctrl-C is a key that only readline sees; without a terminal it is a signal.
  terminal.onInterrupt(interrupt)
  process.on('SIGINT', interrupt)
  try {
    console.error(`${model}: Ctrl-C stops an answer, Ctrl-D ends the conversation, /help lists commands`)
    for (;;) {
      const typed = await terminal.next()
      if (typed === undefined) return
      if (typed.text.trim() === '') continue
      const line = readChatLine(typed)
      switch (line.type) {
        case 'help':
          console.error(chatHelp)
          break
        case 'bye':
          return
        case 'clear':
          messages = []
          console.error('the conversation is forgotten')
          break
        case 'system':
          system = line.text === '' ? [] : [{ role: 'system', content: line.text }]
          console.error(line.text === '' ? 'there is no system prompt now' : 'the system prompt is set')
          break
        case 'unknown':
          console.error(`there is no command ${line.name}; /help lists them`)
          break
        case 'message':
          messages.push({ role: 'user', content: line.text })
          answering = new AbortController()
          messages.push({
            role: 'assistant',
            content: await stream({ server, model, messages: [...system, ...messages] }, answering.signal),
          })
          answering = undefined
      }
    }
  } finally {
    process.off('SIGINT', interrupt)
    terminal.close()
  }
}

type ChatRequest = { readonly server: ServerAddress; readonly model: string; readonly messages: readonly ChatMessage[] }

/** Prints an answer while it is streamed, and resolves with it. An abort stops it and keeps the text so far. */
async function stream(request: ChatRequest, signal: AbortSignal): Promise<string> {
  const writer = createAnswerWriter({ out: process.stdout, err: process.stderr })
  const speed = new ReplySpeed()
  let text = ''
  let finishReason: string | undefined
  let outputTokens: number | undefined
  try {
    for await (const event of chat(request.server, request, signal)) {
      if (event.type !== 'usage') speed.mark()
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
          break
        case 'usage':
          outputTokens = event.outputTokens
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    writer.end()
  }
  writer.note(speed.describe(outputTokens))
  if (finishReason === 'length') console.error('(truncated: the token limit or the context length was reached)')
  return text
}

async function connect(options: RunOptions): Promise<Connection> {
  const { model, server, isServerNamed } = options
  const running: Connection = { server, model, close: () => Promise.resolve() }
  if (isServerNamed) {
    await requireModel(server, model)
    refuseSettings(options)
    return running
  }
  // A server may accept any name, whereas a source means one file.
  if (!isSource(model) && (await isServing(server)) && (await hasModel(server, model))) {
    refuseSettings(options)
    return running
  }
  return startWith(options)
}

/** A running server has loaded its models with settings of their own. */
function refuseSettings({ model, server, modelFlags }: RunOptions): void {
  const given = givenFlags(modelFlags)
  if (given.length === 0) return
  const advice = `\`${commandName} load ${model}\` takes --context, --slots and --gpu-layers, and loads it again`
  const message = `${given.join(', ')}: '${model}' is a model of the server at ${server.url}, which has its settings; ${advice}`
  throw new AppError('invalid-request', message)
}

async function requireModel(server: ServerAddress, model: string): Promise<void> {
  if (isSource(model)) {
    throw new AppError(
      'invalid-request',
      `'${model}' is a source, which the server at ${server.url} does not load; remove --server`,
    )
  }
  if (await hasModel(server, model)) return
  const available = (await listModels(server)).map(({ id }) => printable(id)).join(', ')
  throw new AppError('model-not-found', `the server at ${server.url} has no model '${model}'; available: ${available}`)
}

async function startWith({ model: name, modelFlags, loadConfig }: RunOptions): Promise<Connection> {
  const source = isSource(name)
  const config = await loadConfig(source ? [name] : [])
  const model = source ? 'default' : name
  // Before anything is started, and before a prompt is shown; what other servers list is known later.
  const mayBeListed = !source && config.listings.length > 0 && givenFlags(modelFlags).length === 0
  const named = source ? config.models[0] : mayBeListed ? undefined : resolveName(config.models, name)
  // Only the requested model is loaded, by the first request.
  const models = config.models.map((entry) => (entry === named ? withModelFlags(entry, modelFlags) : entry))
  const { address, close } = await startOwnServer(config, models)
  return { server: address, model, close }
}

/** Measures one streamed reply. */
export class ReplySpeed {
  readonly #now: () => number
  readonly #askedMs: number
  #firstMs: number | undefined
  #lastMs = 0

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#askedMs = now()
  }

  /** A part of the reply has arrived. */
  mark(): void {
    this.#lastMs = this.#now()
    this.#firstMs ??= this.#lastMs
  }

  /** One line about the reply, which has this many tokens; undefined where the server counted none. */
  describe(outputTokens: number | undefined): string | undefined {
    if (outputTokens === undefined || this.#firstMs === undefined) return undefined
    const count = `${outputTokens} ${outputTokens === 1 ? 'token' : 'tokens'}`
    const first = `the first after ${((this.#firstMs - this.#askedMs) / 1000).toFixed(2)} s`
    const seconds = (this.#lastMs - this.#firstMs) / 1000
    // The first token is waited for, not generated, in this time.
    const perSecond = outputTokens > 1 && seconds > 0 ? `, ${((outputTokens - 1) / seconds).toFixed(1)} tokens/s` : ''
    return `(${count}${perSecond}, ${first})`
  }
}

/** A program that starts this one may leave a socket open that it never writes to; what it has to say is there by now. */
const socketWaitMs = 1000

/**
 * What is piped or redirected into this process; empty for a terminal and for a socket that stays silent. A pipe of a shell is read to its
 * end, however long its writer takes.
 */
async function readPiped(input: Readable & { readonly isTTY?: boolean; readonly fd?: number }): Promise<string> {
  if (input.isTTY === true) return ''
  if (fstatSync(input.fd ?? 0).isSocket() && !(await hasData(input))) return ''
  return (await readAll(input)).trim()
}

function hasData(input: Readable): Promise<boolean> {
  return new Promise((resolve) => {
    const decide = (isThere: boolean) => {
      clearTimeout(timer)
      input.off('readable', onReadable)
      resolve(isThere)
    }
    // At the end, too, a stream is readable.
    const onReadable = () => decide(true)
    const timer = setTimeout(() => {
      decide(false)
      // It would keep the process alive.
      input.destroy()
    }, socketWaitMs)
    input.on('readable', onReadable)
  })
}
