// What a prefix on disk saves: the time to the first token of a conversation whose slot another one has taken, computed again or restored, and
// the longest gap in another stream meanwhile. Needs the default model: npm run -s dragoman -- pull default
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../src/app/create-app.ts'
import { createLog } from '../src/app/log/log.ts'
import { separateEntries } from '../src/config/entries.ts'
import { configSchema } from '../src/config/schema.ts'
import { realModel } from '../test/support/llama/models.ts'

if (realModel === undefined) throw new Error('fetch the default model first: npm run -s dragoman -- pull default')
const story = (name: string) => `${name}. ${'A miller counts his sacks by the river while the wheel turns. '.repeat(90)}`

/** Milliseconds from the request to the first text, the longest gap between two texts, and what was not computed. */
async function ask(url: string, content: string, { maxTokens = 4, onFirst }: { maxTokens?: number; onFirst?: () => void } = {}) {
  const body = {
    model: 'm',
    messages: [{ role: 'user', content }],
    temperature: 0,
    max_tokens: maxTokens,
    ignore_eos: true,
    stream: true,
  }
  const options = { ...body, stream_options: { include_usage: true } }
  const startedMs = performance.now()
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(options) })
  if (!reply.ok) throw new Error(await reply.text())
  const times: number[] = []
  let text = ''
  for await (const chunk of reply.body ?? []) {
    const part = new TextDecoder().decode(chunk)
    text += part
    if (!/"content":"[^"]/.test(part)) continue
    if (times.length === 0) onFirst?.()
    times.push(performance.now())
  }
  const cached = Number(/"cached_tokens":(\d+)/.exec(text)?.[1])
  const prompt = Number(/"prompt_tokens":(\d+)/.exec(text)?.[1])
  const gaps = times.slice(1).map((time, at) => time - (times[at] ?? time))
  return { firstMs: (times[0] ?? Number.NaN) - startedMs, gapMs: Math.max(...gaps), cached, prompt }
}

const home = await mkdtemp(join(tmpdir(), 'dragoman-bench-'))
const prefixCache = { memory: 'off', disk: '1GB' }
const model = { id: 'm', engine: 'llama', source: realModel, slots: 2, contextLength: 4096, aliases: ['default'], prefixCache }
const config = separateEntries(configSchema.parse({ storage: 'off', server: { port: 0 }, builtinModel: false, models: [model] }))
const app = await createApp({ ...config, home }, { log: createLog({ level: 'error' }) })
const url = await app.listen()
await app.whenReady()
// Three conversations on two slots: each one's slot was taken when it comes back.
for (const turn of ['computed', 'restored']) {
  for (const name of ['Anna', 'Ben', 'Cleo']) console.log(turn, JSON.stringify(await ask(url, story(name))))
}
// One slot generates while the other one is saved and restored.
let other: Promise<unknown> = Promise.resolve()
const begin = () => {
  other = ask(url, story('Anna')).then((reply) => console.log('restored beside a stream', JSON.stringify(reply)))
}
console.log('the stream', JSON.stringify(await ask(url, 'Tell me a story.', { maxTokens: 150, onFirst: begin })))
await other
await app.close()
await rm(home, { recursive: true })
process.exit(0)
