import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../../test/support/http/app.ts'
import { fine } from '../../../test/support/upstream/remote-engine.ts'
import { type ScriptedUpstream, startUpstream } from '../../../test/support/upstream/upstream.ts'

const templates = {
  plain: '{{ messages }}',
  tools: '{% if tools %}{{ tools }}{% endif %}{{ messages }}',
  thinks: '{% if enable_thinking %}<think>{% endif %}{{ messages }}',
}
let folder: string
let upstream: ScriptedUpstream
let app: RunningApp

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-abilities-'))
  upstream = await startUpstream(fine)
  const scripted = Object.entries(templates).map(async ([id, template]) => {
    const chatTemplate = join(folder, `${id}.jinja`)
    await writeFile(chatTemplate, template)
    return { engine: 'fake' as const, script: 'from-request' as const, id, chatTemplate }
  })
  const remote = (['vllm', 'openai', 'ollama'] as const).map((server) => {
    return { engine: 'remote' as const, endpoints: [{ url: upstream.url }], upstreamModel: 'up', id: server, server }
  })
  app = await startApp({ builtinModel: false, models: [...remote, ...(await Promise.all(scripted))] })
})

afterAll(async () => {
  await app.close()
  await upstream.close()
  await rm(folder, { recursive: true })
})

async function read(path: string, body?: object) {
  const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  return (await fetch(app.url + path, body === undefined ? {} : sent)).json() as Promise<Readonly<Record<string, unknown>>>
}

test.each([
  ['vllm', true, false],
  ['openai', true, false],
  ['ollama', true, false],
  ['plain', false, false],
  ['tools', true, false],
  ['thinks', false, true],
])('all views of %s say the same of tools and of thinking', async (model, usesTools, thinks) => {
  const ollama = (await read('/api/show', { model })).capabilities as readonly string[]
  const unsloth = await read('/api/inference/load', { model_path: model })
  const lmStudio = (await read(`/api/v0/models/${model}`)).capabilities as readonly string[]
  expect([ollama.includes('tools'), unsloth.supports_tools, lmStudio.includes('tool_use')]).toEqual(Array(3).fill(usesTools))
  expect([ollama.includes('thinking'), unsloth.supports_reasoning]).toEqual(Array(2).fill(thinks))
})
