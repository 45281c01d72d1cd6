import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

const user = 'dragoman'
export const postgresPassword = 'correct-horse'

/** The folder of Debian's binaries, the latest version's. */
const versions = '/usr/lib/postgresql'
const [binaries] = existsSync(versions)
  ? readdirSync(versions)
      .toSorted((a, b) => Number(b) - Number(a))
      .map((version) => join(versions, version, 'bin'))
      .filter((folder) => existsSync(join(folder, 'initdb')))
  : []

/** PostgreSQL refuses to run as root. */
const account = process.getuid?.() === 0 ? findAccount('nobody') : undefined
const missing = binaries === undefined ? 'PostgreSQL is not installed' : undefined

/** Whether `startPostgres` can work, and for names of tests that are skipped: why not. */
export const hasPostgres = missing === undefined
export const postgresHint = missing === undefined ? '' : ` (skipped: ${missing})`

/** A program that comes with it, such as `pg_dump`. */
export const postgresProgram = (name: string) => join(binaries ?? '', name)

export type TestPostgres = {
  /** Makes an empty database. Resolves with its URL, which has a password. */
  createDatabase(): Promise<string>
  /** Ends the server without waiting for its clients, and starts it again after `meanwhile`. */
  restart(meanwhile: () => Promise<void>): Promise<void>
  /** Stops the server and its connections, which stay open and say nothing, until `meanwhile` is over. */
  freeze(meanwhile: () => Promise<void>): Promise<void>
  stop(): Promise<void>
}

/** Starts a PostgreSQL of its own, in a temporary folder, on a socket there. Stop it. */
export async function startPostgres(): Promise<TestPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-pg-'))
  const data = join(folder, 'data')
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, postgresPassword)
  if (account !== undefined) for (const path of [folder, passwordFile]) await chown(path, account.uid, account.gid)
  const setup = [
    '-D',
    data,
    '-U',
    user,
    '-E',
    'UTF8',
    '--locale=C',
    '--auth=scram-sha-256',
    `--pwfile=${passwordFile}`,
    '--no-sync',
  ]
  const [program, ...args] = asAccount('initdb', setup)
  await promisify(execFile)(program, args, { cwd: folder })
  let server = await startServer(folder, data)
  const urlOf = (database: string) => `postgres://${user}:${postgresPassword}@${encodeURIComponent(folder)}/${database}`
  return {
    async createDatabase() {
      const { default: pg } = await import('pg')
      const name = `test_${randomUUID().replaceAll('-', '')}`
      const client = new pg.Client({ connectionString: urlOf('postgres') })
      await client.connect()
      await client.query(`create database ${name}`)
      await client.end()
      return urlOf(name)
    },
    async restart(meanwhile) {
      await end(server, 'SIGQUIT')
      await meanwhile()
      server = await startServer(folder, data)
    },
    async freeze(meanwhile) {
      const processes = [server.pid, ...childrenOf(server.pid)].filter((pid) => pid !== undefined)
      for (const pid of processes) process.kill(pid, 'SIGSTOP')
      try {
        await meanwhile()
      } finally {
        for (const pid of processes) process.kill(pid, 'SIGCONT')
      }
    },
    async stop() {
      await end(server, 'SIGINT')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function childrenOf(pid: number | undefined): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
}

/** Resolves when it accepts connections. */
async function startServer(folder: string, data: string): Promise<ChildProcess> {
  const settings = ['listen_addresses=', `unix_socket_directories=${folder}`, 'fsync=off', 'max_connections=200']
  const [program, ...args] = asAccount('postgres', ['-D', data, ...settings.flatMap((setting) => ['-c', setting])])
  const server = spawn(program, args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  const lines: string[] = []
  for await (const line of createInterface({ input: server.stderr })) {
    lines.push(line)
    if (line.includes('ready to accept connections')) {
      server.stderr.resume()
      return server
    }
  }
  throw new Error(`PostgreSQL ended:\n${lines.join('\n')}`)
}

async function end(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = once(server, 'exit')
  server.kill(signal)
  await ended
}

function asAccount(name: string, args: readonly string[]): [program: string, ...args: string[]] {
  const program = join(binaries ?? '', name)
  if (account === undefined) return [program, ...args]
  return ['setpriv', `--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups', program, ...args]
}

function findAccount(name: string): { readonly uid: number; readonly gid: number } {
  const numberOf = (flag: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }))
  return { uid: numberOf('-u'), gid: numberOf('-g') }
}
