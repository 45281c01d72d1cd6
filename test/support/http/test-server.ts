import { once } from 'node:events'
import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { ActivityLog, stopOf } from '../../../src/activity/activity-log.ts'
import { LoadHistory } from '../../../src/activity/load-history.ts'
import { ServerActivity } from '../../../src/activity/server-activity.ts'
import { createLog, createStopLog } from '../../../src/app/log/log.ts'
import { linesOf } from '../../../src/app/log/log-lines.ts'
import { createMetrics } from '../../../src/app/metrics/metrics.ts'
import { loadOf } from '../../../src/app/metrics/model-metrics.ts'
import type { Engine } from '../../../src/contract/engine.ts'
import { AppError } from '../../../src/contract/errors.ts'
import type { ServedModel } from '../../../src/contract/served-model.ts'
import type { Catalogue, ModelSummary } from '../../../src/contract/server/catalogue.ts'
import { Cancellations } from '../../../src/core/cancel/cancellations.ts'
import { PresetSwitch } from '../../../src/core/presets/preset-switch.ts'
import { FairScheduler } from '../../../src/core/schedule/fair-scheduler.ts'
import { createFakeEngine } from '../../../src/engine/fake/engine.ts'
import type { ServerDeps } from '../../../src/http/run/deps.ts'
import { createServer } from '../../../src/http/server.ts'
import { plainSealer } from '../plain-sealer.ts'

export type TestServerOptions = Partial<ServerDeps> & {
  readonly engine: Engine
  readonly slots?: number
  readonly maxQueued?: number
  /** What its model is when a request asks for it; absent: `engine`, with a scheduler of its own. */
  served?(): ServedModel
}

/** A server with one model, `org/fake` alias `default`, and a log that can be read. */
export function createTestServer({ engine, slots = 4, maxQueued = 4, served, ...overrides }: TestServerOptions) {
  const logLines: string[] = []
  const log = createLog({ level: 'debug', destination: { write: (line: string) => void logLines.push(line) } })
  const scheduler = new FairScheduler({ slots, maxQueued, engine })
  const model = (): ModelSummary => ({
    id: 'org/fake',
    aliases: ['default'],
    createdAtMs: 1_700_000_000_999,
    contextLength: 100,
    state: engine.state,
    loadsAtStart: true,
    isAwaited: false,
    isRequired: 'yes',
  })
  const get = (name: string) => {
    if (name === 'org/fake' || name === 'default') return served?.() ?? { id: 'org/fake', engine, scheduler }
    throw new AppError('model-not-found', `model '${name}' not found; there is: org/fake`, { at: ['model'] })
  }
  const models: Catalogue = {
    list: () => [model()],
    get,
    find: get,
    summary: model,
    refresh: () => undefined,
    known: 'all',
    get inAnyCase() {
      return models
    },
  }
  const metrics = createMetrics({
    readLoad: () => [loadOf({ id: 'org/fake', scheduler, engine })],
    version: '0',
    processMetrics: false,
  })
  const activity = new ActivityLog({ epoch: Date.now, run: 'test' })
  const lines = linesOf(log)
  const deps: ServerDeps = {
    models,
    now: () => performance.now(),
    presets: new PresetSwitch(new Map()),
    activity: new ServerActivity(activity),
    history: new LoadHistory({ ...activity.reading(), modelBytes: 0, processBytes: 0 }),
    ...(lines !== undefined && { lines }),
    cancellations: new Cancellations({
      now: () => deps.now(),
      onCancel: metrics.requestCancelled,
      onStopped: (run) => {
        createStopLog(log)(run)
        activity.stopped(run.id, stopOf(run))
      },
      onClosed: (id) => activity.closed(id),
    }),
    sealerOf: () => plainSealer,
    auth: { apiKeys: [] },
    hosts: { hostname: 'workshop', allowedHosts: [] },
    log,
    metrics,
    record: metrics.generationEnded,
    version: '1.2.3',
    ...overrides,
  }
  const { app, answer, drain, setAccess } = createServer(deps)
  const listen = async (): Promise<number> => {
    await app.listen({ host: '127.0.0.1', port: 0 })
    return (app.server.address() as AddressInfo).port
  }
  return { app, answer, drain, setAccess, deps, scheduler, listen, logLines }
}

