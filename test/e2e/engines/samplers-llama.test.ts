import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startLlamaServer } from '../../../bench/llama-server.ts'
import type { BenchProcess } from '../../../bench/processes.ts'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { roundsOf } from '../../support/process/soak-length.ts'

const prompt = 'The weather in Rome is fine, and tea is warm. The'
/** Draws of each case: texts of so many tokens, with as many seeds. */
const [texts, tokens] = [roundsOf(8, 25), 40]
/** All samplers off that llama.cpp's server has on by default. */
const plain = { temperature: 1, top_k: 0, top_p: 1, min_p: 0, repeat_penalty: 1, ignore_eos: true, cache_prompt: false }
const llamaOrder = ['penalties', 'dry', 'top_n_sigma', 'top_k', 'typ_p', 'top_p', 'min_p', 'xtc', 'temperature']

const seeds = Array.from({ length: texts }, (_, index) => index + 1)
const headers = { 'content-type': 'application/json' }
const bodyOf = (sampling: object, seed: number) => ({ ...plain, ...sampling, prompt, seed, n_predict: tokens })

describe.skipIf(llamaServerBinary === undefined)(`the embedded engine samples as llama-server does${llamaServerHint}`, () => {
  let app: RunningApp
  let server: BenchProcess
  let unchanged: string[]
  beforeAll(async () => {
    const options = { modelPath: builtinModel.path, slots: 1, contextLength: 1024 }
    const model = { id: 'tiny', engine: 'llama', source: builtinModel.path, contextLength: 1024, slots: 1, threads: 1 } as const
    app = await startApp({ models: [model] })
    server = await startLlamaServer({ ...options, program: llamaServerBinary as string })
    unchanged = await Promise.all(seeds.map((seed) => complete(app.url, bodyOf({}, seed))))
  }, 60_000)
  afterAll(async () => {
    server?.stop()
    await app?.close()
  })

  const complete = async (url: string, body: object): Promise<string> => {
    const reply = await fetch(`${url}/completion`, { method: 'POST', body: JSON.stringify(body), headers })
    if (!reply.ok) throw new Error(await reply.text())
    return ((await reply.json()) as { readonly content: string }).content
  }

  test.each<[string, object]>([
    ['nothing', {}],
    ['the defaults', { temperature: 0.8, top_k: 40, top_p: 0.95, min_p: 0.05 }],
    ['a low temperature', { temperature: 0.5 }],
    ['top_k', { top_k: 5 }],
    ['top_p', { top_p: 0.6 }],
    ['min_p', { min_p: 0.2 }],
    ['typical', { typical_p: 0.6 }],
    ['top-n-sigma', { top_n_sigma: 1 }],
    ['XTC', { xtc_probability: 0.8, xtc_threshold: 0.1 }],
    ['a repetition penalty', { repeat_penalty: 1.3, repeat_last_n: 64 }],
    ['DRY', { dry_multiplier: 2, dry_base: 1.75, dry_allowed_length: 1, dry_penalty_last_n: 256 }],
    ['a dynamic temperature', { temperature: 1, dynatemp_range: 0.7, dynatemp_exponent: 1.5 }],
    ['mirostat 1', { mirostat: 1, mirostat_tau: 4, mirostat_eta: 0.2 }],
    ['mirostat 2', { mirostat: 2, mirostat_tau: 4, mirostat_eta: 0.2 }],
    ['adaptive-p', { adaptive_target: 0.3, adaptive_decay: 0.9, min_p: 0.02, samplers: [...llamaOrder, 'adaptive_p'] }],
    ['a bias', { logit_bias: [[100, 3]] }],
    ['all that removes', { top_n_sigma: 2, top_k: 50, typical_p: 0.9, top_p: 0.9, min_p: 0.01, temperature: 0.9 }],
  ])('with %s', async (_, sampling) => {
    const all: string[] = []
    for (const seed of seeds) {
      const body = bodyOf(sampling, seed)
      const [ours, theirs] = await Promise.all([complete(app.url, body), complete(server.url, body)])
      expect(ours).toBe(theirs)
      all.push(ours)
    }
    expect(all.every((text, index) => text === unchanged[index])).toBe(Object.keys(sampling).length === 0)
  })
})
