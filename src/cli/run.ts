import { fstatSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { text as readAll } from 'node:stream/consumers'
import { printable } from '../app/log/printable.ts'
import type { LoadedConfig } from '../config/load.ts'
import { givenFlags, type ModelFlags, withModelFlags } from '../config/model-flags.ts'
import { ownFolders } from '../config/own-folders.ts'
import { AppError } from '../contract/errors.ts'
import { findCatalogued } from '../registry/names/catalogue.ts'
import { isSource } from '../registry/names/sources.ts'
import { Answer, type AnswerServer } from './chat/answer.ts'
import { converse } from './chat/converse.ts'
import { withImages } from './chat/images.ts'
import { type ChatContent, hasModel, isServing, listModels, type ServerAddress } from './servers/client.ts'
import { startOwnServer } from './servers/own-server.ts'
import { resolveName } from './servers/resolve-name.ts'
import { commandName } from './terminal/command-name.ts'

type RunOptions = {
  readonly model: string
  /** Piped text precedes it. Both empty: a conversation on a terminal. */
  readonly prompt: string
  readonly server: ServerAddress
  /** The user named this server: no other may be used. */
  readonly isServerNamed: boolean
  /** Flags of the model, if this command loads it. */
  readonly modelFlags: ModelFlags
  /** Loads the configuration for a server of this command, with additional model sources. */
  readonly loadConfig: (models: readonly string[]) => Promise<LoadedConfig>
}

type Connection = AnswerServer & { readonly model: string; close(): Promise<void> }

/** The conventional exit code of a program that Ctrl-C ended. */
const interruptedExitCode = 130

/**
 * Chats with a model over HTTP: on the running server if it has the model, otherwise on one of this command. Ctrl-C stops the generation;
 * in a conversation, between two answers, it ends the conversation. Returns the exit code.
 */
export async function run(options: RunOptions): Promise<number> {
  const connection = await connect(options)
  try {
    const piped = await readPiped(process.stdin)
    if (piped === '' && options.prompt === '' && process.stdin.isTTY === true) {
      await converse(connection, connection.model)
      return 0
    }
    return await answer(connection, await joinPrompt(piped, options.prompt))
  } finally {
    await connection.close()
  }
}

/** Piped text precedes the prompt, in which paths of images are recognized. */
async function joinPrompt(piped: string, prompt: string): Promise<ChatContent> {
  const { content, notes } = await withImages(prompt, ownFolders())
  for (const note of notes) console.error(`(${printable(note)})`)
  if (typeof content === 'string') return [piped, content].filter((text) => text !== '').join('\n\n')
  return piped === '' ? content : [{ type: 'text', text: piped }, ...content]
}

async function answer(connection: Connection, prompt: ChatContent): Promise<number> {
  const answer = new Answer(connection)
  const stop = () => answer.stop()
  process.on('SIGINT', stop)
  // The reader closed the pipe, as in `dragoman run … | head`.
  process.stdout.on('error', stop)
  try {
    await answer.print({ model: connection.model, messages: [{ role: 'user', content: prompt }] })
  } finally {
    process.off('SIGINT', stop)
  }
  return answer.isStopped ? interruptedExitCode : 0
}

async function connect(options: RunOptions): Promise<Connection> {
  const { model, server, isServerNamed } = options
  const running: Connection = { server, operator: server, model, close: () => Promise.resolve() }
  if (isServerNamed) {
    await requireModel(server, model)
    refuseSettings(options)
    return running
  }
  // A server may accept any name, but a source means one file.
  if (!isSource(model) && (await isServing(server)) && (await hasModel(server, model))) {
    refuseSettings(options)
    return running
  }
  return startWith(options)
}

/** A running server has loaded its models with settings of its own. */
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

function isConfigured({ models }: LoadedConfig, name: string): boolean {
  return models.some(({ id, aliases }) => id === name || aliases.includes(name))
}

async function startWith({ model: name, modelFlags, loadConfig }: RunOptions): Promise<Connection> {
  // Other servers may list a model by that name; short names mean sources if no configured model has them.
  const source = isSource(name) || (findCatalogued(name) !== undefined && !isConfigured(await loadConfig([]), name))
  const config = await loadConfig(source ? [name] : [])
  const model = source ? 'default' : name
  // Checked before anything starts, and before a prompt is shown; the lists of other servers become known later.
  const mayBeListed = !source && config.listings.length > 0 && givenFlags(modelFlags).length === 0
  const named = source ? config.models[0] : mayBeListed ? undefined : resolveName(config.models, name)
  // Loads only the requested model, by the first request.
  const models = config.models.map((entry) => (entry === named ? withModelFlags(entry, modelFlags) : entry))
  const { address, operator, close } = await startOwnServer(config, models)
  return { server: address, operator, model, close }
}

/** A program that starts this one may leave a socket open without ever writing to it; by then, anything it had to send has arrived. */
const socketWaitMs = 1000

/**
 * The text piped or redirected into this process; empty for a terminal and for a silent socket. A shell's pipe is read to its end, however
 * slow its writer.
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
    // A stream is also readable at its end.
    const onReadable = () => decide(true)
    const timer = setTimeout(() => {
      decide(false)
      // It would keep the process alive.
      input.destroy()
    }, socketWaitMs)
    input.on('readable', onReadable)
  })
}
