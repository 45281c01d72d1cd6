import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startLlamaServer } from '../../../bench/llama-server.ts'
import { createDragoman } from '../../../src/app/create-dragoman.ts'
import { type GenerationRequest, plainChat } from '../../../src/contract/request.ts'
import type { Token } from '../../../src/engine/llama/binding/tokenizer.ts'
import type { LoadOptions } from '../../../src/engine/llama/channel/ipc.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { loadModel } from '../../../src/engine/llama/worker/model/model.ts'
import { chatRequest, completeChoices } from '../../engine-contract.ts'
import { encodeAssistantModels } from '../../support/llama/assistant-model.ts'
import { encodeEagleModels } from '../../support/llama/eagle-model.ts'
import { encodeHeadedModel, encodeTrunk, headedArchitectures } from '../../support/llama/headed-model.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { encodeSmallModel } from '../../support/llama/random-architectures.ts'
import { text } from '../../support/parts.ts'
import { isFullLength } from '../../support/process/soak-length.ts'

const never = new AbortController().signal
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }
const story = 'The cat sat on the mat, and the dog'
const greedy = { temperature: 0 }
const sampling = { temperature: 1, topK: 20, seed: 5 }
const mtp = { type: 'mtp', maxTokens: 3, minProbability: 0, always: true } as const

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-heads-'))
})
afterAll(() => rm(folder, { recursive: true }))

function createEngine(modelPath: string, more: Partial<LoadOptions> = {}): LlamaEngine {
  const options = { modelPath, slots: 4, contextLength: 512, threads: 1, flashAttention: true, ...more }
  return new LlamaEngine({ id: 'small', locate: async () => options, log: quiet })
}

async function write(name: string, bytes: Buffer): Promise<string> {
  const path = join(folder, `${name}.gguf`)
  await writeFile(path, bytes)
  return path
}

type Case = {
  readonly name: string
  /** Writes the files of the model, and returns their paths. */
  readonly write: (
    folder: string,
  ) => Promise<{ readonly modelPath: string; readonly more: Partial<LoadOptions>; readonly args: readonly string[] }>
}

const cases: readonly Case[] = [
  ...headedArchitectures.map((architecture) => ({
    name: `${architecture} with layers of its own`,
    write: async () => {
      const modelPath = await write(architecture, encodeHeadedModel(architecture))
      return { modelPath, more: { speculation: mtp }, args: ['--spec-type', 'draft-mtp'] }
    },
  })),
  {
    name: 'llama with an EAGLE-3 head',
    write: async () => {
      const { model, draft } = encodeEagleModels()
      const [modelPath, draftPath] = [await write('eagle-model', model), await write('eagle-draft', draft)]
      const more = { draft: { modelPath: draftPath, maxTokens: 3, always: true } }
      return { modelPath, more, args: ['--spec-type', 'draft-eagle3', '--spec-draft-model', draftPath] }
    },
  },
  {
    name: 'qwen35 with layers of another file',
    write: async () => {
      const [modelPath, draftPath] = [
        await write('alone', encodeTrunk('qwen35')),
        await write('beside', encodeHeadedModel('qwen35')),
      ]
      const more = { draft: { modelPath: draftPath, type: 'mtp', maxTokens: 3, always: true } } as const
      return { modelPath, more, args: ['--spec-type', 'draft-mtp', '--spec-draft-model', draftPath] }
    },
  },
  {
    name: 'Gemma 4 with its assistant',
    write: async () => {
      const { model, draft } = encodeAssistantModels()
      const [modelPath, draftPath] = [await write('assisted', model), await write('assistant', draft)]
      const more = { draft: { modelPath: draftPath, maxTokens: 3, always: true } }
      return { modelPath, more, args: ['--spec-type', 'draft-mtp', '--spec-draft-model', draftPath] }
    },
  },
]

/** Half a minute each on two cores; `npm run nightly` has all. */
const tried = isFullLength ? cases : cases.filter(({ name }) => /^(?:qwen35 with layers of its|llama|Gemma 4)/.test(name))

