import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, type IncomingHttpHeaders, type RequestOptions, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { z } from 'zod'
import type { configSchema } from '../../../src/config/schema.ts'
import { until } from '../until.ts'
import { builtProgram } from './built-program.ts'

type LogLine = { readonly pid: number; readonly msg: string; readonly requestId?: string; readonly generationId?: string }

/** A server of several processes, as users start it. Stop it. */
export type WorkersServer = {
  readonly url: string
  readonly pid: number
  /** Its configuration file. */
  readonly file: string
  /** What all of its processes logged so far. */
  readonly log: readonly LogLine[]
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>
  signal(name: NodeJS.Signals): void
  stop(): Promise<void>
}

type Settings = z.input<typeof configSchema>

export async function startWorkers(settings: Settings, env: NodeJS.ProcessEnv = {}): Promise<WorkersServer> {
  const home = await mkdtemp(join(tmpdir(), 'dragoman-workers-'))
  const file = join(home, 'dragoman.json')
  const server = { port: 0, workers: 2, ...settings.server }
  await writeFile(file, JSON.stringify({ storage: 'off', ...settings, server }))
  const child = spawn(process.execPath, [builtProgram, 'serve', '--config', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, DRAGOMAN_HOME: home, ...env },
  })
  const log: LogLine[] = []
  createInterface({ input: child.stderr }).on('line', (line) =>
    log.push(line.startsWith('{') ? JSON.parse(line) : { pid: 0, msg: line }),
  )
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  const url = await urlOf(child, log)
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await ended
    await rm(home, { recursive: true, force: true })
  }
  return { url, pid: child.pid ?? 0, file, log, ended, signal: (name) => void child.kill(name), stop }
}

async function urlOf(child: ChildProcess, log: readonly LogLine[]): Promise<string> {
  if (child.stdout === null) throw new Error('the server has no output')
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /http:\/\/[\d.]+:\d+/.exec(line)?.[0]
    if (url !== undefined) return url
  }
  throw new Error(`the server ended before it listened: ${log.map(({ msg }) => msg).join('\n')}`)
}

/** A connection to one of the processes, which stays with it. */
export type Seat = {
  readonly pid: number
  post(path: string, body: object, headers?: Record<string, string>): Promise<SeatReply>
  get(path: string): Promise<SeatReply>
  /** As `post`; `onText` gets the reply so far, piece by piece. */
  follow(path: string, body: object, onText: (text: string) => void): Promise<SeatReply>
}
type SeatReply = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string }

/** One connection to each of two processes. */
export async function seatsOf(server: WorkersServer, apiKey = 'none'): Promise<readonly [Seat, Seat]> {
  const seats = new Map<number, Seat>()
  while (seats.size < 2) {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const ask = (
      method: string,
      path: string,
      {
        body,
        headers = {},
        onText,
      }: { body?: object; headers?: Record<string, string> | undefined; onText?: Sent['onText'] } = {},
    ) =>
      send(`${server.url}${path}`, {
        agent,
        onText,
        method,
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
        body: body === undefined ? '' : JSON.stringify(body),
      })
    const id = `seat-${randomUUID()}`
    await ask('GET', '/v1/models', { headers: { 'x-request-id': id } })
    await until(() => server.log.some(({ requestId }) => requestId === id))
    const pid = server.log.find(({ requestId }) => requestId === id)?.pid ?? 0
    seats.set(pid, {
      pid,
      post: (path, body, headers) => ask('POST', path, { body, headers }),
      get: (path) => ask('GET', path),
      follow: (path, body, onText) => ask('POST', path, { body, onText }),
    })
  }
  return [...seats.values()] as unknown as readonly [Seat, Seat]
}

type Sent = RequestOptions & { readonly body: string; readonly onText?: ((text: string) => void) | undefined }

function send(url: string, { body, onText, ...options }: Sent): Promise<SeatReply> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, options, (incoming) => {
      let text = ''
      incoming.setEncoding('utf8')
      incoming.on('data', (piece: string) => {
        text += piece
        onText?.(text)
      })
      incoming.once('end', () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text }))
      incoming.once('error', reject)
    })
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}
