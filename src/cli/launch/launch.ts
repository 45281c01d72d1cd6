import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { constants as osConstants, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { printable, printableLines } from '../../app/log/printable.ts'
import { randomHex } from '../../base/random-hex.ts'
import type { LoadedConfig } from '../../config/load.ts'
import type { ConfiguredModel } from '../../config/models.ts'
import { AppError } from '../../contract/errors.ts'
import { builtinModel, defaultModel } from '../../registry/names/builtin-model.ts'
import { findCatalogued } from '../../registry/names/catalogue.ts'
import { findProgram } from '../../registry/names/find-program.ts'
import { isSource } from '../../registry/names/sources.ts'
import { type Agent, type Protocol, protocols, type Setup, type Target } from '../agents/agent.ts'
import { agents } from '../agents/agents.ts'
import { findWanted } from '../models/wanted-model.ts'
import { isServing, listModels, type ModelCard, type ServerAddress } from '../servers/client.ts'
import { commandName } from '../terminal/command-name.ts'
import { formatTable } from '../terminal/table.ts'
import { makeRoom } from './make-room.ts'

type LaunchOptions = {
  readonly name: string
  /** The user's own arguments for the agent. */
  readonly args: readonly string[]
  readonly server: ServerAddress
  /** The user named this server: no other may be used. */
  readonly isServerNamed: boolean
  /** An id or an alias, or a source; absent: the server's default. */
  readonly model: string | undefined
  /** Absent: the agent's first protocol. */
  readonly protocol: string | undefined
  /** Prints how the agent would be started. */
  readonly print: boolean
  /** Loads the configuration for a server of this command, with additional model sources. */
  readonly loadConfig: (models: readonly string[]) => Promise<LoadedConfig>
}

type LaunchTarget = { readonly server: ServerAddress; readonly model: string; readonly card: ModelCard; close(): Promise<void> }

/**
 * Starts an agent with a configuration of its own, on a model with the context that it needs: on the running server, or else on one that
 * lasts as long as the agent. Returns its exit code.
 */
export async function launch(options: LaunchOptions): Promise<number> {
  const { name, args, protocol, print } = options
  const agent = findAgent(name)
  const wanted = chooseProtocol(agent, protocol)
  const file = print ? agent.command : await requireProgram(agent)
  const { server, model, card, close } = await findPlace(agent, options)
  try {
    const target = {
      url: server.url,
      model,
      protocol: wanted,
      ...(card.context_length !== undefined && { contextLength: card.context_length }),
    }
    if (print) {
      const shown = {
        ...target,
        apiKey: server.apiKey === undefined ? noKey : '***',
        folder: join(tmpdir(), `${folderPrefix}${randomHex()}`),
      }
      console.log(printableLines(formatSetup(agent, shown, args)))
      return 0
    }
    return await inFolder(async (folder) => {
      const setup = agent.setUp({ ...target, apiKey: server.apiKey ?? noKey, folder })
      writeFiles(folder, setup.files)
      return runProgram(file, [...setup.args, ...args], environmentOf(setup))
    })
  } finally {
    await close()
  }
}

/** Prints the agents, and which of them are installed. */
export function listAgents(): void {
  const rows = [...agents].map(([name, { title, command, install, protocols: spoken }]) => {
    const isInstalled = findProgram(command, process.env.PATH) !== undefined
    return [name, title, isInstalled ? 'yes' : textOf(install), spoken.join(', ')]
  })
  console.log(formatTable(['AGENT', '', 'INSTALLED', 'SPEAKS'], rows))
  console.log(`\nstart one: ${commandName} launch AGENT`)
}

async function findPlace(agent: Agent, options: LaunchOptions): Promise<LaunchTarget> {
  const { server, isServerNamed, model, print } = options
  const isFile = model !== undefined && isSource(model)
  if (isFile && isServerNamed) {
    const message = `'${model}' is a source, which the server at ${server.url} does not load; remove --server`
    throw new AppError('invalid-request', message)
  }
  const cards = !isFile && (await isServing(server)) ? await listModels(server) : undefined
  // A short name that the server lacks stands for a file, which is served meanwhile.
  const isElsewhere = model !== undefined && findCatalogued(model) !== undefined && !isServerNamed
  if (cards !== undefined && !(isElsewhere && findCard(cards, model) === undefined)) {
    const card = chooseModel(cards, model)
    const ready = print ? card : await makeRoom(agent, server, card)
    return { server, model: model ?? card.id, card: ready, close: () => Promise.resolve() }
  }
  if (isServerNamed || print) {
    const message = `no server runs at ${server.url}: \`${commandName} serve\` starts one, and --server names another`
    throw new AppError('engine-failed', message)
  }
  return startPlace(agent, options)
}

/** Starts a server for this command. */
async function startPlace(agent: Agent, { model, loadConfig }: LaunchOptions): Promise<LaunchTarget> {
  const wanted = model === undefined ? undefined : await findWanted(model, loadConfig)
  const config = wanted?.config ?? (await loadConfig([]))
  const named = wanted === undefined ? findOwn(config) : (wanted.model as ConfiguredModel)
  if (named === undefined) {
    const { proposeModels } = await import('./propose.ts')
    throw new AppError('invalid-request', await proposeModels(agent, config))
  }
  // Modules that serve models take five times as long to load as those that ask a server.
  const { startForAgent } = await import('./own-model.ts')
  const { address, close } = await startForAgent(agent, config, named)
  const card = (await listModels(address)).find(({ id }) => id === named.id) ?? { id: named.id }
  console.error(`dragoman: ${agent.title} runs on ${named.id}, which is served as long as it runs`)
  return { server: address, model: named.id, card, close }
}

function findOwn({ models }: LoadedConfig): ConfiguredModel | undefined {
  const own = models.filter(({ id }) => id !== builtinModel.id && id !== defaultModel.id)
  return own.find(({ aliases }) => aliases.includes('default')) ?? own[0]
}

/** The key that agents send to a server without keys. */
const noKey = 'unused'

const folderPrefix = 'dragoman-launch-'

function findAgent(name: string): Agent {
  const agent = agents.get(name)
  if (agent !== undefined) return agent
  throw new AppError('invalid-request', `'${name}' is not an agent that can be launched: ${[...agents.keys()].join(', ')}`)
}

function chooseProtocol(agent: Agent, wanted: string | undefined): Protocol {
  if (wanted === undefined) return agent.protocols[0]
  const protocol = protocols.find((name) => name === wanted)
  if (protocol !== undefined && agent.protocols.includes(protocol)) return protocol
  throw new AppError(
    'invalid-request',
    `${agent.title} does not speak '${wanted}'; --protocol is one of: ${agent.protocols.join(', ')}`,
  )
}

/** The program of an agent; on a terminal, its user may have it installed. */
async function requireProgram({ title, command, install }: Agent): Promise<string> {
  const file = findProgram(command, process.env.PATH)
  if (file !== undefined) return file
  const missing = `${title} is not installed: there is no '${command}' on the PATH`
  if (typeof install === 'string') throw new AppError('invalid-request', `${missing}. ${install} says how to install it`)
  const shown = `\`${textOf(install)}\``
  if (!(await agrees(`${missing}. Run ${shown}? [y/N] `)))
    throw new AppError('invalid-request', `${missing}. ${shown} installs it`)
  const [program, ...args] = install
  const code = await runProgram(findProgram(program, process.env.PATH) ?? program, args, process.env)
  const installed = findProgram(command, process.env.PATH)
  if (installed !== undefined) return installed
  throw new AppError('invalid-request', `${shown} ended with code ${code}, and there is still no '${command}' on the PATH`)
}

function textOf(install: Agent['install']): string {
  return typeof install === 'string' ? install : install.join(' ')
}

/** The answer of a user; no without a terminal. */
async function agrees(question: string): Promise<boolean> {
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) return false
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    // Ctrl-D closes it, and Ctrl-C rejects the question.
    const closed = once(terminal, 'close').then(() => '')
    const answer = terminal.question(question).catch(() => '')
    return /^y(es)?$/i.test((await Promise.race([answer, closed])).trim())
  } finally {
    terminal.close()
  }
}

