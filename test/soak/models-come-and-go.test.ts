import { rename, writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { builtinModel } from '../../src/registry/names/builtin-model.ts'
import { type Sent, send } from '../support/hostile/mixed-requests.ts'
import { createRandom } from '../support/hostile/storm.ts'
import { until } from '../support/http/app.ts'
import { openChat } from '../support/http/raw-client.ts'
import { llamaServerBinary } from '../support/llama/llama-server.ts'
import { useCommandLine } from '../support/process/command-line.ts'
import { soakLength } from '../support/process/soak-length.ts'
import { openHub } from '../support/upstream/hub.ts'

const cli = useCommandLine()
type Server = Awaited<ReturnType<typeof cli.serve>>

const underLoadMs = soakLength(40_000)

const tiny = (id: string, settings: object = {}) => ({
  id,
  engine: 'llama',
  source: builtinModel.path,
  contextLength: 1024,
  slots: 2,
  load: 'demand',
  ...settings,
})
const served = { ...tiny('served'), engine: 'llama-server', binary: llamaServerBinary }
const others = llamaServerBinary === undefined ? [] : [served]

/** Two of the embedded models fit, with a llama-server; three do not. */
const configs = [
  [tiny('steady', { load: 'start', slots: 4, aliases: ['default'] }), tiny('a'), tiny('b'), ...others],
  [tiny('b', { slots: 3, aliases: ['default'] }), tiny('steady', { load: 'start', slots: 4 }), tiny('a'), ...others],
].map((models) => ({
  server: { adminKey: 'admin', apiKeys: ['user'] },
  storage: 'off',
  builtinModel: false,
  memory: { budget: '520MB', minResidencyMs: 1500 },
  models,
}))

/** As careful editors and configuration managers do. */
async function replaceFile(config: object): Promise<void> {
  await writeFile(`${cli.config}.new`, JSON.stringify(config))
  await rename(`${cli.config}.new`, cli.config)
}

/** What an operator did to a model on purpose, from when to when. */
type Removal = { readonly model: string; readonly fromMs: number; untilMs: number }

type Crash = { readonly model: string; readonly atMs: number }

/** The documented failure of a request that used a model while it was unloaded by force, or that came after it had gone. */
function isOfRemoved({ model, status, text, fromMs, untilMs }: Sent, removals: readonly Removal[]): boolean {
  // The alias is that of `b` half of the time.
  const names = model === 'default' ? ['default', 'b'] : [model]
  const removed = removals.some((one) => names.includes(one.model) && one.fromMs <= untilMs && one.untilMs >= fromMs)
  if (!removed) return false
  return text.includes('the model was unloaded while it answered') || (status === 404 && model.startsWith('owner/'))
}

/** The documented failure of a request that had begun when its process was killed, and got another text the second time. */
function isOfCrashed({ text, fromMs, untilMs }: Sent, crashes: readonly Crash[]): boolean {
  return crashes.some(
    ({ model, atMs }) => fromMs <= atMs && atMs <= untilMs && text.includes(`'${model}' ended (killed by SIGKILL)`),
  )
}

test('loads, unloads, swaps, crashes, downloads and reloads under load lose no request that could be served', async () => {
  await openHub()
  await replaceFile(configs[0] as object)
  const server = await cli.serve(['--log-level', 'info'])
  await until(() => readyOf(server, 'steady') > 0, 60_000)
  const untilMs = performance.now() + underLoadMs
  const sent: Sent[] = []
  const removals: Removal[] = []
  const crashes: Crash[] = []
  let differing = 0
  let isOver = false
  const random = createRandom(7)
  const client = async (model: string) => {
    while (!isOver) sent.push(await send(server.url, model, random))
  }
  const models = ['default', 'steady', 'a', 'b', ...others.map(({ id }) => id)]
  const clients = models.map(client)

  const operate = async (path: string, body: object) => {
    const headers = { authorization: 'Bearer admin', 'content-type': 'application/json' }
    const reply = await fetch(`${server.url}/api/inference${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: reply.status, text: await reply.text() }
  }
  const removing = async <T>(model: string, work: () => Promise<T>): Promise<T> => {
    const removal: Removal = { model, fromMs: performance.now(), untilMs: Number.POSITIVE_INFINITY }
    removals.push(removal)
    const result = await work()
    removal.untilMs = performance.now()
    return result
  }
  /** Kills the process of a model while a stream of it runs. Whether the stream went on. */
  const goesOn = async (model: string) => {
    const stream = openChat(server.url, { ...long(model), stream: true }, key)
    await stream.untilContent()
    // Its use keeps the model loaded.
    crashes.push({ model, atMs: performance.now() })
    process.kill(readyPidOf(server, model), 'SIGKILL')
    await stream.ended
    const end = stream.text().slice(-1000)
    if (end.includes('"completion_tokens":300')) return true
    expect(end).toContain('killed by SIGKILL')
    return false
  }
  /** The requests beside a stream can change its text, rarely: then it cannot go on, and the next one must. */
  const crash = async (model: string) => {
    if (await goesOn(model)) return
    differing += 1
    expect(await goesOn(model)).toBe(true)
  }
  let turn = 0
  const steps: Readonly<Record<string, () => Promise<void>>> = {
    crash: () => crash('steady'),
    'load with other settings': async () => {
      const wanted = { model_path: 'b', max_seq_length: 512 + 256 * (turn % 2) }
      expect([200, 409]).toContain((await operate('/load', wanted)).status)
      const loaded = await removing('b', () => operate('/load', { ...wanted, force_cancel_active: true }))
      expect(loaded).toMatchObject({ status: 200 })
    },
    download: async () => {
      const model = `owner/repository-${turn}`
      expect(await operate('/load', { model_path: model })).toMatchObject({ status: 200 })
      const requests = Array.from({ length: 4 }, () => send(server.url, model, random))
      sent.push(await Promise.race(requests))
      const unloaded = await removing(model, () => operate('/unload', { model_path: model, force_cancel_active: true }))
      expect(unloaded).toMatchObject({ status: 200 })
      sent.push(...(await Promise.all(requests)))
    },
    reload: async () => {
      const before = server.err().split('was reloaded').length
      await replaceFile(configs[(turn + 1) % 2] as object)
      if (turn % 2 === 0) server.child.kill('SIGHUP')
      await until(() => server.err().split('was reloaded').length > before, 60_000)
    },
    unload: async () => {
      expect([200, 409]).toContain((await operate('/unload', { model_path: 'a' })).status)
      const forced = await removing('a', () => operate('/unload', { model_path: 'a', force_cancel_active: true }))
      expect(forced).toMatchObject({ status: 200 })
    },
    ...(others.length > 0 && { 'crash of llama-server': () => crash('served') }),
  }
  let done = 0
  const todo = Object.values(steps)
  // Each once at least, however busy the machine is.
  while (done < todo.length || performance.now() < untilMs) {
    turn = Math.floor(done / todo.length)
    await todo[done % todo.length]?.()
    done += 1
    await pause(300)
  }
  isOver = true
  await Promise.all(clients)
  const failed = sent.filter(({ isWell }) => !isWell)
  const ofRemoved = failed.filter((one) => isOfRemoved(one, removals))
  const ofCrashed = failed.filter((one) => isOfCrashed(one, crashes))
  const answered = models.map((model) => `${model} ${sent.filter((one) => one.model === model && one.isWell).length}`)
  const unserved = `failed with their model: ${ofRemoved.length} unloaded, ${ofCrashed.length} crashed`
  const goneOn = `streams that went on after a crash: ${crashes.length - differing} of ${crashes.length}`
  console.info(`steps: ${done}; answered: ${answered.join(', ')}; ${unserved}; ${goneOn}`)
  expect(failed.filter((one) => !ofRemoved.includes(one) && !ofCrashed.includes(one))).toEqual([])
  for (const model of models) expect(sent.some((one) => one.model === model && one.isWell)).toBe(true)
}, 300_000)

const key = { authorization: 'Bearer user' }
const long = (model: string) => ({
  model,
  messages: [{ role: 'user', content: 'Count to one hundred.' }],
  max_tokens: 300,
  temperature: 0,
  ignore_eos: true,
  stream_options: { include_usage: true },
})

function readyLines({ err }: Server, model: string): readonly { readonly workerPid: number }[] {
  const lines = err().split('\n')
  const ready = lines.filter((line) => line.includes('"model is ready"')).map((line) => JSON.parse(line))
  return ready.filter((line) => line.model === model)
}

const readyOf = (server: Server, model: string) => readyLines(server, model).length
const readyPidOf = (server: Server, model: string) => readyLines(server, model).at(-1)?.workerPid ?? -1