describe.each(tried)('drafts of $name', ({ write: writeFiles }) => {
  let modelPath: string
  let more: Partial<LoadOptions>
  let args: readonly string[]
  let plain: LlamaEngine
  let drafting: LlamaEngine
  beforeAll(async () => {
    ;({ modelPath, more, args } = await writeFiles(folder))
    plain = createEngine(modelPath)
    drafting = createEngine(modelPath, more)
    await Promise.all([plain, drafting].map((engine) => engine.ensureReady(never)))
  })
  afterAll(() => Promise.all([plain.close(), drafting.close()]))

  const ask = (engine: LlamaEngine, request: Partial<GenerationRequest>, said = story) =>
    completeChoices(engine, chatRequest(said, request))
  const textsOf = async (engine: LlamaEngine, request: Partial<GenerationRequest>, said = story) =>
    (await ask(engine, request, said)).choices.map((choice) => ({ text: choice.text, finishes: choice.finishes }))

  test.each<{ name: string; request: Partial<GenerationRequest> }>([
    { name: 'greedy', request: { sampling: greedy, maxOutputTokens: 200, ignoreEos: true } },
    { name: 'sampled', request: { sampling, maxOutputTokens: 120, ignoreEos: true } },
    { name: 'up to its own end', request: { sampling, maxOutputTokens: 200 } },
    { name: 'up to a stop sequence', request: { sampling: greedy, stop: ['a'], maxOutputTokens: 100 } },
    { name: 'until the context is full', request: { sampling: greedy, ignoreEos: true } },
    { name: 'with log-probabilities', request: { sampling, maxOutputTokens: 60, logprobs: { top: 2 } } },
    { name: 'within a grammar', request: { sampling, output: { type: 'regex', pattern: '(ab|cd){20,30}' } } },
    { name: 'with a penalty', request: { sampling: { ...sampling, repetitionPenalty: 1.1 }, maxOutputTokens: 80 } },
    { name: 'in several choices', request: { sampling, choices: 6, maxOutputTokens: 40, ignoreEos: true } },
    // Not drafted: taken back after passes of one token, of which llama.cpp's recurrent layers would have a wrong state.
    { name: 'with banned strings', request: { sampling: { ...sampling, bannedStrings: ['e', 'th'] }, maxOutputTokens: 80 } },
  ])('and the text is the same: $name', async ({ request }) => {
    expect(await textsOf(drafting, request)).toEqual(await textsOf(plain, request))
  })

  test('for four streams, whose prompts have different lengths, and the texts are the same', async () => {
    const prompts = [story, 'One', `${story} and ${story}`, 'Two or three words']
    for (const one of [greedy, sampling]) {
      const request = { sampling: one, maxOutputTokens: 80, ignoreEos: true }
      const together = await Promise.all(prompts.map((prompt) => textsOf(drafting, request, prompt)))
      for (const [index, prompt] of prompts.entries()) expect(together[index]).toEqual(await textsOf(plain, request, prompt))
    }
  })

  test('as well beside other streams as alone', async () => {
    const request = { sampling: greedy, maxOutputTokens: 150, ignoreEos: true }
    const prompts = [story, 'One', `${story} and ${story}`, 'Two or three words']
    const shareOf = async (asked: ReturnType<typeof ask>) => {
      const { proposed = 0, accepted = 0 } = (await asked).usage?.drafts ?? {}
      return accepted / proposed
    }
    const together = await Promise.all(prompts.map((prompt) => shareOf(ask(drafting, request, prompt))))
    for (const [index, prompt] of prompts.entries()) {
      const alone = await shareOf(ask(drafting, request, prompt))
      expect(alone).toBeGreaterThan(0.1)
      expect(together[index]).toBeGreaterThan(0.7 * alone)
    }
  })

  test('also after a conversation was restored from memory, or its slot was taken', async () => {
    const prefixCache = { memoryBytes: 1e8, minTokens: 32 }
    const engines = [{}, more].map((each) => createEngine(modelPath, { slots: 1, prefixCache, ...each }))
    onTestFinished(async () => void (await Promise.all(engines.map((engine) => engine.close()))))
    const conversation = async (engine: LlamaEngine) => {
      const replies: unknown[] = []
      for (const said of [story.repeat(4), 'Something else. '.repeat(12), story.repeat(4), `${story.repeat(4)} again`]) {
        const { choices, usage } = await ask(
          engine,
          { owner: 'anna', sampling: greedy, maxOutputTokens: 60, ignoreEos: true },
          said,
        )
        replies.push([choices[0]?.text, usage?.cachedInputTokens])
      }
      return replies
    }
    const [expected, found] = await Promise.all(engines.map(conversation))
    expect(found).toEqual(expected)
  })

  test.skipIf(llamaServerBinary === undefined)(
    `as many tokens as llama-server, and as many are right${llamaServerHint}`,
    async () => {
      const server = await startLlamaServer({
        program: llamaServerBinary ?? '',
        modelPath,
        slots: 1,
        contextLength: 512,
        more: [...args, '--spec-draft-n-max', '3'],
      })
      onTestFinished(() => server.stop())
      const alone = createEngine(modelPath, { slots: 1, ...more })
      onTestFinished(() => alone.close())
      for (const prompt of ['once upon a time the sea', 'when']) {
        const body = JSON.stringify({ prompt, n_predict: 150, temperature: 0, ignore_eos: true })
        const theirs = (await (await fetch(`${server.url}/completion`, { method: 'POST', body })).json()) as Theirs
        const asked = { prompt: { type: 'text', text: prompt }, sampling: greedy, maxOutputTokens: 150, ignoreEos: true } as const
        const { usage, choices } = await ask(alone, asked)
        expect(complete(choices[0]?.text)).toBe(complete(theirs.content))
        const { draft_n, draft_n_accepted } = theirs.timings
        expect(usage?.drafts).toMatchObject({ proposed: draft_n, accepted: draft_n_accepted })
      }
    },
  )
})