/** The model with this id or alias; without a name, the server's default or else its first, as for requests without a model. */
export function chooseModel(cards: readonly ModelCard[], wanted: string | undefined): ModelCard {
  const named = findCard(cards, wanted ?? 'default')
  const card = named ?? (wanted === undefined ? cards[0] : undefined)
  if (card !== undefined) return card
  const available = cards.map(({ id }) => printable(id)).join(', ')
  const missing =
    wanted === undefined ? 'the server has no models' : `the server has no model '${wanted}'; available: ${available}`
  throw new AppError('model-not-found', missing)
}

function findCard(cards: readonly ModelCard[], name: string): ModelCard | undefined {
  return cards.find(({ id, aliases }) => id === name || aliases?.includes(name))
}

/** Runs with a folder that only this user can read, since it may contain a key, and removes it. */
async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), folderPrefix))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function writeFiles(folder: string, files: Setup['files']): void {
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content, { mode: 0o600 })
  }
}

/** The setup of an agent as a shell script: its files with their contents, its environment and its command. */
export function formatSetup(agent: Agent, target: Target, args: readonly string[]): string {
  const setup = agent.setUp(target)
  const files = Object.entries(setup.files).map(([path, content]) => writeFile(join(target.folder, path), content))
  // As for this command: only for this user, and removed afterwards.
  const [make, remove] =
    files.length === 0 ? [[], []] : [[`mkdir -m 700 ${quote(target.folder)}`], [`rm -r ${quote(target.folder)}`]]
  const env = Object.entries(setup.env).map(([name, value]) => `export ${name}=${quote(value)}`)
  const defaults = Object.entries(setup.defaults ?? {}).map(([name, value]) => `export ${name}="\${${name}:-${value}}"`)
  const command = [agent.command, ...setup.args, ...args].map(quote).join(' ')
  return [...make, ...files, ...env, ...defaults, command, ...remove].join('\n')
}