/** The same with an engine that answers from the request, unless another is given; it ends with the test, whatever still runs. */
export function openTestServer(options: Partial<TestServerOptions> = {}) {
  const server = createTestServer({ engine: createFakeEngine({ script: 'from-request' }), ...options })
  onTestFinished(() => server.drain(0))
  return server
}

/** A listening one whose engine is watched. */
export async function openWatchedServer({ engine, ...options }: Partial<TestServerOptions> = {}) {
  const watched = watchEngine(engine ?? createFakeEngine({ script: 'from-request' }))
  const server = openTestServer({ ...options, engine: watched.engine })
  return { ...server, watched, port: await server.listen() }
}

/** The head of a chat request, and less of its body than it says. */
export const halfRequest =
  'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"model":'

/** More than the system's buffers of a connection hold. */
export const largeText = 'x'.repeat(12_000_000)

/** An engine that says one text, all at once, and waits for no reader. */
export function oneText(text: string): Engine {
  return {
    ...createFakeEngine({ script: 'from-request' }),
    prepare: async () => ({
      run: async (_signal, emit) => {
        void emit({ type: 'raw-text', choice: 0, text })
        void emit({ type: 'finish', choice: 0, reason: 'stop' })
        const usage = { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, reasoningTokens: 0 }
        void emit({ type: 'usage', usage, timings: {} })
      },
    }),
  }
}

/** An engine that tells when its runs begin and end, and how many events were taken from them. */
export function watchEngine(engine: Engine) {
  const starts = new Signals<void>()
  const ends = new Signals<{ aborted: boolean }>()
  const seen = { events: 0 }
  const watched: Engine = {
    get state() {
      return engine.state
    },
    facts: engine.facts,
    capabilities: engine.capabilities,
    onState: (listener) => engine.onState(listener),
    ensureReady: (signal) => engine.ensureReady(signal),
    unload: (options) => engine.unload(options),
    close: () => engine.close(),
    prepare: async (request, signal) => {
      const prepared = await engine.prepare(request, signal)
      return {
        ...prepared,
        run: async (runSignal, emit) => {
          starts.emit()
          try {
            await prepared.run(runSignal, (event) => {
              seen.events += 1
              return emit(event)
            })
          } finally {
            const { aborted } = runSignal
            // What the end brings with it, such as a free slot, comes first.
            setImmediate(() => ends.emit({ aborted }))
          }
        },
      }
    },
  }
  return { engine: watched, started: () => starts.next(), ended: () => ends.next(), seen }
}

/** Things that happen, each handed out once, in order. */
class Signals<T> {
  readonly #happened: T[] = []
  readonly #waiting: ((value: T) => void)[] = []

  emit(value: T): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#happened.push(value)
    else next(value)
  }

  next(): Promise<T> {
    if (this.#happened.length > 0) return Promise.resolve(this.#happened.shift() as T)
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}

/** A chat body whose last message is a script of the fake engine. */
export function chatBody(script: unknown, more: Record<string, unknown> = {}): string {
  const content = typeof script === 'string' ? script : JSON.stringify(script)
  return JSON.stringify({ model: 'default', messages: [{ role: 'user', content }], ...more })
}

/** Sends a chat request over a real socket. */
export function sendChat(port: number, body: string, options: RequestOptions = {}): ClientRequest {
  const headers = { 'content-type': 'application/json', ...options.headers }
  const request = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/v1/chat/completions', ...options, headers })
  // Hang-ups are what some tests are about.
  request.on('error', () => undefined)
  request.end(body)
  return request
}

export async function receive(request: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.on('error', () => undefined)
  return response
}

export async function readAll(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  return text
}

/** Reads until the text holds `wanted`, leaving the response open. */
export async function readUntil(response: IncomingMessage, wanted: string): Promise<string> {
  let text = ''
  response.setEncoding('utf8')
  while (!text.includes(wanted)) {
    const chunk = response.read()
    if (chunk === null) await once(response, 'readable')
    else text += chunk
  }
  return text
}
