import { spawn } from 'node:child_process'
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { constants as osConstants, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { printable, printableLines } from '../app/log/printable.ts'
import { AppError } from '../contract/errors.ts'
import { type Agent, type Protocol, protocols, type Setup, type Target } from './agents/agent.ts'
import { agents } from './agents/agents.ts'
import { isServing, listModels, type ModelCard, type ServerAddress } from './client.ts'
import { commandName } from './terminal/command-name.ts'

type LaunchOptions = {
  /** The name of an agent. */
  readonly name: string
  /** The user's own arguments of the agent. */
  readonly args: readonly string[]
  readonly server: ServerAddress
  /** An id or an alias; absent: the server's default. */
  readonly model: string | undefined
  /** Absent: the agent's first. */
  readonly protocol: string | undefined
  /** Shows what the agent would be started with. */
  readonly print: boolean
}

/** Starts an agent that uses the running server, with a configuration of its own, and returns its exit code. */
export async function launch({ name, args, server, model, protocol, print }: LaunchOptions): Promise<number> {
  const agent = findAgent(name)
  const wanted = chooseProtocol(agent, protocol)
  const file = print ? agent.command : requireProgram(agent)
  if (!(await isServing(server))) {
    const message = `no server runs at ${server.url}: \`${commandName} serve\` starts one, and --server names another`
    throw new AppError('engine-failed', message)
  }
  const card = chooseModel(await listModels(server), model)
  const warning = contextWarning(agent, card)
  if (warning !== undefined) console.error(`dragoman: ${printable(warning)}`)
  const target = {
    url: server.url,
    model: model ?? card.id,
    protocol: wanted,
    ...(card.context_length !== undefined && { contextLength: card.context_length }),
  }
  if (print) {
    const shown = { ...target, apiKey: server.apiKey === undefined ? noKey : '***', folder: join(tmpdir(), folderPrefix) }
    console.log(printableLines(formatSetup(agent, shown, args)))
    return 0
  }
  return inFolder(async (folder) => {
    const setup = agent.setUp({ ...target, apiKey: server.apiKey ?? noKey, folder })
    writeFiles(folder, setup.files)
    return runProgram(file, [...setup.args, ...args], { ...process.env, ...setup.env })
  })
}

/** What agents send to a server that asks for no key. */
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

function requireProgram({ title, command, npmPackage }: Agent): string {
  const file = findProgram(command, process.env.PATH)
  if (file !== undefined) return file
  throw new AppError(
    'invalid-request',
    `${title} is not installed: there is no '${command}' on the PATH. \`npm install --global ${npmPackage}\` installs it`,
  )
}

/** The model with this id or alias; without a name, the server's default or else its first, as for requests that name none. */
export function chooseModel(cards: readonly ModelCard[], wanted: string | undefined): ModelCard {
  const named = cards.find(({ id, aliases }) => id === (wanted ?? 'default') || aliases?.includes(wanted ?? 'default'))
  const card = named ?? (wanted === undefined ? cards[0] : undefined)
  if (card !== undefined) return card
  const available = cards.map(({ id }) => printable(id)).join(', ')
  const missing =
    wanted === undefined ? 'the server has no models' : `the server has no model '${wanted}'; available: ${available}`
  throw new AppError('model-not-found', missing)
}

/** A token of English text and JSON is about four bytes. */
const bytesPerToken = 4

/** What to say where an agent's first request leaves less than its own size of the context for the work. */
export function contextWarning({ title, firstRequestBytes, reservedTokens = 0 }: Agent, card: ModelCard): string | undefined {
  const firstTokens = Math.round(firstRequestBytes / bytesPerToken / 100) * 100
  const neededTokens = 2 * firstTokens + reservedTokens
  if (card.context_length === undefined || card.context_length >= neededTokens) return undefined
  const reserved = reservedTokens === 0 ? '' : `, and it keeps ${reservedTokens} free`
  return `the context of ${card.id} is ${card.context_length} tokens, and ${title} needs at least ${neededTokens}: its first request takes about ${firstTokens}${reserved}`
}

/** Runs with a folder that only this user can read, since it may hold a key, and removes it. */
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

/** The path of an executable file in the folders of a PATH, as a shell finds it; undefined if there is none. */
export function findProgram(name: string, path: string | undefined): string | undefined {
  const folders = (path ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    // There is nothing, or it is not for this user: the next folder may have it.
    return false
  }
}

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

const forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs a program with the standard streams and the signals of this process, and resolves with its exit code, as a shell counts it: 128 and
 * the signal's number where a signal ended it.
 */
function runProgram(file: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  // On a terminal the program must stay in the group that may read from it. Elsewhere it leads a group, which a signal reaches whole: some
  // programs run in processes of their own, and outlive the one that started them.
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