/** Without a part of a character at its end. */
const complete = (said = '') => said.replace(/\ufffd+$/, '')

type Theirs = { readonly content: string; readonly timings: { readonly draft_n: number; readonly draft_n_accepted: number } }

describe('a model without layers for further tokens', () => {
  test.each([
    {
      name: 'of another architecture',
      bytes: () => encodeSmallModel('llama', { width: 32 }),
      why: /not of the architecture llama/,
    },
    { name: 'without them', bytes: () => encodeSmallModel('qwen35', { width: 32 }), why: /qwen35\.nextn_predict_layers is 0/ },
    { name: 'with more than llama.cpp computes', bytes: () => encodeHeadedModel('qwen35', { heads: 2 }), why: /2 layers for it/ },
  ])('is refused before llama.cpp reads it, and could abort: $name', async ({ name, bytes, why }) => {
    const engine = createEngine(await write(name.replaceAll(' ', '-'), bytes()), { speculation: mtp })
    onTestFinished(() => engine.close())
    await expect(engine.ensureReady(never)).rejects.toThrow(why)
  })
})

describe('an EAGLE-3 head', () => {
  test.each([
    { name: 'for layers that the model lacks', layers: [0, 1, 3], more: {}, why: /reads layer 3, and the model has 2/ },
    {
      name: 'where the settings say something else',
      layers: [0, 1, 1],
      more: { type: 'mtp' },
      why: /architecture eagle3, and not of the type mtp/,
    },
  ] as const)('is refused before llama.cpp reads with it, and could abort: $name', async ({ name, layers, more, why }) => {
    const { model, draft } = encodeEagleModels(layers)
    const [modelPath, draftPath] = [
      await write(`${name}-model`.replaceAll(' ', '-'), model),
      await write(name.replaceAll(' ', '-'), draft),
    ]
    const engine = createEngine(modelPath, { draft: { modelPath: draftPath, ...more } })
    onTestFinished(() => engine.close())
    await expect(engine.ensureReady(never)).rejects.toThrow(why)
  })
})