/** The environment of an agent. Its variables win over this command's own, which win over its defaults. */
export function environmentOf({ env, defaults }: Setup, own: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return { ...defaults, ...own, ...env }
}

/** The shell interprets nothing between the two words. */
function writeFile(path: string, content: string): string {
  const lines = content.trimEnd().split('\n')
  let end = 'END'
  while (lines.includes(end)) end += '_'
  return [`mkdir -p ${quote(dirname(path))} && cat > ${quote(path)} <<'${end}'`, ...lines, `${end}\n`].join('\n')
}

/** A text as one word of a POSIX shell. */
function quote(text: string): string {
  return /^[\w./:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

const forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs a program with the standard streams and the signals of this process, and resolves with its exit code as a shell counts it: 128 plus
 * the signal's number if a signal ended it.
 */
function runProgram(file: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  // On a terminal the program must stay in the group that may read from it. Elsewhere it leads a group, so that a signal reaches all of it:
  // some programs run in processes of their own, which outlive their starter.
  const isOnTerminal = process.stdin.isTTY === true
  const child = spawn(file, args, { stdio: 'inherit', env, detached: !isOnTerminal })
  const forward = (signal: NodeJS.Signals) => {
    if (!isOnTerminal) signalGroup(child.pid, signal)
    // A terminal sends Ctrl-C to the program as well.
    else if (signal !== 'SIGINT') child.kill(signal)
  }
  for (const signal of forwarded) process.on(signal, forward)
  return new Promise<number>((resolve, reject) => {
    child.once('error', (cause) => {
      reject(new AppError('invalid-request', `${file} cannot be started: ${cause.message}`, { cause }))
    })
    child.once('close', (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : osConstants.signals[signal])))
  }).finally(() => {
    for (const signal of forwarded) process.off(signal, forward)
  })
}

function signalGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (leader !== undefined) process.kill(-leader, signal)
  } catch (error) {
    // ESRCH: it has just ended.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
