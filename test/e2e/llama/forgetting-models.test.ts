import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Message, plainChat } from '../../../src/contract/request.ts'
import type { LoadOptions } from '../../../src/engine/llama/channel/ipc.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { chatRequest, complete, completeChoices } from '../../engine-contract.ts'
import { encodeSmallModel, type SmallArchitecture } from '../../support/llama/random-architectures.ts'
import { text } from '../../support/parts.ts'

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }
const often = (words: string) => `${words} `.repeat(70)
const [cats, dogs] = [often('The cat sat on the mat.'), often('A dog ran along the road.')]
/** The share of a prompt that need not be read again; what is new in a turn is less. */
const most = 0.95

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-forgets-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function createEngine(architecture: SmallArchitecture, more: Partial<LoadOptions> = {}): Promise<LlamaEngine> {
  const modelPath = join(folder, `${architecture}.gguf`)
  // A file of the same content and time: prefixes depend on it.
  await writeFile(modelPath, encodeSmallModel(architecture, { width: 32, window: 64 }), { flag: 'wx' }).catch(() => undefined)
  const options = { modelPath, slots: 1, contextLength: 4096, threads: 1, flashAttention: true, ...more }
  const engine = new LlamaEngine({ id: 'small', locate: async () => options, log: quiet })
  onTestFinished(() => engine.close())
  return engine
}

/** Turns of the user and of the assistant. */
async function ask(engine: LlamaEngine, ...turns: readonly string[]) {
  const messages = turns.map(
    (said, at): Message => (at % 2 === 0 ? { role: 'user', content: [text(said)] } : { role: 'assistant', parts: [text(said)] }),
  )
  const request = chatRequest('', { prompt: { type: 'chat', ...plainChat, messages }, maxOutputTokens: 12 })
  const { usage, ...reply } = await complete(engine, { ...request, owner: 'anna' })
  const reused = (usage?.cachedInputTokens ?? Number.NaN) / (usage?.inputTokens ?? Number.NaN)
  return { text: reply.text, reused, from: Object.keys(usage?.cachedIn ?? {}) }
}

const architectures: readonly SmallArchitecture[] = ['llama', 'qwen3moe', 'deepseek2', 'gemma2', 'gemma3', 'lfm2', 'mamba']

test.each(architectures)(
  '%s finds prefixes of conversations whose slot was taken in memory, and after the worker has ended on the disk',
  async (architecture) => {
    const prefixes = await mkdtemp(join(folder, 'prefixes-'))
    const prefixCache = { disk: { folder: prefixes }, memoryBytes: 1e9, minTokens: 64 }
    const [plain, engine] = [await createEngine(architecture), await createEngine(architecture, { prefixCache })]
    const askBoth = async (...turns: readonly string[]) => {
      const [expected, found] = [await ask(plain, ...turns), await ask(engine, ...turns)]
      expect(found.text).toBe(expected.text)
      return found
    }
    const [ofCats, ofDogs] = [await askBoth(cats), await askBoth(dogs)]
    expect(ofDogs.reused).toBeLessThan(most)
    for (const turns of [[cats], [dogs, ofDogs.text, 'Go on.']]) {
      const { reused, from } = await askBoth(...turns)
      expect(reused).toBeGreaterThan(most)
      expect(from).toEqual(['memory'])
    }
    await engine.unload({ drainMs: 1000 })
    for (const turns of [[cats, ofCats.text, 'Go on.'], [dogs]]) {
      const { reused, from } = await askBoth(...turns)
      expect(reused).toBeGreaterThan(most)
      expect(from).toEqual(['disk'])
    }
  },
)

const speculation = { type: 'ngram', maxTokens: 6 } as const

test('a model with sliding windows takes drafts, whose rejected tokens were in the window', async () => {
  const [plain, drafting] = [await createEngine('gemma2'), await createEngine('gemma2', { speculation })]
  const sampling = { temperature: 1, topK: 3, seed: 5 }
  const request = chatRequest(cats, { maxOutputTokens: 400, sampling })
  const [expected, found] = [await completeChoices(plain, request), await completeChoices(drafting, request)]
  expect(found.choices[0]?.text).toBe(expected.choices[0]?.text)
  expect(found.usage?.drafts?.proposed).toBeGreaterThan(100)
  expect(found.usage?.drafts?.accepted).toBeLessThan(found.usage?.drafts?.proposed ?? 0)
})

test.each<SmallArchitecture>(['lfm2', 'mamba'])('%s refuses drafts, which could not be taken back', async (architecture) => {
  const engine = await createEngine(architecture, { speculation })
  await expect(engine.ensureReady(new AbortController().signal)).rejects.toThrow(/recurrent layers.*`speculation`/)
})
