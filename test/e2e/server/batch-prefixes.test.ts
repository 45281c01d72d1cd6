import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { isFullLength } from '../../support/process/soak-length.ts'

const url = '/v1/chat/completions'
const sentences = [
  'The cat sat on the mat.',
  'A dog ran along the road.',
  'Some birds fly over our sea.',
  'We like to read about it.',
]
type Usage = { readonly prompt_tokens: number; readonly prompt_tokens_details?: { readonly cached_tokens: number } }

/** Slots of a llama-server have nothing of each other: for few lines, one slot reads what a group begins with, and the others stay idle. */
describe.each([
  {
    engine: 'llama',
    more: {},
    again: 0,
    ...(isFullLength ? { slots: 8, groups: 4, each: 50 } : { slots: 4, groups: 2, each: 10 }),
  },
  { engine: 'llama-server', more: { binary: llamaServerBinary }, again: 1, slots: 4, groups: 2, each: 10 },
])('a batch whose lines share instructions', ({ engine, more, again, slots, groups, each }) => {
  let app: RunningApp
  beforeAll(async () => {
    const tiny = { id: 'tiny', source: 'builtin:dragoman-tiny.gguf', contextLength: 2048, threads: 1 }
    app = await startApp({ storage: {}, models: [{ ...tiny, engine, slots, ...more } as never] })
  })
  afterAll(() => app.close())

  const isMissing = engine === 'llama-server' && llamaServerBinary === undefined
  test.skipIf(isMissing)(`reads them once on ${engine}${isMissing ? llamaServerHint : ''}`, { timeout: 600_000 }, async () => {
    const openai = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'none' })
    const lines = Array.from({ length: groups * each }, (_, index) => {
      const group = index % groups
      const messages = [
        { role: 'system', content: `${group}: ${`${sentences[group]} `.repeat(40)}` },
        { role: 'user', content: `What is number ${index}?` },
      ]
      const body = { model: 'tiny', max_tokens: 2 + ((index * 7) % 12), messages }
      return JSON.stringify({ custom_id: `${index}`, method: 'POST', url, body })
    })
    const file = await openai.files.create({ file: await toFile(Buffer.from(lines.join('\n')), 'in.jsonl'), purpose: 'batch' })
    const { id } = await openai.batches.create({ input_file_id: file.id, endpoint: url, completion_window: '24h' })
    await until(async () => (await openai.batches.retrieve(id)).status === 'completed', 600_000)
    const { output_file_id: results } = await openai.batches.retrieve(id)
    const text = await (await openai.files.content(results ?? '')).text()
    const computed = text
      .trim()
      .split('\n')
      .map((line): number => {
        const usage: Usage = JSON.parse(line).response.body.usage
        return usage.prompt_tokens - (usage.prompt_tokens_details?.cached_tokens ?? 0)
      })
    const reads = computed.filter((tokens) => tokens > 300)
    expect(computed).toHaveLength(groups * each)
    expect(reads.length, JSON.stringify(computed)).toBeGreaterThanOrEqual(groups)
    expect(reads.length, JSON.stringify(computed)).toBeLessThanOrEqual(groups + again)
  })
})
