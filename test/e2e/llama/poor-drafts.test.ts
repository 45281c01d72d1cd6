import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { GenerationRequest } from '../../../src/contract/request.ts'
import type { LoadOptions } from '../../../src/engine/llama/channel/ipc.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { chatRequest, completeChoices } from '../../engine-contract.ts'
import { encodeSmallModel } from '../../support/llama/random-architectures.ts'

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }
const never = new AbortController().signal
const tokens = 300

let folder: string
let modelPath: string
let draftPath: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-poor-drafts-'))
  ;[modelPath, draftPath] = [join(folder, 'model.gguf'), join(folder, 'draft.gguf')]
  await writeFile(modelPath, encodeSmallModel('llama', { width: 32 }))
  await writeFile(draftPath, encodeSmallModel('qwen3moe', { width: 32 }))
})
afterAll(() => rm(folder, { recursive: true }))

async function start(more: Partial<LoadOptions> = {}): Promise<LlamaEngine> {
  const options = { modelPath, slots: 4, contextLength: 2048, threads: 1, flashAttention: true, ...more }
  const engine = new LlamaEngine({ id: 'small', locate: async () => options, log: quiet })
  onTestFinished(() => engine.close())
  await engine.ensureReady(never)
  return engine
}

async function ask(engine: LlamaEngine, request: Partial<GenerationRequest>) {
  const story = 'The cat sat on the mat, and the dog'
  const { choices, usage } = await completeChoices(engine, chatRequest(story, { maxOutputTokens: tokens, ...request }))
  return { text: choices[0]?.text, drafted: usage?.drafts?.proposed ?? 0 }
}

describe('a draft model whose drafts are wrong', () => {
  const draft = () => ({ modelPath: draftPath, maxTokens: 8, minProbability: 0 })

  test.each([
    { name: 'greedy', sampling: { temperature: 0 } },
    { name: 'seeded', sampling: { temperature: 1, topK: 20, seed: 5 } },
  ])('hardly drafts, and the text is the same: $name', async ({ sampling }) => {
    const request = { sampling, ignoreEos: true }
    const [plain, measured] = [await start(), await start({ draft: draft() })]
    const expected = await ask(plain, request)
    const { text, drafted } = await ask(measured, request)
    expect(text).toBe(expected.text)
    expect(drafted).toBeGreaterThan(0)
    expect(drafted).toBeLessThan(0.2 * tokens * 8)
  })

  test('always drafts where the setting says so', async () => {
    const always = await start({ draft: { ...draft(), always: true } })
    const { drafted } = await ask(always, { sampling: { temperature: 0 }, ignoreEos: true })
    expect(drafted).toBeGreaterThan(0.8 * tokens * 8)
  })
})
