import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hostileConstraints } from '../support/hostile/hostile-constraints.ts'
import { hostileTemplates } from '../support/hostile/hostile-templates.ts'
import { health, slowestHealth } from '../support/process/probe.ts'
import { createServeHome } from '../support/process/serve-process.ts'
import { soakLength } from '../support/process/soak-length.ts'
import { mostHealthMs } from '../support/process/stall-bound.ts'

const templates = await mkdtemp(join(tmpdir(), 'dragoman-hostile-templates-'))
/** Each takes a second at most; spread over all kinds of them. */
const chosen = hostileTemplates.filter((_, index) => index % Math.ceil(hostileTemplates.length / soakLength(24)) === 0)
for (const [index, text] of chosen.entries()) await writeFile(join(templates, `t${index}.jinja`), text)

const model = { id: 'm', engine: 'llama', source: 'builtin:dragoman-tiny.gguf', threads: 1, slots: 2, contextLength: 4096 }
const home = await createServeHome('off', {}, { models: [model], templates })
const server = await home.start()

async function post(path: string, body: object): Promise<number> {
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  await reply.text()
  return reply.status
}
const ask = (fields: object = {}) =>
  post('/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20, ...fields })

beforeAll(async () => {
  await ask()
  await health(server)
}, 60_000)
afterAll(async () => {
  await home.remove()
  await rm(templates, { recursive: true, force: true })
})

test.each(hostileConstraints)('%s: other clients are answered meanwhile', { timeout: 60_000 }, async (name, fields) => {
  let status = 0
  const slowestMs = await slowestHealth(server, async () => {
    status = await ask(fields)
  })
  if (process.env.SHOW_STALLS !== undefined) console.log(`${name}: ${status}, health ${slowestMs.toFixed(0)} ms`)
  expect([200, 400]).toContain(status)
  expect(slowestMs).toBeLessThan(mostHealthMs())
  expect(server.hasEnded()).toBe(false)
})

test('other clients are answered while templates do too much, and the model serves afterwards', {
  timeout: 240_000,
}, async () => {
  let slowest = { template: '', ms: 0 }
  for (const [index, template] of chosen.entries()) {
    const ms = await slowestHealth(server, async () => {
      // One that does not compile is refused here.
      const switched = await post('/v1/template/switch', { model: 'm', prompt_template_name: `t${index}` })
      expect([200, 400]).toContain(switched)
      expect([200, 400]).toContain(await ask())
    })
    if (ms > slowest.ms) slowest = { template, ms }
  }
  if (process.env.SHOW_STALLS !== undefined) console.log(slowest)
  expect(slowest.ms).toBeLessThan(mostHealthMs())
  expect(await post('/v1/template/switch', { model: 'm', prompt_template_name: 'model' })).toBe(200)
  expect(await ask()).toBe(200)
})