describe('an assistant of Gemma 4', () => {
  test.each([
    { name: 'for a model of another width', options: { readWidth: 48 }, why: /for a model of the width 48, and this one has 32/ },
    { name: 'for keys of another length', options: { headLength: 64 }, why: /keys of the length 64, and this model has 32/ },
    { name: 'without windows', options: { windows: [false, false] }, why: /no layer with a window/ },
    { name: 'with layers for something else', options: { layersForNext: 1 }, why: /2 layers, of which 1 for it/ },
    { name: 'with more tokens', options: { moreTokens: ['<more>'] }, why: /364 tokens, and the model 363/ },
    { name: 'for another architecture', model: 'gemma3', options: {}, why: /an assistant of Gemma 4, and not of gemma3/ },
  ] as const)('is refused before llama.cpp drafts with it, and could abort: $name', async ({ name, options, why, ...other }) => {
    const { model, draft } = encodeAssistantModels(options)
    const [modelPath, draftPath] = [
      await write(
        `${name}-model`.replaceAll(' ', '-'),
        'model' in other ? encodeSmallModel(other.model, { width: 32, window: 64 }) : model,
      ),
      await write(name.replaceAll(' ', '-'), draft),
    ]
    const engine = createEngine(modelPath, { draft: { modelPath: draftPath } })
    onTestFinished(() => engine.close())
    await expect(engine.ensureReady(never)).rejects.toThrow(why)
  })

  test('computes in turns with its model, whose memory it reads', async () => {
    const { model: bytes, draft } = encodeAssistantModels()
    const modelPath = await write('in-turns', bytes)
    const options = { modelPath, slots: 1, contextLength: 512, threads: 1, flashAttention: true }
    const drafting = { draft: { modelPath: await write('in-turns-draft', draft), always: true } }
    const silent = { onProgress: () => undefined, onLog: () => undefined, onWarning: () => undefined }
    const { model, context, slots, openDrafter } = await loadModel({ ...options, ...drafting }, silent)
    onTestFinished(() => model.dispose())
    const { sequence } = slots[0] as (typeof slots)[number]
    await sequence.compute([5, 6, 7] as Token[])
    const drafter = openDrafter?.([])
    drafter?.push(8 as Token)
    const order: string[] = []
    const pass = context.betweenPasses(() => sleep(100).then(() => order.push('model')))
    const round = { tokens: 1, prompts: 0, tokensMs: 0 }
    const drafted = await drafter?.draft({ sequence, round, room: 3, isOver: () => false })
    order.push('head')
    await pass
    expect(drafted).toHaveLength(3)
    expect(order).toEqual(['model', 'head'])
  })
})

test.skipIf(llamaServerBinary === undefined).each([
  ['an EAGLE-3 head', encodeEagleModels],
  ["Gemma 4's assistant", encodeAssistantModels],
] as const)(`a managed llama-server drafts with %s, whose type only its file says${llamaServerHint}`, async (kind, encode) => {
  const { model, draft } = encode()
  const [source, head] = [await write(`managed-${kind}-model`, model), await write(`managed-${kind}`, draft)]
  const managed = { engine: 'llama-server', binary: llamaServerBinary ?? '', source, contextLength: 512, slots: 1 } as const
  const dragoman = await createDragoman({
    config: { storage: 'off', builtinModel: false, models: [{ id: 'm', ...managed, draft: { source: head } }] },
  })
  onTestFinished(() => dragoman.close())
  const request = { model: 'm', prompt: story, sampling: greedy, maxOutputTokens: 20, ignoreEos: true }
  const { usage } = await dragoman.generate(request).result()
  expect(usage.drafts?.proposed).toBeGreaterThan(0)
})

test('a model with heads is loaded without them, where nothing is drafted', async () => {
  const engine = createEngine(await write('unused', encodeHeadedModel('qwen35', { heads: 2 })))
  onTestFinished(() => engine.close())
  const messages = [{ role: 'user' as const, content: [text(story)] }]
  const { usage } = await completeChoices(engine, chatRequest('', { prompt: { type: 'chat', ...plainChat, messages } }))
  expect(usage).not.toHaveProperty('drafts')
})
