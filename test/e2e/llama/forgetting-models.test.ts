import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Message, plainChat } from '../../../src/contract/request.ts'
import type { LoadOptions } from '../../../src/engine/llama/channel/ipc.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { chatRequest, complete, completeChoices } from '../../engine-contract.ts'
import { runOf } from '../../support/http/iterate.ts'
import { encodeSmallModel, type SmallArchitecture } from '../../support/llama/random-architectures.ts'
import { text } from '../../support/parts.ts'
import { isFullLength } from '../../support/process/soak-length.ts'

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }
const often = (words: string) => `${words} `.repeat(70)
const [cats, dogs] = [often('The cat sat on the mat.'), often('A dog ran along the road.')]
/** The share of a prompt that need not be read again; what is new in a turn is less. */
const most = 0.95

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-forgets-'))
})
afterAll(async () => {
  for (const engine of plain.values()) await (await engine).close()
  await rm(folder, { recursive: true })
})

/** Engines without what is tested, by their architectures. */
const plain = new Map<SmallArchitecture, Promise<LlamaEngine>>()
function plainEngine(architecture: SmallArchitecture): Promise<LlamaEngine> {
  const engine = plain.get(architecture) ?? loadEngine(architecture)
  plain.set(architecture, engine)
  return engine
}

async function createEngine(architecture: SmallArchitecture, more: Partial<LoadOptions>): Promise<LlamaEngine> {
  const engine = await loadEngine(architecture, more)
  onTestFinished(() => engine.close())
  return engine
}

async function loadEngine(architecture: SmallArchitecture, more: Partial<LoadOptions> = {}): Promise<LlamaEngine> {
  const modelPath = join(folder, `${architecture}.gguf`)
  // A file of the same content and time: prefixes depend on it.
  await writeFile(modelPath, encodeSmallModel(architecture, { width: 32, window: 64 }), { flag: 'wx' }).catch(() => undefined)
  const options = { modelPath, slots: 1, contextLength: 4096, threads: 1, flashAttention: true, ...more }
  return new LlamaEngine({ id: 'small', locate: async () => options, log: quiet })
}

/** Turns of the user and of the assistant. */
function requestOf(turns: readonly string[], maxOutputTokens = 12) {
  const messages = turns.map(
    (said, at): Message => (at % 2 === 0 ? { role: 'user', content: [text(said)] } : { role: 'assistant', parts: [text(said)] }),
  )
  return { ...chatRequest('', { prompt: { type: 'chat', ...plainChat, messages }, maxOutputTokens }), owner: 'anna' }
}

async function ask(engine: LlamaEngine, ...turns: readonly string[]) {
  const { usage, ...reply } = await complete(engine, requestOf(turns))
  const reused = (usage?.cachedInputTokens ?? Number.NaN) / (usage?.inputTokens ?? Number.NaN)
  return { text: reply.text, reused, from: Object.keys(usage?.cachedIn ?? {}) }
}

const architectures: readonly SmallArchitecture[] = ['llama', 'qwen3moe', 'deepseek2', 'gemma2', 'gemma3', 'lfm2', 'mamba']

test.each(architectures)(
  '%s finds prefixes of conversations whose slot was taken in memory, and after the worker has ended on the disk',
  async (architecture) => {
    const prefixes = await mkdtemp(join(folder, 'prefixes-'))
    const prefixCache = { disk: { folder: prefixes }, memoryBytes: 1e9, minTokens: 64 }
    const [reference, engine] = [await plainEngine(architecture), await createEngine(architecture, { prefixCache })]
    const askBoth = async (...turns: readonly string[]) => {
      const [expected, found] = [await ask(reference, ...turns), await ask(engine, ...turns)]
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

test.each<SmallArchitecture>(['llama', 'gemma3', 'lfm2', 'mamba'])(
  '%s copies what two conversations begin with from a slot that is busy, with the same text',
  async (architecture) => {
    const [reference, engine] = [await plainEngine(architecture), await createEngine(architecture, { slots: 2 })]
    const [begun, other] = [
      [cats, 'Yes.', dogs],
      [cats, 'Yes.', 'Go on.'],
    ] as const
    const never = new AbortController().signal
    const running = runOf(await engine.prepare(requestOf(begun, 2000), never), never)
    let event = await running.next()
    while (event.done !== true && event.value.type !== 'raw-text') event = await running.next()
    const found = await ask(engine, ...other)
    await running.return(undefined)
    expect(found.text).toBe((await ask(reference, ...other)).text)
    expect(found.reused).toBeGreaterThan(0.9)
  },
)

test('replies are the same with batches of one token, and of fewer than there are slots', async () => {
  const prompts = [cats.slice(0, 400), dogs.slice(0, 300), 'One']
  for (const architecture of isFullLength ? (['gemma2', 'lfm2'] as const) : (['lfm2'] as const)) {
    const textsOf = async (batch: Partial<LoadOptions>) => {
      const engine = await createEngine(architecture, { slots: 3, ...batch })
      const askFor = (prompt: string) => complete(engine, chatRequest(prompt, { maxOutputTokens: 12 }))
      return Promise.all(prompts.map(async (prompt) => (await askFor(prompt)).text))
    }
    expect(await textsOf({ batchSize: 1 }), architecture).toEqual(await textsOf({}))
  }
})

const speculation = { type: 'ngram', maxTokens: 6, always: true } as const

test.each<{ architecture: SmallArchitecture; drafter: SmallArchitecture | undefined }>([
  ...(isFullLength
    ? ([
        { architecture: 'gemma2', drafter: undefined },
        { architecture: 'mamba', drafter: 'mamba' },
      ] as const)
    : []),
  { architecture: 'lfm2', drafter: undefined },
  { architecture: 'llama', drafter: 'mamba' },
])('$architecture takes drafts, of $drafter, whose rejected tokens it had computed', async ({ architecture, drafter }) => {
  const reference = await plainEngine(architecture)
  // Writes its file.
  if (drafter !== undefined) await plainEngine(drafter)
  const draft = { modelPath: join(folder, `${drafter}.gguf`), maxTokens: 6, minProbability: 0, always: true }
  const drafting = await createEngine(architecture, drafter === undefined ? { speculation } : { draft })
  const sampling = { temperature: 1, topK: 3, seed: 5 }
  const request = chatRequest(cats, { maxOutputTokens: drafter === undefined ? 400 : 60, sampling })
  const [expected, found] = [await completeChoices(reference, request), await completeChoices(drafting, request)]
  expect(found.choices[0]?.text).toBe(expected.choices[0]?.text)
  expect(found.usage?.drafts?.proposed).toBeGreaterThan(10)
  expect(found.usage?.drafts?.accepted).toBeGreaterThan(0)
  expect(found.usage?.drafts?.accepted).toBeLessThan(found.usage?.drafts?.proposed ?? 0)
})
