// npm run record-clients [NAME…]: installs the newest version of clients and keeps what they send by default, in test/clients/recorded.
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openClosedNetwork } from '../../agents/closed-network.ts'
import { startHub } from '../../support/upstream/hub.ts'
import { startClientApp } from '../client-app.ts'
import { ownFolder, type Recording } from '../recording.ts'
import { clients, type Step } from './clients.ts'
import { install } from './installs.ts'
import { neutralRecording } from './neutral.ts'
import { openRecordingProxy, type RecordingProxy, type Seen } from './proxy.ts'

const programs = fileURLToPath(new URL('./programs/', import.meta.url))
const minute = 60_000
/** More requests of one call are a conversation that has no end with a scripted model. */
const maxPerCall = 6

type Installed = { readonly name: string; readonly folder: string; readonly version: string }

const names = process.argv.slice(2)
const inside = process.env.DRAGOMAN_RECORDED_CLIENTS
if (inside !== undefined) await recordAll(JSON.parse(inside))
else await prepare(names.length === 0 ? Object.keys(clients) : names)

/** Installs with the network, and records without it. */
async function prepare(wanted: readonly string[]): Promise<void> {
  const unknown = wanted.filter((name) => clients[name] === undefined)
  if (unknown.length > 0) {
    console.error(`no client is named ${unknown.join(', ')}; there are: ${Object.keys(clients).join(', ')}`)
    process.exitCode = 1
    return
  }
  const installed: Installed[] = []
  for (const name of wanted) {
    const { packages } = clients[name] as (typeof clients)[string]
    try {
      const { folder, version } = install(name, packages)
      if (packages.registry === 'npm') copyPrograms(folder)
      installed.push({ name, folder, version })
      console.log(`${name}: ${version}`)
    } catch (error) {
      console.error(`${name} cannot be installed: ${error instanceof Error ? error.message : error}`)
      process.exitCode = 1
    }
  }
  const network = await openClosedNetwork()
  if (!network.isEnforced) console.warn('clients run with dead proxies: no network namespace can be made here')
  const [command = '', ...args] = [...network.prefix, process.execPath, ...process.execArgv, ...process.argv.slice(1, 2)]
  const env = { ...process.env, ...network.env, DRAGOMAN_RECORDED_CLIENTS: JSON.stringify(installed) }
  const child = spawn(command, args, { stdio: 'inherit', env })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  await network.close()
  const biome = fileURLToPath(new URL('../../../node_modules/@biomejs/biome/bin/biome', import.meta.url))
  spawnSync(process.execPath, [biome, 'format', '--write', fileURLToPath(ownFolder)], { stdio: 'inherit' })
  if (code !== 0) process.exitCode = 1
}

function copyPrograms(folder: string): void {
  for (const name of readdirSync(programs)) copyFileSync(join(programs, name), join(folder, name))
}

async function recordAll(installed: readonly Installed[]): Promise<void> {
  const hub = await startHub()
  process.env.HF_ENDPOINT = hub.origin
  const app = await startClientApp()
  const proxy = await openRecordingProxy(app.url)
  for (const one of installed) await record(one, proxy)
  await proxy.close()
  await app.close()
  await hub.close()
}

