import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startLlamaServer } from '../../../bench/llama-server.ts'
import type { BenchProcess } from '../../../bench/processes.ts'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'

type Case = { readonly id: string; readonly rope?: object; readonly args: readonly string[] }

/** The model was trained for 4,096 tokens. */
const cases: readonly Case[] = [
  { id: 'plain', args: [] },
  { id: 'linear', rope: { scaling: 'linear', factor: 2 }, args: ['--rope-scaling', 'linear', '--rope-scale', '2'] },
  {
    id: 'yarn',
    rope: { scaling: 'yarn', factor: 4, originalContext: 2048 },
    args: ['--rope-scaling', 'yarn', '--rope-scale', '4', '--yarn-orig-ctx', '2048'],
  },
  { id: 'base', rope: { base: 10_000 }, args: ['--rope-freq-base', '10000'] },
]
const contextLength = 6144
const body = { prompt: 'The weather in Rome is fine, and tea is warm. The', n_predict: 24, temperature: 0, ignore_eos: true }

describe('positions that are read as `rope` says', () => {
  let app: RunningApp
  const servers = new Map<string, BenchProcess>()
  beforeAll(async () => {
    const model = { engine: 'llama', source: builtinModel.path, contextLength, slots: 1, threads: 1, load: 'demand' } as const
    app = await startApp({
      models: cases.map(({ id, rope }) => ({ ...model, id, ...(rope !== undefined && { rope }) })) as never,
    })
    if (llamaServerBinary === undefined) return
    for (const { id, args } of cases) {
      const options = { program: llamaServerBinary, modelPath: builtinModel.path, slots: 1, contextLength }
      servers.set(id, await startLlamaServer({ ...options, more: args }))
    }
  }, 120_000)
  afterAll(async () => {
    for (const server of servers.values()) server.stop()
    await app?.close()
  })

  const complete = async (url: string, model: string): Promise<string> => {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(`${url}/completion`, { method: 'POST', body: JSON.stringify({ ...body, model }), headers })
    if (!reply.ok) throw new Error(await reply.text())
    return ((await reply.json()) as { readonly content: string }).content
  }

  test('change the text', async () => {
    const texts = await Promise.all(cases.map(({ id }) => complete(app.url, id)))
    expect(new Set(texts).size).toBe(cases.length)
  })

  test.skipIf(llamaServerBinary === undefined).each(cases)(`$id: the text of llama-server${llamaServerHint}`, async ({ id }) => {
    expect(await complete(app.url, id)).toBe(await complete(servers.get(id)?.url ?? '', id))
  })
})
