import { setTimeout as pause } from 'node:timers/promises'
import OpenAI from 'openai'
import { type Loads, startLoads } from '../loads.ts'
import { type BenchProcess, portOf, startDragoman } from '../processes.ts'
import { cpuMs } from '../processor-time.ts'
import { median, printTable } from '../report/report.ts'

/** What a batch of short lines takes, against the same requests sent by eight clients on keep-alive connections, in turns on one server. */

const path = '/v1/chat/completions'
const clients = 8
const settings = {
  fake: { lines: 2000, rounds: 5, body: { model: 'fake', messages: [{ role: 'user', content: 'Some short text.' }] } },
  llama: {
    lines: 600,
    rounds: 3,
    body: { model: 'llama', max_tokens: 16, messages: [{ role: 'user', content: 'Tell me of it.' }] },
  },
}
type Sample = { readonly perSecond: number; readonly cpuUs: number }

async function ofClients(server: BenchProcess, loads: Loads, { body }: { readonly body: object }): Promise<Sample> {
  const durationMs = 2500
  const before = cpuMs(server.pid)
  const perMs = await loads.run({ port: portOf(server), path, body: JSON.stringify(body), count: clients, durationMs })
  return { perSecond: perMs * 1000, cpuUs: ((cpuMs(server.pid) - before) * 1000) / (perMs * durationMs) }
}

/** By the official client, eight requests at a time. */
async function ofSdk(
  { url, pid }: BenchProcess,
  { lines, body }: { readonly lines: number; readonly body: object },
): Promise<Sample> {
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })
  const before = cpuMs(pid)
  const startedMs = performance.now()
  let left = lines
  const send = async () => {
    for (; left > 0; ) {
      left -= 1
      await openai.chat.completions.create(body as OpenAI.ChatCompletionCreateParamsNonStreaming)
    }
  }
  await Promise.all(Array.from({ length: clients }, send))
  return { perSecond: (lines / (performance.now() - startedMs)) * 1000, cpuUs: ((cpuMs(pid) - before) * 1000) / lines }
}

/** From its creation until its results can be fetched. */
async function ofBatch(
  { url, pid }: BenchProcess,
  { lines, body }: { readonly lines: number; readonly body: object },
): Promise<Sample> {
  const text = Array.from({ length: lines }, (_, line) =>
    JSON.stringify({ custom_id: `${line}`, method: 'POST', url: path, body }),
  )
  const form = new FormData()
  form.set('purpose', 'batch')
  form.set('file', new Blob([text.join('\n')]), 'in.jsonl')
  const { id: file } = await json(fetch(`${url}/v1/files`, { method: 'POST', body: form }))
  const before = cpuMs(pid)
  const startedMs = performance.now()
  const created = await json(
    fetch(`${url}/v1/batches`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ input_file_id: file, endpoint: path, completion_window: '24h' }),
    }),
  )
  for (;;) {
    const { status } = await json(fetch(`${url}/v1/batches/${created.id}`))
    if (status === 'completed') break
    await pause(50)
  }
  const elapsedMs = performance.now() - startedMs
  return { perSecond: (lines / elapsedMs) * 1000, cpuUs: ((cpuMs(pid) - before) * 1000) / lines }
}

async function json(reply: Promise<Response>): Promise<{ readonly id: string; readonly status: string }> {
  const got = await reply
  if (!got.ok) throw new Error(`the server answered ${got.status}: ${await got.text()}`)
  return (await got.json()) as { id: string; status: string }
}

async function main(): Promise<void> {
  const names = (process.argv[2]?.split(',') ?? ['fake', 'llama']) as (keyof typeof settings)[]
  const models = [
    { id: 'fake', engine: 'fake', script: 'from-request', slots: clients },
    { id: 'llama', engine: 'llama', source: 'builtin:dragoman-tiny.gguf', slots: clients, contextLength: 512, threads: 1 },
  ]
  const server = await startDragoman(models)
  const loads = await startLoads(1)
  for (const name of names) {
    const setting = settings[name]
    const measures = {
      'cheap sockets': () => ofClients(server, loads, setting),
      "openai's client": () => ofSdk(server, setting),
      'a batch': () => ofBatch(server, setting),
    }
    for (const measure of Object.values(measures)) await measure()
    const samples = Object.keys(measures).map((): Sample[] => [])
    for (let round = 0; round < setting.rounds; round += 1) {
      for (const [index, measure] of Object.values(measures).entries()) samples[index]?.push(await measure())
    }
    const [, , batch = []] = samples
    const of = (some: readonly Sample[], field: keyof Sample) => median(some.map((sample) => sample[field]))
    printTable(
      [`${clients} at a time, ${name}`, 'per second', 'batch ÷ this', 'server CPU µs each', 'this ÷ batch'],
      Object.keys(measures).map((who, index) => {
        const own = samples[index] ?? []
        const ratios = batch.map(({ perSecond }, round) => perSecond / (own[round]?.perSecond ?? Number.NaN))
        const cpus = batch.map(({ cpuUs }, round) => (own[round]?.cpuUs ?? Number.NaN) / cpuUs)
        return [who, of(own, 'perSecond'), median(ratios), of(own, 'cpuUs'), median(cpus)]
      }),
    )
  }
  loads.stop()
  server.stop()
}

await main()
// Connections of `fetch` stay open for a while.
process.exit()