async function record({ name, folder, version }: Installed, proxy: RecordingProxy): Promise<void> {
  const client = clients[name]
  if (client === undefined) return
  const home = mkdtempSync(join(tmpdir(), 'dragoman-client-'))
  const work = join(home, 'work')
  mkdirSync(work)
  for (const step of client.steps({ url: proxy.url, folder, home })) {
    proxy.mark(step.how ?? '')
    await runStep(step, { home, work, marks: proxy.marks })
  }
  // Failures are made on purpose, and what is stored under an id is not there later.
  const seen = proxy.take().filter(({ call }) => !/_(failures|refusals|stored)$/.test(call))
  const machine = {
    [folder]: '/opt/client',
    [home]: '/home/user',
    [process.env.HOME ?? '/root']: '/home/user',
    [hostname()]: 'machine',
    [proxy.url.replace('http://', '')]: '127.0.0.1:7411',
    scripted: 'example-model',
  }
  const recordings = distinct(
    seen.map((entry) => neutralRecording(recordingOf(entry, { client: client.title, version, name }), machine)),
  )
  for (const { method, path, status, reply } of seen) {
    if (status >= 400) console.log(`  ${name}: ${status} ${method} ${path}: ${reply.slice(0, 300)}`)
  }
  console.log(`${name}: ${seen.length} requests, ${recordings.length} recorded`)
  rmSync(home, { recursive: true, force: true })
  if (recordings.length > 0) write(name, recordings)
  else process.exitCode = 1
}

function runStep(step: Step, { home, work, marks }: { home: string; work: string; marks: string }): Promise<void> {
  for (const [file, text] of Object.entries(step.files ?? {})) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  const { PATH, HTTP_PROXY, HTTPS_PROXY, NO_PROXY } = process.env
  const proxies = HTTP_PROXY === undefined ? {} : { HTTP_PROXY, HTTPS_PROXY, NO_PROXY }
  const env = {
    PATH,
    ...proxies,
    HOME: home,
    TERM: 'dumb',
    LANG: 'C.UTF-8',
    PYTHONDONTWRITEBYTECODE: '1',
    CALL_MARKS: marks,
    ...step.env,
  }
  const child = spawn(step.command, step.args, {
    cwd: work,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 3 * minute,
    killSignal: 'SIGKILL',
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (piece: string) => {
      said += piece
    })
  }
  return new Promise((resolve) => {
    child.once('error', (error) => {
      console.log(`  ${step.command}: ${error.message}`)
      resolve()
    })
    child.once('close', (code) => {
      // What went wrong is shown, and what was sent is kept: a client may end its call with an error of its own.
      if (code !== 0 || /"failure"/.test(said)) console.log(`  ${step.how ?? ''} ended with ${code}:\n${said.slice(-3000)}`)
      resolve()
    })
  })
}

type Identity = { readonly client: string; readonly version: string; readonly name: string }

function recordingOf({ call, method, path, headers, body }: Seen, { client, version, name }: Identity): Recording {
  // Functions of a program are named after their client.
  const prefix = `${name.replace(/-(python|npm|openai-like)$/, '').replaceAll('-', '_')}_`
  const how = `${call}_` === prefix ? 'chat' : (call.startsWith(prefix) ? call.slice(prefix.length) : call).replaceAll('_', ' ')
  return { client, version, how, method, path, headers, body: body === '' ? null : JSON.parse(body) }
}

/** Without those that were sent before, or with another text alone: clients count the tokens of each message. */
function distinct(recordings: readonly Recording[]): Recording[] {
  const withoutText = (_: string, value: unknown) => (typeof value === 'string' && /\s/.test(value) ? '' : value)
  const keyOf = ({ method, path, body }: Recording) => JSON.stringify([method, path, body], withoutText)
  const all = [...new Map(recordings.map((recording) => [keyOf(recording), recording] as const).reverse()).values()].reverse()
  return all.filter((one, index) => all.slice(0, index).filter(({ how }) => how === one.how).length < maxPerCall)
}

function write(name: string, recordings: readonly Recording[]): void {
  const folder = join(fileURLToPath(ownFolder), name)
  rmSync(folder, { recursive: true, force: true })
  const taken = new Map<string, number>()
  for (const recording of recordings) {
    // Calls over one of a client's connections have a folder of their own.
    const slugs = recording.how.split(': ').map((part) => part.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'))
    const path = join(folder, ...slugs)
    const number = (taken.get(path) ?? 0) + 1
    taken.set(path, number)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(`${path}-${number}.json`, `${JSON.stringify(recording, null, 2)}\n`)
  }
}
